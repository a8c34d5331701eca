// constraint rows in MuJoCo's order: equality, friction loss, limits, contacts (mj_makeConstraint)
import { abs, and, div, gt, lt, max, min, mul, neg, select, sub, type Scalar } from "../../trace/scalar.ts";
import type { Quat } from "../../trace/vector.ts";
import { mjtConstraint, mjtDisableBit, mjtJoint } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import type { ContactSlots } from "../collision/contact-slots.ts";
import { contactRows } from "./contact-rows.ts";
import { hasExactDiagonal } from "./exact-diagonal.ts";
import { equalityDofs, equalityRows } from "./equality.ts";
import { frictionRows, isWide, limitRows } from "./row-loops.ts";
import { ballRotation, makeRow, type Row, type Rows, type RowSpec } from "./rows.ts";
import type { Arm } from "../tendon/moment-arms.ts";
import { hasRows, tendonArms, tendonDofs } from "../tendon/tendon.ts";
import type { WorldData, ModelView } from "../view.ts";

/** All rows: those of the model, and those of its contacts. */
export const makeConstraint = (m: ModelView, d: WorldData, slots: ContactSlots) => ({
  rows: constraintRows(m, d),
  contacts: contactRows(m, d, slots),
});

/** The rows that are not of contacts. Reads what `equalityRows` does. */
export function constraintRows(m: ModelView, d: WorldData): Rows {
  const on = (bit: number) => (m.opt.disableflags & (bit | mjtDisableBit.CONSTRAINT)) === 0;
  return [
    ...(on(mjtDisableBit.EQUALITY) ? equalityRows(m, d) : []),
    ...(on(mjtDisableBit.FRICTIONLOSS) ? [...dofFriction(m, d), ...tendonFriction(m, d)] : []),
    ...(on(mjtDisableBit.LIMIT) ? [...jointLimits(m, d), ...tendonLimits(m, d), ...speedLimits(m, d)] : []),
  ];
}

/** The dofs that each constraint couples which is not a contact and has more than one, known from the model alone. */
export function rowDofs(model: Model): number[][] {
  const equalities = Array.from({ length: model.neq }, (_, e) => e);
  const limited = Array.from({ length: model.ntendon }, (_, t) => t).filter(
    (t) => model.tendon_limited[t] || model.tendon_frictionloss[t] > 0,
  );
  return [...equalities.map((e) => equalityDofs(model, e)), ...limited.map((t) => tendonDofs(model, t))];
}

const pick = (values: ArrayLike<number>, i: number, width: number) =>
  Array.from({ length: width }, (_, k) => values[i * width + k]);

const jacOf = (arms: readonly Arm[], scale: Scalar = 1): Row["jac"] =>
  arms.map(({ dof, coef }) => ({ dof, value: mul(scale, coef) }));

/** Friction loss of dofs (mj_instantiateFriction). */
function dofFriction(m: ModelView, d: WorldData): Rows {
  const { model } = m;
  const dofs = Array.from({ length: m.nv }, (_, i) => i).filter((i) => model.dof_frictionloss[i] !== 0);
  if (!hasExactDiagonal(model)) return frictionRows(m, d, dofs);
  return dofs.map((dof) =>
    makeRow(m, d, {
      type: mjtConstraint.FRICTION_DOF,
      id: dof,
      jac: [{ dof, value: 1 }],
      pos: 0,
      solref: pick(model.dof_solref, dof, 2),
      solimp: pick(model.dof_solimp, dof, 5),
      diagApprox: m.dof_invweight0.at(dof),
      frictionloss: m.dof_frictionloss.at(dof),
    }),
  );
}

/** Friction loss of tendons (mj_instantiateFriction). */
function tendonFriction(m: ModelView, d: WorldData): Row[] {
  const { model } = m;
  const rows: Row[] = [];
  for (let t = 0; t < m.ntendon; t++) {
    if (!(model.tendon_frictionloss[t] > 0)) continue;
    const active = hasRows(m, d, t);
    if (active === false) continue;
    const spec = {
      type: mjtConstraint.FRICTION_TENDON,
      id: t,
      jac: jacOf(tendonArms(m, d, t)),
      active,
      pos: 0,
      solref: pick(model.tendon_solref_fri, t, 2),
      solimp: pick(model.tendon_solimp_fri, t, 5),
      diagApprox: m.tendon_invweight0.at(t),
      frictionloss: m.tendon_frictionloss.at(t),
      tendons: [{ tendon: t, times: 1 }],
    };
    rows.push(makeRow(m, d, spec));
  }
  return rows;
}

/** Both ends of the range of a scalar: one row where only the nearer end can be active. */
function rangeRows(
  m: ModelView,
  d: WorldData,
  spec: Omit<RowSpec, "jac" | "pos"> & { readonly margin: number },
  value: Scalar,
  [low, high]: readonly Scalar[],
  wide: boolean,
  arms: readonly Arm[],
): Row[] {
  const below = sub(value, low);
  const above = sub(high, value);
  const row = (pos: Scalar, sign: Scalar) =>
    makeRow(m, d, {
      ...spec,
      jac: jacOf(arms, sign),
      pos,
      active: and(spec.active ?? true, lt(pos, spec.margin)),
      ...(spec.type === mjtConstraint.LIMIT_TENDON ? { tendons: [{ tendon: spec.id, times: sign }] } : {}),
    });
  if (wide) return [row(min(below, above), select(lt(below, above), 1, -1))];
  return [row(below, 1), row(above, -1)];
}

