// how a model's inertia is held: as a mass matrix and its factors, or as articulated bodies
import { each } from "../../trace/control.ts";
import { current } from "../../trace/graph.ts";
import { add, mul, type Scalar } from "../../trace/scalar.ts";
import { addInertia, dot6, mulInertVec } from "../../trace/spatial.ts";
import { mjtIntegrator, mjtSolver } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import { geomPairs } from "../../model/pairs.ts";
import { dofArmature, dofArmatures } from "./coefficients.ts";
import { BodySpace } from "../solver/body-space.ts";
import type { BodyTerms } from "../solver/body-terms.ts";
import type { ImplicitDofs } from "../solver/body-terms.ts";
import { pairDofs } from "../constraint/body-dofs.ts";
import type { ContactRows } from "../constraint/contact-rows.ts";
import { hasExactDiagonal } from "../constraint/exact-diagonal.ts";
import { isDiscrete } from "../constraint/metric-weights.ts";
import { crb } from "./crb.ts";
import { factorM } from "./factor_m.ts";
import { couplesDofs, derivativeEntries, type OwnParameters } from "../integrator/derivative.ts";
import { implicitByBodies } from "../integrator/implicit-bodies.ts";
import { implicitAccelerations } from "../integrator/implicit.ts";
import {
  makeDiagonalMetric,
  makeMetric,
  type Metric,
  type MetricDiagonal,
  type MetricMatrix,
} from "../integrator/metric.ts";
import { bodiesOf } from "../integrator/standalone.ts";
import { JointSpace } from "../solver/joint-space.ts";
import { hasLightDofs } from "./own-centres.ts";
import { hasLightChain, isWrittenOut } from "./light-chains.ts";
import { copyField, coupledSparsity, SymMatrix, treeSparsity, type Sparsity } from "./sparsity.ts";
import { FEW_ITERATIONS } from "../solver/precision.ts";
import { solvesDual } from "../solver/solution.ts";
import type { SolverInput } from "../solver/solver.ts";
import { listRows, type Rows } from "../constraint/rows.ts";
import { Field, type WorldData, type ModelView } from "../view.ts";

/** What stages ask of the inertia. */
export interface Inertia {
  /** qacc_smooth = M⁻¹ qfrc_smooth, if the solver does not. */
  smooth(): void;
  /** The space in which the constraint solver works. */
  space(rows: Rows, contacts: ContactRows): SolverInput["space"];
  /** That of solvers on the dual, if it is another. */
  dual?(rows: Rows, contacts: ContactRows): SolverInput["space"];
  /** Entry (i, j) of M within the dofs of one free body (isFreeBody), j <= i. */
  entry(i: number, j: number): Scalar;
  /**
   * (M - h dF/dv)⁻¹ force, for force = qfrc_smooth + qfrc_constraint, which may be overwritten; undefined if the
   * velocity derivatives have no entries.
   */
  implicit(): { accelerations(force: Field): Field } | undefined;
  /** M + h D + h² K, of the integrator `discrete`, after `smooth`. */
  readonly metric?: Metric | undefined;
}

/** Sparsity of the solver's Hessian: M, what its metric couples, and the dofs of one row; in `all` those of one contact too. */
function hessianSparsity(
  model: Model,
  rows: Rows,
  coupled: readonly (readonly number[])[] = [],
): { readonly base: Sparsity; readonly all: Sparsity } {
  const ofRows = [...coupled, ...listRows(rows).map((r) => r.jac.map((e) => e.dof as number))];
  const ofContacts = geomPairs(model).map((p) => [...pairDofs(model, p).keys()]);
  return { base: coupledSparsity(model, ofRows), all: coupledSparsity(model, [...ofRows, ...ofContacts]) };
}

/** M by composite bodies (mj_crb) and its sparse factors (mj_factorM); the integrator `discrete` solves in its own metric. */
export class JointInertia implements Inertia {
  readonly #m: ModelView;
  readonly #d: WorldData;
  readonly M: SymMatrix;
  readonly factors: SymMatrix;
  #metric: MetricMatrix | undefined;

  constructor(m: ModelView, d: WorldData, M: SymMatrix, factors: SymMatrix) {
    this.#m = m;
    this.#d = d;
    this.M = M;
    this.factors = factors;
  }

