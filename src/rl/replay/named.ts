// what the networks of learners with a replay see observations by, by name
import { namedNormalizer, shapesOf, type NamedArray } from "../networks/networks.ts";
import type { ReplayLearnerShape, TransitionSizes } from "./arenas.ts";

/**
 * What observations are normalised by, out of the learner's `norm`: means of 0 and deviations of 1, of the `seen` first
 * ones, if they are taken as they are.
 */
export function namedMoments(
  { env, normalizes }: TransitionSizes,
  seen: number,
  norm?: Float32Array,
): Record<string, NamedArray> {
  if (normalizes && norm) return namedNormalizer(env.observations, norm);
  const observed = (value: number) => ({ shape: [seen], data: new Float32Array(seen).fill(value) });
  return { "normalizer.mean": observed(0), "normalizer.inverse_std": observed(1) };
}

/** The shapes of what a learner of such sizes learns, by name. */
export const replayShapes = <S extends ReplayLearnerShape>(
  shape: S,
  named: (shape: S, params: Float32Array, norm: Float32Array) => Record<string, NamedArray>,
): ReturnType<typeof shapesOf> =>
  shapesOf(named(shape, new Float32Array(4 * shape.nets.params4), new Float32Array(16 * shape.k4)));
