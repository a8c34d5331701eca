// constraint rows of one dimension: friction loss and limits of joints and fixed tendons
import {
  add,
  and,
  div,
  ge,
  le,
  lt,
  max,
  min,
  mul,
  neg,
  or,
  select,
  sub,
  type Bool,
  type Scalar,
} from "../trace/scalar.ts";
import { atan2 } from "../trace/math.ts";
import { normalize3, normalizeQuat, scale3, type Quat, type Vec3 } from "../trace/vector.ts";
import { mjtDisableBit, mjtJoint } from "../model/enums.ts";
import { compliance, impedance, impedanceNumbers, reference, regularizer } from "./impedance.ts";
import type { DataView, ModelView } from "./view.ts";

/** One row of efc_J with its parameters. Its dofs are known when the kernel is traced. */
export interface Row {
  readonly kind: "friction" | "limit";
  /** The dof (friction) or joint (limit). */
  readonly id: number;
  readonly jac: readonly { readonly dof: number; readonly value: Scalar }[];
  /** Whether the row exists in this state; an absent row has D = 0. */
  readonly active: Bool;
  /** 1 / R (efc_D), 0 while absent. */
  readonly D: Scalar;
  readonly R: Scalar;
  readonly aref: Scalar;
  readonly frictionloss: number;
  /** Distance to the limit, and where it begins to act (efc_pos, efc_margin). */
  readonly pos: Scalar;
  readonly margin: number;
}

/** J x of a row. */
export function rowDot(row: Row, x: (dof: number) => Scalar): Scalar {
  return row.jac.reduce<Scalar>((s, { dof, value }) => add(s, mul(value, x(dof))), 0);
}

interface RowSpec {
  kind: Row["kind"];
  id: number;
  jac: Row["jac"];
  pos: Scalar;
  margin: number;
  active: Bool;
  solref: ArrayLike<number>;
  solimp: ArrayLike<number>;
  diagApprox: number;
  frictionloss?: number;
}

function makeRow(m: ModelView, d: DataView, s: RowSpec): Row {
  const c = compliance(s.solref, s.solimp);
  const distance = sub(s.pos, s.margin);
  const imp = impedance(impedanceNumbers(c), distance);
  const { K, B } = reference(m, c);
  const R = regularizer(imp, s.diagApprox);
  const vel = s.jac.reduce<Scalar>((v, { dof, value }) => add(v, mul(value, d.qvel.at(dof))), 0);
  // friction rows have no position to return to
  const spring = s.kind === "friction" ? 0 : mul(mul(K, imp), distance);
  return {
    kind: s.kind,
    id: s.id,
    jac: s.jac,
    active: s.active,
    D: select(s.active, div(1, R), 0),
    R,
    aref: neg(add(mul(B, vel), spring)),
    frictionloss: s.frictionloss ?? 0,
    pos: s.pos,
    margin: s.margin,
  };
}

const pick = (values: ArrayLike<number>, i: number, width: number) =>
  Array.from({ length: width }, (_, k) => values[i * width + k]);

/** The rows of mj_instantiateFriction and mj_instantiateLimit, in MuJoCo's order. */
export function constraintRows(m: ModelView, d: DataView): Row[] {
  const off = (bit: number) => (m.opt.disableflags & (bit | mjtDisableBit.CONSTRAINT)) !== 0;
  const rows: Row[] = [];
  if (!off(mjtDisableBit.FRICTIONLOSS)) rows.push(...frictionRows(m, d));
  if (!off(mjtDisableBit.LIMIT)) rows.push(...limitRows(m, d));
  return rows;
}

function frictionRows(m: ModelView, d: DataView): Row[] {
  const { model } = m;
  const rows: Row[] = [];
  for (let i = 0; i < m.nv; i++) {
    const loss = model.dof_frictionloss[i];
    if (!loss) continue;
    rows.push(
      makeRow(m, d, {
        kind: "friction",
        id: i,
        jac: [{ dof: i, value: 1 }],
        pos: 0,
        margin: 0,
        active: true,
        solref: pick(model.dof_solref, i, 2),
        solimp: pick(model.dof_solimp, i, 5),
        diagApprox: model.dof_invweight0[i],
        frictionloss: loss,
      }),
    );
  }
  return rows;
}

