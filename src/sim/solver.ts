import { array, breakIf, each, flag, loop, variable } from "../trace/control.ts";
import { current, unrolling } from "../trace/graph.ts";
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
  sum,
  type Bool,
  type Int,
  type Scalar,
} from "../trace/scalar.ts";
import { mjtDisableBit, mjtSolver } from "../model/enums.ts";
import { changed, contactLaw, curvature, type ContactLaw } from "./cone.ts";
import { ContactState } from "./contact_state.ts";
import { primalSearch, safeguardedNewton } from "./line_search.ts";
import { SymMatrix } from "./pattern.ts";
import {
  FEW_ITERATIONS,
  FLOAT32_NOISE,
  FLOAT32_TOLERANCE,
  slopeReduction,
  type Problem,
  type Solution,
} from "./problem.ts";
import { rowDot, rowLaw, type Row, type RowLaw } from "./rows.ts";
import { Field, type DataView, type ModelView } from "./view.ts";

const vector = (name: string, n: number): Field => new Field(name, n);
const dot = (n: number, a: (i: Int) => Scalar, b: (i: Int) => Scalar): Scalar => {
  const s = variable("dot", 0);
  each(n, (i) => s.set(add(s.get(), mul(a(i), b(i)))));
  return s.get();
};

/**
 * Accelerations under constraints: the minimum of MuJoCo's convex cost (mj_fwdConstraint, mj_solPrimal).
 * Newton with exact line search, or CG preconditioned by M. Starts from the better of qacc_smooth and
 * qacc_warmstart. Reads qfrc_smooth, qacc_smooth, qacc_warmstart, qvel; writes qacc, qfrc_constraint.
 */
