// MuJoCo beside one world of an environment, control step by control step
import type { VectorEnv } from "../env/index.ts";
import type { Model } from "../model/model.ts";
import { mocapFrames } from "../sim/state.ts";
import { distance, ONE_STEP_BOUNDS } from "./measure.ts";
import { MuJoCoWorld, type StepResult, type WorldState } from "./mujoco_world.ts";
import { controlsOf } from "./controls.ts";
import { nearbyState } from "./sensitivity.ts";

/** How far a world was from MuJoCo after one control step from the same state. */
export interface ShadowCheck {
  readonly world: number;
  readonly qpos: number;
  readonly qvel: number;
  /** Within the bounds of one step for each of its physics steps, or no further than MuJoCo from a state changed by 1e-7. */
  readonly ok: boolean;
}

/** Changed states that are tried where a world is out of bounds. */
const PROBES = 8;

/** A live MuJoCo world that checks worlds of a batch. `delete()` it. */
export class Shadow {
  readonly #world: MuJoCoWorld;
  readonly #model: Model;
  readonly #frameSkip: number;

  private constructor(world: MuJoCoWorld, model: Model, frameSkip: number) {
    this.#world = world;
    this.#model = model;
    this.#frameSkip = frameSkip;
  }

  static async create(model: Model, frameSkip: number): Promise<Shadow> {
    return new Shadow(await MuJoCoWorld.create(model), model, frameSkip);
  }

  /** The state of a world, and the number of its episode. */
  async before(env: VectorEnv, world: number): Promise<{ state: Omit<WorldState, "ctrl">; episode: number }> {
    const kept = new Set(env.plan.fields.filter((f) => f.arena === "state").map((f) => f.name));
    const names = ["qpos", "qvel", "act", "qacc_warmstart"].filter((name) => kept.has(name));
    const { time, episode, ...read } = await env.getState(["time", "episode", ...names], [world]);
    const none = new Float64Array();
    const { mocap_pos = [], mocap_quat = [] } = mocapFrames(this.#model);
    const state = {
      time: time[0],
      qpos: read.qpos ?? none,
      qvel: read.qvel ?? none,
      act: read.act ?? none,
      qacc_warmstart: read.qacc_warmstart ?? none,
      mocap_pos: Float64Array.from(mocap_pos),
      mocap_quat: Float64Array.from(mocap_quat),
    };
    return { state, episode: episode[0] };
  }

  /** Makes the same control step in MuJoCo. Undefined where the step was a reset. */
  async check(
    env: VectorEnv,
    world: number,
    before: Awaited<ReturnType<Shadow["before"]>>,
    action: ArrayLike<number>,
  ): Promise<ShadowCheck | undefined> {
    const after = await this.before(env, world);
    if (after.episode !== before.episode) return undefined;
    const from = { ...before.state, ctrl: controlsOf(env.spec, action, action.length, before.state) };
    const theirs = this.#run(from);
    const qpos = distance(after.state.qpos, theirs.qpos);
    const qvel = distance(after.state.qvel, theirs.qvel);
    const ok =
      (qpos <= this.#frameSkip * ONE_STEP_BOUNDS.qposMax && qvel <= this.#frameSkip * ONE_STEP_BOUNDS.qvelMax) ||
      this.#isExplained(from, theirs, { qpos, qvel });
    return { world, qpos, qvel, ok };
  }

  #run(from: WorldState): StepResult {
    let state = from;
    let result = this.#world.step(state);
    for (let k = 1; k < this.#frameSkip; k++) {
      state = this.#world.state();
      result = this.#world.step(state);
    }
    return result;
  }

  #isExplained(from: WorldState, theirs: StepResult, errors: { qpos: number; qvel: number }): boolean {
    let [qpos, qvel] = [0, 0];
    for (let k = 0; k < PROBES; k++) {
      const probe = this.#run(nearbyState(from, k));
      qpos = Math.max(qpos, distance(probe.qpos, theirs.qpos));
      qvel = Math.max(qvel, distance(probe.qvel, theirs.qvel));
    }
    return errors.qpos <= qpos && errors.qvel <= qvel;
  }

  delete(): void {
    this.#world.delete();
  }
}
