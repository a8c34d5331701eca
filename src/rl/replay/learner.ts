// what the learners of algorithms with a replay share
import { SUM_PARTS } from "../device/arenas.ts";
import type { Backing } from "../device/backing.ts";
import { bindEnv, type Bound } from "../device/bind-env.ts";
import type { Bind, JobOf, KernelName } from "../device/kernel-table.ts";
import { LearnerCore } from "../device/learner-core.ts";
import type { LearnerEnv } from "../device/learner-env.ts";
import { REPLAY_STEP } from "../tables/device-tables.ts";
import type { ReplayLearnerShape } from "./arenas.ts";

/** What a snapshot holds, between two updates; with the ring, where all of it lies on the device. */
const SNAPSHOT_ARENAS = ["params", "moments", "state", "worlds"] as const;
const RING = ["replay_obs", "replay_actions", "replay_steps"] as const;

/** A batch that is learnt from. */
export interface Batch {
  /** Number of the batch, which names its random numbers. */
  readonly draw: number;
  readonly flags: number;
  /** Whether it is drawn from the ring on the device; else it is there already. */
  readonly samples: boolean;
}

/** What learns: the critics, then, of soft actor-critics, the policy and the temperature. */
export type Half = "critics" | "policy";

/** The stages of half a batch that is there already, one submission each. */
export type BatchStages = Record<"prepare" | "forward" | "loss" | "backward" | "optimize", () => void>;

export abstract class ReplayLearner<S extends ReplayLearnerShape = ReplayLearnerShape> extends LearnerCore<S> {
  /** `kept`: arenas of its own that a snapshot holds. */
  protected constructor(shape: S, backing: Backing, kept: readonly string[] = []) {
    const norm = shape.normalizes ? ["norm"] : [];
    super(shape, backing, [...SNAPSHOT_ARENAS, ...kept, ...norm, ...(shape.window === shape.capacity ? RING : [])]);
  }

  /** Binds what draws transitions, what counts episodes, and what makes moments of observations. */
  protected bindShared(bind: Bind): void {
    const { row4, actions4 } = this.shape;
    bind("sample", "sample", { row4, actions4 });
    bind("sum_worlds", "sum_worlds");
    bind("episodes", "episodes");
    if (this.shape.normalizes) for (const name of ["sum_ring_obs", "merge_ring_obs"] as const) bind(name, name);
  }

  /** Binds the kernel that acts to an environment, whose steps go into the ring. */
  protected bindActing<K extends KernelName>(env: LearnerEnv, act: K, job: JobOf<K>): Promise<Bound> {
    const [rollout_obs, rollout_actions, samples] = RING;
    const row = { row: REPLAY_STEP.size, row_reward: REPLAY_STEP.at("reward"), row_flags: REPLAY_STEP.at("flags") };
    return bindEnv(this, env, { act, job, row, arenas: { rollout_obs, rollout_actions, samples } });
  }

  /** The newest rows of the ring, so many of each world from row `t` on, move the moments of observations. */
  observeMoments(t: number, steps: number): void {
    const { obs4, env } = this.shape;
    this.submit("moments", { t, samples: steps * env.numEnvs }, (pass) => {
      this.run(pass, "sum_ring_obs", SUM_PARTS * obs4);
      this.run(pass, "merge_ring_obs", obs4);
    });
  }

  /** Sums what episodes that have ended returned, for the metrics. */
  countEpisodes(): void {
    this.submit("episodes", {}, (pass) => {
      this.run(pass, "sum_worlds", SUM_PARTS);
      this.run(pass, "episodes", 1);
    });
  }
}