function limitRows(m: ModelView, d: DataView): Row[] {
  const { model } = m;
  const rows: Row[] = [];
  for (let j = 0; j < m.njnt; j++) {
    if (!model.jnt_limited[j] || model.jnt_type[j] === mjtJoint.FREE) continue;
    const dof = model.jnt_dofadr[j];
    const base = {
      kind: "limit" as const,
      id: j,
      margin: model.jnt_margin[j],
      solref: pick(model.jnt_solref, j, 2),
      solimp: pick(model.jnt_solimp, j, 5),
      diagApprox: model.dof_invweight0[dof],
    };
    const [low, high] = pick(model.jnt_range, j, 2);
    if (model.jnt_type[j] === mjtJoint.BALL) {
      const { axis, angle } = ballRotation(d.qpos.run(model.jnt_qposadr[j], 4) as unknown as Quat);
      const pos = sub(Math.max(low, high), angle);
      const jac = axis.map((x, k) => ({ dof: dof + k, value: neg(x) }));
      rows.push(makeRow(m, d, { ...base, jac, pos, active: lt(pos, base.margin) }));
      continue;
    }
    const q = d.qpos.at(model.jnt_qposadr[j]);
    const below = sub(q, low);
    const above = sub(high, q);
    if (high - low >= 2 * base.margin) {
      // only the nearer end can be active: one row serves both
      const lower = lt(below, above);
      const pos = min(below, above);
      const value = select(lower, 1, -1);
      rows.push(makeRow(m, d, { ...base, jac: [{ dof, value }], pos, active: lt(pos, base.margin) }));
    } else {
      for (const [pos, value] of [
        [below, 1],
        [above, -1],
      ] as const) {
        rows.push(makeRow(m, d, { ...base, jac: [{ dof, value }], pos, active: lt(pos, base.margin) }));
      }
    }
  }
  return rows;
}

/** Axis and angle in [0, pi] of a rotation (mju_quat2Vel with dt = 1). */
export function ballRotation(q: Quat): { axis: Vec3; angle: Scalar } {
  const [w, x, y, z] = normalizeQuat(q);
  const { unit, length } = normalize3([x, y, z]);
  // the shorter way round: w and -w are the same rotation
  const angle = mul(2, atan2(length, select(lt(w, 0), neg(w), w)));
  return { axis: scale3(unit, select(lt(w, 0), -1, 1)), angle };
}

/** Force of a row at jar = J qacc - aref (mj_constraintUpdate), the slope of -force, and its cost. */
export interface RowLaw {
  readonly force: Scalar;
  /** D where the row is in its quadratic zone, else 0. */
  readonly slope: Scalar;
  readonly cost: Scalar;
  /** Which linear piece of the force law this is. */
  readonly pieces: readonly Bool[];
}

export function rowLaw(row: Row, jar: Scalar): RowLaw {
  const { D, R, frictionloss: loss } = row;
  if (row.kind === "limit") {
    const pushing = lt(jar, 0);
    const x = min(jar, 0);
    const force = neg(mul(D, x));
    return {
      force,
      slope: select(pushing, D, 0),
      cost: mul(0.5, neg(mul(force, x))),
      pieces: [and(pushing, row.active)],
    };
  }
  const bound = mul(R, loss);
  const negative = le(jar, neg(bound));
  const positive = ge(jar, bound);
  const flat = or(negative, positive);
  const force = max(min(neg(mul(D, jar)), loss), -loss);
  const linear = sub(mul(loss, max(jar, neg(jar))), mul(0.5 * loss, bound));
  return {
    force,
    slope: select(flat, 0, D),
    cost: select(flat, linear, mul(0.5, mul(D, mul(jar, jar)))),
    pieces: [negative, positive],
  };
}
