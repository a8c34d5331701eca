// forces of the medium that bodies move through (mj_fluid)
import { each, when } from "../../trace/control.ts";
import { abs, add, div, eq, max, mul, neg, sqrt, square, sub, sum, type Int, type Scalar } from "../../trace/scalar.ts";
import { add6, motionAt, rotational, translational, ZERO6, type Spatial } from "../../trace/spatial.ts";
import {
  add3,
  cross,
  dot3,
  mulMatTVec,
  mulMatVec,
  norm3,
  scale3,
  sub3,
  MINVAL,
  type Mat3,
  type Vec3,
} from "../../trace/vector.ts";
import { mjtDisableBit, mjtGeom } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import { aboutTree, alongDofs } from "./body-forces.ts";
import { pointJacobian } from "./jac.ts";
import type { Sparsity } from "./sparsity.ts";
import { outerProduct, type Entry } from "../tendon/moment-arms.ts";
import { Column, Field, type WorldData, type ModelView } from "../view.ts";

/** Numbers of geom_fluid for each geom. */
export const NFLUID = 12;

/** Geoms that the ellipsoid model is asked for. */
export const ellipsoids = (model: Model): number[] =>
  Array.from({ length: model.ngeom }, (_, g) => g).filter((g) => model.geom_fluid[NFLUID * g] > 0);

/** Whether any force of a medium acts. */
export function hasFluid({ opt }: Pick<Model, "opt">): boolean {
  const noPassive = mjtDisableBit.SPRING | mjtDisableBit.DAMPER;
  return (opt.density !== 0 || opt.viscosity !== 0) && (opt.disableflags & noPassive) !== noPassive;
}

/** Whether some geom's force follows the ellipsoid model. */
export const hasEllipsoids = (model: Model): boolean => hasFluid(model) && ellipsoids(model).length > 0;

/** Bodies that are boxes of the same inertia to the medium: those with mass and without an ellipsoid. */
function boxBodies(model: Model): boolean[] {
  const shaped = new Set(ellipsoids(model).map((g) => model.geom_bodyid[g]));
  return Array.from(model.body_mass, (mass, b) => mass >= MINVAL && !shaped.has(b));
}

/** Angular and linear velocity relative to the medium of a frame that a body carries, in that frame. */
export function localVelocity(m: ModelView, d: WorldData, body: Int, pos: Vec3, mat: Mat3): [Vec3, Vec3] {
  const v = motionAt(d.cvel.spatial(body), pos, d.subtree_com.vec3(m.body_rootid.at(body)));
  const wind = m.opt.wind as unknown as Vec3;
  return [mulMatTVec(mat, rotational(v)), mulMatTVec(mat, sub3(translational(v), wind))];
}

/** Sides of the box with a body's mass and inertia (m). */
function inertiaBox(m: ModelView, body: Int): Vec3 {
  const [x, y, z] = m.body_inertia.vec3(body);
  const scale = div(6, m.body_mass.at(body));
  const side = (a: Scalar, b: Scalar, c: Scalar) => sqrt(mul(max(MINVAL, sub(add(a, b), c)), scale));
  return [side(y, z, x), side(x, z, y), side(x, y, z)];
}

const fourth = (x: Scalar): Scalar => square(square(x));

/** Coefficients of a box's drag, rotation then translation: of the velocity, and of its product with its size. */
function boxDrag(m: ModelView, box: Vec3): { linear: Spatial; quadratic: Spatial } {
  const { density, viscosity } = m.opt;
  const diameter = div(sum(box), 3);
  const turning = mul(Math.PI * viscosity, mul(diameter, square(diameter)));
  const moving = mul(3 * Math.PI * viscosity, diameter);
  const others = (k: number) => [box[(k + 1) % 3], box[(k + 2) % 3]];
  const torque = [0, 1, 2].map((k) => {
    const [a, b] = others(k);
    return mul(density / 64, mul(box[k], add(fourth(a), fourth(b))));
  });
  const force = [0, 1, 2].map((k) => mul(0.5 * density, mul(...(others(k) as [Scalar, Scalar]))));
  return {
    linear: [turning, turning, turning, moving, moving, moving],
    quadratic: [...torque, ...force] as unknown as Spatial,
  };
}

