// rows of joints or dofs that are alike: one dof each, made one after the other or in a runtime loop
import { array, each, increase, table, variable, when } from "../../trace/control.ts";
import { div, isNode, lt, min, select, sub, type Int, type Scalar } from "../../trace/scalar.ts";
import { current } from "../../trace/graph.ts";
import { mjtConstraint } from "../../model/enums.ts";
import { compliance, impedance, impedanceCurves, impedanceNumbers, references, regularizer } from "./impedance.ts";
import { isDiscrete } from "./metric-weights.ts";
import { limitsAreRare } from "./rare-limits.ts";
import { makeRowOf, type Row, type Rows } from "./rows.ts";
import { Field, scalarTable, type WorldData, type ModelView } from "../view.ts";

/** What rows are made from, by the ids of their joints or dofs. */
interface LikeRows {
  readonly type: number;
  readonly ids: readonly number[];
  readonly dof: (id: number) => number;
  /** [.., 2] and [.., 5], by id. */
  readonly solref: ArrayLike<number>;
  readonly solimp: ArrayLike<number>;
}

type Columns = (name: string, of: (place: number) => Scalar, type?: "f32" | "i32") => (place: Int) => Scalar;

/** What all such rows have, at places known while tracing or at run time. */
function columnsOf(m: ModelView, label: string, { ids, dof, solref, solimp }: LikeRows) {
  const column: Columns = (name, of, type = "f32") => {
    const values = ids.map((_, place) => of(place));
    // whole numbers are addresses: no world has its own
    return type === "i32"
      ? table(`${label}_${name}`, values as number[], type)
      : scalarTable(`${label}_${name}`, values);
  };
  const kinds = ids.map((i) =>
    compliance(
      [0, 1].map((k) => solref[2 * i + k]),
      [0, 1, 2, 3, 4].map((k) => solimp[5 * i + k]),
    ),
  );
  const diagApprox = (place: number): Scalar => m.dof_invweight0.at(dof(ids[place]));
  return {
    column,
    id: (place: Int) => (isNode(place) ? -1 : ids[place]),
    dof: column("dof", (place) => dof(ids[place]), "i32"),
    diagApprox: column("diag", diagApprox),
    curve: impedanceCurves(column, (place) => kinds[place]),
    reference: references(m, column, kinds),
    /** R of rows whose impedance does not change. */
    constantR: (place: number) => regularizer(impedance(impedanceNumbers(kinds[place]), 0), diagApprox(place)),
  };
}

/** Whether one row serves both ends of a joint's range: only the nearer can be active. */
export const isWide = (range: readonly number[], margin: number): boolean => range[1] - range[0] >= 2 * margin;

/** Limits of hinges and slides with wide ranges (mj_instantiateLimit). Reads qpos, qvel. */
export function limitRows(m: ModelView, d: WorldData, joints: readonly number[]): Rows {
  if (joints.length === 0) return [];
  const { model } = m;
  const count = joints.length;
  const like = {
    type: mjtConstraint.LIMIT_JOINT,
    ids: joints,
    dof: (j: number) => model.jnt_dofadr[j],
    solref: model.jnt_solref,
    solimp: model.jnt_solimp,
  };
  const { column, id, dof, diagApprox, curve, reference } = columnsOf(m, "limit", like);
  const at = column("qposadr", (k) => model.jnt_qposadr[joints[k]], "i32");
  const [low, high] = [0, 1].map((end) => column(`range${end}`, (k) => m.jnt_range.at(2 * joints[k] + end)));
  const margin = column("margin", (k) => model.jnt_margin[joints[k]]);
  const made = (k: Int): { row: Row; sign: Scalar } => {
    const q = d.qpos.at(at(k));
    const [below, above] = [sub(q, low(k)), sub(high(k), q)];
    const pos = min(below, above);
    const sign = select(lt(below, above), 1, -1);
    const row = makeRowOf(m, d, {
      type: like.type,
      id: id(k),
      jac: [{ dof: dof(k), value: sign }],
      pos,
      margin: margin(k),
      active: lt(pos, margin(k)),
      curve: curve(k),
      reference: reference(k),
      diagApprox: diagApprox(k),
    });
    return { row, sign };
  };

  const isRare = current().roomy && limitsAreRare(model);
  const rows: Row[] = [];
  const [pos, sign, D, aref] = ["pos", "sign", "D", "aref"].map((name) => new Field(`limit_${name}`, count));
  const list = array("limit_active", count, "i32");
  const active = variable("limits", 0, "i32");
  each(count, (k) => {
    const { row, sign: toward } = made(k);
    if (!isNode(k)) {
      rows.push({ ...row, isRare });
      return;
    }
    pos.set(k, row.pos);
    sign.set(k, toward);
    D.set(k, row.D);
    when(row.active, () => {
      list.set(active.get(), k);
      increase(active, 1);
    });
    aref.set(k, row.aref);
  });
  if (rows.length > 0) return rows;

  const kept = (k: Int): Row => ({
    kind: "limit",
    type: like.type,
    id: id(k),
    jac: [{ dof: dof(k), value: sign.at(k) }],
    active: lt(pos.at(k), margin(k)),
    D: D.at(k),
    R: div(1, D.at(k)),
    aref: aref.at(k),
    frictionloss: 0,
    pos: pos.at(k),
    margin: margin(k),
    tendons: [],
  });
  return [
    { count, at: kept, dof: (k) => like.dof(joints[k]), active: { count: active.get(), place: (i) => list.get(i) } },
  ];
}

