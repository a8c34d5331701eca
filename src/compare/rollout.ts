// free-running drift: how far worlds are from MuJoCo's after many steps from one start, under the same controls
import type { Model } from "../model/model.ts";
import type { Simulation } from "../batch/simulation.ts";
import { distance, spreadOf, type Spread } from "../monitor/measure.ts";
import { diverged, type MuJoCoWorld, type WorldState } from "../monitor/mujoco-world.ts";
import { stateValues } from "./one-step.ts";
import { nearbyState } from "../monitor/nearby.ts";
import type { Sample } from "./trajectory.ts";

/** Drift over all worlds that ran this long. */
export interface RolloutDrift {
  /** Steps since the common start. */
  readonly step: number;
  readonly worlds: number;
  readonly qpos: Spread;
  readonly qvel: Spread;
  /** The same for MuJoCo beside itself, started from a state changed by 1e-7: what chaos alone does. */
  readonly mujoco: { readonly qpos: Spread; readonly qvel: Spread };
}

/** Steps at which drift is reported: 1, 2, 5, 10, ... and the last. */
function horizons(steps: number): number[] {
  const all: number[] = [];
  for (let power = 1; power <= steps; power *= 10) all.push(power, 2 * power, 5 * power);
  return [...new Set([...all.filter((n) => n <= steps), steps])];
}

interface Run {
  readonly start: WorldState;
  readonly controls: Float64Array[];
  /** MuJoCo's state after this many steps. */
  readonly seen: Map<number, { qpos: Float64Array; qvel: Float64Array }>;
}

/** Keeps of each world's first run what a free run needs. */
export class RolloutRecorder {
  readonly runs = new Map<number, Run>();
  readonly horizons: readonly number[];

  constructor(steps: number) {
    this.horizons = horizons(steps);
  }

  add(sample: Sample): void {
    if (sample.episode > 0) return;
    const run: Run = this.runs.get(sample.env) ?? { start: sample.from, controls: [], seen: new Map() };
    this.runs.set(sample.env, run);
    run.controls.push(sample.from.ctrl);
    const after = sample.step + 1;
    if (this.horizons.includes(after)) run.seen.set(after, { qpos: sample.result.qpos, qvel: sample.result.qvel });
  }
}

type Found = Map<number, { qpos: number[]; qvel: number[] }>;

/** Runs all recorded worlds freely, ours and a second MuJoCo. */
export async function rollout(
  world: MuJoCoWorld,
  simulation: Simulation,
  recorder: RolloutRecorder,
): Promise<RolloutDrift[]> {
  const empty = (): Found => new Map(recorder.horizons.map((h) => [h, { qpos: [], qvel: [] }]));
  const [ours, mujoco] = [empty(), empty()];
  const runs = [...recorder.runs.values()];
  await runOurs(simulation, runs, ours);
  for (const run of runs) runMuJoCo(world, run, mujoco);

  return recorder.horizons
    .filter((h) => ours.get(h)!.qpos.length > 0)
    .map((step) => {
      const spreads = ({ qpos, qvel }: { qpos: number[]; qvel: number[] }) => ({
        qpos: spreadOf(qpos),
        qvel: spreadOf(qvel),
      });
      return {
        step,
        worlds: ours.get(step)!.qpos.length,
        ...spreads(ours.get(step)!),
        mujoco: spreads(mujoco.get(step)!),
      };
    });
}

async function runOurs(simulation: Simulation, runs: readonly Run[], found: Found): Promise<void> {
  const { model } = simulation;
  const worlds = runs.map((_, i) => i);
  await simulation.setState(stateValues(runs.map((r) => r.start)), worlds);
  const last = Math.max(0, ...found.keys());
  for (let step = 0; step < last; step++) {
    if (model.nu > 0) await simulation.setState({ ctrl: controlsOf(model, runs, step) }, worlds);
    simulation.step(1);
    const at = found.get(step + 1);
    if (!at) continue;
    const { qpos, qvel } = await stateOf(simulation, worlds);
    runs.forEach((run, i) => {
      const seen = run.seen.get(step + 1);
      if (!seen) return;
      at.qpos.push(distance(qpos, seen.qpos, i * model.nq));
      at.qvel.push(distance(qvel, seen.qvel, i * model.nv));
    });
  }
}

async function stateOf(simulation: Simulation, worlds: readonly number[]) {
  const empty = new Float64Array();
  if (simulation.model.nv === 0) return { qpos: empty, qvel: empty };
  return simulation.getState(["qpos", "qvel"], worlds);
}

/** Controls of a step; a run that ended early holds its last ones. */
function controlsOf(model: Model, runs: readonly Run[], step: number): Float64Array {
  const out = new Float64Array(model.nu * runs.length);
  runs.forEach(({ controls }, i) => out.set(controls[Math.min(step, controls.length - 1)], i * model.nu));
  return out;
}

function runMuJoCo(world: MuJoCoWorld, run: Run, found: Found): void {
  let state = nearbyState(run.start, 0);
  for (let step = 0; step < run.controls.length; step++) {
    const result = world.step({ ...state, ctrl: run.controls[step] });
    if (diverged(result)) return;
    state = world.state();
    const seen = run.seen.get(step + 1);
    if (!seen) continue;
    found.get(step + 1)!.qpos.push(distance(result.qpos, seen.qpos));
    found.get(step + 1)!.qvel.push(distance(result.qvel, seen.qvel));
  }
}
