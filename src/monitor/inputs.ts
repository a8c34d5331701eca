// what acts on a world in a control step, as the kernel makes it of the action and of events
import type { Model } from "../model/model.ts";
import type { Interpretation } from "../trace/interpret.ts";

export interface Inputs {
  readonly ctrl: Float64Array;
  readonly qfrc_applied: Float64Array;
  readonly xfrc_applied: Float64Array;
  /** Added to the velocities before the step. */
  readonly kick: Float64Array;
  /** Which equalities are active in the step. */
  readonly eq_active: Float64Array;
}

/** The first stage of the physics: a step kernel is interpreted `until` it to see what acts. */
export const PHYSICS_BEGINS = "kinematics";

/**
 * What acts in a step that was interpreted until its physics; `qvel` are the velocities before. Undefined if the world
 * makes no physics step: it waits for its reset.
 */
export function inputsOf(model: Model, qvel: Float64Array, { stopped, read }: Interpretation): Inputs | undefined {
  if (!stopped) return undefined;
  return { ...readInputs(model, read), kick: read("qvel", model.nv).map((v, i) => v - qvel[i]) };
}

/** What acts beside kicks. */
export const readInputs = ({ nu, nv, nbody, neq }: Model, read: Interpretation["read"]): Omit<Inputs, "kick"> => ({
  ctrl: read("ctrl", nu),
  qfrc_applied: read("qfrc_applied", nv),
  xfrc_applied: read("xfrc_applied", 6 * nbody),
  eq_active: read("eq_active", neq),
});