export function solve(m: ModelView, d: DataView, p: Problem): Solution {
  const { nv } = m;
  const { rows, contacts } = p;
  if (rows.length === 0 && contacts.slots.nslot === 0) {
    each(nv, (i) => {
      d.qacc.set(i, d.qacc_smooth.at(i));
      d.qfrc_constraint.set(i, 0);
    });
    return { rowForce: [], contactForce: () => [], niter: 0, converged: true };
  }

  const newton = m.opt.solver !== mjtSolver.CG;
  const scale = div(1, mul(m.meaninertia, Math.max(1, nv)));
  const tolerance = current().exact ? m.tolerance : max(m.tolerance, FLOAT32_TOLERANCE);
  const qacc = vector("x", nv);
  const search = vector("search", nv);
  const product = vector("Mx", nv);
  const grad = vector("grad", nv);
  const H = new SymMatrix(newton ? p.hessian : p.M.pattern, vector("H", newton ? p.hessian.nnz : 0));
  const Hdiaginv = vector("Hdiaginv", nv);
  const state = new ContactState(contacts);
  const alpha = variable("alpha");
  const done = flag("done", false);
  const noise = variable("noise", 0);
  const lastDecrement = variable("last_decrement", 0);

  /** Row law at the point `a` along the search direction. */
  const rowAt = (row: Row, a: Scalar) => {
    const jar = sub(
      rowDot(row, (i) => qacc.at(i)),
      row.aref,
    );
    const step = rowDot(row, (i) => search.at(i));
    return { law: rowLaw(row, add(jar, mul(a, step))), step };
  };

  startingPoint();
  const niter = variable("niter", 0, "i32");

  // direction of the previous iteration (CG)
  const gradOld = vector("grad_old", nv);
  const MgradOld = vector("Mgrad_old", nv);

  loop(
    Math.max(1, m.opt.iterations),
    (iteration) => {
      breakIf(done.get());
      assemble();
      niter.set(add(iteration, 1));
      if (newton) newtonDirection();
      else conjugateDirection(iteration);
      lineSearch();
      each(nv, (i) => qacc.set(i, add(qacc.at(i), mul(alpha.get(), search.at(i)))));
    },
    { label: "iterations" },
  );

  return finish();

  /** Picks the better of the two known points and sets jar there: jar_smooth + alpha * (jar_warm - jar_smooth). */
  function startingPoint(): void {
    const warm = !(m.opt.disableflags & mjtDisableBit.WARMSTART);
    each(nv, (i) => {
      qacc.set(i, d.qacc_smooth.at(i));
      search.set(i, warm ? sub(d.qacc_warmstart.at(i), d.qacc_smooth.at(i)) : 0);
    });
    const costSmooth = variable("cost_smooth", 0);
    const costWarm = variable("cost_warm", 0);
    for (const row of rows) {
      costSmooth.set(add(costSmooth.get(), rowAt(row, 0).law.cost));
      if (warm) costWarm.set(add(costWarm.get(), rowAt(row, 1).law.cost));
    }
    state.each((c, slot) => {
      const J = contacts.jacobian(slot);
      const cone = contacts.cone(slot);
      const { impedance, D } = contacts.stiffness(slot);
      const times = (x: Field) => J.map((row) => dotn(row, x.all()));
      const aref = contacts.aref(slot, impedance, times(d.qvel));
      const jar = times(qacc).map((x, k) => sub(x, aref[k]));
      const step = warm ? times(search) : jar.map(() => 0);
      state.start(c, D, jar, step);
      costSmooth.set(add(costSmooth.get(), contactLaw(m.opt.cone, cone, D, jar).cost));
      if (!warm) return;
      const warmJar = jar.map((x, k) => add(x, step[k]));
      costWarm.set(add(costWarm.get(), contactLaw(m.opt.cone, cone, D, warmJar).cost));
    });
    // nothing pushes at the smooth acceleration: it is the minimum
    done.set(le(costSmooth.get(), 0));
    noise.set(mul(mul(newton ? FLOAT32_NOISE.newton : FLOAT32_NOISE.cg, scale), costSmooth.get()));
    if (!warm) {
      alpha.set(0);
      return;
    }
    p.M.multiply(search, product);
    const gauss = mul(0.5, dot(nv, search.at.bind(search), product.at.bind(product)));
    const useWarm = le(add(costWarm.get(), gauss), costSmooth.get());
    alpha.set(select(and(useWarm, not(done.get())), 1, 0));
    each(nv, (i) => qacc.set(i, add(qacc.at(i), mul(alpha.get(), search.at(i)))));
  }

  /** Gradient and Hessian of the cost at qacc; moves the contacts' jar there. */
  function assemble(): void {
    if (newton) {
      each(H.pattern.nnz, (e) => H.entries.set(e, 0));
      // the pattern of M is part of that of H
      for (let i = 0; i < nv; i++) {
        for (const j of p.M.pattern.rows[i])
          H.entries.set(H.pattern.index(i, j), p.M.entries.at(p.M.pattern.index(i, j)));
      }
    }
    p.M.multiply(qacc, product);
    each(nv, (i) => grad.set(i, sub(product.at(i), d.qfrc_smooth.at(i))));

    for (const row of rows) {
      const { law } = rowAt(row, 0);
      for (const { dof, value } of row.jac) grad.set(dof, sub(grad.at(dof), mul(value, law.force)));
      if (!newton) continue;
      row.jac.forEach((a, i) => {
        for (const b of row.jac.slice(0, i + 1)) {
          const e = H.pattern.index(a.dof, b.dof);
          H.entries.set(e, add(H.entries.at(e), mul(mul(a.value, b.value), law.slope)));
        }
      });
    }
    state.each((c, slot) => {
      const jar = state.at(c, alpha.get());
      state.setJar(c, jar);
      const law = state.law(m, c, slot, jar);
      const J = contacts.jacobian(slot);
      for (let i = 0; i < nv; i++) {
        const f = dotn(
          law.force,
          J.map((row) => row[i]),
        );
        grad.set(i, sub(grad.at(i), f));
      }
      if (newton) addContact(law, J);
    });
  }

  /** H += Jᵀ W J over the entries that this Jacobian can touch. */
  function addContact(law: ContactLaw, J: readonly (readonly Scalar[])[]): void {
    const WJ = J.map((_, a) =>
      Array.from({ length: nv }, (_, i) => sum(J.map((row, b) => mul(law.hessian(a, b), row[i])))),
    );
    if (unrolling()) {
      H.pattern.rows.forEach((columns, i) => {
        for (const j of columns) {
          const e = H.pattern.index(i, j);
          const value = dotn(
            J.map((row) => row[i]),
            WJ.map((row) => row[j]),
          );
          if (value !== 0) H.entries.set(e, add(H.entries.at(e), value));
        }
      });
      return;
    }
    const copy = (name: string, rows: readonly (readonly Scalar[])[]) =>
      rows.map((row, k) => {
        const a = array(`${name}${k}`, nv);
        row.forEach((x, i) => a.set(i, x));
        return a;
      });
    const left = copy("J", J);
    const right = copy("WJ", WJ);
    each(nv, (i) => {
      H.row(i, (e, j) => {
        const value = dotn(
          left.map((a) => a.get(i)),
          right.map((a) => a.get(j)),
        );
        H.entries.set(e, add(H.entries.at(e), value));
      });
    });
  }

  function newtonDirection(): void {
    H.factor(Hdiaginv);
    each(nv, (i) => search.set(i, neg(grad.at(i))));
    H.solve(Hdiaginv, search);
  }

  /** Hager-Zhang direction, preconditioned by M (mj_solPrimal). */
  function conjugateDirection(iteration: Int): void {
    const Mgrad = vector("Mgrad", nv);
    each(nv, (i) => Mgrad.set(i, grad.at(i)));
    p.factors.solve(d.qLDiagInv, Mgrad);
    const first = le(iteration, 0);
    const y = (i: Int) => sub(grad.at(i), gradOld.at(i));
    const My = (i: Int) => sub(Mgrad.at(i), MgradOld.at(i));
    const direction = (i: Int) => search.at(i);
    const dy = dot(nv, direction, y);
    const tiny = 1e-30;
    const inverse = div(1, max(dy, tiny));
    const yMy = dot(nv, y, My);
    const yMg = dot(nv, y, (i) => Mgrad.at(i));
    const dg = dot(nv, direction, (i) => grad.at(i));
    const hz = mul(sub(yMg, mul(mul(2, mul(yMy, inverse)), dg)), inverse);
    const beta = select(or(first, le(dy, tiny)), 0, hz);
    each(nv, (i) => {
      const next = sub(mul(beta, search.at(i)), Mgrad.at(i));
      gradOld.set(i, grad.at(i));
      MgradOld.set(i, Mgrad.at(i));
      search.set(i, next);
    });
  }

  /** Sets alpha to the minimum along the search direction, and `done` where another iteration cannot help. */
  function lineSearch(): void {
    p.M.multiply(search, product);
    const slope0 = dot(
      nv,
      (i) => grad.at(i),
      (i) => search.at(i),
    );
    const gaussCurvature = dot(
      nv,
      (i) => search.at(i),
      (i) => product.at(i),
    );
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
      for (const row of rows) {
        const before = rowAt(row, 0).law;
        const { law, step } = rowAt(row, a);
        account(before, law, step);
        moved.set(or(moved.get(), changed(before.pieces, law.pieces)));
      }
      state.each((c, slot) => {
        if (first)
          state.setStep(
            c,
            contacts.jacobian(slot).map((row) => dotn(row, search.all())),
          );
        const step = state.stepOf(c);
        const before = state.law(m, c, slot, state.at(c, 0));
        const law = state.law(m, c, slot, state.at(c, a));
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
    const settled = () => or(not(moved.get()), done.get());
    const line = { slope0, evaluate: (a: Scalar) => evaluate(a, false), slope, curve, cost, alpha };
    const least = mul(slopeReduction(m), abs(slope0));
    if (truncated) {
      // as MuJoCo: tolerance * ls_tolerance * |search| / scale
      const length = sqrt(
        dot(
          nv,
          (i) => search.at(i),
          (i) => search.at(i),
        ),
      );
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

  function finish(): Solution {
    each(nv, (i) => d.qacc.set(i, qacc.at(i)));
    const force = (c: Int, slot: Int) => state.law(m, c, slot, state.at(c, alpha.get())).force;
    if (m.opt.iterations >= FEW_ITERATIONS) {
      // at the minimum the constraint force is what is left of M qacc
      p.M.multiply(qacc, product);
      each(nv, (i) => d.qfrc_constraint.set(i, sub(product.at(i), d.qfrc_smooth.at(i))));
    } else {
      each(nv, (i) => d.qfrc_constraint.set(i, 0));
      const push = (i: number, f: Scalar) => d.qfrc_constraint.set(i, add(d.qfrc_constraint.at(i), f));
      for (const row of rows) for (const { dof, value } of row.jac) push(dof, mul(value, rowAt(row, 0).law.force));
      state.each((c, slot) => {
        const f = force(c, slot);
        const J = contacts.jacobian(slot);
        for (let i = 0; i < nv; i++)
          push(
            i,
            dotn(
              f,
              J.map((row) => row[i]),
            ),
          );
      });
    }
    return {
      rowForce: rows.map((row) => rowAt(row, 0).law.force),
      contactForce: force,
      niter: niter.get(),
      converged: done.get(),
    };
  }
}
