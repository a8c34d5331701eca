// the noslip solver: friction without its regularisation, the normal forces of another solver kept (mj_solNoSlip)
import { breakIf, increase, loop, variable, when, type LocalArray } from "../../trace/control.ts";
import {
  add,
  and,
  clamp,
  div,
  dotn,
  eq,
  ge,
  gt,
  idiv,
  lt,
  max,
  mul,
  neg,
  select,
  square,
  sub,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { MINVAL } from "../../trace/vector.ts";
import type { ModelView } from "../view.ts";
import type { DualContact, DualForces } from "./dual.ts";
import { regularization } from "./dual-costs.ts";
import { KIND } from "./dual-rows.ts";
import { descent, NO_DESCENT, variableList } from "./dual-step.ts";
import { frictionForce } from "./qcqp.ts";

/** The least diagonal of A that MuJoCo works with here. */
const LEAST_A = 1e-10;

/** Sweeps over the friction of an island; returns how many. `isStale`: accelerations are not those of the forces yet. */
export function noslip(
  m: ModelView,
  dual: DualForces,
  list: LocalArray,
  count: Int,
  scale: Scalar,
  isStale: boolean,
): Int {
  const improvement = variable("noslip_improvement", 0);
  const iterations = variable("noslip_iterations", 0, "i32");
  iterations.set(0);
  if (isStale) dual.recompute(count, (i) => list.get(i));
  loop(
    m.opt.noslip_iterations,
    (iteration) => {
      improvement.set(0);
      // what the regularisation has cost is gained first
      when(eq(iteration, 0), () => loop(count, (i) => increase(improvement, regularization(dual, list.get(i)))));
      loop(count, (i) => increase(improvement, slip(dual, list.get(i))), { label: "blocks" });
      iterations.set(add(iteration, 1));
      breakIf(lt(mul(improvement.get(), scale), m.opt.noslip_tolerance));
    },
    { label: "noslip" },
  );
  return iterations.get();
}

/** Friction of the block at a place; returns by how much the cost without regularisation falls. */
function slip(dual: DualForces, place: Int): Scalar {
  const gain = variable("noslip_gain", 0);
  gain.set(0);
  dual.clear();
  when(
    dual.isRow(place),
    () => {
      const { A, loss, kind, residual } = dual.row(place);
      when(eq(kind, KIND.friction), () => {
        const f = dual.force.get(place);
        const [slope, own] = [residual(), max(A, MINVAL)];
        const next = clamp(sub(f, div(slope, own)), neg(loss), loss);
        const df = sub(next, f);
        gain.set(neg(add(mul(mul(0.5, own), square(df)), mul(df, slope))));
        dual.force.set(place, next);
        dual.pushRow(place, df);
        dual.move();
      });
    },
    () => {
      if (dual.dim < 2) return;
      const { index, edge } = dual.contactAt(place);
      const condim = dual.contacts.cone(dual.slotOf(index)).condim;
      const isFirst: Bool = dual.isPyramidal ? eq(sub(edge, mul(2, idiv(edge, 2))), 0) : true;
      when(and(isFirst, gt(condim, 1)), () => {
        const contact = dual.visit(index);
        const residual = dual.residual(contact);
        const wrench = dual.isPyramidal
          ? slipEdges(dual, place, contact, edge, residual, gain)
          : slipCone(dual, contact, residual, gain);
        dual.pushContact(contact, wrench);
        dual.move();
      });
    },
  );
  return gain.get();
}

type Gain = { set(x: Scalar): void };

/** A pair of opposite edges of a pyramid: their sum stays. */
function slipEdges(
  dual: DualForces,
  place: Int,
  { index }: DualContact,
  edge: Int,
  residual: readonly Scalar[],
  gain: Gain,
): Scalar[] {
  const { slope: mu, direction, wrench } = dual.edge(index, edge);
  const [first, second] = [dual.force.get(place), dual.force.get(add(place, 1))];
  const [middle, y] = [mul(0.5, add(first, second)), mul(0.5, sub(first, second))];
  const across = direction((k) => residual[k]);
  const A = direction((k) => dual.A(index, k, k));
  // of the difference of the edges the cost is K y² / 2 + y (2 mu residual) about where it is
  const K = mul(4, mul(square(mu), A));
  const flat = lt(K, MINVAL);
  const least = sub(y, div(mul(2, mul(mu, across)), select(flat, 1, K)));
  const next = select(flat, 0, clamp(least, neg(middle), middle));
  const wanted = sub(next, y);
  const change = mul(wanted, add(mul(0.5, mul(K, wanted)), mul(2, mul(mu, across))));
  const rises = gt(change, NO_DESCENT);
  const df = select(rises, 0, wanted);
  gain.set(select(rises, 0, neg(change)));
  dual.force.set(place, add(first, df));
  dual.force.set(add(place, 1), sub(second, df));
  return wrench(mul(2, df)).map((x, k) => (k === 0 ? 0 : x));
}

/** The friction of an elliptic cone. */
function slipCone(dual: DualForces, { index, cone }: DualContact, residual: readonly Scalar[], gain: Gain): Scalar[] {
  const { condim, friction } = cone;
  const tangents = friction.map((_, k) => k + 1);
  const exists = tangents.map((k) => gt(condim, k));
  const old = tangents.map((k, t) => select(exists[t], dual.force.get(dual.placeOf(index, k)), 0));
  const A = tangents.map((i, a) =>
    tangents.map((j, b) => {
      const entry = i === j ? max(dual.A(index, i, j), LEAST_A) : dual.A(index, i, j);
      return select(and(exists[a], exists[b]), entry, 0);
    }),
  );
  const slope = tangents.map((k, t) => select(exists[t], residual[k], 0));
  const normal = dual.force.get(dual.placeOf(index, 0));
  const solved = variableList("noslip_friction", tangents.length);
  when(ge(normal, MINVAL), () => {
    const rhs = slope.map((r, t) => sub(r, dotn(A[t], old)));
    frictionForce(A, rhs, friction, normal, exists, condim).forEach((f, t) => solved[t].set(f));
  });
  const { step, gain: lowered } = descent(
    A,
    slope,
    old,
    solved.map((f, t) => select(exists[t], f.get(), 0)),
  );
  gain.set(lowered);
  step.forEach((df, t) => dual.force.set(dual.placeOf(index, t + 1), add(old[t], df)));
  return [0, ...step];
}
