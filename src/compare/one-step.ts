// one step of a batch from given states, read back as far as it is compared
import { fieldSize, type FieldName } from "../model/fields.ts";
import type { Model } from "../model/model.ts";
import type { Simulation, StateValues } from "../batch/simulation.ts";
import { WORLD_STATE, type WorldState } from "../monitor/mujoco_world.ts";

/** Fields whose distances are reported. */
export const COMPARED = ["qpos", "qvel", "qacc", "act", "sensordata"] as const;
export type Compared = (typeof COMPARED)[number];

/** Derived fields that are compared. */
export function outputsOf(model: Model): FieldName[] {
  const wanted: FieldName[] = ["qacc", "sensordata", "ncon", "nefc"];
  return wanted.filter((name) => fieldSize(model, name) > 0);
}

/** Values of all worlds, row-major; empty where the model has none. */
export type Ours = Record<Compared | "ncon" | "nefc" | "status", Float64Array>;

/** One step of the first worlds of a batch from states, a world each. */
export async function oneStep(model: Model, simulation: Simulation, states: readonly WorldState[]): Promise<Ours> {
  const worlds = states.map((_, i) => i);
  await simulation.setState(stateValues(states), worlds);
  simulation.step(1);
  const names = [...COMPARED, "ncon", "nefc", "status"] as const;
  const read = await simulation.getState(
    names.filter((name) => fieldSize(model, name) > 0),
    worlds,
  );
  const empty = new Float64Array();
  // with fewer places for contacts than there may be, a second word tells how many were needed
  const words = read.status.length / states.length;
  const status = read.status.filter((_, i) => i % words === 0);
  return Object.fromEntries(names.map((name) => [name, name === "status" ? status : (read[name] ?? empty)])) as Ours;
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
