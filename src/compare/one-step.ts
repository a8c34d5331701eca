// one step of a batch from given states, read back as far as it is compared
import { fieldSize, type FieldName } from "../model/fields.ts";
import type { Model } from "../model/model.ts";
import type { Simulation, StateValues } from "../batch/simulation.ts";
import { WORLD_STATE, type StepResult, type WorldState } from "../monitor/mujoco-world.ts";

/** Fields whose distances are reported. */
export const COMPARED = ["qpos", "qvel", "qacc", "act", "sensordata"] as const;
export type Compared = (typeof COMPARED)[number];

/** Derived fields that are compared, or reported. */
export function outputsOf(model: Model): FieldName[] {
  const wanted: FieldName[] = ["qacc", "sensordata", "ncon", "nefc", "solver_niter"];
  return wanted.filter((name) => fieldSize(model, name) > 0);
}

export interface OneStep extends Omit<StepResult, "wanted"> {
  /** The world's status word. */
  readonly status: number;
}

/** One step of the first worlds of a batch from states, a world each. */
export async function oneStep(model: Model, simulation: Simulation, states: readonly WorldState[]): Promise<OneStep[]> {
  const worlds = states.map((_, i) => i);
  await simulation.setState(stateValues(states), worlds);
  simulation.step(1);
  const names = [...COMPARED, "ncon", "nefc", "solver_niter", "status"] as const;
  const read = await simulation.getState(
    names.filter((name) => fieldSize(model, name) > 0),
    worlds,
  );
  // with fewer places for contacts than there may be, a second word of the status tells how many were needed
  const rowOf = (name: (typeof names)[number], i: number) => {
    const values = read[name] ?? new Float64Array();
    const size = values.length / worlds.length;
    return values.subarray(i * size, (i + 1) * size);
  };
  return worlds.map((i) => ({
    qpos: rowOf("qpos", i),
    qvel: rowOf("qvel", i),
    act: rowOf("act", i),
    qacc: rowOf("qacc", i),
    sensordata: rowOf("sensordata", i),
    ncon: rowOf("ncon", i)[0],
    nefc: rowOf("nefc", i)[0],
    niter: rowOf("solver_niter", i)[0],
    status: rowOf("status", i)[0],
  }));
}

/** States of worlds as setState takes them. */
export function stateValues(states: readonly WorldState[]): StateValues {
  const all: Record<string, Float64Array> = { time: Float64Array.from(states, (s) => s.time) };
  for (const name of [...WORLD_STATE, "energy_vel", "ctrl"] as const) {
    const size = states[0]?.[name].length ?? 0;
    if (size === 0) continue;
    all[name] = new Float64Array(size * states.length);
    states.forEach((s, i) => all[name].set(s[name], i * size));
  }
  return all;
}
