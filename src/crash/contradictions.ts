// limits and equalities of a model that cannot hold together, and starts that break them
import { mjtConstraint, mjtEq, mjtJoint } from "../model/enums.ts";
import { describe, type Model } from "../model/model.ts";
import type { Oracle } from "../model/oracle.ts";
import { n, type Cause } from "./cause.ts";

/** Residual of equalities (m, rad) that no motion can mend. */
const UNMENDED = 1e-3;
/** Part of the violation that such a residual is at least: curvature leaves less. */
const MOST_OF_IT = 0.1;
/** Products of a factorisation beyond which it would take seconds. */
const MOST_PRODUCTS = 5e8;
/** Samples of the range of a joint that another one follows. */
const SAMPLES = 65;

const isLimited = (model: Model, j: number): boolean =>
  model.jnt_limited[j] !== 0 && model.jnt_type[j] >= mjtJoint.SLIDE;
const rangeOf = (model: Model, j: number): readonly [number, number] => [
  model.jnt_range[2 * j],
  model.jnt_range[2 * j + 1],
];

const contradiction = (text: string, remedy: string): Cause => ({
  name: "contradiction",
  certainty: "certain",
  text,
  remedy,
});

/** Equalities of joints that ask for a position beyond the joint's range, wherever the other joint is. */
export function equalitiesBesideLimits(model: Model): Cause[] {
  const out: Cause[] = [];
  for (let e = 0; e < model.neq; e++) {
    if (model.eq_type[e] !== mjtEq.JOINT || !model.eq_active0[e]) continue;
    const [a, b] = [model.eq_obj1id[e], model.eq_obj2id[e]];
    if (!isLimited(model, a)) continue;
    const [low, high] = rangeOf(model, a);
    const wanted = wantedBy(model, e, a, b);
    const [least, most] = [Math.min(...wanted), Math.max(...wanted)];
    const margin = 1e-6 * Math.max(1, Math.abs(low), Math.abs(high));
    if (least <= high + margin && most >= low - margin) continue;
    const where = least === most ? n(least) : `${n(least)} to ${n(most)}`;
    const whatever = b < 0 ? "" : `, wherever ${describe(model, "joint", b)} is in its range`;
    out.push(
      contradiction(
        `${describe(model, "equality", e)} holds ${describe(model, "joint", a)} at ${where}${whatever}, and its range is [${n(low)}, ${n(high)}].`,
        "Correct polycoef or the range: the two constraints pull against each other for ever.",
      ),
    );
  }
  return out;
}

/** Positions that a joint equality requires of its first joint, over the range of the second. */
function wantedBy(model: Model, e: number, a: number, b: number): number[] {
  const poly = model.eq_data.subarray(11 * e, 11 * e + 5);
  const start = (j: number) => model.qpos0[model.jnt_qposadr[j]];
  const at = (x: number) => start(a) + poly.reduce((sum, c, k) => sum + c * x ** k, 0);
  if (b < 0) return [at(0)];
  // without a range it may be anywhere
  if (!isLimited(model, b)) return poly.subarray(1).some((c) => c !== 0) ? [-Infinity, Infinity] : [at(0)];
  const [low, high] = rangeOf(model, b);
  return Array.from({ length: SAMPLES }, (_, k) => at(low + ((high - low) * k) / (SAMPLES - 1) - start(b)));
}

/** Equalities and violated limits at a state that no motion mends together; read after mj_forward. */
export function unmendable(model: Model, oracle: Oracle): Cause[] {
  const { nefc } = oracle.data;
  const { nv } = model;
  if (nefc === 0 || nv === 0) return [];
  const [types, ids, positions] = ["efc_type", "efc_id", "efc_pos"].map((name) => oracle.read(name));
  const { EQUALITY, LIMIT_JOINT } = mjtConstraint;
  const rows = Array.from({ length: nefc }, (_, i) => i).filter(
    (i) => types[i] === EQUALITY || (types[i] === LIMIT_JOINT && positions[i] < 0),
  );
  const products = rows.length * nv * Math.min(rows.length, nv);
  if (!rows.some((i) => types[i] === EQUALITY) || products > MOST_PRODUCTS) return [];

  // what each dof changes of the rows' positions
  const columns = columnsOf(oracle, nv, rows);
  const rest = Float64Array.from(rows, (i) => positions[i]);
  const before = norm(rest);
  const basis: Float64Array[] = [];
  for (const column of columns) {
    const left = orthogonal(column, basis);
    if (norm(left) > 1e-9 * Math.max(1, norm(column))) basis.push(left.map((x) => x / norm(left)));
  }
  const residual = orthogonal(rest, basis);
  if (!(norm(residual) > Math.max(UNMENDED, MOST_OF_IT * before))) return [];
  const worst = [...rows.keys()].filter((k) => Math.abs(residual[k]) > 0.3 * Math.max(...residual.map(Math.abs)));
  const names = [
    ...new Set(
      worst.map((k) =>
        types[rows[k]] === EQUALITY
          ? describe(model, "equality", ids[rows[k]])
          : `the limit of ${describe(model, "joint", ids[rows[k]])}`,
      ),
    ),
  ];
  return [
    contradiction(
      `${names.join(" and ")} cannot hold together at the start: ${n(norm(residual))} (m, rad) of what they ask is left whatever the joints do.`,
      "Leave one of them out, or move its anchors: constraints that contradict each other push without end.",
    ),
  ];
}

/** Columns of chosen rows of efc_J. */
function columnsOf({ mujoco, model, read }: Oracle, nv: number, rows: readonly number[]): Float64Array[] {
  const columns = Array.from({ length: nv }, () => new Float64Array(rows.length));
  const J = read("efc_J");
  if (mujoco.mj_isSparse(model) === 0) {
    rows.forEach((row, k) => columns.forEach((column, d) => (column[k] = J[row * nv + d])));
    return columns;
  }
  const [starts, counts, dofs] = ["efc_J_rowadr", "efc_J_rownnz", "efc_J_colind"].map((name) => read(name));
  rows.forEach((row, k) => {
    for (let at = starts[row]; at < starts[row] + counts[row]; at++) columns[dofs[at]][k] = J[at];
  });
  return columns;
}

const norm = (x: Float64Array): number => Math.hypot(...x);

/** The part of a vector that is orthogonal to a basis. */
function orthogonal(x: Float64Array, basis: readonly Float64Array[]): Float64Array {
  const out = x.slice();
  // twice: once leaves roundings of what it took away
  for (let turn = 0; turn < 2; turn++) {
    for (const b of basis) {
      const dot = b.reduce((sum, v, i) => sum + v * out[i], 0);
      b.forEach((v, i) => (out[i] -= dot * v));
    }
  }
  return out;
}
