// what a learner must know of an environment, and which environments it refuses
import { CorralError } from "../../core/errors.ts";
import type { Space } from "../../env/space/spaces.ts";
import type { ObservationGroup } from "../../env/task/observation-groups.ts";
import { actionFeatures, withLevel, type ActionFeatures } from "../networks/action-features.ts";
import type { PlannedEnv } from "./learner-env.ts";

/** Bounds of actions that have none. */
export const UNBOUNDED = 3e38;

const MAX_CHOICES = 32;

/** The networks that see observations. */
export type Network = "policy" | "critic";

/** What the learner must know of an environment. */
export interface EnvShape {
  readonly id: string;
  readonly numEnvs: number;
  readonly observations: number;
  /** What policy and value function see of them, if they come in groups. */
  readonly groups?: Readonly<Record<Network, ObservationGroup>> | undefined;
  /** Means of a Gaussian policy, or logits of each choice. */
  readonly head: "gaussian" | "categorical";
  readonly outputs: number;
  /** Numbers of an action, and the alternatives of each if they are choices. */
  readonly actions: number;
  readonly alternatives: readonly number[];
  /** What is known of each action, if something is. */
  readonly features?: ActionFeatures | undefined;
}

/** What the learner must know of an environment. Throws `unsupported-space`, `needs-next-step`. */
export function envShape(env: PlannedEnv): EnvShape {
  const { id, numEnvs, singleActionSpace: space, singleObservationSpace, observationGroups } = env;
  if (env.autoreset !== "next-step") {
    throw new CorralError(
      "needs-next-step",
      `autoreset is "${env.autoreset}"; the learner bootstraps truncated episodes from their last observation, which it sees with "next-step". Make the environments with autoreset: "next-step".`,
      { autoreset: env.autoreset },
    );
  }
  const observations = singleObservationSpace.size;
  const alternatives = alternativesOf(space);
  const features = space.kind === "discrete" && space.controls ? actionFeatures(space.controls) : undefined;
  const { policy, critic = policy } = observationGroups;
  const groups = policy && { policy, critic };
  const shape = { id, numEnvs, observations, groups, actions: space.size, alternatives, features };
  if (space.kind === "box") return { ...shape, head: "gaussian", outputs: space.size };
  if (alternatives.length > MAX_CHOICES) {
    throw new CorralError(
      "unsupported-space",
      `${id} takes ${alternatives.length} choices at once; the learner has room for ${MAX_CHOICES}.`,
      { choices: alternatives.length },
    );
  }
  return { ...shape, head: "categorical", outputs: alternatives.reduce((sum, n) => sum + n, 0) };
}

/**
 * Throws `unsupported-space` if actions are not continuous, or one has no bounds to be squashed into; `what` squashes
 * them, `remedy` says what to do instead.
 */
export function assertBounded(
  { id, singleActionSpace: space }: PlannedEnv,
  what = "squash is true",
  remedy = "Leave it out.",
): void {
  if (space.kind === "box" && [...space.low, ...space.high].every((x) => Math.abs(x) < UNBOUNDED)) return;
  throw new CorralError(
    "unsupported-space",
    `${what}, but the actions of ${id} are ${space.kind === "box" ? "without bounds" : "discrete"}. ${remedy}`,
  );
}

/** Throws `unsupported-space` if actions have no embeddings: nothing that differs is known of them but their number. */
export function assertEmbeddable(env: EnvShape): asserts env is EnvShape & { readonly features: ActionFeatures } {
  if (env.features && env.features.count > 0) return;
  const stand = env.features ? "all stand for the same" : "stand for none";
  throw new CorralError(
    "unsupported-space",
    `actionEmbedding makes embeddings from the controls that actions stand for; those of ${env.id} ${stand}. Leave it at 0, or make the task with actionTable(rows).`,
  );
}

/** An environment whose actions have values by embeddings. Throws `unsupported-space` if they have none. */
export function withValues(env: EnvShape): EnvShape {
  assertEmbeddable(env);
  return { ...env, features: withLevel(env.features) };
}

const alternativesOf = (space: Space): number[] =>
  space.kind === "discrete" ? [space.n] : space.kind === "multi-discrete" ? [...space.nvec] : [];
