// recurrent cells (GRU, LSTM) in policy and value network, before their last layers: truncated backpropagation through time
// (Williams and Peng 1990) over sequences of `recurrentSteps` steps. The state that each sequence began with is stored while
// acting, so history costs two states for each world and sequence, whatever the length of episodes.
import type { PpoConfig } from "./config.ts";
import type { DeviceCore } from "../device/device-core.ts";
import type { JobPass } from "../device/kernels.ts";
import type { Bind } from "../device/kernel-table.ts";
import { CELLS, padTo, TILE, type CellKind, type Layer, type Networks } from "../networks/networks.ts";

/** Where one network's cell keeps its rows: vec4s in `work`. */
interface CellPlaces {
  readonly below: number;
  readonly gates: number;
  readonly before: number;
  readonly state: number;
  readonly carry: number;
  readonly memory: number;
  readonly memory_carry: number;
}

export interface CellsLayout {
  readonly kind: CellKind;
  /** vec4s of what a cell puts out, and of a whole state. */
  readonly s4: number;
  readonly state4: number;
  /** Steps of a sequence, and sequences that a minibatch has room for. */
  readonly unroll: number;
  readonly lanes: number;
  /** Sequences of a rollout, and those of a minibatch; the last may have fewer. */
  readonly sequences: number;
  readonly each: number;
  readonly policy: CellPlaces;
  readonly value: CellPlaces;
  readonly size4: number;
}

type Sizes = Pick<CellsLayout, "unroll" | "lanes" | "sequences" | "each">;

/** How a rollout of this many samples is cut. */
export function sequencesOf(samples: number, config: PpoConfig): Sizes {
  const unroll = Math.min(config.recurrentSteps, config.rolloutSteps);
  const sequences = samples / unroll;
  const each = Math.ceil(sequences / Math.min(config.minibatches, sequences));
  return { unroll, sequences, each, lanes: padTo(each, TILE) };
}

/** Lays out both cells behind what lies in `work` already. */
export function layOutCells(
  { cells }: Networks,
  sizes: Sizes,
  rows: number,
  outputs: ReadonlyMap<Layer, number>,
  start: number,
): CellsLayout {
  const { kind, policy, value, size } = cells!;
  const { gates, parts } = CELLS[kind];
  const s4 = size / 4;
  let at = start;
  const take = (vec4s: number): number => (at += vec4s) - vec4s;
  const placesOf = ({ ih }: { readonly ih: Layer }): CellPlaces => ({
    below: outputs.get(ih)!,
    gates: take(rows * gates * s4),
    before: take(rows * s4),
    state: take(rows * s4),
    carry: take(sizes.lanes * s4),
    memory: take((parts - 1) * rows * s4),
    memory_carry: take((parts - 1) * sizes.lanes * s4),
  });
  const places = { policy: placesOf(policy), value: placesOf(value) };
  return { ...sizes, kind, s4, state4: parts * s4, ...places, size4: at - start };
}

/** Binds every job of the cells. */
export function bindCells(
  bind: Bind,
  { cells }: Networks,
  layout: CellsLayout,
  gradient: "gradient" | "gradient_whole",
): void {
  const { kind, s4, unroll, lanes } = layout;
  const { gates, parts } = CELLS[kind];
  const both = [
    { hh: cells!.policy.hh, at: layout.policy },
    { hh: cells!.value.hh, at: layout.value },
  ];
  const g4 = gates * s4;
  const ofStep = (step: number) => both.map(({ at }) => ({ ...at, s4, step, parts, spare_0: 0, spare_1: 0 }));
  // the gates' part from the state, as a dense layer of rows from `x` on to rows from `y` on
  const layer = (hh: Layer, x: number, b: number, y: number) =>
    ({ x, k4: s4, w: hh.w, b, y, n4: g4, activation: 0, mode: 0 }) as const;
  for (let t = 0; t < unroll; t++) {
    const [row, gate] = [t * lanes * s4, t * lanes * g4];
    bind(
      `cell gates ${t}`,
      "forward_lanes",
      both.map(({ hh, at }) => layer(hh, at.before + row, hh.b, at.gates + gate)),
    );
    bind(`cell step ${t}`, `${kind}_step`, ofStep(t));
    bind(`cell back ${t}`, `${kind}_back`, ofStep(t));
    bind(
      `cell carry ${t}`,
      "backward_lanes",
      both.map(({ hh, at }) => layer(hh, at.before, at.carry, at.gates + gate)),
    );
  }
  bind("cell enter", "cell_enter", ofStep(0));
  bind(
    "cell gradient",
    gradient,
    both.map(({ hh, at }) => layer(hh, at.before, hh.b, at.gates)),
  );
  for (const who of ["act", "evaluate"] as const) {
    bind(`cell enter ${who}`, `cell_enter_${who}`, ofStep(0));
    bind(`cell step ${who}`, `${kind}_step_${who}`, ofStep(0));
  }
  bind("cell forget", "cell_forget", ofStep(0));
}

/** Jobs of the cells. */
export const cellJobs = ({ unroll }: CellsLayout): number => 4 * unroll + 4;

/** Runs jobs of a learner. */
type Runner = Pick<DeviceCore, "run" | "runRows" | "runWeights">;

/** From what the gates get from below to states: of the worlds that act, or of all sequences of a minibatch. */
export function runCells(core: Runner, pass: JobPass, layout: CellsLayout, acting?: ActingRows): void {
  const { kind, s4, unroll, lanes } = layout;
  const width = 4 * CELLS[kind].gates * s4;
  const gates = (t: number) => core.runRows(pass, `cell gates ${t}`, acting?.rows ?? lanes, width, 2);
  if (acting) {
    core.run(pass, `cell enter ${acting.who}`, acting.rows * s4, 2);
    gates(0);
    core.run(pass, `cell step ${acting.who}`, acting.rows * s4, 2);
    return;
  }
  core.run(pass, "cell enter", lanes * s4, 2);
  for (let t = 0; t < unroll; t++) {
    gates(t);
    core.run(pass, `cell step ${t}`, lanes * s4, 2);
  }
}

/** Who acts: worlds of the rollout, or others that are evaluated and have states of their own. */
export interface ActingRows {
  readonly rows: number;
  readonly who: "act" | "evaluate";
}

/** From derivatives by states to those by what the gates got, back in time; then those by the weights between states. */
export function backCells(core: Runner, pass: JobPass, layout: CellsLayout, chunks: number): void {
  const { kind, s4, unroll, lanes } = layout;
  for (let t = unroll - 1; t >= 0; t--) {
    core.run(pass, `cell back ${t}`, lanes * s4, 2);
    if (t > 0) core.runRows(pass, `cell carry ${t}`, lanes, 4 * s4, 2);
  }
  const weights = { k: 4 * s4, n: 4 * CELLS[kind].gates * s4 };
  core.runWeights(pass, "cell gradient", chunks, [weights, weights]);
}
