// constraint rows of one dimension, whatever makes them: their parameters and their force law
import {
  add,
  and,
  div,
  ge,
  isNode,
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
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { loop, when } from "../../trace/control.ts";
import { current } from "../../trace/graph.ts";
import { atan2 } from "../../trace/math.ts";
import { MINVAL, normalize3, normalizeQuat, scale3, type Quat, type Vec3 } from "../../trace/vector.ts";
import { mjtConstraint } from "../../model/enums.ts";
import { exactDiagonal, hasExactDiagonal } from "./exact-diagonal.ts";
import { atEnd } from "./end-of-step.ts";
import {
  compliance,
  impedance,
  impedanceNumbers,
  reference,
  regularizer,
  type ImpedanceNumbers,
  type Reference,
} from "./impedance.ts";
import { isDiscrete, weightRatio } from "./metric-weights.ts";
import type { WorldData, ModelView } from "../view.ts";

/** One row of efc_J with its parameters. Its dofs are known when the kernel is traced. */
export interface Row {
  /** Which force law: both ways, both ways up to a bound, or one way. */
  readonly kind: "equality" | "friction" | "limit";
  /** mjtConstraint (efc_type). */
  readonly type: number;
  /** The equality constraint, dof, joint or tendon (efc_id). */
  readonly id: number;
  readonly jac: readonly { readonly dof: Int; readonly value: Scalar }[];
  /** Whether the row exists in this state; an absent row has D = 0. */
  readonly active: Bool;
  /** Whether it is seldom there, so that worlds branch about it. */
  readonly isRare?: boolean;
  /** 1 / R (efc_D), 0 while absent. */
  readonly D: Scalar;
  readonly R: Scalar;
  readonly aref: Scalar;
  readonly frictionloss: Scalar;
  /** Violation of an equality, or distance to a limit, and where it begins to act (efc_pos, efc_margin). */
  readonly pos: Scalar;
  readonly margin: Scalar;
  /** The tendons whose Jacobians make up the row, and how often each. */
  readonly tendons: readonly { readonly tendon: number; readonly times: Scalar }[];
}

/** Rows of like joints in a runtime loop. */
export interface RowLoop {
  readonly count: number;
  at(k: Int): Row;
  /** The dof of one of them, without making it. */
  dof(k: number): number;
  /** The rows that exist in this state, if others may not: how many, and the place of each. */
  readonly active?: { readonly count: Int; place(i: Int): Int };
}

/** The rows of a world, in line or in loops. */
export type Rows = readonly (Row | RowLoop)[];

/**
 * Runs `body` for each row, in a runtime loop if rows are in one; that leaves out rows that do not exist now. So does a kernel of a
 * world by itself with the rows of an equality that is not active, and one of a CPU with limits that are seldom reached: what
 * they add is zero.
 */
export function eachRow(rows: Rows, body: (row: Row) => void): void {
  for (const [k, r] of rows.entries()) {
    if ("count" in r) {
      const { count, place } = r.active ?? { count: r.count, place: (i: Int) => i };
      loop(count, (i) => body(r.at(place(i))), { label: "rows" });
      continue;
    }
    const isAlike = isBranch(r) ? sharesBranch : isSkipped(r) ? areSkipped : undefined;
    if (!isAlike) body(r);
    else if (!isAlike(rows[k - 1], r)) {
      const rest = rows.slice(k) as Row[];
      const end = rest.findIndex((other) => !isAlike(r, other));
      const together = rest.slice(0, end < 0 ? rest.length : end);
      if (isAlike === sharesBranch) when(r.active, () => together.forEach(body));
      else eachSkipped(together, body);
    }
  }
}

type MaybeRow = Row | RowLoop | undefined;

const isRow = (r: MaybeRow): r is Row => r !== undefined && !("count" in r);
const isBranch = (row: Row): boolean => current().wide && row.kind === "equality" && isNode(row.active);
const sharesBranch = (a: MaybeRow, b: MaybeRow): boolean =>
  isRow(a) && isRow(b) && isBranch(a) && isBranch(b) && a.active === b.active;
const isSkipped = (row: Row): boolean => row.isRare === true && isNode(row.active);
const areSkipped = (a: MaybeRow, b: MaybeRow): boolean => isRow(a) && isRow(b) && isSkipped(a) && isSkipped(b);

/** Each in a branch of its own, and several in one around these. */
function eachSkipped(rows: readonly Row[], body: (row: Row) => void): void {
  const each = () => rows.forEach((row) => when(row.active, () => body(row)));
  if (rows.length > 1) when(rows.map((row) => row.active).reduce(or), each);
  else each();
}

/** Every row, at constant places. */
export const listRows = (rows: Rows): Row[] =>
  rows.flatMap((r) => ("count" in r ? Array.from({ length: r.count }, (_, k) => r.at(k)) : [r]));

/** The dofs of every row. */
export const dofsOfRows = (rows: Rows): number[][] =>
  rows.flatMap((r) =>
    "count" in r ? Array.from({ length: r.count }, (_, k) => [r.dof(k)]) : [r.jac.map(({ dof }) => dof as number)],
  );

/** Rows by their places in `listRows`: one of a loop is made where it is asked for. */
export function rowPicker(rows: Rows): (place: number) => Row {
  const firsts: number[] = [];
  let count = 0;
  for (const r of rows) {
    firsts.push(count);
    count += "count" in r ? r.count : 1;
  }
  return (place) => {
    const at = firsts.findLastIndex((first) => first <= place);
    const r = rows[at];
    return "count" in r ? r.at(place - firsts[at]) : r;
  };
}

/** J x of a row. */
export function rowDot(row: Row, x: (dof: Int) => Scalar): Scalar {
  return row.jac.reduce<Scalar>((s, { dof, value }) => add(s, mul(value, x(dof))), 0);
}

/** What a row is made from. */
export interface RowParts {
  type: number;
  id: number;
  jac: Row["jac"];
  pos: Scalar;
  /** Default: 0. */
  margin?: Scalar;
  /** Default: always. */
  active?: Bool;
  curve: ImpedanceNumbers;
  reference: Reference;
  diagApprox: Scalar;
  frictionloss?: Scalar;
  /** The violation that the impedance goes by, where rows of one constraint share it. Default: pos. */
  violation?: Scalar;
  tendons?: Row["tendons"];
  /** The rate of the Jacobian times qvel, where MuJoCo takes it into account. */
  bias?: Scalar;
}

/** The same, its compliance as the model has it. */
export type RowSpec = Omit<RowParts, "curve" | "reference"> & {
  solref: ArrayLike<number>;
  solimp: ArrayLike<number>;
};

const kindOf = (type: number): Row["kind"] => {
  if (type === mjtConstraint.EQUALITY) return "equality";
  return type === mjtConstraint.FRICTION_DOF || type === mjtConstraint.FRICTION_TENDON ? "friction" : "limit";
};

/** The least R of a row that numbers resolve; that of one dof has an exact diagApprox. */
function leastR(m: ModelView, s: RowParts): Scalar | undefined {
  if (s.jac.length === 1 || hasExactDiagonal(m.model)) return undefined;
  const least = mul(
    m.form.resolvedCompliance,
    s.jac.reduce<Scalar>((sum, { dof, value }) => add(sum, mul(m.dof_invweight0.at(dof), mul(value, value))), 0),
  );
  return max(least, MINVAL);
}

/** A row of a constraint of its own. Reads qvel. */
export function makeRow(m: ModelView, d: WorldData, { solref, solimp, ...parts }: RowSpec): Row {
  const c = compliance(solref, solimp);
  return makeRowOf(m, d, { ...parts, curve: impedanceNumbers(c), reference: reference(m, c) });
}

/** A row with its impedance and reference acceleration (mj_makeImpedance, mj_referenceConstraint). Reads qvel. */
export function makeRowOf(m: ModelView, d: WorldData, s: RowParts): Row {
  const { margin = 0, active = true } = s;
  const kind = kindOf(s.type);
  const distance = sub(s.pos, margin);
  const imp = impedance(s.curve, s.violation ?? distance);
  const { R, aref } = regularised(m, d, s, kind, distance, imp);
  return {
    kind,
    type: s.type,
    id: s.id,
    jac: s.jac,
    active,
    D: select(active, div(1, R), 0),
    R,
    aref: aref(),
    frictionloss: s.frictionloss ?? 0,
    pos: s.pos,
    margin,
    tendons: s.tendons ?? [],
  };
}

/** R and the reference acceleration of a row, at the end of the step if the integrator takes it there. */
function regularised(
  m: ModelView,
  d: WorldData,
  s: RowParts,
  kind: Row["kind"],
  distance: Scalar,
  imp: Scalar,
): { readonly R: Scalar; readonly aref: () => Scalar } {
  const exact = hasExactDiagonal(m.model);
  const diagonal = exact ? exactDiagonal(m, d, s.jac) : s.diagApprox;
  const velocity = (): Scalar => s.jac.reduce<Scalar>((v, { dof, value }) => add(v, mul(value, d.qvel.at(dof))), 0);
  // friction rows have no position to return to
  const springs = kind !== "friction";
  if (!isDiscrete(m.model)) {
    const { K, B } = s.reference;
    const R = regularizer(imp, diagonal, leastR(m, s));
    const vel = velocity();
    const spring = springs ? mul(mul(K, imp), distance) : 0;
    return { R, aref: () => sub(neg(add(mul(B, vel), spring)), s.bias ?? 0) };
  }
  const end = atEnd(m, springs ? s.reference : { ...s.reference, K: 0 }, imp, kind === "limit");
  const ratio = exact ? 1 : weightRatio(d, (visit) => s.jac.forEach(({ dof, value }) => visit(dof, value)));
  const R = div(regularizer(imp, mul(diagonal, ratio)), end.scale);
  const least = leastR(m, s);
  return {
    R: least === undefined ? R : max(R, mul(least, ratio)),
    aref: () => sub(end.aref(distance, velocity()), div(s.bias ?? 0, end.scale)),
  };
}

/** Axis and angle in [0, pi] of a rotation (mju_quat2Vel with dt = 1). */
export function ballRotation(q: Quat): { axis: Vec3; angle: Scalar } {
  const [w, x, y, z] = normalizeQuat(q);
  const { unit, length } = normalize3([x, y, z]);
  // the shorter way round: w and -w are the same rotation
  const angle = mul(2, atan2(length, select(lt(w, 0), neg(w), w)));
  return { axis: scale3(unit, select(lt(w, 0), -1, 1)), angle };
}

/** Force of a row at Jaref = J qacc - aref (mj_constraintUpdate), the Hessian of its cost, and that cost. */
export interface RowLaw {
  readonly force: Scalar;
  /** D if the row is in its quadratic zone, else 0. */
  readonly hessian: Scalar;
  readonly cost: Scalar;
  /** Which linear piece of the force law holds here (efc_state). */
  readonly state: readonly Bool[];
}

export function rowLaw(row: Row, Jaref: Scalar): RowLaw {
  const { D, R, frictionloss: loss } = row;
  if (row.kind === "equality") {
    const force = neg(mul(D, Jaref));
    return { force, hessian: D, cost: mul(-0.5, mul(force, Jaref)), state: [] };
  }
  if (row.kind === "limit") {
    const pushing = lt(Jaref, 0);
    const x = min(Jaref, 0);
    const force = neg(mul(D, x));
    return {
      force,
      hessian: select(pushing, D, 0),
      cost: mul(0.5, neg(mul(force, x))),
      state: [and(pushing, row.active)],
    };
  }
  const bound = mul(R, loss);
  const negative = le(Jaref, neg(bound));
  const positive = ge(Jaref, bound);
  const flat = or(negative, positive);
  const force = max(min(neg(mul(D, Jaref)), loss), neg(loss));
  const linear = sub(mul(loss, max(Jaref, neg(Jaref))), mul(mul(0.5, loss), bound));
  return {
    force,
    hessian: select(flat, 0, D),
    cost: select(flat, linear, mul(0.5, mul(D, mul(Jaref, Jaref)))),
    state: [negative, positive],
  };
}