/** Torque and force on a body as on the box of its inertia, global (mj_inertiaBoxFluidModel). */
function boxForce(m: ModelView, d: WorldData, body: Int): Spatial {
  const [pos, mat] = [d.xipos.vec3(body), d.ximat.mat3(body)];
  const velocity = localVelocity(m, d, body, pos, mat).flat();
  const { linear, quadratic } = boxDrag(m, inertiaBox(m, body));
  const local = velocity.map((v, k) => neg(mul(v, add(linear[k], mul(quadratic[k], abs(v))))));
  const turned = (k: number) => mulMatVec(mat, local.slice(k, k + 3) as unknown as Vec3);
  return aboutTree(m, d, body, turned(0), turned(3), pos);
}

/** Half axes of the ellipsoid that stands for a geom (mju_geomSemiAxes), m. */
export function semiAxes(model: Model, g: number): [number, number, number] {
  const [a, b, c] = model.geom_size.subarray(3 * g, 3 * g + 3);
  if (model.geom_type[g] === mjtGeom.SPHERE) return [a, a, a];
  if (model.geom_type[g] === mjtGeom.CAPSULE) return [a, a, a + b];
  return model.geom_type[g] === mjtGeom.CYLINDER ? [a, a, b] : [a, b, c];
}

/** What resists the turning of an ellipsoid about each of its axes, by the square of its rate and the medium's density. */
export function dragMoments(axes: readonly number[], slender: number, angular: number): number[] {
  const [, middle, large] = [...axes].sort((p, q) => p - q);
  const moment = (axis: number, other: number) => (8 / 15) * Math.PI * axis * other ** 4;
  return axes.map((axis, k) => {
    const own = moment(axis, Math.max(axes[(k + 1) % 3], axes[(k + 2) % 3]));
    return angular * own + slender * (moment(middle, large) - own);
  });
}

/** A squared speed over the size below which no direction is left. */
const STILL = 1e-30;

/** What is seen of an ellipsoid along its velocity. Squared areas are parts of the largest: sizes of a millimetre stay normal numbers. */
export function seenAlong(axes: readonly number[], v: Vec3) {
  const [s0, s1, s2] = axes;
  const areas = [(s1 * s2) ** 2, (s2 * s0) ** 2, (s0 * s1) ** 2];
  const largest = Math.max(...areas);
  const face = areas.map((x) => x / largest);
  const speed = norm3(v);
  const u = scale3(v, div(1, max(speed, MINVAL)));
  const fu = u.map((x, k) => mul(x, face[k])) as unknown as Vec3;
  const numerator = max(STILL, dot3(fu, u));
  const denominator = max(STILL, dot3(fu, fu));
  const root = sqrt(div(denominator, numerator));
  /** The area (m²) is this times `root`. */
  const most = Math.PI * Math.sqrt(largest);
  return { speed, u, face, fu, numerator, denominator, root, most, area: mul(most, root) };
}

