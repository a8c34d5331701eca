// what PPO learns, by name
import type { LearnerShape } from "./arenas.ts";
import { namedNormalizer, namedParameters, shapesOf, type NamedArray } from "../networks/networks.ts";

/** Parameters and normalisers out of the arenas that hold them; see `namedParameters` and `namedNormalizer`. */
export const namedPpo = (
  { nets, env }: LearnerShape,
  floats: (arena: "params" | "norm") => Float32Array,
): Record<string, NamedArray> => ({
  ...namedParameters(nets, floats("params")),
  ...namedNormalizer(env.observations, floats("norm")),
});

/** The shapes of what a learner of such sizes learns, by name. */
export const ppoShapes = (shape: LearnerShape): ReturnType<typeof shapesOf> =>
  shapesOf(namedPpo(shape, (arena) => new Float32Array(arena === "params" ? 4 * shape.nets.params4 : 0)));
