// numbers that MuJoCo derives from a model at qpos0, in the kernel: for worlds with masses of their own (mj_setConst)
import { each, increase, table, variable } from "../trace/control.ts";
import { add, div, max, mul, sqrt, square, sum, type Int, type Scalar } from "../trace/scalar.ts";
import { motionAt } from "../trace/spatial.ts";
import { MINVAL } from "../trace/vector.ts";
import { mjtJoint } from "../model/enums.ts";
import type { Model } from "../model/model.ts";
import { bodyDofs } from "./constraint/body-dofs.ts";
import { hasLoops } from "./form.ts";
import type { Arm } from "./tendon/moment-arms.ts";
import { comPos } from "./smooth/com_pos.ts";
import { crb } from "./smooth/crb.ts";
import { factorM } from "./smooth/factor_m.ts";
import { pointJacobian } from "./smooth/jac.ts";
import { kinematics } from "./smooth/kinematics.ts";
import { treeSparsity, type SymMatrix } from "./smooth/sparsity.ts";
import { tendon, tendonArms } from "./tendon/tendon.ts";
import { moment } from "./actuator/transmission.ts";
import { ownFields, worldData, Field, type ModelView, type WorldData } from "./view.ts";

/** Mass of each body's subtree (body_subtreemass). */
export function subtreeMasses(m: ModelView): Scalar[] {
  const mass = Array.from({ length: m.nbody }, (_, b) => m.body_mass.at(b));
  for (let b = m.nbody - 1; b > 0; b--) {
    const parent = m.model.body_parentid[b];
    mass[parent] = add(mass[parent], mass[b]);
  }
  return mass;
}

/** Derived numbers, by name of the field and flat index. */
export interface InertiaConstants {
  readonly dof_invweight0: readonly Scalar[];
  /** Of the bodies asked for: translation, rotation. */
  readonly body_invweight0: ReadonlyMap<number, readonly [Scalar, Scalar]>;
  readonly meaninertia: Scalar;
  /** Of the tendons and actuators asked for. */
  readonly tendon_length0: readonly Scalar[];
  readonly tendon_invweight0: ReadonlyMap<number, Scalar>;
  readonly actuator_acc0: ReadonlyMap<number, Scalar>;
}

/** What is derived beside the numbers of dofs, by id. */
export interface Wanted {
  readonly bodies?: readonly number[];
  readonly tendons?: readonly number[];
  readonly actuators?: readonly number[];
}

/** body_simple of a body with nothing but aligned slides: MuJoCo takes its mass alone, armature left out. */
const SLIDERS = 2;

const mean = (values: readonly Scalar[]): Scalar => mul(sum(values), 1 / values.length);

/**
 * Inverse inertias at qpos0 of all dofs, of some bodies and tendons, what accelerations unit forces of some actuators
 * make, and the mean inertia. `m` has this world's masses.
 */
export function inertiaConstants(
  m: ModelView,
  { bodies = [], tendons = [], actuators = [] }: Wanted,
): InertiaConstants {
  const { model, nv } = m;
  const d = worldData(model, ["qvel"], {}, ownFields(m));
  for (let i = 0; i < m.nq; i++) d.qpos.set(i, m.qpos0.at(i));
  // mocap bodies weigh nothing if they are
  model.body_mocapid.forEach((id, b) => {
    if (id < 0) return;
    d.mocap_pos.setRow(id, Array.from(model.body_pos.subarray(3 * b, 3 * b + 3)));
    d.mocap_quat.setRow(id, Array.from(model.body_quat.subarray(4 * b, 4 * b + 4)));
  });
  kinematics(m, d);
  comPos(m, d);
  tendon(m, d);
  const sparsity = treeSparsity(model);
  const M = crb(m, d, sparsity);
  const diagonal = Array.from({ length: nv }, (_, i) => d.M.at(M.diagonal(i)));
  const factors = factorM(d, sparsity);

  const inverse = hasLoops() ? inverseInLoop(nv, factors, d) : inverseInLine(nv, factors, d);
  const weight = (arms: readonly (readonly [number, Scalar])[]): Scalar =>
    sum(arms.flatMap(([i, a]) => arms.map(([j, b]) => mul(mul(a, b), inverse(i, j)))));

  const pairs = (arms: readonly Arm[]) => arms.map(({ dof, coef }) => [dof, coef] as const);
  /** Accelerations of all dofs under a force along arms. */
  const accelerations = (arms: readonly Arm[]): Scalar[] =>
    Array.from({ length: nv }, (_, i) => sum(arms.map(({ dof, coef }) => mul(coef, inverse(i, dof)))));

  const bodyWeight = (b: number): readonly [Scalar, Scalar] => {
    const columns = pointJacobian(m, d, b, d.xipos.vec3(b));
    const along = (of: "trans" | "rot") =>
      mean([0, 1, 2].map((k) => weight(columns.map((c) => [c.dof, c[of][k]] as const))));
    return [max(along("trans"), MINVAL), max(along("rot"), MINVAL)];
  };
  const isStill = (b: number) => bodyDofs(model, b).length === 0;
  const isSlider = (b: number) => model.body_simple[b] === SLIDERS;
  const turning = bodies.filter((b) => !isStill(b) && !isSlider(b));
  const weights = hasLoops() ? bodyWeightsInLoop(m, d, turning, inverse) : turning.map(bodyWeight);

  return {
    tendon_length0: d.ten_length.all(),
    tendon_invweight0: new Map(tendons.map((t) => [t, weight(pairs(tendonArms(m, d, t)))])),
    actuator_acc0: new Map(actuators.map((i) => [i, sqrt(sum(accelerations(moment(m, d, i)).map(square)))])),
    dof_invweight0: dofWeights(
      model,
      Array.from({ length: nv }, (_, i) => {
        const body = model.dof_bodyid[i];
        return isSlider(body) ? div(1, m.body_mass.at(body)) : inverse(i, i);
      }),
    ),
    body_invweight0: new Map(
      bodies.map((b) => {
        if (isStill(b)) return [b, [0, 0]] as const;
        if (isSlider(b)) return [b, [div(1, m.body_mass.at(b)), 0]] as const;
        return [b, weights[turning.indexOf(b)]] as const;
      }),
    ),
    meaninertia: nv === 0 ? 1 : div(sum(diagonal), nv),
  };
}

