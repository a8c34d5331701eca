// the metric of the integrator `discrete`: M + h D + h² K, in which accelerations and constraints are solved (mj_effBuild)
import { each } from "../../trace/control.ts";
import {
  add,
  div,
  gt,
  lt,
  max,
  mul,
  neg,
  or,
  select,
  sqrt,
  square,
  sub,
  sum,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { MINVAL, mulQuat, negQuat, normalizeQuat, type Quat } from "../../trace/vector.ts";
import { mjtBias, mjtDisableBit, mjtGain, mjtJoint, mjtSolver } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import { actuatorDisabled, actuatorInput } from "../actuator/actuation.ts";
import { motorStiffness } from "../actuator/dc-motor.ts";
import { muscleBiasSlope, muscleGainSlope } from "../actuator/muscle.ts";
import { moment } from "../actuator/transmission.ts";
import { hasExactDiagonal } from "../constraint/exact-diagonal.ts";
import { keepWeights } from "../constraint/metric-weights.ts";
import { ballRotation } from "../constraint/rows.ts";
import {
  dofArmatures,
  dofDamping,
  isZero,
  jointStiffness,
  polySlope,
  tendonDamping,
  tendonStiffness,
} from "../smooth/coefficients.ts";
import { hasFluid } from "../smooth/fluid.ts";
import { compositeMotions } from "../smooth/own-centres.ts";
import { copyField, coupledSparsity, SymMatrix, type Factored, type Sparsity } from "../smooth/sparsity.ts";
import { solvesDual } from "../solver/solution.ts";
import { tendonArms } from "../tendon/tendon.ts";
import { outerProduct, type Arm } from "../tendon/moment-arms.ts";
import { dragEntries, velocitySlope, withinRange } from "./derivative.ts";
import { Field, type ModelView, type WorldData } from "../view.ts";

/** The metric as far as stages after the solver, and islands, ask for it. */
export interface Metric {
  /** Entry (i, j) within the dofs of one free body, j <= i. */
  readonly entry: (i: number, j: number) => Scalar;
  /** -h K qvel: springs pull as they will at the end of the step. */
  readonly shift: Field;
  /** Dofs that one tendon or actuator couples. */
  readonly coupled: readonly (readonly number[])[];
  /** What pulls on which dofs, and whether with any stiffness or damping in this state. */
  readonly pulls: readonly { readonly dofs: readonly number[]; readonly acts: Bool }[];
}

/** The same as a matrix over dofs. */
export interface MetricMatrix extends Metric {
  readonly matrix: SymMatrix;
  readonly own: Factored;
  /** What is on the sparsity of M, and the whole diagonal: all that solvers on the dual and exact diagonals see. */
  readonly backbone: Factored;
}

/** The same where it is M with more armature. */
export interface MetricDiagonal extends Metric {
  readonly diagonal: Field;
}

/** A force along some dofs, by its spring and its damper: how much it falls with length and velocity, at least 0. */
interface Pull {
  readonly arms: readonly Arm[];
  readonly velocity: Scalar;
  readonly k: Scalar;
  readonly b: Scalar;
}

const isOff = ({ opt }: Model, bit: number): boolean => (opt.disableflags & bit) !== 0;
const least0 = (x: Scalar): Scalar => max(x, 0);

/** Springs of joints, as how much each dof's force falls with its position (effDiagStiff). */
function jointSprings(m: ModelView, d: WorldData): Map<number, Scalar> {
  const { model } = m;
  const out = new Map<number, Scalar>();
  if (isOff(model, mjtDisableBit.SPRING)) return out;
  const norm = (x: readonly Scalar[]) => sqrt(sum(x.map(square)));
  for (let j = 0; j < m.njnt; j++) {
    const spring = jointStiffness(m, j);
    if (isZero(spring)) continue;
    const [pos, dof, type] = [model.jnt_qposadr[j], model.jnt_dofadr[j], model.jnt_type[j]];
    const stretched = spring.poly.some((p) => p !== 0);
    const offset = (q: number) => sub(d.qpos.at(q), m.qpos_spring.at(q));
    // springs of several coordinates are as stiff along all of them
    const set = (first: number, count: number, size: () => Scalar) => {
      const k = least0(polySlope(spring, stretched ? size() : 0, false));
      for (let c = 0; c < count; c++) out.set(first + c, k);
    };
    const turned = (q: number) => {
      const own = normalizeQuat(d.qpos.run(q, 4) as unknown as Quat);
      return ballRotation(mulQuat(negQuat(m.qpos_spring.run(q, 4) as unknown as Quat), own)).angle;
    };
    if (type === mjtJoint.FREE) {
      set(dof, 3, () => norm([0, 1, 2].map((c) => offset(pos + c))));
      set(dof + 3, 3, () => turned(pos + 3));
    } else if (type === mjtJoint.BALL) set(dof, 3, () => turned(pos));
    else set(dof, 1, () => offset(pos));
  }
  return out;
}

/** Springs and dampers of tendons (mj_effShift). */
function tendonPulls(m: ModelView, d: WorldData): Pull[] {
  const { model } = m;
  return Array.from({ length: m.ntendon }, (_, t) => t).flatMap((t): Pull[] => {
    const [stiffness, damping] = [tendonStiffness(m, t), tendonDamping(m, t)];
    const springs = !isZero(stiffness) && !isOff(model, mjtDisableBit.SPRING);
    const damps = !isZero(damping) && !isOff(model, mjtDisableBit.DAMPER);
    const arms = tendonArms(m, d, t);
    if (!(springs || damps) || arms.length === 0) return [];
    const [low, high] = [model.tendon_lengthspring[2 * t], model.tendon_lengthspring[2 * t + 1]];
    const length = d.ten_length.at(t);
    const velocity = d.ten_velocity.at(t);
    const spring = () => {
      const [above, below] = [gt(length, high), lt(length, low)];
      const x = select(above, sub(length, high), select(below, sub(length, low), 0));
      // slack has no stiffness
      return select(or(above, below), least0(polySlope(stiffness, x, false)), 0);
    };
    return [
      {
        arms,
        velocity,
        k: springs ? spring() : 0,
        b: damps ? least0(polySlope(damping, velocity, true)) : 0,
      },
    ];
  });
}

/** d force / d length of an actuator (mjd_actuatorLenDeriv). */
function lengthSlope(m: ModelView, d: WorldData, i: number): Scalar {
  const { model } = m;
  const [length, velocity] = [d.actuator_length.at(i), d.actuator_velocity.at(i)];
  const [gain, bias] = [model.actuator_gaintype[i], model.actuator_biastype[i]];
  let slope: Scalar = 0;
  if (bias === mjtBias.AFFINE) slope = m.actuator_biasprm.at(10 * i + 1);
  if (bias === mjtBias.MUSCLE) slope = muscleBiasSlope(m, i, length);
  if (gain === mjtGain.AFFINE) slope = add(slope, mul(m.actuator_gainprm.at(10 * i + 1), actuatorInput(m, d, i)));
  if (gain === mjtGain.MUSCLE) slope = add(slope, mul(muscleGainSlope(m, i, length, velocity), actuatorInput(m, d, i)));
  if (gain === mjtGain.DCMOTOR) slope = add(slope, motorStiffness(m, i));
  return slope;
}

/** Actuators whose force falls with length or velocity (mj_effActuation). */
function actuatorPulls(m: ModelView, d: WorldData): Pull[] {
  const { model } = m;
  if (isOff(model, mjtDisableBit.ACTUATION)) return [];
  return Array.from({ length: model.nactuator }, (_, i) => i).flatMap((i): Pull[] => {
    if (actuatorDisabled(model, i)) return [];
    const falls = (slope: Scalar) => (slope === 0 ? 0 : least0(neg(withinRange(m, d, i, slope))));
    const [k, b] = [falls(lengthSlope(m, d, i)), falls(velocitySlope(m, d, i))];
    return k === 0 && b === 0 ? [] : [{ arms: moment(m, d, i), velocity: d.actuator_velocity.at(i), k, b }];
  });
}

/** h D + h² K of dofs by themselves, -h K qvel, and what pulls on several. PGS has forces of tendons and actuators as they are now. */
function terms(m: ModelView, d: WorldData) {
  const { model } = m;
  const h = m.timestep;
  // its factors are on M's sparsity (mj_effCouplings)
  const pulls = model.opt.solver === mjtSolver.PGS ? [] : [...tendonPulls(m, d), ...actuatorPulls(m, d)];
  const diagonal = new Field("metric_diagonal", m.nv);
  const shift = new Field("metric_shift", m.nv);
  const springs = jointSprings(m, d);
  let any = pulls.length > 0;
  each(m.nv, (i) => {
    diagonal.set(i, 0);
    shift.set(i, 0);
  });
  for (let i = 0; i < m.nv; i++) {
    const damping = dofDamping(m, i);
    const damps = !isZero(damping) && !isOff(model, mjtDisableBit.DAMPER);
    const b = damps ? least0(polySlope(damping, d.qvel.at(i), true)) : 0;
    const hk = mul(h, springs.get(i) ?? 0);
    if (b === 0 && hk === 0) continue;
    any = true;
    diagonal.set(i, mul(h, add(b, hk)));
    shift.set(i, neg(mul(hk, d.qvel.at(i))));
  }
  for (const { arms, velocity, k } of pulls) {
    if (k === 0) continue;
    const force = mul(mul(h, k), velocity);
    for (const { dof, coef } of arms) shift.set(dof, sub(shift.at(dof), mul(force, coef)));
  }
  const acting = pulls.map(({ arms, k, b }) => {
    const slope = mul(h, add(b, mul(h, k)));
    return { arms, slope, dofs: arms.map(({ dof }) => dof), acts: gt(slope, 0) };
  });
  return { diagonal, shift, pulls: acting, any: any || hasFluid(model) };
}

/** Entries of M's sparsity at their places in a wider one. */
const onPatternOf = (M: Sparsity, wide: Sparsity): Sparsity => ({ ...wide, has: (i, j) => M.has(i, j) });

/**
 * M + h D + h² K and its factors, and what it keeps for the constraints. Reads qpos, qvel, M, and what tendons, actuators
 * and the medium read.
 */
export function makeMetric(m: ModelView, d: WorldData, M: SymMatrix): MetricMatrix {
  const { model } = m;
  const { diagonal, shift, pulls, any } = terms(m, d);
  const coupled = pulls.map(({ dofs }) => dofs).filter((dofs) => dofs.length > 1);
  const sparsity = coupled.length > 0 ? coupledSparsity(model, coupled) : M.sparsity;

  const matrix = widened(M, sparsity, "metric");
  const { entries } = matrix;
  const plus = (at: SymMatrix, entry: number, value: Scalar) => at.entries.set(entry, add(at.entries.at(entry), value));
  const drag = (at: SymMatrix) => {
    for (const { entry, value } of dragEntries(m, d, onPatternOf(M.sparsity, at.sparsity)))
      plus(at, entry, neg(mul(m.timestep, value)));
  };
  each(m.nv, (i) => entries.set(matrix.diagonal(i), add(entries.at(matrix.diagonal(i)), diagonal.at(i))));
  drag(matrix);
  for (const { arms, slope } of pulls) {
    for (const { entry, value } of outerProduct(arms, slope, sparsity)) plus(matrix, entry, value);
  }

  const own = factored(widened(matrix, sparsity, "metric_factors"), "metric_diaginv");
  const isAsked = coupled.length > 0 && (hasExactDiagonal(model) || solvesDual(model));
  const backbone = isAsked ? backboneOf(m, M, matrix, drag) : own;
  const diagonalOf = (A: SymMatrix) => inverses(m, (i) => A.entries.at(A.diagonal(i)));
  keepWeights(d, { inverses: any ? { M: diagonalOf(M), metric: diagonalOf(matrix) } : undefined, backbone });
  const entry = (i: number, j: number) => (sparsity.has(i, j) ? entries.at(sparsity.index(i, j)) : 0);
  return { entry, matrix, own, backbone, shift, coupled, pulls };
}

/**
 * The same for articulated bodies, where nothing couples dofs. `entryOfM`: of dofs of one free body. Reads qpos, qvel, and what
 * actuators and `compositeMotions` read.
 */
export function makeDiagonalMetric(
  m: ModelView,
  d: WorldData,
  entryOfM: (i: number, j: number) => Scalar,
): MetricDiagonal {
  const { diagonal, shift, pulls, any } = terms(m, d);
  for (const { arms, slope } of pulls) {
    for (const { dof, coef } of arms) diagonal.set(dof, add(diagonal.at(dof), mul(slope, square(coef))));
  }
  keepWeights(d, { inverses: any ? diagonalInverses(m, d, diagonal) : undefined });
  const entry = (i: number, j: number) => add(entryOfM(i, j), i === j ? diagonal.at(i) : 0);
  return { entry, diagonal, shift, coupled: [], pulls };
}

function diagonalInverses(m: ModelView, d: WorldData, diagonal: Field): { M: Field; metric: Field } {
  const motions = compositeMotions(m, d);
  const armatures = dofArmatures(m);
  const own = new Field("M_diagonal", m.nv);
  each(m.nv, (i) => own.set(i, add(motions(i).along(i), armatures(i))));
  return { M: inverses(m, (i) => own.at(i)), metric: inverses(m, (i) => add(own.at(i), diagonal.at(i))) };
}

/** A matrix on a sparsity that has its own in it. */
function widened(A: SymMatrix, sparsity: Sparsity, name: string): SymMatrix {
  const out = new SymMatrix(sparsity, new Field(name, sparsity.nnz));
  if (A.sparsity === sparsity) copyField(A.entries, out.entries);
  else {
    each(sparsity.nnz, (e) => out.entries.set(e, 0));
    A.sparsity.rows.forEach((columns, i) => {
      for (const j of columns) out.entries.set(sparsity.index(i, j), A.entries.at(A.sparsity.index(i, j)));
    });
  }
  return out;
}

/** M, the drag of the medium, and the metric's diagonal, factored. */
function backboneOf(m: ModelView, M: SymMatrix, metric: SymMatrix, drag: (at: SymMatrix) => void): Factored {
  const factors = widened(M, M.sparsity, "backbone");
  drag(factors);
  each(m.nv, (i) => factors.entries.set(factors.diagonal(i), metric.entries.at(metric.diagonal(i))));
  return factored(factors, "backbone_diaginv");
}

function factored(factors: SymMatrix, name: string): Factored {
  const diaginv = new Field(name, factors.sparsity.n);
  factors.factor(diaginv);
  return { factors, diaginv };
}

/** 1 / a diagonal. */
function inverses(m: ModelView, diagonal: (i: Int) => Scalar): Field {
  const out = new Field("inverse_diagonal", m.nv);
  each(m.nv, (i) => out.set(i, div(1, max(diagonal(i), MINVAL))));
  return out;
}
