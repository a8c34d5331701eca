// where the terrain of a task's worlds lies
import type { VectorEnv } from "../env/host/vector-env.ts";

const NAMES = ["terrain_x", "terrain_y", "terrain_z"];

/** Names of its state; none of a task without terrain. */
export const groundNames = ({ stateNames }: VectorEnv): readonly string[] =>
  NAMES.every((name) => stateNames.includes(name)) ? NAMES : [];

/** Where the ground of a world lies (m), of values of those names. */
export const groundOf = (
  values: Readonly<Record<string, ArrayLike<number>>>,
  world: number,
): { readonly ground?: readonly number[] } =>
  NAMES[0] in values ? { ground: NAMES.map((name) => values[name][world]) } : {};
