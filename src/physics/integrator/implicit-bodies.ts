// the integrator `implicit` without a matrix over dofs: articulated bodies whose forces depend on velocities too
import { each, table } from "../../trace/control.ts";
import { add, div, isNode, mul, neg, sub, type Int, type Scalar } from "../../trace/scalar.ts";
import { add6, crossForce, crossMotion, dot6, mulInertVec, scale6, ZERO6, type Spatial } from "../../trace/spatial.ts";
import { mjtJoint } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import { eachBodyDown, eachBodyUp, eachDof, eachDofUp, movingSpatial } from "../smooth/each-body.ts";
import { Field, type ModelView, type WorldData } from "../view.ts";

const SIX = [0, 1, 2, 3, 4, 5];
const UNITS = SIX.map((k) => SIX.map((j) => Number(j === k)) as unknown as Spatial);

/** A 6 x 6 matrix by its columns: what it makes of the unit vectors. */
type Columns = readonly Spatial[];

const columnsOf = (image: (unit: Spatial) => Spatial): Columns => UNITS.map(image);
const addColumns = (a: Columns, b: Columns): Columns => a.map((column, k) => add6(column, b[k]));
const times = (A: Columns, x: Spatial): Spatial => A.map((column, k) => scale6(column, x[k])).reduce(add6);
/** Aᵀ x */
const timesTransposed = (A: Columns, x: Spatial): Spatial => A.map((column) => dot6(column, x)) as unknown as Spatial;
/** A - u vᵀ */
const subtractOuter = (A: Columns, u: Spatial, v: Spatial): Columns =>
  A.map((column, k) => add6(column, scale6(u, neg(v[k]))));
const read = (field: Field, body: Int): Columns => {
  const row = field.slice(body, 36);
  return SIX.map((k) => row.slice(6 * k, 6 * k + 6) as unknown as Spatial);
};

/** How many dofs from each on turn the bodies below at once: the rotations of a ball move together, translations of a free body turn nothing. */
function turnCounts(model: Model): number[] {
  const counts: number[] = Array(model.nv).fill(1);
  for (let j = 0; j < model.njnt; j++) {
    const isFree = model.jnt_type[j] === mjtJoint.FREE;
    if (!isFree && model.jnt_type[j] !== mjtJoint.BALL) continue;
    const own = isFree ? [0, 0, 0, 3, 0, 0] : [3, 0, 0];
    own.forEach((count, k) => (counts[model.jnt_dofadr[j] + k] = count));
  }
  return counts;
}

/**
 * (M - h dF/dv)⁻¹ force, with the derivatives of the bias forces (mj_implicit, mjd_rne_vel), in place of `force`, for trees that
 * nothing else couples. `diagonal`: -h d(other forces)/dv of each dof.
 *
 * For accelerations x of the dofs, bodies change their velocities by v = v' + S x and accelerate by a = a' + S x + h (S˙ x - w x v'),
 * with ' for the parent, S a dof's axis and w its own motion; the force on a body is I a + K v, K = h d(v x* I v)/dv. A subtree's
 * is of that form too, with I and K of its own that are not symmetric: they are passed on from the leaves up, dof by dof.
 * Reads cdof, cdof_dot, cvel, cinert, qvel.
 */
