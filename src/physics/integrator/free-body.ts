// free bodies by themselves under implicitfast: their gyroscopic forces are implicit too
import { add, div, dotn, mul, neg, sub, type Scalar } from "../../trace/scalar.ts";
import { cross, mulMat, mulMatVec, quatToMat, transpose, type Mat3, type Vec3 } from "../../trace/vector.ts";
import { mjtIntegrator } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import { derivativeEntries } from "./derivative.ts";
import { ellipsoidBlocks, type FluidBlock } from "./ellipsoid-derivative.ts";
import { isFreeBody } from "./standalone.ts";
import type { Inertia } from "../smooth/inertia.ts";
import type { Sparsity } from "../smooth/sparsity.ts";
import type { WorldData, Field, ModelView } from "../view.ts";

/** Bodies that the integrator treats apart. */
function freeBodies(model: Model): number[] {
  if (model.opt.integrator !== mjtIntegrator.IMPLICITFAST) return [];
  return Array.from({ length: model.nbody }, (_, b) => b).filter((b) => isFreeBody(model, b));
}

const skew = ([x, y, z]: Vec3): Mat3 => [0, neg(z), y, z, 0, neg(x), neg(y), x, 0];
const addMat = (a: Mat3, b: Mat3): Mat3 => a.map((x, k) => add(x, b[k])) as unknown as Mat3;
const scaleMat = (a: Mat3, s: Scalar): Mat3 => a.map((x) => mul(x, s)) as unknown as Mat3;

/**
 * d(qfrc_bias)/d(angular velocity) of a free body (mjd_freeBias_vel), in the body's axes: there the inertia and the
 * offset of the centre of mass are constants. `force` is to be turned into the world's axes.
 */
function biasDerivative(m: ModelView, b: number, w: Vec3): { force: Mat3; torque: Mat3 } {
  const s = m.body_ipos.vec3(b);
  const axes = quatToMat(m.body_iquat.quat(b));
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
  const A = Array.from({ length: 6 }, (_, i) =>
    Array.from({ length: 6 }, (_, j) => inertia.entry(first + Math.max(i, j), first + Math.min(i, j))),
  );

  const subtract = (i: number, j: number, value: Scalar) => (A[i][j] = sub(A[i][j], mul(m.timestep, value)));
  for (const { entry, value } of derivativeEntries(m, d, blockPattern(model, first)) ?? []) {
    if (entry < 0) continue;
    const [i, j] = [Math.floor(entry / 6), entry % 6];
    subtract(i, j, value);
    if (i !== j) subtract(j, i, value);
  }
  for (const { body, dofs, at } of ellipsoids) {
    if (body === b) dofs.forEach((_, i) => dofs.forEach((_dof, j) => subtract(i, j, at(i, j))));
  }

  const { force, torque } = biasDerivative(m, b, d.qvel.run(first + 3, 3) as unknown as Vec3);
  const world = mulMat(d.xmat.mat3(b), force);
  for (let i = 0; i < 3; i++) {
    for (let j = 0; j < 3; j++) {
      subtract(i, 3 + j, neg(world[3 * i + j]));
      subtract(3 + i, 3 + j, neg(torque[3 * i + j]));
    }
  }
  return A;
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
  const bodies = freeBodies(m.model);
  const ellipsoids = bodies.length === 0 ? [] : ellipsoidBlocks(m, d, (b) => isFreeBody(m.model, b));
  return bodies.flatMap((b) => {
    const first = m.model.body_dofadr[b];
    const x = solveDense(freeBlock(m, d, inertia, ellipsoids, b), force.run(first, 6));
    return x.map((value, i): [number, Scalar] => [first + i, value]);
  });
}
