// sizes of PPO's learner, known before there is one
import type { PlannedEnv } from "../device/learner-env.ts";
import { assertBounded, assertEmbeddable, envShape } from "../device/env-shape.ts";
import { learnerShape, type LearnerShape } from "./arenas.ts";
import type { PpoConfig } from "./config.ts";
import { assertMirroredBounds } from "./mirror.ts";

/** The sizes of the learner of an environment. Throws what its policy cannot do there. */
export function shapeOf(env: PlannedEnv, config: PpoConfig): LearnerShape {
  const facts = envShape(env);
  if (config.squash) assertBounded(env);
  if (config.actionEmbedding > 0) assertEmbeddable(facts);
  const shape = learnerShape(facts, config);
  const { singleActionSpace: space } = env;
  if (config.squash && shape.mirrors && space.kind === "box")
    assertMirroredBounds(space.low, space.high, config.mirrorActions);
  return shape;
}
