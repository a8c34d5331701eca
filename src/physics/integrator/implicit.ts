// the integrator `implicit`: velocity derivatives of all smooth forces, Coriolis forces among them
import { add, div, mul, sub, type Scalar } from "../../trace/scalar.ts";
import { add6, crossForce, crossMotion, dot6, mulInertVec, scale6, ZERO6, type Spatial } from "../../trace/spatial.ts";
import { mjtJoint } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import { derivativeEntries } from "./derivative.ts";
import { ellipsoidBlocks } from "./ellipsoid-derivative.ts";
import { coupledSparsity, type SymMatrix } from "../smooth/sparsity.ts";
import type { WorldData, Field, ModelView } from "../view.ts";

/** Entries of a square matrix that are not zero, by row and column. */
type Matrix = Map<number, Scalar>[];

/**
 * Column `k` of d(qfrc_bias)/d(qvel) (mjd_rne_vel): the recursion of mj_rne, differentiated by one velocity. Reads cdof,
 * cdof_dot, cvel, cinert, qvel.
 */
function biasColumn(m: ModelView, d: WorldData, k: number): Map<number, Scalar> {
  const { model } = m;
  const owner = model.dof_bodyid[k];
  const velocity = new Map<number, Spatial>();
  const acceleration = new Map<number, Spatial>();
  const force = new Map<number, Spatial>();

  // down: only bodies that this dof moves
  for (let b = owner; b < m.nbody; b++) {
    const parent = model.body_parentid[b];
    if (b !== owner && !velocity.has(parent)) continue;
    let v = velocity.get(parent) ?? ZERO6;
    let a = acceleration.get(parent) ?? ZERO6;
    const turn = (dof: number, before: Spatial) => {
      a = add6(a, scale6(crossMotion(before, d.cdof.spatial(dof)), d.qvel.at(dof)));
      if (dof === k) a = add6(a, d.cdof_dot.spatial(k));
    };
    const gain = (dof: number) => {
      if (dof === k) v = add6(v, d.cdof.spatial(k));
    };
    const first = model.body_jntadr[b];
    for (let j = first; j < first + model.body_jntnum[b]; j++) {
      let dof = model.jnt_dofadr[j];
      const type = model.jnt_type[j];
      if (type === mjtJoint.FREE) for (let c = 0; c < 3; c++) gain(dof++);
      // the rotations of a ball turn together
      const count = type === mjtJoint.FREE || type === mjtJoint.BALL ? 3 : 1;
      const before = v;
      for (let c = 0; c < count; c++) turn(dof + c, before);
      for (let c = 0; c < count; c++) gain(dof + c);
    }
    velocity.set(b, v);
    acceleration.set(b, a);
    const inertia = d.cinert.inertia(b);
    const spin = d.cvel.spatial(b);
    const turned = add6(crossForce(v, mulInertVec(inertia, spin)), crossForce(spin, mulInertVec(inertia, v)));
    force.set(b, add6(mulInertVec(inertia, a), turned));
  }

  // up: forces of subtrees, to the root
  for (let b = m.nbody - 1; b > 0; b--) {
    const own = force.get(b);
    if (!own) continue;
    const parent = model.body_parentid[b];
    force.set(parent, add6(force.get(parent) ?? ZERO6, own));
  }
  const column = new Map<number, Scalar>();
  for (let i = 0; i < m.nv; i++) {
    const f = force.get(model.dof_bodyid[i]);
    if (f) column.set(i, dot6(d.cdof.spatial(i), f));
  }
  return column;
}

/** Each dof with its ancestors. */
function chains({ nv, dof_parentid }: Model): number[][] {
  const out: number[][] = [];
  for (let i = 0; i < nv; i++) out.push([...(out[dof_parentid[i]] ?? []), i]);
  return out;
}

/** M - h d(qfrc_smooth)/d(qvel), over pairs of dofs of which one is the other's ancestor. */
function implicitMatrix(m: ModelView, d: WorldData, M: SymMatrix): Matrix {
  const rows: Matrix = Array.from({ length: m.nv }, () => new Map<number, Scalar>());
  // M leaves out what a body whose axes are those of its inertia has none of; derivatives have it
  const sparsity = coupledSparsity(m.model, chains(m.model));
  const derivative = new Map<number, Scalar>();
  for (const { entry, value } of derivativeEntries(m, d, sparsity) ?? []) {
    const before = derivative.get(entry);
    derivative.set(entry, before === undefined ? value : add(before, value));
  }
  sparsity.rows.forEach((columns, i) => {
    for (const j of columns) {
      const e = sparsity.index(i, j);
      const own = M.sparsity.has(i, j) ? M.entries.at(M.sparsity.index(i, j)) : 0;
      const value = sub(own, mul(m.timestep, derivative.get(e) ?? 0));
      rows[i].set(j, value);
      rows[j].set(i, value);
    }
  });
  const against = (i: number, j: number, value: Scalar) => {
    const before = rows[i].get(j);
    if (before !== undefined) rows[i].set(j, sub(before, mul(m.timestep, value)));
  };
  for (const { dofs, at } of ellipsoidBlocks(m, d, () => true)) {
    dofs.forEach((row, i) => dofs.forEach((column, j) => against(row, column, at(i, j))));
  }
  for (let k = 0; k < m.nv; k++) {
    for (const [i, value] of biasColumn(m, d, k)) {
      const before = rows[i].get(k);
      if (before !== undefined) rows[i].set(k, add(before, mul(m.timestep, value)));
    }
  }
  return rows;
}

/** Accelerations of the integrator `implicit`: (M - h dF/dv)⁻¹ (qfrc_smooth + qfrc_constraint) (mj_implicit). */
export function implicitAccelerations(m: ModelView, d: WorldData, M: SymMatrix, force: Field): Field {
  const { nv } = m;
  const rows = implicitMatrix(m, d, M);
  const x = force;
  // from the leaves up: what a dof gives its ancestors; their pairs are there already
  for (let k = nv - 1; k >= 0; k--) {
    const inverse = div(1, rows[k].get(k)!);
    const ancestors = [...rows[k].keys()].filter((j) => j < k);
    for (const i of ancestors) {
      const share = mul(rows[i].get(k)!, inverse);
      for (const j of ancestors) rows[i].set(j, sub(rows[i].get(j)!, mul(share, rows[k].get(j)!)));
      x.set(i, sub(x.at(i), mul(share, x.at(k))));
    }
  }
  for (let k = 0; k < nv; k++) {
    let sum = x.at(k);
    for (const [j, value] of rows[k]) if (j < k) sum = sub(sum, mul(value, x.at(j)));
    x.set(k, div(sum, rows[k].get(k)!));
  }
  return x;
}
