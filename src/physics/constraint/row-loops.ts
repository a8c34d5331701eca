// rows of hinges and slides in runtime loops, for rolled kernels: limits and friction loss
import { array, each, table, variable, when } from "../../trace/control.ts";
import { add, div, lt, min, mul, neg, select, sub, type Int, type Scalar } from "../../trace/scalar.ts";
import { mjtConstraint } from "../../model/enums.ts";
import {
  compliance,
  impedance,
  impedanceCurves,
  impedanceNumbers,
  references,
  regularizer,
  type Compliance,
} from "./impedance.ts";
import type { Row, RowLoop } from "./rows.ts";
import { Field, scalarTable, type WorldData, type ModelView } from "../view.ts";

type Columns = (name: string, of: (place: number) => Scalar, type?: "f32" | "i32") => (place: Int) => Scalar;

/** Constants of each row by its place in the loop. */
const columns =
  (label: string, ids: readonly number[]): Columns =>
  (name, of, type = "f32") => {
    const values = ids.map((_, place) => of(place));
    // whole numbers are addresses: no world has its own
    return type === "i32"
      ? table(`${label}_${name}`, values as number[], type)
      : scalarTable(`${label}_${name}`, values);
  };

const compliances = (ids: readonly number[], solref: ArrayLike<number>, solimp: ArrayLike<number>): Compliance[] =>
  ids.map((i) =>
    compliance(
      [solref[2 * i], solref[2 * i + 1]],
      [0, 1, 2, 3, 4].map((k) => solimp[5 * i + k]),
    ),
  );

/** Whether one row serves both ends of a joint's range: only the nearer can be active. */
export const isWide = (range: readonly number[], margin: number): boolean => range[1] - range[0] >= 2 * margin;

/** Limits of hinges and slides with wide ranges (mj_instantiateLimit). Reads qpos, qvel. */
export function limitLoop(m: ModelView, d: WorldData, joints: readonly number[]): RowLoop {
  const { model } = m;
  const pos = new Field("limit_pos", joints.length);
  const sign = new Field("limit_sign", joints.length);
  const stiff = new Field("limit_D", joints.length);
  const aref = new Field("limit_aref", joints.length);
  const list = array("limit_active", joints.length, "i32");
  const active = variable("limits", 0, "i32");
  const column = columns("limit", joints);
  const of = (name: string, f: (j: number) => Scalar, type: "f32" | "i32" = "f32") =>
    column(name, (k) => f(joints[k]), type);
  const dof = of("dof", (j) => model.jnt_dofadr[j], "i32");
  const at = of("qposadr", (j) => model.jnt_qposadr[j], "i32");
  const [low, high] = [0, 1].map((k) => of(`range${k}`, (j) => m.jnt_range.at(2 * j + k)));
  const margin = of("margin", (j) => model.jnt_margin[j]);
  const diag = of("diag", (j) => m.dof_invweight0.at(model.jnt_dofadr[j]));
  const kinds = compliances(joints, model.jnt_solref, model.jnt_solimp);
  const curve = impedanceCurves(column, (k) => kinds[k]);
  const reference = references(m, column, kinds);

  each(joints.length, (k) => {
    const q = d.qpos.at(at(k));
    const [below, above] = [sub(q, low(k)), sub(high(k), q)];
    const nearer = min(below, above);
    const toward = select(lt(below, above), 1, -1);
    const distance = sub(nearer, margin(k));
    const imp = impedance(curve(k), distance);
    const { K, B } = reference(k);
    const vel = mul(toward, d.qvel.at(dof(k)));
    pos.set(k, nearer);
    sign.set(k, toward);
    const isActive = lt(distance, 0);
    stiff.set(k, select(isActive, div(1, regularizer(imp, diag(k))), 0));
    when(isActive, () => {
      list.set(active.get(), k);
      active.set(add(active.get(), 1));
    });
    aref.set(k, sub(neg(mul(B, vel)), mul(mul(K, imp), distance)));
  });

  return {
    count: joints.length,
    active: { count: active.get(), place: (i) => list.get(i) },
    at: (k): Row => ({
      kind: "limit",
      type: mjtConstraint.LIMIT_JOINT,
      id: idOf(joints, k),
      jac: [{ dof: dof(k), value: sign.at(k) }],
      active: lt(sub(pos.at(k), margin(k)), 0),
      D: stiff.at(k),
      R: div(1, stiff.at(k)),
      aref: aref.at(k),
      frictionloss: 0,
      pos: pos.at(k),
      margin: margin(k),
      tendons: [],
    }),
  };
}

const idOf = (ids: readonly number[], k: Int): number => (typeof k === "number" ? ids[k] : -1);

/** Friction loss of dofs (mj_instantiateFriction). Reads qvel. */
export function frictionLoop(m: ModelView, d: WorldData, dofs: readonly number[]): RowLoop {
  const { model } = m;
  const column = columns("loss", dofs);
  const kinds = compliances(dofs, model.dof_solref, model.dof_solimp);
  const R = (k: number): Scalar => regularizer(impedance(impedanceNumbers(kinds[k]), 0), m.dof_invweight0.at(dofs[k]));
  const dof = column("dof", (k) => dofs[k], "i32");
  const loss = column("frictionloss", (k) => m.dof_frictionloss.at(dofs[k]));
  const r = column("R", R);
  const stiff = column("D", (k) => div(1, R(k)));
  const reference = references(m, column, kinds);
  return {
    count: dofs.length,
    at: (k): Row => ({
      kind: "friction",
      type: mjtConstraint.FRICTION_DOF,
      id: idOf(dofs, k),
      jac: [{ dof: dof(k), value: 1 }],
      active: true,
      D: stiff(k),
      R: r(k),
      aref: neg(mul(reference(k).B, d.qvel.at(dof(k)))),
      frictionloss: loss(k),
      pos: 0,
      margin: 0,
      tendons: [],
    }),
  };
}
