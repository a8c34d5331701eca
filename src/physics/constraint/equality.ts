// constraint rows of equality constraints (mj_instantiateEquality, mj_Jdotv)
import { add, isNode, mul, ne, neg, sqrt, square, sub, sum, type Scalar } from "../../trace/scalar.ts";
import {
  add3,
  cross,
  dot3,
  mulMatTVec,
  mulMatVec,
  mulQuat,
  neg3,
  negQuat,
  scale3,
  sub3,
  ZERO3,
  type Mat3,
  type Quat,
  type Vec3,
} from "../../trace/vector.ts";
import { rotational, spatial, type Spatial } from "../../trace/spatial.ts";
import { mjtConstraint, mjtEq, mjtObj } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import { equalityBodies } from "../../model/pairs.ts";
import { bodyDofs } from "./body-dofs.ts";
import type { ConstraintForces } from "./constraint-forces.ts";
import { biasAcceleration, differenceJacobian, pointJacobian } from "../smooth/jac.ts";
import { listRows, makeRow, type Row, type RowSpec } from "./rows.ts";
import { addArms, type Arm } from "../tendon/moment-arms.ts";
import { isDense, tendonArms, tendonDofs } from "../tendon/tendon.ts";
import type { WorldData, ModelView } from "../view.ts";

const NDATA = 11;
const TORQUE_SCALE = 10;

/** One end of a connect or weld: a point of a body, and for welds the frame that is held. */
interface End {
  readonly body: number;
  readonly pos: Vec3;
  readonly quat: Quat;
}

/** Whether a constraint holds two bodies together. */
const isPose = (model: Model, e: number): boolean =>
  model.eq_type[e] === mjtEq.CONNECT || model.eq_type[e] === mjtEq.WELD;

/** eq_data of a constraint. */
const dataOf = (model: Model, e: number): number[] => Array.from(model.eq_data.subarray(e * NDATA, (e + 1) * NDATA));

/** The rows of one constraint: solver parameters are its own. */
function rowsOf(
  m: ModelView,
  d: WorldData,
  e: number,
  parts: readonly Pick<RowSpec, "jac" | "pos" | "diagApprox" | "bias" | "tendons">[],
  violation?: Scalar,
): Row[] {
  const { model } = m;
  const shared = {
    type: mjtConstraint.EQUALITY,
    id: e,
    active: ne(d.eq_active.at(e), 0),
    solref: model.eq_solref.subarray(2 * e, 2 * e + 2),
    solimp: model.eq_solimp.subarray(5 * e, 5 * e + 5),
    ...(violation === undefined ? {} : { violation }),
  };
  return parts.map((part) => makeRow(m, d, { ...shared, ...part }));
}

/** The two ends of a connect or weld (mj_equalityAnchors). Reads xpos, xquat, xmat, site_xpos. */
function ends(m: ModelView, d: WorldData, e: number): [End, End] {
  const { model } = m;
  const data = dataOf(model, e);
  const ids = [model.eq_obj1id[e], model.eq_obj2id[e]];
  const bodies = equalityBodies(model, e);
  const isWeld = model.eq_type[e] === mjtEq.WELD;
  const isSite = model.eq_objtype[e] === mjtObj.SITE;
  // data: the anchors in the first and second body's frame, in a weld the other way round; then its relative pose
  const anchors = isWeld ? [data.slice(3, 6), data.slice(0, 3)] : [data.slice(0, 3), data.slice(3, 6)];
  const held: Quat[] = isSite
    ? ids.map((s) => m.site_quat.quat(s))
    : [data.slice(6, 10) as unknown as Quat, [1, 0, 0, 0]];
  return bodies.map((body, k): End => {
    const local = anchors[k] as unknown as Vec3;
    const pos = isSite ? d.site_xpos.vec3(ids[k]) : add3(d.xpos.vec3(body), mulMatVec(d.xmat.mat3(body), local));
    return { body, pos, quat: mulQuat(d.xquat.quat(body), held[k]) };
  }) as [End, End];
}

