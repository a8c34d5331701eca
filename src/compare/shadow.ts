// MuJoCo beside one world of an environment under actions, control step by control step
import type { VectorEnv } from "../env/index.ts";
import type { Model } from "../model/model.ts";
import type { WorldState } from "../monitor/mujoco-world.ts";
import { Shadow, type ShadowCheck } from "../monitor/shadow.ts";
import { controlsOf } from "./task-controls.ts";

/** Checks worlds of an environment. Controls come from the task; events and delays are not followed. `delete()` it. */
export class EnvShadow {
  readonly #shadow: Shadow;

  private constructor(shadow: Shadow) {
    this.#shadow = shadow;
  }

  static async create(model: Model, frameSkip: number): Promise<EnvShadow> {
    return new EnvShadow(await Shadow.create(model, frameSkip));
  }

  /** The state of a world, and the number of its episode. */
  async before(env: VectorEnv, world: number): Promise<{ state: Omit<WorldState, "ctrl">; episode: number }> {
    const kept = new Set(env.plan.fields.filter((f) => f.arena === "state").map((f) => f.name));
    const names = ["qpos", "qvel", "act", "qacc_warmstart", "mocap_pos", "mocap_quat", "eq_active", "history"].filter(
      (name) => kept.has(name),
    );
    const { time, episode, ...read } = await env.getState(["time", "episode", ...names], [world]);
    const none = new Float64Array();
    const state = {
      time: time[0],
      qpos: read.qpos ?? none,
      qvel: read.qvel ?? none,
      act: read.act ?? none,
      qacc_warmstart: read.qacc_warmstart ?? none,
      mocap_pos: read.mocap_pos ?? none,
      mocap_quat: read.mocap_quat ?? none,
      eq_active: read.eq_active ?? none,
      history: read.history ?? none,
      energy_vel: none,
    };
    return { state, episode: episode[0] };
  }

  /** Makes the same control step in MuJoCo. Undefined if the step was a reset. */
  async check(
    env: VectorEnv,
    world: number,
    before: Awaited<ReturnType<EnvShadow["before"]>>,
    action: ArrayLike<number>,
  ): Promise<ShadowCheck | undefined> {
    const after = await this.before(env, world);
    if (after.episode !== before.episode) return undefined;
    return this.#shadow.check(
      { ...before.state, ctrl: controlsOf(env.spec, action, action.length, before.state) },
      {},
      after.state,
    );
  }

  delete(): void {
    this.#shadow.delete();
  }
}