  smooth(): void {
    if (isDiscrete(this.#m.model)) return this.#smoothAtEnd();
    copyField(this.#d.qfrc_smooth, this.#d.qacc_smooth);
    this.factors.solve(this.#d.qLDiagInv, this.#d.qacc_smooth);
  }

  /** Under the forces as they will be at the end of the step. */
  #smoothAtEnd(): void {
    const [m, d] = [this.#m, this.#d];
    const { own, shift } = (this.#metric = makeMetric(m, d, this.M));
    each(m.nv, (i) => d.qacc_smooth.set(i, add(d.qfrc_smooth.at(i), shift.at(i))));
    own.factors.solve(own.diaginv, d.qacc_smooth);
  }

  get metric(): MetricMatrix | undefined {
    return this.#metric;
  }

  space(rows: Rows, contacts: ContactRows): SolverInput["space"] {
    const [m, d] = [this.#m, this.#d];
    const metric = this.#metric;
    const hessian = hessianSparsity(m.model, rows, metric?.coupled);
    const M = metric?.matrix ?? this.M;
    const own = metric?.own ?? { factors: this.factors, diaginv: d.qLDiagInv };
    const isOther = metric && metric.backbone !== metric.own;
    const matrices = { M, own, hessian, ...(isOther ? { dual: metric.backbone } : {}) };
    return (_law, weights) => new JointSpace(m, d, contacts, matrices, weights);
  }

  entry(i: number, j: number): Scalar {
    const { sparsity, entries } = this.M;
    return sparsity.has(i, j) ? entries.at(sparsity.index(i, j)) : 0;
  }

  implicit(): ReturnType<Inertia["implicit"]> {
    const { M } = this;
    const [m, d] = [this.#m, this.#d];
    // constraints were solved for the end of the step
    if (this.#metric) return undefined;
    if (m.opt.integrator === mjtIntegrator.IMPLICIT) {
      return { accelerations: (force) => implicitAccelerations(m, d, M, force) };
    }
    const entries = derivativeEntries(m, d, M.sparsity);
    if (!entries) return undefined;
    const H = new SymMatrix(M.sparsity, new Field("qH", M.sparsity.nnz));
    copyField(M.entries, H.entries);
    // H = M - h dF/dv
    for (const { entry, value } of entries) {
      H.entries.set(entry, add(H.entries.at(entry), mul(mul(m.timestep, -1), value)));
    }
    const diaginv = new Field("qHDiagInv", m.nv);
    H.factor(diaginv);
    return {
      accelerations(force) {
        H.solve(diaginv, force);
        return force;
      },
    };
  }
}

/** Whether loops over bodies can solve a model: what joint space alone can do is left to it. */
export const solvesByBodies = (model: Model, own: OwnParameters = model, hasRoom = false): boolean =>
  !solvesDual(model) && canSolveByBodies(model, own, hasRoom);

function canSolveByBodies(model: Model, own: OwnParameters, hasRoom: boolean): boolean {
  const newton = model.opt.solver !== mjtSolver.CG;
  if (couplesDofs(model, own, hasRoom ? "apart" : "couples") || hasExactDiagonal(model)) return false;
  // at the end of the step equalities are stiffer yet than conjugate gradients around the trees take them in float32
  if (isDiscrete(model) && model.neq > 0) return false;
  return newton || model.opt.iterations >= FEW_ITERATIONS;
}

/** No matrix: articulated bodies. The solver's turns solve for qacc_smooth, and for what is implicit. */
class BodyInertia implements Inertia {
  readonly #m: ModelView;
  readonly #d: WorldData;
  #implicitly: ImplicitDofs | undefined;
  #metric: MetricDiagonal | undefined;

  constructor(m: ModelView, d: WorldData) {
    this.#m = m;
    this.#d = d;
  }

  smooth(): void {
    if (!isDiscrete(this.#m.model)) return;
    this.#metric = makeDiagonalMetric(this.#m, this.#d, (i, j) => this.entry(i, j));
  }

  get metric(): MetricDiagonal | undefined {
    return this.#metric;
  }

  space(rows: Rows, contacts: ContactRows): SolverInput["space"] {
    const metric = this.#metric;
    const isExplicit = metric !== undefined || this.#m.opt.integrator === mjtIntegrator.RK4;
    // what the bias forces add is solved for by itself
    const isWhole = this.#m.opt.integrator === mjtIntegrator.IMPLICIT;
    this.#implicitly = isExplicit || isWhole ? undefined : this.#implicitDofs();
    return bodySpace(this.#m, this.#d, rows, contacts, { implicit: this.#implicitly, metric });
  }

  #implicitDofs(): ImplicitDofs | undefined {
    const [m, d] = [this.#m, this.#d];
    const entries = derivativeEntries(m, d, diagonalSparsity(m.nv));
    if (!entries) return undefined;
    const diagonal = new Field("qH_diagonal", m.nv);
    each(m.nv, (i) => diagonal.set(i, 0));
    for (const { entry, value } of entries) {
      diagonal.set(entry, add(diagonal.at(entry), mul(mul(m.timestep, -1), value)));
    }
    return { diagonal, qacc: new Field("qacc_implicit", m.nv) };
  }

  entry(i: number, j: number): Scalar {
    const [m, d] = [this.#m, this.#d];
    const body = m.model.dof_bodyid[i];
    const inertia = bodiesOf(m.model, body)
      .map((b) => d.cinert.inertia(b))
      .reduce(addInertia);
    const momentum = mulInertVec(inertia, d.cdof.spatial(i));
    return add(dot6(d.cdof.spatial(j), momentum), i === j ? dofArmature(m, i) : 0);
  }

  implicit(): ReturnType<Inertia["implicit"]> {
    const [m, d, solved] = [this.#m, this.#d, this.#implicitly];
    if (m.opt.integrator === mjtIntegrator.IMPLICIT) {
      const dofs = this.#implicitDofs();
      return dofs && { accelerations: (force) => implicitByBodies(m, d, dofArmatures(m), dofs.diagonal, force) };
    }
    return solved && { accelerations: () => solved.qacc };
  }
}

/** M and its factors for noslip alone: the primal solver before it takes articulated bodies, whose work grows with the bodies. */
class NoslipInertia extends JointInertia {
  readonly #of: readonly [ModelView, WorldData];

  constructor(m: ModelView, d: WorldData, M: SymMatrix, factors: SymMatrix) {
    super(m, d, M, factors);
    this.#of = [m, d];
  }

  override space(rows: Rows, contacts: ContactRows): SolverInput["space"] {
    // what is implicit follows noslip's forces, by M
    return bodySpace(...this.#of, rows, contacts, { implicit: undefined, metric: undefined });
  }

  dual(rows: Rows, contacts: ContactRows): SolverInput["space"] {
    return super.space(rows, contacts);
  }
}

/** A space over bodies; rows in loops have a dof each. */
function bodySpace(
  m: ModelView,
  d: WorldData,
  rows: Rows,
  contacts: ContactRows,
  own: BodyTerms,
): SolverInput["space"] {
  const list = rows.flatMap((r) => ("count" in r ? [] : [r]));
  return (law, weights) => new BodySpace(m, d, { rows: list, contacts }, law, own, weights);
}

/** The sparsity of a diagonal matrix. */
const diagonalSparsity = (n: number): Sparsity => ({
  n,
  nnz: n,
  rows: [],
  rowadr: [],
  index: (i) => i,
  has: (i, j) => i === j,
});

/** Articulated bodies where code loops over them, or float32 cannot factor M, and the model allows; else M and its factors. */
export function inertiaOf(m: ModelView, d: WorldData, stage: MatrixStage): Inertia {
  const { model, form } = m;
  const byBodies = form.loops || (isWrittenOut(model) && hasLightChain(model));
  // about the trees' points float32 loses what light dofs resist, and implicit has no other
  const isImplicit = model.opt.integrator === mjtIntegrator.IMPLICIT;
  const loses = isImplicit && !current().exact && hasLightDofs(model);
  if (byBodies && !loses && solvesByBodies(model, m, form.hasRoom)) return new BodyInertia(m, d);
  // two forms of the inertia are more code than GPUs' drivers should compile
  const isApart = form.loops && form.hasRoom && !isDiscrete(model) && model.opt.solver === mjtSolver.NEWTON;
  return isApart && solvesDual(model) && canSolveByBodies(model, m, true)
    ? jointInertia(m, d, stage, NoslipInertia)
    : jointInertia(m, d, stage);
}

type MatrixStage = (name: "crb" | "factor_m", fn: () => SymMatrix) => SymMatrix;

/** M and its factors, made as stages of their own. */
export function jointInertia(m: ModelView, d: WorldData, stage: MatrixStage, Kind = JointInertia): JointInertia {
  const sparsity = treeSparsity(m.model);
  const M = stage("crb", () => crb(m, d, sparsity));
  const factors = stage("factor_m", () => factorM(d, sparsity));
  return new Kind(m, d, M, factors);
}
