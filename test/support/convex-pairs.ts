// random pairs of convex shapes, and the search between them as a program that tests run
import { getMuJoCo } from "../../src/model/mujoco.ts";
import { convexDistance } from "../../src/physics/collision/convex/index.ts";
import type { ConvexShape } from "../../src/physics/collision/convex/types.ts";
import { select, type Scalar } from "../../src/trace/scalar.ts";
import {
  ConvexScene,
  randomBody,
  shapeOf,
  shapeRow,
  SHAPE_INPUTS,
  type Frames,
  type Kind,
  type PackedHulls,
} from "./convex-scene.ts";
import type { Random } from "./mjcf-random.ts";
import { program, type TestProgram } from "./trace-runner.ts";

export const SEARCH = { iterations: 50, tolerance: 1e-6, multiccd: false };

/** Numbers that a program takes of a pair and its margin. */
export const PAIR_INPUTS = 2 * SHAPE_INPUTS + 1;

/** Scenes of two shapes: powers of ten of the first's size, and of how much larger or smaller the second may be. */
export async function randomPairs(
  r: Random,
  kinds: readonly [Kind, Kind],
  vertices: number,
  { count, sizes, ratio }: { count: number; sizes: readonly [number, number]; ratio: number },
): Promise<ConvexScene[]> {
  const mujoco = await getMuJoCo();
  return Array.from({ length: count }, () => {
    const scale = 10 ** r.between(...sizes);
    const other = scale * 10 ** r.between(-ratio, ratio);
    return new ConvexScene(mujoco, [
      randomBody(r, kinds[0], scale, vertices),
      randomBody(r, kinds[1], other, vertices),
    ]);
  });
}

/** What a program takes of a pair. */
export const pairRow = (scene: ConvexScene, frames: Frames, hulls: PackedHulls, margin: number): number[] => [
  ...shapeRow(scene, 0, frames, hulls),
  ...shapeRow(scene, 1, frames, hulls),
  margin,
];

/** The two shapes that a row describes, each of one of the kinds given for it, and their margin. */
export function pairOf(
  x: readonly Scalar[],
  kinds: readonly [readonly Kind[], readonly Kind[]],
  hulls: PackedHulls,
): { readonly shapes: readonly [ConvexShape, ConvexShape]; readonly margin: Scalar } {
  const tables = kinds.flat().includes("mesh") ? hulls.tables() : undefined;
  const [a, b] = [x.slice(0, SHAPE_INPUTS), x.slice(SHAPE_INPUTS)].map((of, i) => shapeOf(of, tables, kinds[i]));
  return { shapes: [a, b], margin: x[2 * SHAPE_INPUTS] };
}

/** Whether shapes are nearer than the margin, their distance, normal, and the nearest points of both: 11 numbers. */
export const distanceProgram = (kinds: readonly [readonly Kind[], readonly Kind[]], hulls: PackedHulls): TestProgram =>
  program(PAIR_INPUTS, 11, (x: Scalar[]) => {
    const { shapes, margin } = pairOf(x, kinds, hulls);
    const found = convexDistance(...shapes, margin, SEARCH);
    return [select(found.hit, 1, 0), found.dist, ...found.normal, ...found.from, ...found.to];
  });

/** Gives the models of scenes back. */
export const dispose = (of: readonly { readonly scene: ConvexScene }[]): void =>
  new Set(of.map((s) => s.scene)).forEach((scene) => scene[Symbol.dispose]());

export const apart = (a: readonly number[], b: readonly number[]): number => Math.hypot(...a.map((x, k) => x - b[k]));

/** The value that a share of all is at most. Sorts them. */
export const percentile = (of: number[], share: number): number =>
  of.sort((a, b) => a - b)[Math.floor(share * (of.length - 1))];