/** The vector part of p a q, for a pure quaternion a. */
const sandwich = (p: Quat, [w, x, y, z]: Quat, q: Quat): Vec3 => {
  const product = mulQuat(mulQuat(p, [w, x, y, z]), q);
  return [product[1], product[2], product[3]];
};

/** The rate of a weld's rotational error per unit of relative angular velocity. */
function turning(a: End, b: End, scale: number): Mat3 {
  const axes: Quat[] = [
    [0, 1, 0, 0],
    [0, 0, 1, 0],
    [0, 0, 0, 1],
  ];
  const columns = axes.map((axis) => scale3(sandwich(negQuat(b.quat), axis, a.quat), 0.5 * scale));
  return [0, 1, 2].flatMap((i) => columns.map((c) => c[i])) as unknown as Mat3;
}

/** Three rows that hold two points together, with three more for a weld that hold two frames parallel. */
function connect(m: ModelView, d: WorldData, e: number): Row[] {
  const { model } = m;
  const [a, b] = ends(m, d, e);
  const weight = (k: number) => add(m.body_invweight0.at(2 * a.body + k), m.body_invweight0.at(2 * b.body + k));
  const columns = differenceJacobian(pointJacobian(m, d, a.body, a.pos), pointJacobian(m, d, b.body, b.pos));
  if (columns.length === 0) return [];

  const [biasA, biasB] = [a, b].map((end) => biasAcceleration(m, d, end.body, end.pos));
  const bias = sub3(biasA.trans, biasB.trans);
  const parts = sub3(a.pos, b.pos).map((pos, k) => ({
    jac: columns.map(({ dof, trans }) => ({ dof, value: trans[k] })),
    pos,
    diagApprox: weight(0),
    bias: bias[k],
  }));
  if (model.eq_type[e] === mjtEq.CONNECT) return rowsOf(m, d, e, parts, length(parts.map((p) => p.pos)));

  // the error is the vector part of conj(q of b) (q of a), scaled; its rate turns with both frames
  const scale = dataOf(model, e)[TORQUE_SCALE];
  const back = negQuat(b.quat);
  const error = scale3(mulQuat(back, a.quat).slice(1) as unknown as Vec3, scale);
  const mat = turning(a, b, scale);
  const [omegaA, omegaB] = [a, b].map((end) => rotational(d.cvel.spatial(end.body)));
  const spin = sub3(omegaA, omegaB);
  const angular = add3(sub3(biasA.rot, biasB.rot), cross(spin, omegaB));
  const rate = scale3(sandwich(back, [mul(-0.5, dot3(spin, spin)), ...angular], a.quat), 0.5 * scale);

  const turns = columns.map(({ dof, rot }) => ({ dof, value: mulMatVec(mat, rot) }));
  const rotations = error.map((pos, k) => ({
    jac: turns.map(({ dof, value }) => ({ dof, value: value[k] })),
    pos,
    diagApprox: weight(1),
    bias: rate[k],
  }));
  const all = [...parts, ...rotations];
  return rowsOf(m, d, e, all, length(all.map((p) => p.pos)));
}

const length = (x: readonly Scalar[]): Scalar => sqrt(sum(x.map(square)));

/** A joint or tendon of a coupling: how far it is from its reference, and the dofs that move it. */
function coupled(m: ModelView, d: WorldData, isTendon: boolean, id: number) {
  const { model } = m;
  if (isTendon) {
    return {
      offset: sub(d.ten_length.at(id), m.tendon_length0.at(id)),
      arms: tendonArms(m, d, id),
      weight: m.tendon_invweight0.at(id),
    };
  }
  const [pos, dof] = [model.jnt_qposadr[id], model.jnt_dofadr[id]];
  return {
    offset: sub(d.qpos.at(pos), m.qpos0.at(pos)),
    arms: [{ dof, coef: 1 }] as Arm[],
    weight: m.dof_invweight0.at(dof),
  };
}

