// how the forces of the medium on ellipsoids change with velocity (mjd_ellipsoidFluid)
import { add, div, dotn, max, mul, neg, sub, sum, type Scalar } from "../../trace/scalar.ts";
import { mulMatTVec, MINVAL, norm3, scale3, sub3, transpose, type Mat3, type Vec3 } from "../../trace/vector.ts";
import type { Model } from "../../model/model.ts";
import { dragMoments, ellipsoids, hasFluid, localVelocity, NFLUID, seenAlong, semiAxes } from "../smooth/fluid.ts";
import { pointJacobian } from "../smooth/jac.ts";
import type { ModelView, WorldData } from "../view.ts";

/** d(qfrc_fluid)/d(qvel) of one geom on the dofs that move it; not symmetric. */
export interface FluidBlock {
  readonly body: number;
  /** Ascending. */
  readonly dofs: readonly number[];
  /** How the force on the dof at `i` of the list changes with the rate of the one at `j`. */
  at(i: number, j: number): Scalar;
}

const map3 = (v: Vec3, f: (x: Scalar, k: number) => Scalar): Vec3 => v.map(f) as unknown as Vec3;
const skew = ([x, y, z]: Vec3): Mat3 => [0, neg(z), y, z, 0, neg(x), neg(y), x, 0];
const combine = (...parts: readonly (readonly [Scalar, Mat3])[]): Mat3 =>
  [0, 1, 2, 3, 4, 5, 6, 7, 8].map((k) => sum(parts.map(([s, m]) => mul(s, m[k])))) as unknown as Mat3;
const outer = (a: Vec3, b: Vec3): Mat3 => a.flatMap((x) => b.map((y) => mul(x, y))) as unknown as Mat3;
const diagonal = ([x, y, z]: readonly Scalar[]): Mat3 => [x, 0, 0, 0, y, 0, 0, 0, z];
const NOTHING = diagonal([0, 0, 0]);
/** The columns of a matrix times numbers. */
const columns = (m: Mat3, by: readonly Scalar[]): Mat3 => m.map((x, k) => mul(x, by[k % 3])) as unknown as Mat3;

/**
 * d(torque, force)/d(angular, linear velocity) of an ellipsoid in its frame: the blocks torque by w, torque by v, force by
 * w, force by v. `ellipsoidForce` differentiated, of which `dragAlone` leaves out lift and added mass.
 */
