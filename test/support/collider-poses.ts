// poses of two geoms: random ones, and ones where edges, axes and surfaces line up
import { colliders, type ColliderName } from "../../src/physics/collision/colliders/index.ts";
import type { Pose } from "./collider-scene.ts";
import type { Random } from "./mjcf-random.ts";

type Vector = readonly number[];

/** Pairs whose contacts MuJoCo has formulas for; it searches the others, `test/oracle/capsule-cylinder.test.ts`. */
export const EXACT_KINDS = (Object.keys(colliders) as ColliderName[]).filter((kind) => kind !== "capsule-cylinder");

/** The product of two quaternions. */
export function product(a: Vector, b: Vector): number[] {
  return [
    a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
    a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
    a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
    a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
  ];
}

export function rotate(q: Vector, v: Vector): number[] {
  return product(product(q, [0, ...v]), [q[0], -q[1], -q[2], -q[3]]).slice(1);
}

export function turn(axis: Vector, angle: number): number[] {
  return [Math.cos(angle / 2), ...axis.map((x) => x * Math.sin(angle / 2))];
}

export const normal = (r: Random): number =>
  Math.sqrt(-2 * Math.log(1 - r.between(0, 1))) * Math.cos(2 * Math.PI * r.between(0, 1));

export function unit(r: Random, n: number): number[] {
  const v = Array.from({ length: n }, () => normal(r));
  const length = Math.hypot(...v);
  return v.map((x) => x / length);
}

export const IDENTITY = [1, 0, 0, 0];

/** geom_size of a geom type as MJCF takes it, in metres. */
export function randomSize(r: Random, type: string): number[] {
  switch (type) {
    case "plane":
      return [1, 1, 1];
    case "sphere":
      return [r.between(0.05, 0.5)];
    case "ellipsoid":
    case "box":
      return [r.between(0.05, 0.5), r.between(0.05, 0.5), r.between(0.05, 0.5)];
    default:
      return [r.between(0.05, 0.3), r.between(0.05, 0.6)];
  }
}

export function randomSizes(r: Random, kind: ColliderName): [number[], number[]] {
  const [type1, type2] = kind.split("-");
  return [randomSize(r, type1), randomSize(r, type2)];
}

/** Any orientation, centres up to 1.2 m apart: from concentric to apart. */
export function randomPoses(r: Random): [Pose, Pose] {
  const at = [r.between(-1, 1), r.between(-1, 1), r.between(-1, 1)];
  const distance = r.between(0, 1.2);
  const to = unit(r, 3).map((x, k) => at[k] + distance * x);
  return [
    [...at, ...unit(r, 4)],
    [...to, ...unit(r, 4)],
  ];
}

const AXES = [
  [1, 0, 0],
  [0, 1, 0],
  [0, 0, 1],
];

/**
 * Axes aligned or at 45 degrees up to a tilt (rad), offsets that are sums of sizes: touching, flush, concentric, end
 * over edge.
 */
export function alignedPoses(r: Random, size1: Vector, size2: Vector, tilts: readonly number[]): [Pose, Pose] {
  const quarter = () => turn(r.pick(AXES), (r.whole(0, 7) * Math.PI) / 4);
  const base = r.chance(0.6) ? IDENTITY : unit(r, 4);
  const tilt = turn(unit(r, 3), r.pick(tilts));
  const relative = product(r.chance(0.5) ? quarter() : product(quarter(), quarter()), tilt);
  const term = () => {
    const [a, b] = [r.pick(size1), r.pick(size2)];
    return r.pick([0, 0, a, -a, b, -b, a + b, -a - b, r.between(-0.5, 0.5)]) + r.pick([0, 0, 1e-3, -1e-2]);
  };
  const at = r.chance(0.5) ? [0, 0, 0] : [r.between(-1, 1), r.between(-1, 1), r.between(-1, 1)];
  const to = rotate(base, [term(), term(), term()]).map((x, k) => at[k] + x);
  return [
    [...at, ...base],
    [...to, ...product(base, relative)],
  ];
}

/** A pose moved by up to `epsilon` (m, rad) in every direction. */
export function nudge(r: Random, pose: Pose, epsilon: number): Pose {
  const to = pose.slice(0, 3).map((x) => x + epsilon * r.between(-1, 1));
  const small = [0, 1, 2].map(() => (epsilon / 2) * r.between(-1, 1));
  return [...to, ...product([1, ...small], pose.slice(3))];
}
