// what every exported file says of its policy
import { corralVersion } from "../core/version.ts";
import type { Policy } from "../rl/networks/policy.ts";

/** Facts as texts, for the metadata of a file. */
export function factsOf({ id, algo, observations, normalizer, layers, cell, head }: Policy): Record<string, string> {
  return {
    producer: "corral",
    version: corralVersion(),
    env: id,
    algo,
    observations: String(observations),
    layers: layers.map(({ outputs }) => outputs).join(","),
    activation: layers.length > 1 ? layers[0].activation : "none",
    ...(cell ? { recurrent: cell.kind, recurrent_size: String(cell.size) } : {}),
    clip_observations: String(normalizer.clip),
    head: head.kind,
    ...(head.kind === "gaussian"
      ? { squash: String(head.squash), low: [...head.low].join(","), high: [...head.high].join(",") }
      : { alternatives: head.alternatives.join(","), start: String(head.start) }),
  };
}

/** The largest finite bound: what stands for none. */
const UNBOUNDED = 3e38;

/** Whether any action has a bound. */
export const isBounded = (low: Float32Array, high: Float32Array): boolean =>
  [...low, ...high].some((x) => Math.abs(x) < UNBOUNDED);

/** Bounds as numbers that every format can hold. */
export const finite = (bounds: Float32Array): Float32Array<ArrayBuffer> =>
  Float32Array.from(bounds, (x) => Math.max(-UNBOUNDED, Math.min(UNBOUNDED, x)));
