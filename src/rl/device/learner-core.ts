// what the learners of all algorithms share: their sizes, jobs, the environments they act in, their first numbers
import type { Backing } from "./backing.ts";
import { initialNorm, initialWorlds, type Bound } from "./bind-env.ts";
import { DeviceCore } from "./device-core.ts";
import type { Bind } from "./kernel-table.ts";
import type { LearnerEnv } from "./learner-env.ts";
import { STATE_SIZE } from "../tables/device-tables.ts";

export interface LearnerSizes {
  /** Rows that the networks have room for. */
  readonly rows: number;
  /** vec4s of an observation in the network, of an action, of all parameters. */
  readonly k4: number;
  readonly actions4: number;
  readonly nets: { readonly params4: number };
}

export abstract class LearnerCore<S extends LearnerSizes = LearnerSizes> extends DeviceCore {
  readonly shape: S;
  readonly #bound = new WeakMap<LearnerEnv, Promise<Bound>>();

  /** `kept`: arenas that a snapshot holds. */
  protected constructor(shape: S, backing: Backing, kept: readonly string[]) {
    super(backing, kept);
    this.shape = shape;
    this.uniforms.set({ work_rows: shape.rows });
  }

  /** Binds the jobs that `list` names, all at once. */
  protected async bindJobs(list: (bind: Bind) => void): Promise<void> {
    const binds: Promise<void>[] = [];
    list((name, kernel, job) => void binds.push(this.bind(name, kernel, job)));
    const ends = await Promise.allSettled(binds);
    for (const end of ends) if (end.status === "rejected") throw end.reason;
  }

  /** The kernels that read and write an environment of the learner's shape, bound at the first call. */
  bindEnv(env: LearnerEnv): Promise<Bound> {
    let bound = this.#bound.get(env);
    if (!bound) {
      this.#bound.set(env, (bound = this.bindPolicy(env)));
      // memory that was refused may be there the next time
      bound.catch(() => this.#bound.delete(env));
    }
    return bound;
  }

  protected abstract bindPolicy(env: LearnerEnv): Promise<Bound>;

  /** Numbers as at the start of a run: these parameters, Adam's means of `moments4` vec4s at 0, and a state. */
  protected writeFirst(
    env: LearnerEnv,
    params: Float32Array<ArrayBuffer>,
    moments4: number,
    setState: (state: Float32Array<ArrayBuffer>) => void,
  ): void {
    const { k4, actions4 } = this.shape;
    this.write("params", params);
    this.write("moments", new Float32Array(8 * moments4));
    this.write("norm", initialNorm(env, 4 * k4, 4 * actions4));
    this.write("worlds", initialWorlds(env));
    const state = new Float32Array(STATE_SIZE);
    setState(state);
    this.write("state", state);
  }
}
