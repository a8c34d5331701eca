// how much MuJoCo's own float64 step changes under changes that float32 cannot tell from none
import { distance, TOUCHING } from "../monitor/measure.ts";
import type { MuJoCoWorld, StepResult } from "../monitor/mujoco_world.ts";
import { nearbyState } from "../monitor/nearby.ts";
import type { Sample } from "./trajectory.ts";

/** Changed states that are tried. */
const PROBES = 8;

const COMPARED = ["qpos", "qvel", "qacc", "act", "sensordata"] as const;

/** What nearby steps of MuJoCo differ by from the step itself. */
export interface Sensitivity {
  /** Distances to the results from states changed by SENSITIVITY_CHANGE, the largest of each field. */
  readonly qpos: number;
  readonly qvel: number;
  readonly qacc: number;
  readonly act: number;
  readonly sensordata: number;
  /** Counts over those states, and with all margins shifted by TOUCHING. */
  readonly ncon: readonly [number, number];
  readonly nefc: readonly [number, number];
}

/** MuJoCo's sensitivity at a sample. Where a shift of the margins makes or ends a contact or limit, that counts too. */
export function sensitivityOf(world: MuJoCoWorld, sample: Sample): Sensitivity {
  const { from, result } = sample;
  const errors = { qpos: 0, qvel: 0, qacc: 0, act: 0, sensordata: 0 };
  const ncon: [number, number] = [result.ncon, result.ncon];
  const nefc: [number, number] = [result.nefc, result.nefc];
  const count = (r: StepResult) => {
    ncon[0] = Math.min(ncon[0], r.ncon);
    ncon[1] = Math.max(ncon[1], r.ncon);
    nefc[0] = Math.min(nefc[0], r.nefc);
    nefc[1] = Math.max(nefc[1], r.nefc);
  };
  const collect = (r: StepResult) => {
    for (const name of COMPARED) errors[name] = Math.max(errors[name], distance(r[name], result[name]));
  };

  for (let k = 0; k < PROBES; k++) {
    const probe = world.step(nearbyState(from, k));
    collect(probe);
    count(probe);
  }
  for (const shift of [TOUCHING, -TOUCHING]) {
    const probe = world.withMargins(shift, () => world.step(from));
    // a shift that turns nothing on or off only stretches the constraints that are there
    if (probe.ncon !== result.ncon || probe.nefc !== result.nefc) collect(probe);
    count(probe);
  }
  return { ...errors, ncon, nefc };
}