function localDerivative(
  model: Model,
  g: number,
  w: Vec3,
  v: Vec3,
  dragAlone: boolean,
): readonly [Mat3, Mat3, Mat3, Mat3] {
  const { density, viscosity } = model.opt;
  const fluid = model.geom_fluid.subarray(NFLUID * g, NFLUID * (g + 1));
  const [, blunt, slender, angular, kutta, magnus, ...virtual] = fluid;
  const axes = semiAxes(model, g);
  const [s0, s1, s2] = axes;
  const [, middle, large] = [...axes].sort((p, q) => p - q);
  const mass = virtual.slice(0, 3).map((x) => density * x);
  const inertia = virtual.slice(3, 6).map((x) => density * x);

  // the fluid that moves along
  const momentum = map3(v, (x, k) => mul(x, mass[k]));
  const spin = map3(w, (x, k) => mul(x, inertia[k]));
  const spun = combine([1, skew(spin)], [-1, columns(skew(w), inertia)]);
  const torqueByV = combine([1, skew(momentum)], [-1, columns(skew(v), mass)]);

  const { speed, u, face, fu, numerator, denominator, root, most, area } = seenAlong(axes, v);
  const ffu = map3(fu, (x, k) => mul(x, face[k]));

  // drag along the flow: -drag v
  const diameter = (2 / 3) * (s0 + s1 + s2);
  const flat = Math.PI * large * middle;
  const quadratic = mul(density, add(mul(area, blunt), mul(slender, sub(flat, area))));
  const drag = add(3 * Math.PI * diameter * viscosity, mul(quadratic, speed));
  // the rate of the area with the direction, times the speed
  const turned = map3(ffu, (x, k) => sub(div(x, denominator), div(fu[k], numerator)));
  const slope = map3(u, (x, k) => add(mul(quadratic, x), mul(mul(density * (blunt - slender), area), turned[k])));
  const dragByV = combine([neg(drag), diagonal([1, 1, 1])], [neg(speed), outer(u, slope)]);

  // lift from the slant, (F v x v) x v = v (F v . v) - F v (v . v), times the root of areas over the speed
  const strength = mul(kutta * density * most, div(speed, root));
  const rate = map3(fu, (x, k) => sub(sub(div(x, numerator), div(ffu[k], denominator)), u[k]));
  const across = sub3(scale3(u, numerator), fu);
  const kuttaByV = combine(
    [numerator, diagonal([1, 1, 1])],
    [2, outer(u, fu)],
    [-1, diagonal(face)],
    [-2, outer(fu, u)],
    [1, outer(across, rate)],
  );

  // lift from the spin
  const lift = magnus * density * (4 / 3) * Math.PI * s0 * s1 * s2;

  // torque against the spin: -twist w
  const moments = dragMoments(axes, slender, angular);
  const hardest = Math.max(MINVAL, ...moments.map(Math.abs));
  const part = moments.map((x) => x / hardest);
  const length = max(MINVAL / hardest, norm3(map3(w, (x, k) => mul(x, part[k]))));
  const twist = add(Math.PI * diameter ** 3 * viscosity, mul(density * hardest, length));
  const twistSlope = map3(w, (x, k) => div(mul(x, density * hardest * part[k] ** 2), length));

  if (dragAlone) {
    return [combine([neg(twist), diagonal([1, 1, 1])], [-1, outer(w, twistSlope)]), NOTHING, NOTHING, dragByV];
  }
  return [
    combine([1, spun], [neg(twist), diagonal([1, 1, 1])], [-1, outer(w, twistSlope)]),
    torqueByV,
    combine([1, skew(momentum)], [-lift, skew(v)]),
    combine([-1, columns(skew(w), mass)], [lift, skew(w)], [1, dragByV], [strength, kuttaByV]),
  ];
}

const symmetric = (a: Mat3): Mat3 => combine([0.5, a], [0.5, transpose(a)]);

/** Blocks of the ellipsoids of bodies; with `symmetrised` what of them is symmetric in the geom's frame, of the drag alone or of all. */
export function ellipsoidBlocks(
  m: ModelView,
  d: WorldData,
  of: (body: number) => boolean,
  symmetrised = false,
  dragAlone = false,
): FluidBlock[] {
  const { model } = m;
  if (!hasFluid(model)) return [];
  return ellipsoids(model).flatMap((g) => {
    const body = model.geom_bodyid[g];
    if (model.body_mass[body] < MINVAL || !of(body)) return [];
    const [pos, mat] = [d.geom_xpos.vec3(g), d.geom_xmat.mat3(g)];
    let blocks = localDerivative(model, g, ...localVelocity(m, d, body, pos, mat), dragAlone);
    if (symmetrised) {
      const half = combine([0.5, blocks[1]], [0.5, transpose(blocks[2])]);
      blocks = [symmetric(blocks[0]), half, transpose(half), symmetric(blocks[3])];
    }
    const arms = pointJacobian(m, d, body, pos).map(({ dof, rot, trans }) => {
      const [turn, move] = [mulMatTVec(mat, rot), mulMatTVec(mat, trans)];
      const times = (by: Mat3, v: Vec3) => [0, 1, 2].map((k) => dotn(by.slice(3 * k, 3 * k + 3), v));
      const torque = times(blocks[0], turn).map((x, k) => add(x, times(blocks[1], move)[k]));
      const force = times(blocks[2], turn).map((x, k) => add(x, times(blocks[3], move)[k]));
      return { dof, along: [...turn, ...move], wrench: [...torque, ...force] };
    });
    return [{ body, dofs: arms.map(({ dof }) => dof), at: (i, j) => dotn(arms[i].along, arms[j].wrench) }];
  });
}
