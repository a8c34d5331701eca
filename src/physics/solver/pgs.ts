// projected Gauss-Seidel on the dual problem (mj_solPGS), and the noslip solver after it (mj_solNoSlip)
import { array, breakIf, each, increase, loop, variable, when, type LocalArray } from "../../trace/control.ts";
import {
  add,
  and,
  clamp,
  div,
  eq,
  gt,
  idiv,
  lt,
  max,
  mul,
  neg,
  select,
  sub,
  toF32,
  toI32,
  toU32,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { mjtDisableBit, mjtSolver } from "../../model/enums.ts";
import type { ContactRows } from "../constraint/contact-rows.ts";
import { listRows, type Rows } from "../constraint/rows.ts";
import { copyField } from "../smooth/sparsity.ts";
import { Field, type ModelView, type WorldData } from "../view.ts";
import { DualForces } from "./dual.ts";
import { linearCost } from "./dual-costs.ts";
import { KIND } from "./dual-rows.ts";
import { stepBlock } from "./dual-step.ts";
import { findIslands } from "./islands.ts";
import { noslip } from "./noslip.ts";
import { pcg32 } from "./pcg32.ts";
import { onEllipsoid } from "./qcqp.ts";
import type { PrimalSolution, Solution } from "./solution.ts";
import type { Coupled } from "./space.ts";

interface DualInput {
  readonly rows: Rows;
  readonly contacts: ContactRows;
  readonly solveM: (x: Field) => void;
  /** What makes accelerations of the forces in the end, if it is not that. */
  readonly solveWhole?: ((x: Field) => void) | undefined;
  /** What a primal solver left, whose forces these are to begin with. */
  readonly primal?: PrimalSolution | undefined;
  /** Whether its accelerations are those of its forces, but for rounding. */
  readonly goesOn: boolean;
  readonly coupled?: Coupled | undefined;
}

/**
 * Forces by PGS from those at qacc_warmstart, or of a primal solution at d.qacc; then noslip iterations. Islands are
 * solved one by one. Reads qacc_smooth, qacc_warmstart, qvel; writes qacc, qfrc_constraint.
 */
export function solveDual(m: ModelView, d: WorldData, input: DualInput): Solution {
  const { rows, contacts, solveM, solveWhole, primal, goesOn, coupled } = input;
  const isPgs = m.opt.solver === mjtSolver.PGS;
  const warm = !(m.opt.disableflags & mjtDisableBit.WARMSTART);
  const dual = new DualForces(m, listRows(rows), contacts, solveM);
  dual.start(d, isPgs ? d.qacc_warmstart : d.qacc, goesOn ? primal?.Jaref : undefined);
  if (goesOn) dual.goOn(d, solveWhole !== undefined);
  const islands = findIslands(m, dual.rows, contacts, coupled);

  // places of the blocks that are solved together: rows, edges, or whole contacts of elliptic cones
  const list = array("dual_list", Math.max(1, dual.places), "i32");
  const count = variable("dual_count", 0, "i32");
  const append = (place: Int) => {
    list.set(count.get(), place);
    increase(count, 1);
  };
  const gather = (label: Int | undefined) => {
    const isOf = (own: () => Int): Bool => (label === undefined ? true : eq(own(), label));
    count.set(0);
    loop(dual.nrow, (r) =>
      when(
        and(
          dual.isActive(r),
          isOf(() => islands.ofRow(r)),
        ),
        () => append(r),
      ),
    );
    if (dual.dim === 0) return;
    contacts.slots.each((index, slot) =>
      when(
        and(
          contacts.makesRows(slot),
          isOf(() => islands.ofContact(slot)),
        ),
        () => {
          const first = dual.placeOf(index, 0);
          if (!dual.isPyramidal) append(first);
          else loop(dual.widthOf(index), (e) => append(add(first, e)));
        },
      ),
    );
  };

  const niter = variable("niter", 0, "i32");
  const scale = div(1, mul(m.meaninertia, Math.max(1, m.nv)));
  if (isPgs) {
    if (warm) {
      gather(undefined);
      dropCostlyStart(dual, list, count.get());
    } else loop(dual.places, (i) => dual.force.set(i, 0));
  }
  const solveIsland = (label: Int | undefined) => {
    gather(label);
    when(gt(count.get(), 0), () => {
      const ofIsland = variable("island_niter", 0, "i32");
      ofIsland.set(primal ? primal.niter : iterate(m, dual, list, count.get(), scale));
      if (m.opt.noslip_iterations > 0) {
        gather(label);
        increase(ofIsland, noslip(m, dual, list, count.get(), scale, !goesOn));
      }
      niter.set(max(niter.get(), ofIsland.get()));
    });
  };
  if (islands.labels === 1) solveIsland(undefined);
  else loop(islands.labels, (label) => solveIsland(label), { label: "islands" });

  if (!goesOn) {
    gather(undefined);
    dual.recompute(count.get(), (i) => list.get(i), d.qfrc_constraint);
  }
  let { acceleration } = dual;
  if (solveWhole) {
    acceleration = new Field("dual_whole", m.nv);
    copyField(d.qfrc_constraint, acceleration);
    solveWhole(acceleration);
  }
  each(m.nv, (i) => d.qacc.set(i, add(d.qacc_smooth.at(i), acceleration.at(i))));
  return {
    rowForce: (r) => dual.force.get(r),
    contactForce: (index, slot) => dual.wrench(index, contacts.cone(slot)),
    niter: niter.get(),
  };
}

/** Forgets forces that cost more on the dual than none (warmstart). */
function dropCostlyStart(dual: DualForces, list: LocalArray, count: Int): void {
  const cost = variable("dual_start_cost", 0);
  cost.set(
    mul(
      0.5,
      dual.recompute(count, (i) => list.get(i)),
    ),
  );
  loop(count, (i) => increase(cost, linearCost(dual, list.get(i))));
  when(gt(cost.get(), 0), () => loop(dual.places, (i) => dual.force.set(i, 0)));
}

/** Runs `body` with the place of each force of a list's blocks. */
function eachForce(dual: DualForces, list: LocalArray, count: Int, body: (place: Int) => void): void {
  loop(count, (i) => {
    const place = list.get(i);
    if (dual.isPyramidal) {
      body(place);
      return;
    }
    const width = select(dual.isRow(place), 1, dual.dim, "i32");
    loop(width, (k) => body(add(place, k)));
  });
}

/** Sweeps over the blocks of an island in random order, with Nesterov's momentum; returns how many. */
function iterate(m: ModelView, dual: DualForces, list: LocalArray, count: Int, scale: Scalar): Int {
  const before = array("force_prev", Math.max(1, dual.places));
  const ahead = array("force_momentum", Math.max(1, dual.places));
  const run = variable("nesterov", 0, "i32");
  const iterations = variable("pgs_iterations", 0, "i32");
  const improvement = variable("improvement", 0);
  const turning = variable("turning", 0);
  const random = pcg32();
  random.restart();
  run.set(0);
  iterations.set(0);
  eachForce(dual, list, count, (place) => before.set(place, dual.force.get(place)));
  loop(
    m.opt.iterations,
    (iteration) => {
      const k = toF32(run.get());
      const beta = select(gt(run.get(), 1), div(sub(k, 1), add(k, 2)), 0);
      eachForce(dual, list, count, (place) => {
        const f = dual.force.get(place);
        dual.force.set(place, add(f, mul(beta, sub(f, before.get(place)))));
        before.set(place, f);
      });
      // without momentum not even rounding may move them: the restart below asks for its sign
      when(gt(beta, 0), () => loop(count, (i) => project(dual, list.get(i))));
      eachForce(dual, list, count, (place) => ahead.set(place, dual.force.get(place)));
      if (!dual.hasMatrix) dual.recompute(count, (i) => list.get(i));

      // Fisher and Yates
      loop(sub(count, 1), (q) => {
        const i = sub(sub(count, 1), q);
        const draw = random.next();
        const bound = toU32(add(i, 1));
        const j = toI32(sub(draw, mul(idiv(draw, bound), bound)));
        const [a, b] = [list.get(i), list.get(j)];
        list.set(i, b);
        list.set(j, a);
      });

      improvement.set(0);
      loop(count, (i) => increase(improvement, stepBlock(dual, list.get(i))), { label: "blocks" });

      // the momentum restarts where the sweep turns against it
      turning.set(0);
      eachForce(dual, list, count, (place) => {
        const [f, mid, last] = [dual.force.get(place), ahead.get(place), before.get(place)];
        increase(turning, mul(sub(f, mid), sub(mid, last)));
      });
      const restarts = and(gt(iteration, 0), lt(turning.get(), 0));
      run.set(select(restarts, 0, add(run.get(), 1), "i32"));
      iterations.set(add(iteration, 1));
      breakIf(lt(mul(improvement.get(), scale), m.tolerance));
    },
    { label: "pgs" },
  );
  return iterations.get();
}

/** What a block's forces are allowed, after momentum has moved them. */
function project(dual: DualForces, place: Int): void {
  const f = dual.force.get(place);
  when(
    dual.isRow(place),
    () => {
      const { loss, kind } = dual.row(place);
      const bounded = select(eq(kind, KIND.friction), clamp(f, neg(loss), loss), max(f, 0));
      dual.force.set(place, select(eq(kind, KIND.equality), f, bounded));
    },
    () => {
      if (dual.dim === 0) return;
      if (dual.isPyramidal) {
        dual.force.set(place, max(f, 0));
        return;
      }
      const { index } = dual.contactAt(place);
      const { friction, condim } = dual.contacts.cone(dual.slotOf(index));
      const tangents = friction.map((_, k) => select(gt(condim, k + 1), dual.force.get(dual.placeOf(index, k + 1)), 0));
      const within = onEllipsoid(tangents, f, friction, true);
      dual.force.set(place, max(f, 0));
      within.forEach((x, k) => dual.force.set(dual.placeOf(index, k + 1), select(lt(f, 0), 0, x)));
    },
  );
}