/** An element of M^-1. */
type Inverse = (i: Int, j: Int) => Scalar;

/** M^-1 row by row: x' M^-1 x is then a sum of products. */
function inverseInLine(nv: number, factors: SymMatrix, d: WorldData): Inverse {
  const rows = Array.from({ length: nv }, (_, i) => {
    const x = new Field("unit", nv);
    for (let k = 0; k < nv; k++) x.set(k, k === i ? 1 : 0);
    factors.solve(d.qLDiagInv, x);
    return x.all();
  });
  return (i, j) => rows[i as number][j as number];
}

/** The same operations in the same order, a row a turn. */
function inverseInLoop(nv: number, factors: SymMatrix, d: WorldData): Inverse {
  const rows = new Field("inverse", nv * nv);
  const x = new Field("unit", nv);
  each(nv, (i) => {
    each(nv, (k) => x.set(k, 0));
    x.set(i, 1);
    factors.solve(d.qLDiagInv, x);
    each(nv, (k) => rows.set(add(mul(i, nv), k), x.at(k)));
  });
  return (i, j) => rows.at(add(mul(i, nv), j));
}

/** body_invweight0 of bodies that turn about dofs, a body a turn: the sums of straight-line code in their order. */
function bodyWeightsInLoop(
  m: ModelView,
  d: WorldData,
  bodies: readonly number[],
  inverse: Inverse,
): [Scalar, Scalar][] {
  const chains = bodies.map((b) => bodyDofs(m.model, b));
  const ints = (name: string, values: readonly number[]) => table(name, values, "i32");
  const body = ints("weighed", bodies);
  const root = ints(
    "weighed_root",
    bodies.map((b) => m.model.body_rootid[b]),
  );
  const dofs = ints("weighed_dofs", chains.flat());
  const count = ints(
    "weighed_dofnum",
    chains.map((chain) => chain.length),
  );
  const first = ints(
    "weighed_dofadr",
    chains.map((_, i) => chains.slice(0, i).flat().length),
  );
  const columns = new Field("weighed_column", 6 * m.nv, 6);
  const weights = new Field("weighed_weight", 2 * bodies.length, 2);
  each(bodies.length, (at) => {
    const point = d.xipos.vec3(body(at));
    const com = d.subtree_com.vec3(root(at));
    each(count(at), (k) => columns.setRow(k, motionAt(d.cdof.spatial(dofs(add(first(at), k))), point, com)));
    const sums = Array.from({ length: 6 }, (_, axis) => variable(`weighed_${axis}`, 0));
    each(count(at), (k) => {
      const row = columns.slice(k, 6);
      each(count(at), (l) => {
        const other = columns.slice(l, 6);
        const between = inverse(dofs(add(first(at), k)), dofs(add(first(at), l)));
        sums.forEach((total, axis) => increase(total, mul(mul(row[axis], other[axis]), between)));
      });
    });
    const [turn, shift] = [0, 3].map((axis) => max(mean(sums.slice(axis, axis + 3).map((s) => s.get())), MINVAL));
    weights.setRow(at, [shift, turn]);
  });
  return bodies.map((_, at) => [weights.at(2 * at), weights.at(2 * at + 1)]);
}

/** Dofs of one free or ball joint share the mean of their three. */
function dofWeights(model: Model, diagonal: readonly Scalar[]): Scalar[] {
  const out = [...diagonal];
  for (let j = 0; j < model.njnt; j++) {
    const groups = { [mjtJoint.FREE]: 2, [mjtJoint.BALL]: 1 }[model.jnt_type[j]] ?? 0;
    for (let g = 0; g < groups; g++) {
      const start = model.jnt_dofadr[j] + 3 * g;
      const shared = mean(diagonal.slice(start, start + 3));
      for (let k = 0; k < 3; k++) out[start + k] = shared;
    }
  }
  return out;
}
