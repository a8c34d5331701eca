// MuJoCo in float64 beside a world: the same control step from the same state
import { writeChanges } from "../model/changes.ts";
import type { ModelChange } from "../model/model-data.ts";
import type { Model } from "../model/model.ts";
import type { DrivenActuators } from "./driven.ts";
import { distance, ONE_STEP_BOUNDS, SENSITIVITY_MARGIN } from "./measure.ts";
import { MuJoCoWorld, type StepResult, type WorldState } from "./mujoco-world.ts";
import { nearbyState } from "./nearby.ts";

/** How far a world was from MuJoCo after one control step from the same state: |x - ref| / (1 + max |ref|). */
export interface ShadowCheck {
  readonly qpos: number;
  readonly qvel: number;
  /** Within the bounds of one step for each of its physics steps, or no further than MuJoCo from a state changed by 1e-7. */
  readonly ok: boolean;
}

/** What acts beside the controls. */
export type AppliedForces = Partial<Record<"qfrc_applied" | "xfrc_applied", Float64Array>>;

/** A control step from a state, whose physics is made by `physics` with what acts in it. */
export type Drive = (from: WorldState, physics: Parameters<DrivenActuators["step"]>[2]) => void;

/** Changed states that are tried if a world is out of bounds. */
const PROBES = 8;

/** `delete()` it. */
export class Shadow {
  readonly #world: MuJoCoWorld;
  readonly #frameSkip: number;

  private constructor(world: MuJoCoWorld, frameSkip: number) {
    this.#world = world;
    this.#frameSkip = frameSkip;
  }

  /** `forceLimited`: actuators whose range of forces goes with the state. */
  static async create(model: Model, frameSkip: number, forceLimited?: readonly number[]): Promise<Shadow> {
    return new Shadow(await MuJoCoWorld.create(model, forceLimited), frameSkip);
  }

  /** From now on the world has these numbers of its own, and these parameters of the kernels. */
  become(changes: readonly ModelChange[], params: Readonly<Record<string, number>>): void {
    const { mujoco, model, data } = this.#world.oracle;
    const { opt } = model;
    opt.timestep = exact(params.timestep, opt.timestep);
    opt.tolerance = exact(params.tolerance, opt.tolerance);
    opt.ls_tolerance = exact(params.ls_tolerance, opt.ls_tolerance);
    const gravity = opt.gravity as Float64Array;
    ["x", "y", "z"].forEach((axis, k) => (gravity[k] = exact(params[`gravity_${axis}`], gravity[k])));
    writeChanges(mujoco, model, data, changes);
    for (const { field, index, value } of changes) if (field === "gravity") gravity[index] = value;
  }

  /** Makes the control step in MuJoCo and compares. `drive` says what acts in each physics step if it goes with the state. */
  check(from: WorldState, forces: AppliedForces, after: Pick<WorldState, "qpos" | "qvel">, drive?: Drive): ShadowCheck {
    for (const [name, values] of Object.entries(forces)) if (values.length > 0) this.#world.oracle.write(name, values);
    const theirs = this.#run(from, drive);
    const qpos = distance(after.qpos, theirs.qpos);
    const qvel = distance(after.qvel, theirs.qvel);
    const ok =
      (qpos <= this.#frameSkip * ONE_STEP_BOUNDS.qposMax && qvel <= this.#frameSkip * ONE_STEP_BOUNDS.qvelMax) ||
      this.#isExplained(from, theirs, { qpos, qvel }, drive);
    return { qpos, qvel, ok };
  }

  #run(from: WorldState, drive?: Drive): StepResult {
    const driven: StepResult[] = [];
    let state = from;
    drive?.(from, ({ ctrl, numbers }) => {
      this.#world.setNumbers(numbers);
      driven.push(this.#world.step({ ...state, ctrl }));
      state = this.#world.state();
      return state;
    });
    if (driven.length > 0) return driven.at(-1)!;
    let result = this.#world.step(from);
    for (let k = 1; k < this.#frameSkip; k++) result = this.#world.step(this.#world.state());
    return result;
  }

  #isExplained(
    from: WorldState,
    theirs: StepResult,
    errors: { qpos: number; qvel: number },
    drive: Drive | undefined,
  ): boolean {
    let [qpos, qvel] = [0, 0];
    for (let k = 0; k < PROBES; k++) {
      const probe = this.#run(nearbyState(from, k), drive);
      qpos = Math.max(qpos, distance(probe.qpos, theirs.qpos));
      qvel = Math.max(qvel, distance(probe.qvel, theirs.qvel));
    }
    return errors.qpos <= SENSITIVITY_MARGIN * qpos && errors.qvel <= SENSITIVITY_MARGIN * qvel;
  }

  delete(): void {
    this.#world.delete();
  }
}

/** A parameter is float32; if it is the number that is there, that. */
const exact = (value: number | undefined, own: number): number =>
  value === undefined || Math.fround(own) === value ? own : value;
