// recurrent cells (GRU, LSTM) on the device: truncated backpropagation through time (Williams and Peng 1990) over sequences
// that lie side by side. Rows lie step by step: those of a step are `lanes` after those of the step before.
import { CELLS, type Layer } from "../networks/networks.ts";
import type { CellSet } from "./cell-places.ts";
import type { DeviceCore } from "./device-core.ts";
import type { JobPass } from "./kernels.ts";
import type { Bind } from "./kernel-table.ts";

/** Who tells cells where their sequences begin and worlds forget: the rollout, or sequences of a replay. */
type Source = "rollout" | "replay";

/** The jobs of cells at one step. */
const ofStep = ({ kind, s4, cells }: CellSet, step: number) =>
  cells.map(({ at }) => ({ ...at, s4, step, parts: CELLS[kind].parts, networks: cells.length, spare: 0 }));

/** Binds the jobs of sequences: forward, and back to `gradient` if there is one. */
export function bindCells(bind: Bind, set: CellSet, source: Source, gradient?: "gradient" | "gradient_whole"): void {
  const { name, kind, s4, unroll, lanes, cells } = set;
  const g4 = CELLS[kind].gates * s4;
  // the gates' part from the state, as a dense layer of rows from `x` on to rows from `y` on
  const layer = (hh: Layer, x: number, b: number, y: number) =>
    ({ x, k4: s4, w: hh.w, b, y, n4: g4, activation: 0, mode: 0 }) as const;
  const suffix = source === "replay" ? "_replay" : "";
  bind(`${name} enter`, source === "replay" ? "cell_begin" : "cell_enter", ofStep(set, 0));
  for (let t = 0; t < unroll; t++) {
    const [row, gate] = [t * lanes * s4, t * lanes * g4];
    bind(
      `${name} gates ${t}`,
      "forward_lanes",
      cells.map(({ hh, at }) => layer(hh, at.before + row, hh.b, at.gates + gate)),
    );
    bind(`${name} step ${t}`, `${kind}_step${suffix}`, ofStep(set, t));
    if (!gradient) continue;
    bind(`${name} back ${t}`, `${kind}_back${suffix}`, ofStep(set, t));
    bind(
      `${name} carry ${t}`,
      "backward_lanes",
      cells.map(({ hh, at }) => layer(hh, at.before, at.carry, at.gates + gate)),
    );
  }
  if (!gradient) return;
  bind(
    `${name} gradient`,
    gradient,
    cells.map(({ hh, at }) => layer(hh, at.before, hh.b, at.gates)),
  );
}

/** Binds the jobs of worlds that act, and of those that are evaluated. */
export function bindActing(bind: Bind, set: CellSet, source: Source): void {
  const { name } = set;
  bind(`${name} enter act`, source === "replay" ? "cell_recall" : "cell_enter_act", ofStep(set, 0));
  bind(`${name} enter evaluate`, "cell_recall_evaluated", ofStep(set, 0));
  for (const who of ["act", "evaluate"] as const)
    bind(`${name} step ${who}`, `${set.kind}_step_${who}`, ofStep(set, 0));
  bind(`${name} forget`, source === "replay" ? "cell_forget_replay" : "cell_forget", ofStep(set, 0));
}

/** Runs jobs of a learner. */
type Runner = Pick<DeviceCore, "run" | "runRows" | "runWeights">;

/** Who acts: worlds that are learnt from, or others that are evaluated and have states of their own. */
export interface ActingRows {
  readonly rows: number;
  readonly who: "act" | "evaluate";
}

/** From what the gates get from below to states, of the worlds that act. */
export function actCells(core: Runner, pass: JobPass, set: CellSet, { rows, who }: ActingRows): void {
  const { name, kind, s4, cells } = set;
  core.run(pass, `${name} enter ${who}`, rows * s4, cells.length);
  core.runRows(pass, `${name} gates 0`, rows, 4 * CELLS[kind].gates * s4, cells.length);
  core.run(pass, `${name} step ${who}`, rows * s4, cells.length);
}

/** The same of so many steps of sequences. */
export function runCells(core: Runner, pass: JobPass, set: CellSet, steps = set.unroll): void {
  const { name, kind, s4, lanes, cells } = set;
  core.run(pass, `${name} enter`, lanes * s4, cells.length);
  for (let t = 0; t < steps; t++) {
    core.runRows(pass, `${name} gates ${t}`, lanes, 4 * CELLS[kind].gates * s4, cells.length);
    core.run(pass, `${name} step ${t}`, lanes * s4, cells.length);
  }
}

/** From derivatives by states to those by what the gates got, back in time; then those by the weights between states. */
export function backCells(core: Runner, pass: JobPass, set: CellSet, chunks: number, steps = set.unroll): void {
  const { name, kind, s4, lanes, cells } = set;
  for (let t = steps - 1; t >= 0; t--) {
    core.run(pass, `${name} back ${t}`, lanes * s4, cells.length);
    if (t > 0) core.runRows(pass, `${name} carry ${t}`, lanes, 4 * s4, cells.length);
  }
  const weights = { k: 4 * s4, n: 4 * CELLS[kind].gates * s4 };
  core.runWeights(
    pass,
    `${name} gradient`,
    chunks,
    cells.map(() => weights),
  );
}

/** Worlds that took a new start state forget. */
export const forget = (core: Runner, pass: JobPass, { name, s4, cells }: CellSet, rows: number): void =>
  core.run(pass, `${name} forget`, rows * s4, cells.length);
