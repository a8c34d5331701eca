// the memory that learners with a replay share: sizes of a transition, and their plan
import type { ArenaRequest, PlanLimits } from "../../memory/request.ts";
import {
  planArenas,
  replayArenas,
  sharedArena,
  stagingArena,
  SUM_PARTS,
  slotsArena,
  worldsArena,
} from "../device/arenas.ts";
import type { EnvShape } from "../device/env-shape.ts";
import type { LearnerSizes } from "../device/learner-core.ts";
import type { LearnerPlan } from "../device/wasm-plan.ts";
import { replayRows, type ReplayConfig } from "../device/shared-options.ts";
import { padTo, TILE } from "../networks/networks.ts";
import { NOTE, STATE_SIZE, UNIFORM_SLOTS, UNIFORMS_BYTES } from "../tables/device-tables.ts";
import { JOB_BYTES } from "../tables/job-tables.ts";

/** Sizes that follow from the environment and the options of a replay. */
export interface TransitionSizes {
  readonly env: EnvShape;
  readonly batch: number;
  /** vec4s of an observation in the environment and in the network, of an action, of a transition. */
  readonly obs4: number;
  readonly k4: number;
  readonly actions4: number;
  readonly row4: number;
  /** Rows of the replay for each world, and how many of them lie on the device. */
  readonly capacity: number;
  readonly window: number;
  /** Whether observations are normalised by their running moments. */
  readonly normalizes: boolean;
}

export interface ReplayLearnerShape extends TransitionSizes, LearnerSizes {
  /** The parameter vector: all that has gradients (vec4s), then the targets. */
  readonly nets: { readonly total4: number; readonly params4: number };
  readonly work: { readonly size4: number };
  readonly jobs: number;
}

/** Throws `bad-option` if the replay is too small. */
export function transitionSizes(env: EnvShape, config: ReplayConfig): TransitionSizes {
  const [obs4, actions4] = [padTo(env.observations, 4) / 4, padTo(env.actions, 4) / 4];
  const capacity = replayRows(config, env.numEnvs);
  return {
    env,
    batch: config.batchSize,
    obs4,
    k4: padTo(env.observations, TILE) / 4,
    actions4,
    row4: 2 * obs4 + actions4 + NOTE.size / 4,
    capacity,
    window: config.storage === "gpu" ? capacity : config.collectSteps,
    normalizes: config.normalizeObservations,
  };
}

/** Where the parts of a transition lie in `batch`, in floats: a kernel's job. */
export const transitionParts = ({ obs4, actions4, row4 }: TransitionSizes) => ({
  batch_row: 4 * row4,
  batch_next: 4 * obs4,
  batch_action: 8 * obs4,
  batch_notes: 8 * obs4 + 4 * actions4,
});

/** What a network that is too large is told to do. */
export const NARROWER = "narrower hidden layers";

/** Plans every buffer of a learner with a replay: those that all have, and its `own`. Needs no device. */
export function planReplayLearner(
  algo: string,
  shape: ReplayLearnerShape,
  own: readonly ArenaRequest[],
  limits?: PlanLimits,
): LearnerPlan {
  const { env, nets, work, k4, obs4, actions4, batch, window } = shape;
  const sums4 = shape.normalizes ? Math.max(3, 2 * obs4) : 3;
  const arenas: ArenaRequest[] = [
    sharedArena("params", nets.params4, NARROWER),
    sharedArena("moments", 2 * nets.total4, NARROWER),
    sharedArena("grads", nets.total4, NARROWER),
    ...own,
    sharedArena("work", work.size4, "a smaller batchSize"),
    sharedArena("batch", batch * shape.row4, "a smaller batchSize"),
    sharedArena("norm", 4 * k4 + 2 * actions4),
    sharedArena("scratch", SUM_PARTS * sums4),
    sharedArena("state", STATE_SIZE / 4),
    ...replayArenas(env.numEnvs * window, obs4, actions4),
    worldsArena(),
    slotsArena("uniforms", (UNIFORM_SLOTS * UNIFORMS_BYTES) / 4),
    slotsArena("jobs", (shape.jobs * JOB_BYTES) / 4),
    stagingArena(4 * nets.params4),
  ];
  const plan = planArenas(`${env.id}.${algo}`, env.numEnvs, arenas, limits);
  return { ...plan, products: shape.rows * 4 * nets.params4 };
}