/** Forces on an ellipsoid in its frame: torque and force of added mass, drag and lift (mj_ellipsoidFluidModel). */
function ellipsoidForce(model: Model, g: number, w: Vec3, v: Vec3): [Vec3, Vec3] {
  const { density, viscosity } = model.opt;
  const [, blunt, slender, angular, kutta, magnus, ...virtual] = model.geom_fluid.subarray(
    NFLUID * g,
    NFLUID * (g + 1),
  );
  const axes = semiAxes(model, g);
  const [s0, s1, s2] = axes;
  const [, middle, large] = [...axes].sort((p, q) => p - q);

  // momentum of the fluid that moves along
  const momentum = v.map((x, k) => mul(x, density * virtual[k])) as unknown as Vec3;
  const spin = w.map((x, k) => mul(x, density * virtual[3 + k])) as unknown as Vec3;
  const addedForce = cross(momentum, w);
  const addedTorque = add3(cross(momentum, v), cross(spin, w));

  // lift, from the spin and from the slant
  const { speed, u, fu, root, most, area } = seenAlong(axes, v);
  const volume = (4 / 3) * Math.PI * s0 * s1 * s2;
  const magnusForce = scale3(cross(w, v), magnus * density * volume);
  const slant = mul(kutta * density * most, div(square(speed), root));
  const lift = add3(magnusForce, scale3(cross(cross(fu, u), u), slant));

  // drag of a sphere of the mean radius, and of the surfaces that face the flow
  const diameter = (2 / 3) * (s0 + s1 + s2);
  const flat = Math.PI * large * middle;
  const drag = add(
    3 * Math.PI * diameter * viscosity,
    mul(mul(density, speed), add(mul(area, blunt), mul(slender, sub(flat, area)))),
  );
  const moments = dragMoments(axes, slender, angular);
  const turning = w.map((x, k) => mul(x, moments[k])) as unknown as Vec3;
  const twist = add(Math.PI * diameter ** 3 * viscosity, mul(density, norm3(turning)));

  const force = sub3(add3(addedForce, lift), scale3(v, drag));
  return [sub3(addedTorque, scale3(w, twist)), force];
}

/**
 * Forces of the medium in joint space: on each body as on a box of its inertia, or on its geoms as on ellipsoids.
 * Reads xipos, ximat, geom_xpos, geom_xmat, subtree_com, cvel, cdof; writes qfrc_fluid.
 */
export function fluid(m: ModelView, d: WorldData): void {
  const { model } = m;
  const forces = new Field("fluid_force", 6 * m.nbody, 6);
  const isBox = new Column("body_fluid_box", Int32Array.from(boxBodies(model), Number), "i32");
  each(m.nbody, (b) => {
    forces.setRow(b, ZERO6);
    when(eq(isBox.at(b), 1), () => forces.setRow(b, boxForce(m, d, b)));
  });

  for (const g of ellipsoids(model)) {
    const b = model.geom_bodyid[g];
    if (model.body_mass[b] < MINVAL) continue;
    const [pos, mat] = [d.geom_xpos.vec3(g), d.geom_xmat.mat3(g)];
    const [torque, force] = ellipsoidForce(model, g, ...localVelocity(m, d, b, pos, mat));
    const whole = aboutTree(m, d, b, mulMatVec(mat, torque), mulMatVec(mat, force), pos);
    forces.setRow(b, add6(forces.spatial(b), whole));
  }
  alongDofs(m, d, forces, (dof, force) => d.qfrc_fluid.set(dof, force));
}

/**
 * Entries of d(qfrc_fluid)/d(qvel) of the boxes (mjd_inertiaBoxFluid): each drag along its axis, on the sparsity of M.
 * Reads xipos, ximat, subtree_com, cvel, cdof.
 */
export function fluidEntries(m: ModelView, d: WorldData, sparsity: Sparsity): Entry[] {
  const isBox = boxBodies(m.model);
  return Array.from({ length: m.nbody }, (_, b) => b)
    .filter((b) => isBox[b])
    .flatMap((b) => {
      const [pos, mat] = [d.xipos.vec3(b), d.ximat.mat3(b)];
      const velocity = localVelocity(m, d, b, pos, mat).flat();
      const { linear, quadratic } = boxDrag(m, inertiaBox(m, b));
      const arms = pointJacobian(m, d, b, pos).map(({ dof, rot, trans }) => ({
        dof,
        local: [...mulMatTVec(mat, rot), ...mulMatTVec(mat, trans)],
      }));
      return velocity.flatMap((v, k) => {
        const slope = neg(add(linear[k], mul(mul(2, quadratic[k]), abs(v))));
        return outerProduct(
          arms.map(({ dof, local }) => ({ dof, coef: local[k] })),
          slope,
          sparsity,
        );
      });
    });
}
