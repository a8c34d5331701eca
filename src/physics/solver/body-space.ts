// the constraint solver over bodies: vectors and trees in place of a Hessian over dofs, for models with many
import { breakIf, each, flag, loop, variable, when, type Variable } from "../../trace/control.ts";
import { current } from "../../trace/graph.ts";
import {
  add,
  and,
  eq,
  ge,
  gt,
  mul,
  neg,
  not,
  or,
  select,
  sub,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { add6, dot6, mulInertVec, scale6, ZERO6 } from "../../trace/spatial.ts";
import { Articulated, bodyMotions, bodyVelocities } from "../smooth/articulated.ts";
import { bodyFrames, type BodyFrames } from "../smooth/body-frames.ts";
import type { ContactLaw } from "../constraint/cone.ts";
import type { ContactRows } from "../constraint/contact-rows.ts";
import { copyField, dotFields } from "../smooth/sparsity.ts";
import { FEW_ITERATIONS, hasCones } from "./precision.ts";
import type { Row, RowLaw } from "../constraint/rows.ts";
import type { BodyTerms, ImplicitDofs } from "./body-terms.ts";
import type { DofVector, Frame, ProductsOf, SolverSpace } from "./space.ts";
import type { Weights } from "./trees.ts";
import { hessianOverDofs, type OverDofs } from "./over-dofs.ts";
import { FreeBodies, freeBodies } from "./free-bodies.ts";
import { BodyContacts, push, type BodyContact } from "./body-contacts.ts";
import { dotRows, squareByMass, sumForces, visitResidual } from "./body-sums.ts";
import { solveAroundTrees, type AroundTrees, type CoupledRow } from "./around-trees.ts";
import { FewCouplings } from "./few-couplings.ts";
import { TouchedTrees } from "./touched-trees.ts";
import { Field, type WorldData, type ModelView } from "../view.ts";

/** Dofs and bodies up to which the walk over the trees is written out: an access at a constant index costs a fiftieth. */
const MAX_IN_LINE = 160;

/** What an iteration of the loop solves for. */
const TURN = { SMOOTH: 0, NEWTON: 1, IMPLICIT: 2, END: 3 } as const;

/**
 * Newton's method without a Hessian over dofs. Each vector over dofs is held with the spatial motions it gives the bodies,
 * and a gradient as forces on dofs plus spatial forces on bodies: products with M, J and Jᵀ are then sums over the trees.
 * Constraints between one moving body and the world add to that body's stiffness, and the articulated-body algorithm
 * solves the result; constraints between moving bodies are solved by a factor over themselves in float64 where they are few
 * (few-couplings.ts), by a Hessian over dofs where private memory is a CPU's, iterations are few or contacts many, and few bodies are loose
 * (dof-hessian.ts), else by conjugate gradients around it (coupling.ts).
 */
export class BodySpace implements SolverSpace {
  readonly qacc: Field;
  readonly search: Field;
  readonly isInexact: boolean;
  readonly isRough: ReturnType<typeof flag> | undefined;
  readonly #m: ModelView;
  readonly #d: WorldData;
  readonly #frames: BodyFrames;
  readonly #contacts: BodyContacts;
  readonly #law: (index: Int, slot: Int) => ContactLaw;
  readonly #implicit: ImplicitDofs | undefined;
  readonly #metric: BodyTerms["metric"];
  readonly #weights: Weights;
  readonly #tree: Articulated;
  readonly #free: FreeBodies | undefined;
  readonly #touched: TouchedTrees | undefined;
  /** What solves all that couples bodies, if anything does. */
  readonly #dofs: OverDofs | undefined;
  /** What solves it where it is little. */
  readonly #direct: FewCouplings | undefined;
  /** Spatial motions of the bodies that belong to qvel, qacc and search. */
  readonly #motion: Readonly<Record<DofVector, Field>>;
  /** The gradient: forces on dofs, and spatial forces on bodies. */
  readonly #grad: Field;
  readonly #wrench: Field;
  /**
   * M (qacc - qacc_smooth), the gradient of the Gauss cost, as forces on dofs and on bodies. It grows from 0 by what each
   * step adds: M qacc - qfrc_smooth would be the rounding of forces that cancel.
   */
  readonly #gauss: { readonly dofs: Field; readonly bodies: Field };
  /** What rows over one dof add to the Hessian's diagonal. */
  readonly #diagonal: Field;
  /** Rows over several dofs, as the current iteration collects them. */
  #couplings: CoupledRow[] = [];
  /** Of these, where rows that do not exist now are left out. */
  readonly #hessians: readonly Variable[] | undefined;
  /** Whether iterations are so few that they may end far from the minimum. */
  readonly #few: boolean;
  /** Whether implicit integration may start from the constraint forces, for that reason. */
  readonly #forced: boolean;
  /** The sum of the constraints' forces, over dofs. */
  readonly #forces: Field;
  #converged: () => Bool = () => true;
  /** Whether the iteration being traced solves for this. */
  #isTurn: (kind: number) => Bool = () => false;
  #start = (): void => {};

  constructor(
    m: ModelView,
    d: WorldData,
    { rows, contacts }: { readonly rows: readonly Row[]; readonly contacts: ContactRows },
    law: (index: Int, slot: Int) => ContactLaw,
    { implicit, metric }: BodyTerms,
    weights: Weights,
  ) {
    this.#m = m;
    this.#d = d;
    this.#frames = bodyFrames(m, d);
    const coupled = rows.filter(({ jac }) => jac.length > 1);
    this.#hessians = current().wide ? coupled.map(() => variable("row_hessian")) : undefined;
    this.#dofs = hessianOverDofs(m, d, this.#frames, contacts, coupled);
    const free = !this.#dofs && m.form.hasRoom && contacts.anyCoupled ? freeBodies(m.model) : [];
    this.#free = free.length > 0 ? new FreeBodies(m, this.#frames, free) : undefined;
    this.#contacts = new BodyContacts(m, d, contacts, this.#frames, this.#free);
    this.#law = law;
    this.#implicit = implicit;
    this.#metric = metric;
    this.#weights = weights;
    this.isInexact = contacts.anyStiff;
    const goesOn = !current().exact && m.opt.iterations >= FEW_ITERATIONS && hasCones(m, contacts);
    this.isRough = goesOn && this.#contacts.anyCoupled && !this.#dofs ? flag("rough", false) : undefined;
    this.#touched = free.length * 6 < m.nv && m.nv + m.nbody > MAX_IN_LINE ? TouchedTrees.of(m) : undefined;
    this.#tree = new Articulated(m, this.#frames, free, metric?.diagonal);
    const couples = coupled.length > 0 || this.#contacts.anyCoupled;
    this.#direct =
      couples && current().exact && m.form.hasRoom && !this.#free
        ? new FewCouplings(
            m,
            this.#frames,
            this.#tree,
            this.#contacts,
            coupled,
            this.#dofs ? Math.ceil(m.nv / 6) : undefined,
          )
        : undefined;
    this.qacc = new Field("x", m.nv);
    this.search = new Field("search", m.nv);
    this.#motion = {
      qvel: bodyVelocities(m, d, this.#frames),
      qacc: this.#bodies("motion"),
      search: this.#bodies("v"),
    };
    this.#gauss = { dofs: new Field("gauss_grad", m.nv), bodies: this.#bodies("gauss_body") };
    this.#grad = new Field("grad", m.nv);
    this.#wrench = this.#bodies("grad_body");
    this.#diagonal = new Field("diagonal", m.nv);
    this.#few = m.opt.iterations < FEW_ITERATIONS;
    this.#forced = implicit !== undefined && this.#few;
    this.#forces = new Field("constraint_force", m.nv);
  }

  #bodies = (name: string): Field => new Field(name, 6 * this.#m.nbody, 6);

  /** Starts from qacc_smooth: its motions are those of the last solve. */
  startAtSmooth(): void {
    const [m, frames, motion] = [this.#m, this.#frames, this.#motion];
    bodyMotions(m, frames, this.search, motion.search);
  }

  searchMv(): Scalar {
    const search = { dofs: this.search, bodies: this.#motion.search };
    return squareByMass(this.#m, this.#frames, search, this.#tree.armature, this.#weights);
  }

  restrict(dof: (i: Int) => Scalar, body: (b: Int) => Scalar): void {
    const { search } = this.#motion;
    each(this.#m.nv, (i) => this.search.set(i, mul(dof(i), this.search.at(i))));
    each(this.#m.nbody, (b) => search.setRow(b, scale6(search.spatial(b), body(b))));
  }

  move(alpha: Scalar): void {
    const { qacc, search } = this;
    const [m, motion, frames, gauss] = [this.#m, this.#motion, this.#frames, this.#gauss];
    each(m.nv, (i) => {
      const step = mul(alpha, search.at(i));
      qacc.set(i, add(qacc.at(i), step));
      gauss.dofs.set(i, add(gauss.dofs.at(i), mul(this.#tree.armature(i), step)));
    });
    each(
      m.nbody,
      (b) => {
        const step = scale6(motion.search.spatial(b), alpha);
        motion.qacc.setRow(b, add6(motion.qacc.spatial(b), step));
        gauss.bodies.setRow(b, add6(gauss.bodies.spatial(b), mulInertVec(frames.inertia(b), step)));
      },
      { start: 1 },
    );
  }

  startGrad(): void {
    const [m, d, implicit, metric] = [this.#m, this.#d, this.#implicit, this.#metric];
    const isSmooth = this.#isTurn(TURN.SMOOTH);
    const isImplicit = implicit ? this.#isTurn(TURN.IMPLICIT) : false;
    const [grad, wrench, diagonal, gauss] = [this.#grad, this.#wrench, this.#diagonal, this.#gauss];
    this.#couplings = [];
    this.#hessians?.forEach((hessian) => hessian.set(0));
    // M qacc is qfrc_smooth and the gradient of the Gauss cost
    const sign = select(isImplicit, -1, 1);
    const smooth = or(isSmooth, isImplicit);
    // the sum of forces is on dofs alone
    const byForces = this.#forced ? and(isImplicit, not(this.#converged())) : false;
    const none = or(isSmooth, byForces);
    each(m.nv, (i) => {
      const ofCost = select(none, 0, mul(sign, gauss.dofs.at(i)));
      const force = this.#forced ? select(byForces, this.#forces.at(i), 0) : 0;
      const own = metric ? add(d.qfrc_smooth.at(i), metric.shift.at(i)) : d.qfrc_smooth.at(i);
      grad.set(i, sub(ofCost, add(select(smooth, own, 0), force)));
      diagonal.set(i, implicit ? select(isImplicit, implicit.diagonal.at(i), 0) : 0);
    });
    wrench.setRow(0, ZERO6);
    each(
      m.nbody,
      (b) =>
        wrench.setRow(
          b,
          gauss.bodies.spatial(b).map((x) => select(none, 0, mul(sign, x))),
        ),
      { start: 1 },
    );
    this.#tree.clear();
    this.#touched?.begin();
    this.#free?.clear();
    this.#dofs?.clear();
  }

  addRow(row: Row, law: RowLaw): void {
    const [grad, diagonal] = [this.#grad, this.#diagonal];
    for (const { dof, value } of row.jac) grad.set(dof, sub(grad.at(dof), mul(value, law.force)));
    if (row.jac.length > 1) {
      const hessian = this.#hessians?.[this.#couplings.length] ?? variable("row_hessian");
      hessian.set(law.hessian);
      this.#dofs?.addRow(this.#couplings.length, law);
      this.#couplings.push({ row, hessian });
    } else {
      const [{ dof, value }] = row.jac;
      diagonal.set(dof, add(diagonal.at(dof), mul(mul(value, value), law.hessian)));
      this.#touched?.touchDof(dof, gt(law.hessian, 0));
    }
  }

  contact(slot: Int): BodyContact {
    return this.#contacts.at(slot, this.#motion);
  }

  addContact(_index: Int, slot: Int, law: ContactLaw, at: BodyContact): void {
    push(this.#wrench, at, law.force, -1);
    this.#contacts.stiffen({ tree: this.#tree, touched: this.#touched }, slot, law, at);
    this.#dofs?.addContact(slot, law, this.#contacts.isCoupled(slot));
  }

  /**
   * One loop for all solves of an evaluation, since the code of a solve is long: first without constraints, which gives
   * qacc_smooth; then Newton's iterations; last, under implicit integration, the accelerations from the momentum of qacc,
   * or from the forces where iterations ended before the minimum.
   */
  iterate({ iterations, done, converged, start, finish }: Frame, body: Parameters<SolverSpace["iterate"]>[1]): void {
    const [search, implicit, gauss] = [this.search, this.#implicit, this.#gauss];
    this.#converged = () => converged.get();
    this.#dofs?.start();
    each(this.#m.nv, (i) => gauss.dofs.set(i, 0));
    each(this.#m.nbody, (b) => gauss.bodies.setRow(b, ZERO6));
    const turn = variable("turn", TURN.SMOOTH, "i32");
    const last = implicit ? TURN.IMPLICIT : TURN.END;
    // worlds that are done wait for the others, where a turn of few trees is much shorter than one of all
    const waits = implicit !== undefined && this.#touched !== undefined;
    const turns = (isEarly: Bool) =>
      loop(
        iterations + 2,
        (k) => {
          const now = turn.get();
          const is = (kind: number): Bool => eq(now, kind);
          breakIf(isEarly === false ? is(TURN.END) : or(is(TURN.END), and(is(TURN.IMPLICIT), isEarly)));
          if (this.#forced) when(is(TURN.IMPLICIT), finish);
          [this.#isTurn, this.#start] = [is, start];
          body(
            (newton) => when(is(TURN.NEWTON), newton),
            () => sub(k, 1),
          );
          if (implicit) when(is(TURN.IMPLICIT), () => copyField(search, implicit.qacc));
          const over = or(done.get(), ge(k, iterations));
          const next = select(over, last, TURN.NEWTON, "i32");
          turn.set(select(is(TURN.IMPLICIT), TURN.END, next, "i32"));
        },
        { label: "turns" },
      );
    if (waits) loop(2, (part) => turns(eq(part, 0)));
    else turns(false);
    if (!this.#forced) finish();
    if (this.#few) this.#takeForces(converged.get());
  }

  /** Sums of forces multiply what rounds in qacc; at the minimum the Gauss cost has them too, and better. */
  #takeForces(isMinimum: Bool): void {
    const { qfrc_constraint } = this.#d;
    copyField(this.#forces, qfrc_constraint);
    if (current().exact) return;
    this.#residual((i, force) => qfrc_constraint.set(i, select(isMinimum, force, qfrc_constraint.at(i))));
  }

  setSearch(): void {
    const [d, search, motion] = [this.#d, this.search, this.#motion];
    this.#solve();
    when(this.#isTurn(TURN.SMOOTH), () => {
      copyField(search, d.qacc_smooth);
      copyField(motion.search, motion.qacc);
      this.#start();
    });
  }

  /** Solves H search = -grad, for search and its motions. */
  #solve(): void {
    const [m, search, motion, tree] = [this.#m, this.search, this.#motion, this.#tree];
    const inLine = m.nv + m.nbody <= MAX_IN_LINE;
    const [free, touched] = [this.#free, this.#touched];
    const isNew = touched && ((b: Int) => or(not(this.#isTurn(TURN.NEWTON)), touched.isNew(b)));
    tree.factor((i) => this.#diagonal.at(i), inLine, isNew);
    free?.factor(
      (body) => tree.stiffness(body),
      (i) => add(tree.armature(i), this.#diagonal.at(i)),
    );
    const onTrees: AroundTrees["solveTrees"] = (force, onBody, between, isAsked) => {
      tree.solve(force, search, motion.search, onBody, inLine, between, isAsked);
      free?.solve(force, onBody, search, motion.search);
    };
    if (!this.#direct) return this.#solveWith(onTrees);
    const { dof, body } = this.#downhill;
    this.#direct.solve({
      isNewton: this.#isTurn(TURN.NEWTON),
      hessians: this.#couplings.map(({ hessian }) => hessian.get()),
      law: this.#law,
      contact: (slot) => this.contact(slot),
      x: search,
      solveTrees: (between) => onTrees(dof, body, between),
      solveMany: () => this.#solveWith(onTrees),
    });
  }

  /** The gradient's negative, as forces on dofs and on bodies. */
  get #downhill() {
    const [grad, wrench] = [this.#grad, this.#wrench];
    return { dof: (i: Int) => neg(grad.at(i)), body: (b: Int) => scale6(wrench.spatial(b), -1) };
  }

  /** The same by a Hessian over dofs, or by conjugate gradients, where something couples bodies. */
  #solveWith(solveTrees: AroundTrees["solveTrees"]): void {
    const [m, contacts, dofs] = [this.#m, this.#contacts, this.#dofs];
    const vectors = {
      gradient: { dofs: this.#grad, bodies: this.#wrench },
      search: { dofs: this.search, bodies: this.#motion.search },
    };
    if (dofs || (this.#couplings.length === 0 && !contacts.anyCoupled)) {
      const { dof, body } = this.#downhill;
      when(dofs?.isWhole ? not(dofs.couples) : true, () => solveTrees(dof, body));
      const diagonal = (i: Int) => add(this.#tree.armature(i), this.#diagonal.at(i));
      const hessians = () => this.#couplings.map(({ hessian }) => hessian.get());
      if (dofs) when(dofs.couples, () => dofs.solveAll({ law: this.#law, hessians, diagonal, ...vectors }));
      return;
    }
    solveAroundTrees(m, {
      contacts,
      contact: (slot) => this.contact(slot),
      couplings: this.#couplings,
      law: this.#law,
      weights: this.#weights,
      isNewton: () => this.#isTurn(TURN.NEWTON),
      isRough: () => this.isRough?.get() ?? false,
      touched: this.#touched,
      ...vectors,
      solveTrees,
    });
  }

  gradSearch(): Scalar {
    return add(dotFields(this.#grad, this.search), dotRows(this.#wrench, this.#motion.search));
  }

  eachGradSearch(add: ProductsOf): void {
    const [wrench, motion] = [this.#wrench, this.#motion.search];
    each(this.#m.nv, (i) => add.dof(i, mul(this.#grad.at(i), this.search.at(i))));
    each(this.#m.nbody, (b) => add.body(b, dot6(wrench.spatial(b), motion.spatial(b))), { start: 1 });
  }

  residualForce(): void {
    this.#residual((i, force) => this.#d.qfrc_constraint.set(i, force));
  }

  #residual(visit: (i: Int, force: Scalar) => void): void {
    visitResidual(this.#m, this.#d, this.#frames, this.#gauss, visit);
  }

  sumForces(visit: Parameters<SolverSpace["sumForces"]>[0]): void {
    const to = { total: this.#forces, contact: (slot: Int) => this.contact(slot) };
    sumForces(this.#m, this.#d, this.#frames, to, visit);
  }
}
