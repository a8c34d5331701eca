// a gripper that moves along given lines: the hinges' steps for a step of their end, by damped least squares (Wampler 1986)
import type { StartScene } from "../../src/env/index.ts";
import { acos, atan2, cos, sin } from "../../src/trace/math.ts";
import { add, div, mul, sqrt, square, sub, sum, type Scalar } from "../../src/trace/scalar.ts";
import {
  add3,
  column,
  cross,
  mulMat,
  mulMatVec,
  quatToMat,
  sub3,
  type Mat3,
  type Vec3,
} from "../../src/trace/vector.ts";

type Model = StartScene["model"];

/** Where the gripper is, how it lies, and each hinge's axis and anchor, all in the world (m). */
export interface Pose {
  readonly at: Vec3;
  readonly frame: Mat3;
  readonly hinges: readonly { readonly axis: Vec3; readonly anchor: Vec3 }[];
}

const three = (values: ArrayLike<number>, i: number): Vec3 => [values[3 * i], values[3 * i + 1], values[3 * i + 2]];

/** Where the gripper is with hinges at angles `q` (rad), one for each of `joints`, each of a body of its own from the base on. */
export function poseOf(model: Model, joints: readonly string[], site: string, q: readonly Scalar[]): Pose {
  const end = model.names.site.indexOf(site);
  const chain: number[] = [];
  for (let b = model.site_bodyid[end]; b > 0; b = model.body_parentid[b]) chain.unshift(b);
  let [at, frame]: [Vec3, Mat3] = [
    [0, 0, 0],
    [1, 0, 0, 0, 1, 0, 0, 0, 1],
  ];
  const hinges: Pose["hinges"][number][] = [];
  for (const body of chain) {
    at = add3(at, mulMatVec(frame, three(model.body_pos, body)));
    const [w, x, y, z] = model.body_quat.slice(4 * body, 4 * body + 4);
    frame = mulMat(frame, quatToMat([w, x, y, z]));
    const i = joints.findIndex((name) => model.jnt_bodyid[model.names.joint.indexOf(name)] === body);
    if (i < 0) continue;
    const [s, c] = [sin(q[i]), cos(q[i])];
    frame = mulMat(frame, [c, mul(s, -1), 0, s, c, 0, 0, 0, 1]);
    hinges.push({ axis: column(frame, 2), anchor: at });
  }
  return { at: add3(at, mulMatVec(frame, three(model.site_pos, end))), frame, hinges };
}

/** The rotation (rad, small) that brings axes onto those of `wanted`. */
export const turnTo = (frame: Mat3, wanted: Mat3): Vec3 =>
  [0, 1, 2]
    .map((k) => cross(column(frame, k), column(wanted, k)))
    .reduce(add3)
    .map((x) => mul(x, 0.5)) as never;

/**
 * Steps of the hinges (rad) that move the end by `twist` (m, then rad) as near as it goes, `damping` away from poses where it
 * does not, and by `rest` where the end does not mind.
 */
export function hingeSteps(
  { at, hinges }: Pose,
  twist: readonly Scalar[],
  rest: readonly Scalar[],
  damping: number,
): Scalar[] {
  const columns = hinges.map(({ axis, anchor }) => [...cross(axis, sub3(at, anchor)), ...axis]);
  const row = (r: number) => columns.map((c) => c[r]);
  const dot = (a: readonly Scalar[], b: readonly Scalar[]) => sum(a.map((x, i) => mul(x, b[i])));
  const missing = twist.map((v, r) => sub(v, dot(row(r), rest)));
  const square6 = twist.map((_, r) => twist.map((__, c) => add(dot(row(r), row(c)), r === c ? damping * damping : 0)));
  const pull = solve(square6, missing);
  return columns.map((c, i) => add(rest[i], dot(c, pull)));
}

/** x of A x = b, A symmetric and positive definite, by Cholesky. */
function solve(a: readonly (readonly Scalar[])[], b: readonly Scalar[]): Scalar[] {
  const l: Scalar[][] = [];
  const less = (x: Scalar, p: readonly Scalar[], q: readonly Scalar[], n: number) =>
    Array.from({ length: n }, (_, k) => k).reduce((y, k) => sub(y, mul(p[k], q[k])), x);
  for (const [i, row] of a.entries()) {
    l.push([]);
    for (let j = 0; j < i; j++) l[i].push(div(less(row[j], l[i], l[j], j), l[j][j]));
    l[i].push(sqrt(less(row[i], l[i], l[i], i)));
  }
  const y: Scalar[] = [];
  for (const [i, row] of l.entries()) y.push(div(less(b[i], row, y, i), row[i]));
  const x: Scalar[] = [...y];
  for (let i = b.length - 1; i >= 0; i--) {
    for (let k = i + 1; k < b.length; k++) x[i] = sub(x[i], mul(l[k][i], x[k]));
    x[i] = div(x[i], l[i][i]);
  }
  return x;
}

/** The second hinge's height, from it to the fourth, from there to the sixth (x forward, z along the arm), both to the gripper (m). */
const SHOULDER = 0.333;
const [UPPER, FOREARM] = [
  [0.0825, 0.316],
  [-0.0825, 0.384],
] as const;
const [WRIST, HAND] = [0.088, 0.207];
const [LONG, FAR] = [Math.hypot(...UPPER), Math.hypot(...FOREARM)];

/** Angles of the hinges (rad) that hold the gripper at a place in reach, pointing down, its fingers before and behind. */
export function anglesOver([x, y, z]: Vec3): Scalar[] {
  const turn = atan2(y, x);
  const [ahead, up] = [sub(sqrt(add(square(x), square(y))), WRIST), add(z, HAND - SHOULDER)];
  const far2 = add(square(ahead), square(up));
  const bend = acos(div(add(far2, LONG * LONG - FAR * FAR), mul(sqrt(far2), 2 * LONG)));
  const upper = sub(atan2(ahead, up), bend);
  const forearm = atan2(sub(ahead, mul(sin(upper), LONG)), sub(up, mul(cos(upper), LONG)));
  const second = sub(upper, Math.atan2(...UPPER));
  const sixth = sub(forearm, Math.atan2(...FOREARM));
  return [turn, second, 0, sub(second, sixth), 0, sixth, sub(turn, Math.PI / 4)];
}
