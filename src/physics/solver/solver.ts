// accelerations under constraints: the primal solvers (mj_fwdConstraint, mj_solPrimal)
import { each, flag, increase, variable, when } from "../../trace/control.ts";
import { current } from "../../trace/graph.ts";
import {
  abs,
  add,
  and,
  div,
  eq,
  ge,
  isFinite32,
  le,
  lt,
  max,
  min,
  mul,
  neg,
  not,
  or,
  select,
  sqrt,
  square,
  sub,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { mjtDisableBit, mjtSolver } from "../../model/enums.ts";
import { changed } from "../constraint/cone.ts";
import type { ContactRows } from "../constraint/contact-rows.ts";
import { eachRow, rowDot, rowPicker, rowLaw, type Row, type RowLaw, type Rows } from "../constraint/rows.ts";
import { dotFields } from "../smooth/sparsity.ts";
import type { WorldData, ModelView } from "../view.ts";
import { ContactEfc } from "./contact-efc.ts";
import { Foretold } from "./foretold.ts";
import { IslandLines, searchesIslands } from "./island-lines.ts";
import { bracketedNewton, primalSearch, safeguardedNewton } from "./line-search.ts";
import {
  endsEarly,
  FEW_ITERATIONS,
  goesToTheEnd,
  FLOAT32_NOISE,
  FLOAT32_TOLERANCE,
  PATIENCE,
  slopeReduction,
  usesNewton,
} from "./precision.ts";
import { solveDual } from "./pgs.ts";
import type { PrimalSolution, Solution } from "./solution.ts";
import type { Coupled } from "./space.ts";
import { hasWeights, judgesIslands, Trees, UNWEIGHTED } from "./trees.ts";
import { noContact, unconstrained, type SpaceOf } from "./unconstrained.ts";

/** The constraints of a world, and the space that holds qacc, grad and H. */
export interface SolverInput {
  readonly rows: Rows;
  readonly contacts: ContactRows;
  readonly space: SpaceOf;
  /** The space of solvers on the dual. */
  readonly dual: SpaceOf;
  /** Dofs that the metric couples beside rows and contacts. */
  readonly coupled?: Coupled;
}

/**
 * qacc at the minimum of MuJoCo's convex cost: the Gauss cost 1/2 (qacc - qacc_smooth)ᵀ M (qacc - qacc_smooth) and the
 * cost of each constraint at Jaref = J qacc - aref. Newton, or CG preconditioned by M, with exact line search, from the
 * better of qacc_smooth and qacc_warmstart. Reads qfrc_smooth, qacc_smooth, qacc_warmstart, qvel; writes qacc,
 * qfrc_constraint.
 */
function solvePrimal(
  m: ModelView,
  d: WorldData,
  { rows, contacts, space: spaceOf, coupled }: SolverInput,
): PrimalSolution {
  const newton = usesNewton(m);
  const scale = div(1, mul(m.meaninertia, Math.max(1, m.nv)));
  const noiseFactor = newton ? FLOAT32_NOISE.newton : FLOAT32_NOISE.cg;
  const noiseShare = mul(noiseFactor, scale);
  const tolerance = current().exact ? m.tolerance : max(m.tolerance, FLOAT32_TOLERANCE);
  const efc = new ContactEfc(m, contacts);
  // an island is what active constraints couple: `trees` judges each by its own inertia, `lines` searches along each by itself
  const byIsland = judgesIslands(m, contacts);
  const trees = byIsland || hasWeights(m, contacts) ? new Trees(m, rows, contacts, coupled) : undefined;
  const lines = searchesIslands(m) ? new IslandLines(m, rows, contacts, coupled) : undefined;
  // there is one of them at most
  const sums = trees ?? lines;
  const weights = sums ?? UNWEIGHTED;
  const space = spaceOf((c, slot) => efc.law(c, slot, efc.Jaref(c)), weights);
  const { qacc, search } = space;
  const patience =
    newton && (space.isInexact || contacts.anyInexact)
      ? { best: variable("best_decrement", 1e30), since: variable("since_best", 0, "i32") }
      : undefined;
  // what a step beside the contacts at hand is, if the space does not say it of all
  const inexact = newton && contacts.anyInexact && !space.isInexact ? flag("inexact", false) : undefined;
  // float32's rounding is more than what is foretold, and noslip goes on from forces, whose last places it makes more of
  const isTrue = current().wide && !space.isInexact && !contacts.anyInexact && m.opt.noslip_iterations === 0;
  const foretold = newton && efc.keepsLines && isTrue ? new Foretold() : undefined;
  const alpha = variable("alpha");
  const done = flag("done", false);
  // a line search that finds nothing better ends the iterations as well
  const stuck = flag("stuck", false);
  const converged = { get: () => and(done.get(), not(stuck.get())) };
  const noise = variable("noise", 0);
  const lastDecrement = variable("last_decrement", 1e30);
  const niter = variable("niter", 0, "i32");
  lines?.keep([
    { variable: lastDecrement, initial: 1e30 },
    ...(patience ? [{ variable: patience.best, initial: 1e30 }] : []),
    ...(patience ? [{ variable: patience.since, initial: 0, type: "i32" as const }] : []),
  ]);

  const iterations = Math.max(1, m.opt.iterations);
  space.iterate({ iterations, done, converged, start: warmstart, finish: constraintForce }, (inLoop, iteration) => {
    // grad = Ma - qfrc_smooth - Jᵀ efc_force, H = M + Jᵀ efc_D J
    space.startGrad();
    // a space may take this body once more before and after, for qacc_smooth and the implicit step: what follows is left out there
    inLoop(() => {
      eachRow(rows, (row) => space.addRow(row, rowAt(row, 0).law));
      efc.each((c, slot) => {
        // contacts follow qacc here, not in space.move: alpha is still that of the last step
        const Jaref = efc.at(c, alpha.get());
        efc.setJaref(c, Jaref);
        const law = efc.lawInTouch(c, slot, Jaref);
        // a contact that is not in touch adds zeros
        const isFree = efc.keepsLines ? law.state[0] : false;
        when(not(isFree), () => space.addContact(c, slot, law, space.contact(slot, c)));
        efc.keepLaw(c, slot, Jaref, law);
      });
    });

    // search = -H⁻¹ grad
    space.setSearch();

    // qacc += alpha search, Ma += alpha Mv
    inLoop(() => {
      const iter = iteration();
      lineSearch();
      space.move(alpha.get());
      niter.set(add(iter, 1));
    });
  });

  each(m.nv, (i) => d.qacc.set(i, qacc.at(i)));
  const pick = rowPicker(rows);
  const rowForce = (r: number) => rowAt(pick(r), 0).law.force;
  return { rowForce, contactForce, Jaref: (c) => efc.at(c, alpha.get()), niter: niter.get() };

  /** jv of a row, and its force law at Jaref + alpha jv. */
  function rowAt(row: Row, a: Scalar): { law: RowLaw; jv: Scalar } {
    const Jaref = sub(
      rowDot(row, (i) => qacc.at(i)),
      row.aref,
    );
    const jv = rowDot(row, (i) => search.at(i));
    return { law: rowLaw(row, add(Jaref, mul(a, jv))), jv };
  }

  /** qacc at qacc_smooth or qacc_warmstart, whichever costs less; Jaref and efc_D of contacts. */
  function warmstart(): void {
    const warm = !(m.opt.disableflags & mjtDisableBit.WARMSTART);
    // search is the way from qacc_smooth to qacc_warmstart: alpha is 0 at the one, 1 at the other
    each(m.nv, (i) => {
      qacc.set(i, d.qacc_smooth.at(i));
      search.set(i, warm ? sub(d.qacc_warmstart.at(i), d.qacc_smooth.at(i)) : 0);
    });
    space.startAtSmooth();
    const costSmooth = variable("cost_smooth", 0);
    const costWarm = variable("cost_warm", 0);
    trees?.start();
    const addCosts = (weight: Scalar, own: Scalar, atWarm: () => Scalar) => {
      increase(costSmooth, mul(weight, own));
      if (warm) increase(costWarm, mul(weight, atWarm()));
    };
    eachRow(rows, (row) => {
      const weight = weights.row(row);
      const own = rowAt(row, 0).law.cost;
      sums?.addRowCost(row, own);
      addCosts(weight, own, () => rowAt(row, 1).law.cost);
    });
    const part = contacts.anyStiff && current().exact ? resolvedPart() : undefined;
    efc.each((c, slot) => {
      const at = space.contact(slot, c, part === undefined);
      const { impedance, D: nominal } = contacts.stiffness(slot);
      const diagA = part ? efc.diagA(c) : contacts.anyStiff || inexact ? at.diagA() : [];
      const D = efc.resolve(c, slot, nominal, diagA, part);
      efc.clear(c, at);
      inexact?.set(or(inexact.get(), contacts.isInexact(slot, D, diagA)));
      const aref = contacts.aref(slot, impedance, efc.products(c, at.times("qvel")), D);
      const Jaref = efc.products(c, at.times("qacc")).map((x, k) => sub(x, aref[k]));
      const jv = warm ? efc.products(c, at.times("search")) : Jaref.map(() => 0);
      efc.start(c, D, Jaref, jv);
      const cost = (x: readonly Scalar[]) => efc.law(c, slot, x, D).cost;
      const weight = efc.keepWeight(c, weights.contact(slot));
      const own = cost(Jaref);
      sums?.addContactCost(slot, own);
      addCosts(weight, own, () => cost(Jaref.map((x, k) => add(x, jv[k]))));
    });
    // no constraint pushes at qacc_smooth: it is the minimum
    done.set(le(costSmooth.get(), 0));
    noise.set(mul(noiseShare, costSmooth.get()));
    if (!warm) return alpha.set(0);
    const gauss = mul(0.5, space.searchMv());
    const useWarm = le(add(costWarm.get(), gauss), costSmooth.get());
    alpha.set(select(and(useWarm, not(done.get())), 1, 0));
    space.move(alpha.get());
  }

  /** The part of their D that all stiff contacts keep. */
  function resolvedPart(): Scalar {
    const part = variable("resolved_part", 1);
    efc.each((c, slot) => {
      const diagA = efc.keepDiagA(c, space.contact(slot, c, true).diagA());
      part.set(min(part.get(), contacts.resolvedPart(slot, contacts.stiffness(slot).D, diagA)));
    });
    return part.get();
  }

  /** Sets alpha to the minimum of the cost along search, jv of contacts, and `done` if no iteration would help. */
  function lineSearch(): void {
    if (!lines) return searchLine(scale);
    efc.each((c, slot) => efc.setJv(c, efc.products(c, space.contact(slot, c).times("search"))));
    lines.eachIsland((cost) => {
      const own = lines.scale();
      noise.set(mul(mul(noiseFactor, own), cost));
      searchLine(own);
      return { alpha: alpha.get(), done: done.get() };
    });
    // each island has gone its own way: what is left is one step of all
    lines.scaleSearch(space);
    space.searchMv();
    efc.each((c, slot) => {
      const far = lines.alphaOf(slot);
      efc.setJv(
        c,
        efc.jv(c).map((x) => mul(far, x)),
      );
    });
    alpha.set(1);
    done.set(lines.areDone());
  }

  /** The line search of the world, or of the island that `lines` has selected. Sets alpha and `done`. `scale`: 1 / its inertia. */
  function searchLine(scale: Scalar): void {
    // derivatives of the quadratic that the cost is as long as no force changes
    // also sets the sums of each tree that trees.descent reads, so it runs where its total is not used
    const totalSlope = sums ? sums.gradSearch((add) => space.eachGradSearch(add)) : space.gradSearch();
    const slopeAtZero = byIsland ? trees!.descent((dof, body) => space.restrict(dof, body)) : totalSlope;
    // forms Mv for space.move, so after trees.descent, which may zero parts of search
    const gaussCurvature = space.searchMv();
    const deriv0 = variable("deriv0");
    const deriv1 = variable("deriv1");
    const cost = variable("cost");
    const stateChanged = flag("state_changed", false);
    const truncated = m.opt.ls_iterations < FEW_ITERATIONS;

    // the cost beyond that at 0, and its derivatives: those of the Gauss cost, and by how much the forces differ from those at 0
    // setsJv: the first point of a search forms jv of contacts
    // `ends`: worlds that go to this point whatever is there
    const evaluate = (a: Scalar, setsJv: boolean, ends: Bool = false): void => {
      deriv0.set(add(slopeAtZero, mul(a, gaussCurvature)));
      deriv1.set(gaussCurvature);
      if (truncated) cost.set(mul(a, add(slopeAtZero, mul(mul(0.5, a), gaussCurvature))));
      stateChanged.set(false);
      // `changes`: how much less the forces push along jv than at 0. On one parabola that says the cost: costs themselves would cancel
      const foretelling = setsJv ? foretold : undefined;
      foretelling?.begin();
      const addAt = (weight: Scalar, changes: Scalar, curvature: Scalar, parts: Bool, apart: () => Scalar) => {
        deriv0.set(sub(deriv0.get(), mul(weight, changes)));
        increase(deriv1, mul(weight, curvature));
        if (truncated) increase(cost, select(parts, apart(), mul(mul(-0.5, a), changes)));
        stateChanged.set(or(stateChanged.get(), parts));
      };
      const addRow = (row: Row) => {
        const weight = weights.row(row);
        const before = rowAt(row, 0).law;
        const { law, jv } = rowAt(row, a);
        const changes = mul(sub(law.force, before.force), jv);
        foretelling?.add(changed(before.state, law.state));
        addAt(weight, changes, mul(law.hessian, square(jv)), changed(before.state, law.state), () =>
          add(sub(law.cost, before.cost), mul(a, mul(before.force, jv))),
        );
      };
      const addContact = (c: Int, slot: Int) => {
        if (setsJv && !lines) efc.setJv(c, efc.products(c, space.contact(slot, c).times("search")));
        when(not(ends), () => {
          const weight = efc.weight(c, () => weights.contact(slot));
          const { changes, curvature, parts, moves, apart } = efc.along(c, slot, a, setsJv);
          foretelling?.add(moves());
          addAt(weight, changes, curvature, parts, apart);
        });
      };
      when(not(ends), () => eachRow(rows, (row) => (lines ? lines.ofRow(row, () => addRow(row)) : addRow(row))));
      efc.each((c, slot) => (lines ? lines.ofContact(slot, () => addContact(c, slot)) : addContact(c, slot)));
    };

    // the first guess is exact if no state changes; for Newton it is 1
    if (newton) alpha.set(1);
    else {
      evaluate(0, true);
      alpha.set(div(neg(slopeAtZero), max(deriv1.get(), 1e-30)));
    }
    const decrementOf = (slope: Scalar) => mul(mul(0.5, scale), mul(neg(slope), alpha.get()));
    const ending = (): Bool => {
      const decrement = decrementOf(slopeAtZero);
      const isConverged = byIsland ? trees!.settle(decrementOf, tolerance, noiseShare) : le(decrement, tolerance);
      return or(isConverged, or(stalls(decrement), not(isFinite32(slopeAtZero))));
    };
    // a last step of Newton goes all the way: where no step is exact beside cones, its point tells nothing
    const early = newton && efc.keepsLines ? flag("ends", ending()) : undefined;
    evaluate(alpha.get(), newton, early?.get());
    const isRough = or(space.isRough?.get() ?? false, inexact?.get() ?? false);
    const isFullStep = newton && !space.isInexact ? not(or(stateChanged.get(), isRough)) : false;
    const isLast = foretold?.isLast(decrementOf(slopeAtZero), slopeAtZero, deriv0.get(), tolerance) ?? false;
    done.set(or(or(isFullStep, isLast), early?.get() ?? ending()));
    // judged at the first guess only: a later point may have the start's active set and still be far from the minimum
    const takesFirstGuess = or(not(stateChanged.get()), done.get());
    space.isRough?.set(stateChanged.get());
    const line = { start: slopeAtZero, evaluate: (a: Scalar) => evaluate(a, false), cost, deriv0, deriv1, alpha };
    const least = mul(slopeReduction(m, contacts), abs(slopeAtZero));
    if (truncated) {
      // MuJoCo's gtol: tolerance * ls_tolerance * |search| / scale
      const length = sqrt(dotFields(search, search, lines?.dof));
      const gtol = mul(mul(m.tolerance, m.ls_tolerance), mul(length, div(1, scale)));
      primalSearch(line, m.opt.ls_iterations, current().exact ? gtol : max(gtol, least), takesFirstGuess);
      const isStuck = and(not(done.get()), eq(alpha.get(), 0));
      stuck.set(or(stuck.get(), isStuck));
      done.set(or(done.get(), isStuck));
    } else {
      const minimise = endsEarly(m, contacts) ? bracketedNewton : safeguardedNewton;
      minimise(line, m.opt.ls_iterations, least, takesFirstGuess);
    }
    // an ascent direction can only be rounding: stay
    const ascent = ge(slopeAtZero, 0);
    alpha.set(select(ascent, 0, alpha.get()));
    done.set(or(done.get(), ascent));
  }

  /** Whether the decrement is within rounding noise and has not halved since the last iteration: more would only circle the minimum. */
  function stalls(decrement: Scalar): Bool {
    if (current().exact) return false;
    const last = lastDecrement.get();
    lastDecrement.set(decrement);
    const sure = patience ? mul(PATIENCE.noise.sure, noise.get()) : noise.get();
    const isNoise = byIsland ? false : and(le(decrement, sure), ge(decrement, mul(0.5, last)));
    if (!patience) return isNoise;
    // the conjugate gradients of coupling.ts may leave more rounding error than `noise` allows for
    const { best, since } = patience;
    const better = lt(decrement, mul(0.5, best.get()));
    best.set(select(better, decrement, best.get()));
    // a search that is still far from its end may go to and fro between states of friction for longer
    const within = (times: number) => le(decrement, mul(times, noise.get()));
    const more = select(
      within(PATIENCE.noise.near),
      PATIENCE.near,
      select(within(PATIENCE.noise.far), 1, 0, "i32"),
      "i32",
    );
    since.set(select(better, 0, add(since.get(), more), "i32"));
    return or(isNoise, ge(since.get(), PATIENCE.iterations));
  }

  /** qfrc_constraint. */
  function constraintForce(): void {
    if (m.opt.iterations >= FEW_ITERATIONS) space.residualForce();
    else {
      space.sumForces((row, contact) => {
        eachRow(rows, (r) => row(r, rowAt(r, 0).law.force));
        efc.each((c, slot) => contact(slot, efc.inMovable(c, contactForce(c, slot))));
      });
    }
  }

  function contactForce(c: Int, slot: Int): readonly Scalar[] {
    return efc.wrench(c, slot, efc.at(c, alpha.get()));
  }
}

/**
 * Accelerations under constraints (mj_fwdConstraint): by the primal solvers or by PGS, and by noslip iterations after
 * them. Reads qfrc_smooth, qacc_smooth, qacc_warmstart, qvel; writes qacc, qfrc_constraint.
 */
export function solve(m: ModelView, d: WorldData, input: SolverInput): Solution {
  const { rows, contacts, space, dual, coupled } = input;
  if (rows.length === 0 && contacts.slots.nslot === 0) return unconstrained(m, d, space);
  const primal = m.opt.solver === mjtSolver.PGS ? undefined : solvePrimal(m, d, input);
  if (primal && m.opt.noslip_iterations === 0) return primal;
  const joint = dual(noContact, UNWEIGHTED);
  const { solveWhole } = joint;
  return solveDual(m, d, {
    rows,
    contacts,
    solveM: (x) => joint.solveM!(x),
    solveWhole,
    primal,
    goesOn: primal !== undefined && !current().exact && goesToTheEnd(m.opt),
    coupled,
  });
}
