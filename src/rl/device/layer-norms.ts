// layer norms of layers side by side: each runs after the job whose name it bears, forward and back, and has gradients of its own
import { ACTIVATIONS } from "../networks/activations.ts";
import { TILE, type Layer } from "../networks/networks.ts";
import { BIAS_ONLY } from "./arenas.ts";
import type { Bind } from "./kernel-table.ts";

/** A layer, and where its outputs lie: vec4s. */
export type PlacedLayer = readonly [layer: Layer, y: number];

/** What the norms of a job are bound as. */
export const normsOf = (job: string): string => `${job} norms`;

const isNormed = ([{ norm }]: PlacedLayer): boolean => norm !== undefined;

/** Binds what follows a job: the norms of what it put out, or their derivatives, in its place. */
export function bindNorms(
  bind: Bind,
  job: string,
  kernel: "layer_norm" | "layer_norm_back",
  placed: readonly PlacedLayer[],
): void {
  const norms = placed.filter(isNormed).map(([{ norm, n, outputs, activation }, y]) => ({
    y,
    n4: n / 4,
    count: outputs,
    gain: norm!,
    shift: norm! + n / 4,
    activation: ACTIVATIONS[activation].code,
    spare_0: 0,
    spare_1: 0,
  }));
  if (norms.length > 0) bind(normsOf(job), kernel, norms);
}

/** Binds the gradients of gains and shifts, which are those of biases: sums of what the derivatives left in `rows` rows. */
export function bindNormGradients(
  bind: Bind,
  job: string,
  kernel: "gradient" | "gradient_whole",
  placed: readonly PlacedLayer[],
  rows: number,
): void {
  const sums = placed.filter(isNormed).flatMap(([{ norm, n }, y]) => {
    const kept = (rows * n) / 4;
    const sum = { x: y, k4: TILE / 4, w: 0, n4: n / 4, activation: 0, mode: BIAS_ONLY };
    return [
      { ...sum, b: norm!, y: y + 2 * kept },
      { ...sum, b: norm! + n / 4, y: y + kept },
    ];
  });
  if (sums.length > 0) bind(normsOf(job), kernel, sums);
}

/** The sums of such gradients, of layers whose weights have theirs. */
export const normSums = (layers: readonly { readonly n: number; readonly norm?: number }[]) =>
  layers.flatMap(({ n, norm }) =>
    norm === undefined
      ? []
      : [
          { k: TILE, n },
          { k: TILE, n },
        ],
  );

/** Jobs of a network's layers, `each` without layer norm; with it its own, forward, back and of gradients. */
export const jobsOfLayers = (each: number, layers: readonly Layer[]): number =>
  layers.reduce((sum, { norm }) => sum + (norm === undefined ? each : 2 * each), 0);
