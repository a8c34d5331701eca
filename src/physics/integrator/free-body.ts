// free bodies by themselves under implicitfast and discrete: their gyroscopic forces are implicit too
import { array, each, when } from "../../trace/control.ts";
import { add, and, div, dotn, eq, mul, ne, neg, sub, type Int, type Scalar } from "../../trace/scalar.ts";
import {
  add3,
  cross,
  mulMat,
  mulMatVec,
  mulQuat,
  normalizeQuat,
  quatToMat,
  rotate,
  transpose,
  type Mat3,
  type Quat,
  type Vec3,
} from "../../trace/vector.ts";
import { mjtIntegrator } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import { derivativeEntries } from "./derivative.ts";
import { ellipsoidBlocks, type FluidBlock } from "./ellipsoid-derivative.ts";
import type { ContactRows } from "../constraint/contact-rows.ts";
import { listRows, type Rows } from "../constraint/rows.ts";
import type { Metric } from "./metric.ts";
import { bodiesOf, isFreeBody, isOfFreeBody } from "./standalone.ts";
import type { Inertia } from "../smooth/inertia.ts";
import type { Sparsity } from "../smooth/sparsity.ts";
import type { WorldData, Field, ModelView } from "../view.ts";

const freeBodies = (model: Model): number[] =>
  Array.from({ length: model.nbody }, (_, b) => b).filter((b) => isFreeBody(model, b));

const skew = ([x, y, z]: Vec3): Mat3 => [0, neg(z), y, z, 0, neg(x), neg(y), x, 0];
const addMat = (a: Mat3, b: Mat3): Mat3 => a.map((x, k) => add(x, b[k])) as unknown as Mat3;
const scaleMat = (a: Mat3, s: Scalar): Mat3 => a.map((x) => mul(x, s)) as unknown as Mat3;

/** Where the centre of mass of a body is in the frame of a free one that it is, or is fixed to, and the axes of its inertia. */
function placeIn(m: ModelView, root: number, b: number): { centre: Vec3; axes: Quat } {
  let [centre, axes] = [m.body_ipos.vec3(b), m.body_iquat.quat(b)];
  for (let at = b; at !== root; at = m.model.body_parentid[at]) {
    const turn = m.body_quat.isOwn ? normalizeQuat(m.body_quat.quat(at)) : m.body_quat.quat(at);
    [centre, axes] = [add3(m.body_pos.vec3(at), rotate(turn, centre)), mulQuat(turn, axes)];
  }
  return { centre, axes };
}

/**
 * d(qfrc_bias)/d(angular velocity) of a free body (mjd_freeBias_vel), in its axes: there the inertia and the offset of the
 * centre of mass are constants. `force` is to be turned into the world's axes.
 */
const biasDerivative = (m: ModelView, root: number, w: Vec3): { force: Mat3; torque: Mat3 } =>
  bodiesOf(m.model, root)
    .map((b) => biasDerivativeOf(m, root, b, w))
    .reduce((a, b) => ({ force: addMat(a.force, b.force), torque: addMat(a.torque, b.torque) }));

/** The share of one of its bodies. */
function biasDerivativeOf(m: ModelView, root: number, b: number, w: Vec3): { force: Mat3; torque: Mat3 } {
  const { centre: s, axes: turned } = placeIn(m, root, b);
  const axes = quatToMat(turned);
  const [xx, yy, zz] = m.body_inertia.vec3(b);
  const inertia = mulMat(mulMat(axes, [xx, 0, 0, 0, yy, 0, 0, 0, zz]), transpose(axes));

  // K = s wᵀ - (w . s) + [w x s]: how the centre's acceleration w x (w x s) changes with w, negated
  const ws = dotn(w, s);
  const outer = s.flatMap((x) => w.map((y) => mul(x, y))) as unknown as Mat3;
  const K = addMat(addMat(outer, [neg(ws), 0, 0, 0, neg(ws), 0, 0, 0, neg(ws)]), skew(cross(w, s)));
  const force = scaleMat(K, neg(m.body_mass.at(b)));

  const spin = addMat(mulMat(skew(w), inertia), scaleMat(skew(mulMatVec(inertia, w)), -1));
  return { force, torque: addMat(mulMat(skew(s), force), spin) };
}

/** M - h (d qfrc_smooth / d qvel) of a free body's six dofs (mjd_freeMhat). */
function freeBlock(
  m: ModelView,
  d: WorldData,
  inertia: Inertia,
  ellipsoids: readonly FluidBlock[],
  b: number,
): Scalar[][] {
  const { model } = m;
  const first = model.body_dofadr[b];
  const A = blockOf(first, (i, j) => inertia.entry(i, j));

  const subtract = (i: number, j: number, value: Scalar) => (A[i][j] = sub(A[i][j], mul(m.timestep, value)));
  for (const { entry, value } of derivativeEntries(m, d, blockPattern(model, first)) ?? []) {
    if (entry < 0) continue;
    const [i, j] = [Math.floor(entry / 6), entry % 6];
    subtract(i, j, value);
    if (i !== j) subtract(j, i, value);
  }
  for (const { body, dofs, at } of ellipsoids) {
    if (model.body_rootid[body] === b) dofs.forEach((_, i) => dofs.forEach((_dof, j) => subtract(i, j, at(i, j))));
  }

  subtractBias(m, d, b, A);
  return A;
}