/** Neighbours that are alike together, all others by themselves, in the order given. */
function runs(ids: readonly number[], alike: (id: number) => boolean): number[][] {
  const out: number[][] = [];
  let open = false;
  for (const id of ids) {
    const joins = alike(id);
    if (joins && open) out.at(-1)!.push(id);
    else out.push([id]);
    open = joins;
  }
  return out;
}

/** Whether one row, which may be made in a loop, serves both ends of a hinge's or slide's range. */
const isPlainLimit = (model: Model, j: number): boolean =>
  !hasExactDiagonal(model) &&
  model.jnt_type[j] !== mjtJoint.BALL &&
  isWide([...model.jnt_range.subarray(2 * j, 2 * j + 2)], model.jnt_margin[j]);

/** Limits of joints (mj_instantiateLimit). */
function jointLimits(m: ModelView, d: WorldData): Rows {
  const { model } = m;
  const limited = Array.from({ length: m.njnt }, (_, j) => j).filter(
    (j) => model.jnt_limited[j] && model.jnt_type[j] !== mjtJoint.FREE,
  );
  const isPlain = (j: number) => isPlainLimit(model, j);
  return runs(limited, isPlain).flatMap((run) => (isPlain(run[0]) ? limitRows(m, d, run) : jointLimit(m, d, run[0])));
}

/** The limit of a ball, or of a range so narrow that both its ends may be active. */
function jointLimit(m: ModelView, d: WorldData, j: number): Row[] {
  const { model } = m;
  const [dof, at] = [model.jnt_dofadr[j], model.jnt_qposadr[j]];
  const spec = {
    type: mjtConstraint.LIMIT_JOINT,
    id: j,
    margin: model.jnt_margin[j],
    solref: pick(model.jnt_solref, j, 2),
    solimp: pick(model.jnt_solimp, j, 5),
    diagApprox: m.dof_invweight0.at(dof),
  };
  const range = [m.jnt_range.at(2 * j), m.jnt_range.at(2 * j + 1)];
  if (model.jnt_type[j] !== mjtJoint.BALL)
    return rangeRows(m, d, spec, d.qpos.at(at), range, isWide(pick(model.jnt_range, j, 2), spec.margin), [
      { dof, coef: 1 },
    ]);
  const { axis, angle } = ballRotation(d.qpos.run(at, 4) as unknown as Quat);
  const pos = sub(max(range[0], range[1]), angle);
  const jac = axis.map((x, k) => ({ dof: dof + k, value: neg(x) }));
  return [makeRow(m, d, { ...spec, jac, pos, active: lt(pos, spec.margin) })];
}

/** Limits of tendons (mj_instantiateLimit). */
function tendonLimits(m: ModelView, d: WorldData): Row[] {
  const { model } = m;
  const rows: Row[] = [];
  for (let t = 0; t < m.ntendon; t++) {
    const active = model.tendon_limited[t] ? hasRows(m, d, t) : false;
    if (active === false) continue;
    const arms = tendonArms(m, d, t);
    const spec = {
      active,
      type: mjtConstraint.LIMIT_TENDON,
      id: t,
      margin: model.tendon_margin[t],
      solref: pick(model.tendon_solref_lim, t, 2),
      solimp: pick(model.tendon_solimp_lim, t, 5),
      diagApprox: m.tendon_invweight0.at(t),
    };
    const wide = isWide(pick(model.tendon_range, t, 2), spec.margin);
    const range = [m.tendon_range.at(2 * t), m.tendon_range.at(2 * t + 1)];
    rows.push(...rangeRows(m, d, spec, d.ten_length.at(t), range, wide, arms));
  }
  return rows;
}

/** The sensor of a joint's limit reads rows of its id: these are none of them. */
const NO_ID = -1;

/** Impedance of a limit of speed: what pushes gains a hundredth of a step's free acceleration. */
const SPEED_SOLIMP = [0.99, 0.99, 0.001, 0.5, 2];

/**
 * Speeds of slides and hinges: a row that pushes against motion beyond the limit, and whose reference takes the excess
 * away in one time step. MuJoCo has no such constraint.
 */
function speedLimits(m: ModelView, d: WorldData): Row[] {
  return (m.model.speedLimits ?? []).map(({ dof }, i) => {
    const v = d.qvel.at(dof);
    const excess = sub(abs(v), m.speed_limit.at(i));
    const row = makeRow(m, d, {
      type: mjtConstraint.LIMIT_JOINT,
      id: NO_ID,
      jac: [{ dof, value: select(lt(v, 0), 1, -1) }],
      pos: 0,
      active: gt(excess, 0),
      solref: pick(m.model.jnt_solref, m.model.dof_jntid[dof], 2),
      solimp: SPEED_SOLIMP,
      diagApprox: m.dof_invweight0.at(dof),
    });
    return { ...row, aref: div(excess, m.timestep) };
  });
}