/** One row that holds a joint or tendon to a quartic polynomial of another, or to a constant. */
function coupling(m: ModelView, d: WorldData, e: number): Row[] {
  const { model } = m;
  const isTendon = model.eq_type[e] === mjtEq.TENDON;
  const [c0, c1, c2, c3, c4] = dataOf(model, e);
  const first = coupled(m, d, isTendon, model.eq_obj1id[e]);
  let pos = sub(first.offset, c0);
  let { arms, weight } = first;
  const tendons = isTendon ? [{ tendon: model.eq_obj1id[e], times: 1 as Scalar }] : [];
  if (model.eq_obj2id[e] >= 0) {
    const second = coupled(m, d, isTendon, model.eq_obj2id[e]);
    const x = second.offset;
    pos = sub(pos, mul(x, add(c1, mul(x, add(c2, mul(x, add(c3, mul(c4, x))))))));
    const slope = add(c1, mul(x, add(2 * c2, mul(x, add(3 * c3, mul(4 * c4, x))))));
    arms = addArms([...arms, ...second.arms.map(({ dof, coef }) => ({ dof, coef: neg(mul(slope, coef)) }))]);
    weight = add(weight, second.weight);
    if (isTendon) tendons.push({ tendon: model.eq_obj2id[e], times: neg(slope) });
  }
  const moving = arms.filter(({ coef }) => isNode(coef) || coef !== 0);
  if (moving.length === 0 && isDense(model)) return [];
  const jac = (moving.length > 0 ? moving : arms).map(({ dof, coef }) => ({ dof, value: coef }));
  return jac.length === 0 ? [] : rowsOf(m, d, e, [{ jac, pos, diagApprox: weight, tendons }]);
}

/** The dofs that a constraint couples. */
export function equalityDofs(model: Model, e: number): number[] {
  if (isPose(model, e)) return equalityBodies(model, e).flatMap((b) => bodyDofs(model, b));
  const ids = [model.eq_obj1id[e], model.eq_obj2id[e]].filter((id) => id >= 0);
  return ids.flatMap((id) => (model.eq_type[e] === mjtEq.TENDON ? tendonDofs(model, id) : [model.jnt_dofadr[id]]));
}

/**
 * The rows of equality constraints, in MuJoCo's order. Reads eq_active, qpos, qvel, xpos, xquat, xmat,
 * site_xpos, cdof, cdof_dot, cvel, subtree_com, ten_length, ten_J.
 */
export function equalityRows(m: ModelView, d: WorldData): Row[] {
  const { model } = m;
  return Array.from({ length: model.neq }, (_, e) => e).flatMap((e) =>
    isPose(model, e) ? connect(m, d, e) : coupling(m, d, e),
  );
}

/** The forces of connects and welds on the bodies they hold, each with the point where it acts, global. */
export function holdingForces(
  m: ModelView,
  d: WorldData,
  forces: ConstraintForces,
): { body: number; pos: Vec3; wrench: Spatial }[] {
  const rows = listRows(forces.rows);
  return [...new Set(rows.filter((r) => r.type === mjtConstraint.EQUALITY).map((r) => r.id))]
    .filter((e) => isPose(m.model, e))
    .flatMap((e) => {
      const own = rows.flatMap((r, k) => (r.type === mjtConstraint.EQUALITY && r.id === e ? [forces.rowForce(k)] : []));
      const force = own.slice(0, 3) as unknown as Vec3;
      const [a, b] = ends(m, d, e);
      const mat = turning(a, b, dataOf(m.model, e)[TORQUE_SCALE]);
      const torque = own.length > 3 ? mulMatTVec(mat, own.slice(3) as unknown as Vec3) : ZERO3;
      return [
        { body: a.body, pos: a.pos, wrench: spatial(torque, force) },
        { body: b.body, pos: b.pos, wrench: spatial(neg3(torque), neg3(force)) },
      ].filter(({ body }) => body !== 0);
    });
}