/** Friction loss of dofs (mj_instantiateFriction). Reads qvel. */
export function frictionRows(m: ModelView, d: WorldData, dofs: readonly number[]): Rows {
  if (dofs.length === 0) return [];
  const { model } = m;
  const like = {
    type: mjtConstraint.FRICTION_DOF,
    ids: dofs,
    dof: (i: number) => i,
    solref: model.dof_solref,
    solimp: model.dof_solimp,
  };
  const { column, id, dof, diagApprox, curve, reference, constantR } = columnsOf(m, "loss", like);
  const loss = column("frictionloss", (k) => m.dof_frictionloss.at(dofs[k]));
  const own = (k: Int): Row =>
    makeRowOf(m, d, {
      type: like.type,
      id: id(k),
      jac: [{ dof: dof(k), value: 1 }],
      pos: 0,
      curve: curve(k),
      reference: reference(k),
      diagApprox: diagApprox(k),
      frictionloss: loss(k),
    });
  // at the end of the step R depends on the metric
  if (isDiscrete(model)) return keptFriction(dofs.length, own, (k) => ({ id: id(k), dof: dof(k), loss: loss(k) }));
  const R = column("R", constantR);
  const D = column("D", (k) => div(1, constantR(k)));
  const made = (k: Int): Row => ({ ...own(k), R: R(k), D: D(k) });

  const rows: Row[] = [];
  const aref = new Field("loss_aref", dofs.length);
  each(dofs.length, (k) => {
    const row = made(k);
    if (isNode(k)) aref.set(k, row.aref);
    else rows.push(row);
  });
  return rows.length > 0
    ? rows
    : [{ count: dofs.length, at: (k) => ({ ...made(k), aref: aref.at(k) }), dof: (k) => dofs[k] }];
}

/** Rows of friction whose D and reference are made once. */
function keptFriction(
  count: number,
  made: (k: Int) => Row,
  of: (k: Int) => { readonly id: number; readonly dof: Int; readonly loss: Scalar },
): Rows {
  const rows: Row[] = [];
  const [D, aref] = ["D", "aref"].map((name) => new Field(`loss_${name}`, count));
  each(count, (k) => {
    const row = made(k);
    if (!isNode(k)) rows.push(row);
    else {
      D.set(k, row.D);
      aref.set(k, row.aref);
    }
  });
  if (rows.length > 0) return rows;
  const kept = (k: Int): Row => ({
    kind: "friction",
    type: mjtConstraint.FRICTION_DOF,
    id: of(k).id,
    jac: [{ dof: of(k).dof, value: 1 }],
    active: true,
    D: D.at(k),
    R: div(1, D.at(k)),
    aref: aref.at(k),
    frictionloss: of(k).loss,
    pos: 0,
    margin: 0,
    tendons: [],
  });
  return [{ count, at: kept, dof: (k) => of(k).dof as number }];
}
