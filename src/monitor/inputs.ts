// what acts on a world in a control step, as the kernel makes it of the action and of events
import type { Model } from "../model/model.ts";
import type { InterpretOptions } from "../trace/interpret.ts";

export interface Inputs {
  readonly ctrl: Float64Array;
  readonly qfrc_applied: Float64Array;
  readonly xfrc_applied: Float64Array;
  /** Added to the velocities before the step. */
  readonly kick: Float64Array;
}

/** Ends a run of the kernel where the physics begins. */
class PhysicsBegins extends Error {}

/**
 * Runs a step kernel up to its physics: `run` interprets it, `qvel` are the velocities before. Undefined where the world
 * makes no physics step: it waits for its reset.
 */
export function inputsOf(
  { nu, nv, nbody }: Model,
  qvel: Float64Array,
  run: (onStage: NonNullable<InterpretOptions["onStage"]>) => unknown,
): Inputs | undefined {
  let inputs: Inputs | undefined;
  try {
    run(({ stage }, read) => {
      if (stage !== "kinematics") return;
      inputs = {
        ctrl: read("ctrl", nu),
        qfrc_applied: read("qfrc_applied", nv),
        xfrc_applied: read("xfrc_applied", 6 * nbody),
        kick: read("qvel", nv).map((v, i) => v - qvel[i]),
      };
      throw new PhysicsBegins();
    });
  } catch (error) {
    if (!(error instanceof PhysicsBegins)) throw error;
  }
  return inputs;
}
