import { each, flag, variable } from "../../trace/control.ts";
import { current } from "../../trace/graph.ts";
import {
  abs,
  add,
  and,
  div,
  dotn,
  eq,
  ge,
  isFinite32,
  le,
  max,
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
import { changed, curvature } from "../constraint/cone.ts";
import { ContactState } from "./contact-state.ts";
import { primalSearch, safeguardedNewton } from "./line-search.ts";
import { copyField, dotFields } from "../smooth/sparsity.ts";
import {
  FEW_ITERATIONS,
  FLOAT32_NOISE,
  FLOAT32_TOLERANCE,
  slopeReduction,
  type Problem,
  type Solution,
} from "./problem.ts";
import { eachRow, listRows, rowDot, rowLaw, type Row, type RowLaw } from "../constraint/rows.ts";
import type { Turns } from "./space.ts";
import type { WorldData, ModelView } from "../view.ts";

/** The turns of a model without rows and contacts: qacc_smooth is the minimum. */
const UNCONSTRAINED: Omit<Turns, "start"> = {
  iterations: 0,
  done: { get: () => true },
  assemble() {},
  improve() {},
  settle() {},
};
const contactFree = (): never => {
  throw new Error("a model without contacts has no law of one");
};

/**
 * Accelerations under constraints: the minimum of MuJoCo's convex cost (mj_fwdConstraint, mj_solPrimal).
 * Newton with exact line search, or CG preconditioned by M. Starts from the better of qacc_smooth and
 * qacc_warmstart. Reads qfrc_smooth, qacc_smooth, qacc_warmstart, qvel; writes qacc, qfrc_constraint.
 */
export function solve(m: ModelView, d: WorldData, p: Problem): Solution {
  const { nv } = m;
  const { rows, contacts } = p;
  if (rows.length === 0 && contacts.slots.nslot === 0) {
    const space = p.space(contactFree);
    space.iterate({ ...UNCONSTRAINED, start: () => copyField(d.qacc_smooth, space.qacc) });
    each(nv, (i) => {
      d.qacc.set(i, d.qacc_smooth.at(i));
      d.qfrc_constraint.set(i, 0);
    });
    return { rowForce: () => 0, contactForce: () => [], niter: 0 };
  }

  const newton = m.opt.solver !== mjtSolver.CG;
  const scale = div(1, mul(m.meaninertia, Math.max(1, nv)));
  const tolerance = current().exact ? m.tolerance : max(m.tolerance, FLOAT32_TOLERANCE);
  const state = new ContactState(contacts);
  const space = p.space((c, slot) => state.felt(m, c, slot, state.jarOf(c)));
  const { qacc, search } = space;
  const alpha = variable("alpha");
  const done = flag("done", false);
  const noise = variable("noise", 0);
  const lastDecrement = variable("last_decrement", 1e30);

  /** Row law at the point `a` along the search direction. */
  const rowAt = (row: Row, a: Scalar) => {
    const jar = sub(
      rowDot(row, (i) => qacc.at(i)),
      row.aref,
    );
    const step = rowDot(row, (i) => search.at(i));
    return { law: rowLaw(row, add(jar, mul(a, step))), step };
  };

  const niter = variable("niter", 0, "i32");
  const iterations = Math.max(1, m.opt.iterations);
  const improve = (iteration: Int): void => {
    lineSearch();
    space.advance(alpha.get());
    niter.set(add(iteration, 1));
  };
  space.iterate({ iterations, done, start: startingPoint, assemble, improve, settle });
  return finish();

  /** Picks the better of the two known points and sets jar there: jar_smooth + alpha * (jar_warm - jar_smooth). */
  function startingPoint(): void {
    const warm = !(m.opt.disableflags & mjtDisableBit.WARMSTART);
    each(nv, (i) => {
      qacc.set(i, d.qacc_smooth.at(i));
      search.set(i, warm ? sub(d.qacc_warmstart.at(i), d.qacc_smooth.at(i)) : 0);
    });
    space.place();
    const costSmooth = variable("cost_smooth", 0);
    const costWarm = variable("cost_warm", 0);
    eachRow(rows, (row) => {
      costSmooth.set(add(costSmooth.get(), rowAt(row, 0).law.cost));
      if (warm) costWarm.set(add(costWarm.get(), rowAt(row, 1).law.cost));
    });
    state.each((c, slot) => {
      const at = space.contact(slot);
      const { impedance, D: given } = contacts.stiffness(slot);
      const D = contacts.anyStiff ? state.resolve(c, slot, given, at.mobility()) : given;
      const aref = contacts.aref(slot, impedance, state.moving(c, at.times("qvel")));
      const jar = state.moving(c, at.times("qacc")).map((x, k) => sub(x, aref[k]));
      const step = warm ? state.moving(c, at.times("search")) : jar.map(() => 0);
      state.start(c, D, jar, step);
      const cost = (x: readonly Scalar[]) => state.felt(m, c, slot, x, D).cost;
      costSmooth.set(add(costSmooth.get(), cost(jar)));
      if (!warm) return;
      const warmJar = jar.map((x, k) => add(x, step[k]));
      costWarm.set(add(costWarm.get(), cost(warmJar)));
    });
    // nothing pushes at the smooth acceleration: it is the minimum
    done.set(le(costSmooth.get(), 0));
    noise.set(mul(mul(newton ? FLOAT32_NOISE.newton : FLOAT32_NOISE.cg, scale), costSmooth.get()));
    if (!warm) {
      alpha.set(0);
      return;
    }
    const gauss = mul(0.5, space.curvature());
    const useWarm = le(add(costWarm.get(), gauss), costSmooth.get());
    alpha.set(select(and(useWarm, not(done.get())), 1, 0));
    space.advance(alpha.get());
  }

  /** Gradient and Hessian of the cost at qacc; moves the contacts' jar there. */
  function assemble(): void {
    eachRow(rows, (row) => space.addRow(row, rowAt(row, 0).law));
    state.each((c, slot) => {
      const jar = state.at(c, alpha.get());
      state.setJar(c, jar);
      space.addContact(c, slot, state.felt(m, c, slot, jar), space.contact(slot));
    });
  }

  /** Sets alpha to the minimum along the search direction, and `done` if another iteration cannot help. */
  function lineSearch(): void {
    const slope0 = space.slope();
    const gaussCurvature = space.curvature();
    const slope = variable("slope");
    const curve = variable("curve");
    const cost = variable("cost");
    const moved = flag("moved", false);
    const truncated = m.opt.ls_iterations < FEW_ITERATIONS;

    // rows and contacts are subtracted from slope0 at 0 and added again at a: only changes of force matter
    const evaluate = (a: Scalar, first: boolean): void => {
      slope.set(add(slope0, mul(a, gaussCurvature)));
      curve.set(gaussCurvature);
      if (truncated) cost.set(mul(a, add(slope0, mul(mul(0.5, a), gaussCurvature))));
      moved.set(false);
      // what a constraint adds to the quadratic that it would be without changing its force
      const addCost = (law: { cost: Scalar }, before: { cost: Scalar }, slopeBefore: Scalar) => {
        if (truncated) cost.set(add(cost.get(), sub(sub(law.cost, before.cost), mul(a, slopeBefore))));
      };
      const account = (before: RowLaw, law: RowLaw, step: Scalar) => {
        slope.set(sub(slope.get(), mul(sub(law.force, before.force), step)));
        curve.set(add(curve.get(), mul(law.slope, square(step))));
        addCost(law, before, neg(mul(before.force, step)));
      };
      eachRow(rows, (row) => {
        const before = rowAt(row, 0).law;
        const { law, step } = rowAt(row, a);
        account(before, law, step);
        moved.set(or(moved.get(), changed(before.pieces, law.pieces)));
      });
      state.each((c, slot) => {
        if (first) state.setStep(c, state.moving(c, space.contact(slot).times("search")));
        const step = state.stepOf(c);
        const before = state.felt(m, c, slot, state.at(c, 0));
        const law = state.felt(m, c, slot, state.at(c, a));
        slope.set(
          sub(
            slope.get(),
            dotn(
              law.force.map((f, k) => sub(f, before.force[k])),
              step,
            ),
          ),
        );
        curve.set(add(curve.get(), curvature(law, step)));
        addCost(law, before, neg(dotn(before.force, step)));
        moved.set(or(or(moved.get(), changed(before.pieces, law.pieces)), or(before.curved, law.curved)));
      });
    };

    // the first guess is exact where no piece changes; for Newton it is 1
    if (newton) alpha.set(1);
    else {
      evaluate(0, true);
      alpha.set(div(neg(slope0), max(curve.get(), 1e-30)));
    }
    evaluate(alpha.get(), newton);
    const decrement = mul(mul(0.5, scale), mul(neg(slope0), alpha.get()));
    const exact = newton ? not(moved.get()) : false;
    done.set(or(or(exact, le(decrement, tolerance)), or(stalls(decrement), not(isFinite32(slope0)))));
    // the first guess only: a later point may lie on the pieces of the start and still be far from the minimum
    const settled = or(not(moved.get()), done.get());
    const line = { slope0, evaluate: (a: Scalar) => evaluate(a, false), slope, curve, cost, alpha };
    const least = mul(slopeReduction(m), abs(slope0));
    if (truncated) {
      // as MuJoCo: tolerance * ls_tolerance * |search| / scale
      const length = sqrt(dotFields(search, search));
      const good = mul(mul(m.tolerance, m.ls_tolerance), mul(length, div(1, scale)));
      primalSearch(line, m.opt.ls_iterations, current().exact ? good : max(good, least), settled);
      done.set(or(done.get(), eq(alpha.get(), 0)));
    } else safeguardedNewton(line, m.opt.ls_iterations, least, settled);
    // an ascent direction can only be rounding: stay
    const ascent = ge(slope0, 0);
    alpha.set(select(ascent, 0, alpha.get()));
    done.set(or(done.get(), ascent));
  }

  /** Whether a decrement is one that rounding makes, and did not halve: more iterations would go round in circles. */
  function stalls(decrement: Scalar): Bool {
    if (current().exact) return false;
    const last = lastDecrement.get();
    lastDecrement.set(decrement);
    return and(le(decrement, noise.get()), ge(decrement, mul(0.5, last)));
  }

  /** qfrc_constraint. */
  function settle(): void {
    if (m.opt.iterations >= FEW_ITERATIONS) space.residual();
    else {
      space.collect((row, contact) => {
        eachRow(rows, (r) => row(r, rowAt(r, 0).law.force));
        state.each((c, slot) => contact(slot, state.moving(c, contactForce(c, slot))));
      });
    }
  }

  function contactForce(c: Int, slot: Int): readonly Scalar[] {
    return state.wrench(m, c, slot, state.at(c, alpha.get()));
  }

  function finish(): Solution {
    each(nv, (i) => d.qacc.set(i, qacc.at(i)));
    const list = listRows(rows);
    return {
      rowForce: (r) => rowAt(list[r], 0).law.force,
      contactForce,
      niter: niter.get(),
    };
  }
}