/** The six dofs from `first` of a symmetric matrix, of which `entry` has the lower triangle. */
const blockOf = (first: number, entry: (i: number, j: number) => Scalar): Scalar[][] =>
  Array.from({ length: 6 }, (_, i) =>
    Array.from({ length: 6 }, (_, j) => entry(first + Math.max(i, j), first + Math.min(i, j))),
  );

/** Takes h times the derivative of -qfrc_bias from a free body's block. */
function subtractBias(m: ModelView, d: WorldData, b: number, A: Scalar[][]): void {
  const first = m.model.body_dofadr[b];
  const subtract = (i: number, j: number, value: Scalar) => (A[i][j] = sub(A[i][j], mul(m.timestep, value)));
  const { force, torque } = biasDerivative(m, b, d.qvel.run(first + 3, 3) as unknown as Vec3);
  const world = mulMat(d.xmat.mat3(b), force);
  for (let i = 0; i < 3; i++) {
    for (let j = 0; j < 3; j++) {
      subtract(i, 3 + j, neg(world[3 * i + j]));
      subtract(3 + i, 3 + j, neg(torque[3 * i + j]));
    }
  }
}

/** The entries that MuJoCo's D has of six dofs; -1 for others. */
function blockPattern(model: Model, first: number): Sparsity {
  const inside = (i: number) => i >= first && i < first + 6;
  const start = (i: number) => model.D_rowadr[i];
  const has = (i: number, j: number) =>
    inside(i) && inside(j) && model.D_colind.subarray(start(i), start(i) + model.D_rownnz[i]).includes(j);
  return {
    n: 6,
    nnz: 36,
    rows: [],
    rowadr: [],
    has,
    index: (i, j) => (inside(i) && inside(j) ? 6 * (i - first) + (j - first) : -1),
  };
}

/** x with A x = b. No pivoting: A is a mass matrix and what little one time step adds to it. */
function solveDense(A: Scalar[][], b: readonly Scalar[]): Scalar[] {
  const n = b.length;
  const a = A.map((row, i) => [...row, b[i]]);
  for (let k = 0; k < n; k++) {
    const inverse = div(1, a[k][k]);
    for (let i = k + 1; i < n; i++) {
      const scale = mul(a[i][k], inverse);
      for (let j = k + 1; j <= n; j++) a[i][j] = sub(a[i][j], mul(scale, a[k][j]));
    }
  }
  const x: Scalar[] = Array(n).fill(0);
  for (let k = n - 1; k >= 0; k--) {
    const rest = x.slice(k + 1).reduce<Scalar>((s, v, j) => sub(s, mul(a[k][k + 1 + j], v)), a[k][n]);
    x[k] = div(rest, a[k][k]);
  }
  return x;
}

/**
 * The implicit accelerations of free bodies by themselves, as pairs of dof and value, under `force`. Reads M, qvel, xmat.
 */
export function freeBodyAccelerations(m: ModelView, d: WorldData, inertia: Inertia, force: Field): [number, Scalar][] {
  const bodies = m.opt.integrator === mjtIntegrator.IMPLICITFAST ? freeBodies(m.model) : [];
  const ellipsoids = bodies.length === 0 ? [] : ellipsoidBlocks(m, d, (b) => isOfFreeBody(m.model, b));
  return bodies.flatMap((b) => {
    const first = m.model.body_dofadr[b];
    const x = solveDense(freeBlock(m, d, inertia, ellipsoids, b), force.run(first, 6));
    return x.map((value, i): [number, Scalar] => [first + i, value]);
  });
}

/**
 * qacc of free bodies by themselves in the metric of the integrator `discrete`, where no constraint acts on them and nothing
 * pulls them by a slope (mj_discreteGyro). Reads qfrc_smooth, qvel, xmat; writes qacc.
 */
export function turnFreeBodies(
  m: ModelView,
  d: WorldData,
  { entry, shift, pulls }: Metric,
  { rows, contacts }: { readonly rows: Rows; readonly contacts: ContactRows },
): void {
  const { model } = m;
  const bodies = freeBodies(model);
  if (bodies.length === 0) return;
  const touched = array("touched", model.nbody, "i32");
  each(model.nbody, (b) => touched.set(b, 0));
  const touch = (b: Int) => touched.set(b, 1);
  const holding = listRows(rows).map(({ jac, active }) => ({
    dofs: jac.map(({ dof }) => dof as number),
    acts: active,
  }));
  for (const { dofs, acts } of [...holding, ...pulls]) {
    const own = new Set(dofs.map((dof) => model.dof_bodyid[dof]));
    const held = bodies.filter((b) => own.has(b));
    if (held.length > 0) when(acts, () => held.forEach(touch));
  }
  contacts.slots.each((_, slot) => {
    const roots = ([0, 1] as const).map((side) => m.body_rootid.at(contacts.body(slot, side)));
    // a body that touches itself is held by nothing
    when(and(contacts.makesRows(slot), ne(roots[0], roots[1])), () => roots.forEach(touch));
  });
  for (const b of bodies) {
    const first = model.body_dofadr[b];
    when(eq(touched.get(b), 0), () => {
      const A = blockOf(first, entry);
      subtractBias(m, d, b, A);
      const force = d.qfrc_smooth.run(first, 6).map((f, i) => add(f, shift.at(first + i)));
      solveDense(A, force).forEach((x, i) => d.qacc.set(first + i, x));
    });
  }
}