export function implicitByBodies(
  m: ModelView,
  d: WorldData,
  armature: (dof: Int) => Scalar,
  diagonal: Field,
  force: Field,
): Field {
  const h = m.timestep;
  const turning = table("implicit_turns", turnCounts(m.model), "i32");
  const [I, K] = ["implicit_I", "implicit_K"].map((name) => new Field(name, 36 * m.nbody, 36));
  const bias = new Field("implicit_bias", 6 * m.nbody, 6);
  const [ofAcceleration, ofVelocity] = ["implicit_a", "implicit_v"].map((name) => new Field(name, 6 * m.nv, 6));
  const inverses = new Field("implicit_Dinv", m.nv);
  const rates = (dof: Int) => scale6(d.cdof_dot.spatial(dof), h);
  const isSingle = turnCounts(m.model).every((count) => count === 1);

  /** h times the motion that the bodies below turn by where they pass this dof. */
  const turn = (dof: Int): Spatial => {
    const own = (k: Int) => scale6(d.cdof.spatial(k), mul(h, d.qvel.at(k)));
    if (isSingle) return own(dof);
    const sum = movingSpatial("turn", ZERO6);
    const count = turning(dof);
    if (isNode(count)) each(add(dof, count), (k) => sum.add(own(k)), { start: dof });
    else for (let k = 0; k < count; k++) sum.add(own(add(dof, k)));
    return sum.get();
  };

  each(m.nbody, (b) => {
    for (const field of [I, K, bias]) field.setRow(b, Array(field.width).fill(0));
  });
  eachBodyUp(m, (b, parent) => {
    const inertia = d.cinert.inertia(b);
    const velocity = d.cvel.spatial(b);
    const momentum = mulInertVec(inertia, velocity);
    const columns = columnsOf((e) => mulInertVec(inertia, e));
    const gyroscopic = columnsOf((e) =>
      scale6(add6(crossForce(e, momentum), crossForce(velocity, mulInertVec(inertia, e))), h),
    );
    I.setRow(b, addColumns(read(I, b), columns).flat());
    K.setRow(b, addColumns(read(K, b), gyroscopic).flat());
    eachDofUp(m, b, (dof) => {
      const axis = d.cdof.spatial(dof);
      const [A, V, p] = [read(I, b), read(K, b), bias.spatial(b)];
      const pushed = add6(times(A, add6(axis, rates(dof))), times(V, axis));
      const inverse = div(1, add(dot6(axis, pushed), add(armature(dof), diagonal.at(dof))));
      const by = turn(dof);
      const turned = V.map((column, k) => add6(column, scale6(times(A, crossMotion(by, UNITS[k])), -1)));
      const [a, v] = [timesTransposed(A, axis), timesTransposed(turned, axis)];
      const rest = sub(force.at(dof), dot6(axis, p));
      const u = scale6(pushed, inverse);
      ofAcceleration.setRow(dof, a);
      ofVelocity.setRow(dof, v);
      inverses.set(dof, inverse);
      force.set(dof, rest);
      I.setRow(b, subtractOuter(A, u, a).flat());
      K.setRow(b, subtractOuter(turned, u, v).flat());
      bias.setRow(b, add6(p, scale6(u, rest)));
    });
    I.setRow(parent, addColumns(read(I, parent), read(I, b)).flat());
    K.setRow(parent, addColumns(read(K, parent), read(K, b)).flat());
    bias.setRow(parent, add6(bias.spatial(parent), bias.spatial(b)));
  });

  const [accelerations, velocities] = ["implicit_cacc", "implicit_cvel"].map((name) => new Field(name, 6 * m.nbody, 6));
  for (const field of [accelerations, velocities]) field.setRow(0, ZERO6);
  eachBodyDown(m, (b, parent) => {
    const a = movingSpatial("a", accelerations.spatial(parent));
    const v = movingSpatial("v", velocities.spatial(parent));
    eachDof(m, b, (dof) => {
      const along = add(dot6(ofAcceleration.spatial(dof), a.get()), dot6(ofVelocity.spatial(dof), v.get()));
      const x = mul(sub(force.at(dof), along), inverses.at(dof));
      force.set(dof, x);
      const axis = d.cdof.spatial(dof);
      const moved = add6(scale6(add6(axis, rates(dof)), x), scale6(crossMotion(turn(dof), v.get()), -1));
      a.add(moved);
      v.add(scale6(axis, x));
    });
    accelerations.setRow(b, a.get());
    velocities.setRow(b, v.get());
  });
  return force;
}
