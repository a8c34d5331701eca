// the networks of SAC by name, and its policy as plain numbers
import { CorralError } from "../../core/errors.ts";
import type { Space } from "../../env/space/spaces.ts";
import { namedLayers, type NamedArray } from "../networks/networks.ts";
import { policyOf, type Policy } from "../networks/policy.ts";
import { namedMoments } from "../replay/named.ts";
import { cellLayers, type SacShape } from "./arenas.ts";
import type { SacConfig } from "./config.ts";

/**
 * The parameters by name, as PyTorch has them: `policy.0.weight` [outputs, inputs], ..., whose last layer puts out means,
 * `log_std.weight` beside it, `q1.0.weight`, ..., `target1.0.weight`, ...; with `namedMoments`. With a memory
 * `policy.gru.ih.weight`, ..., and those of `memory` and `target_memory`, which critics and targets see.
 */
export function namedSac(shape: SacShape, params: Float32Array, norm?: Float32Array): Record<string, NamedArray> {
  const { nets, env } = shape;
  const { policy, critics, targets, cells } = nets;
  const slow = cells ? [cells.targets.ih, cells.targets.hh] : [];
  const named = namedLayers([policy, ...critics, ...targets, ...cellLayers(nets), ...slow].flat(), params);
  const { name, inputs } = policy.at(-1)!;
  const { data: weight } = named[`${name}.weight`];
  const { data: bias } = named[`${name}.bias`];
  const split = (as: string, first: number) => ({
    [`${as}.weight`]: {
      shape: [env.actions, inputs],
      data: weight.slice(first * inputs, (first + env.actions) * inputs),
    },
    [`${as}.bias`]: { shape: [env.actions], data: bias.slice(first, first + env.actions) },
  });
  return {
    ...named,
    ...split(name, 0),
    ...split("log_std", env.actions),
    ...namedMoments(shape, env.observations, norm),
  };
}

/** The most likely actions of such parameters. Throws `bad-policy`. */
export function sacPolicyOf(
  named: Readonly<Record<string, NamedArray>>,
  id: string,
  space: Space,
  { activation }: Pick<SacConfig, "activation">,
): Policy {
  const own = Object.entries(named).filter(([name]) => !/^(q|target)\d\.|^(target_)?memory\./.test(name));
  return policyOf(Object.fromEntries(own), {
    id,
    algo: "sac",
    space,
    activation,
    squash: true,
    clipObservations: Infinity,
  });
}

/** What the numbers of a snapshot mean: in 1, which had no format number, log standard deviations were bent by tanh, not clamped. */
export const FORMAT = 2;

/** Throws `bad-snapshot`. */
export function assertFormat({ format }: Readonly<Record<string, Uint32Array>>): void {
  const found = format?.[0] ?? 1;
  if (found === FORMAT) return;
  throw new CorralError(
    "bad-snapshot",
    `the snapshot has format ${found} of SAC, this corral reads ${FORMAT}: log standard deviations mean something else there. Use the corral that wrote it, or train anew.`,
    { found, want: FORMAT },
  );
}
