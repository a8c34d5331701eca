// one block of PGS: its forces at the least dual cost that they can reach alone
import { variable, when } from "../../trace/control.ts";
import {
  add,
  and,
  clamp,
  div,
  dotn,
  eq,
  ge,
  gt,
  lt,
  max,
  mul,
  neg,
  or,
  select,
  sub,
  sum,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { MINVAL } from "../../trace/vector.ts";
import type { DualForces } from "./dual.ts";
import { KIND } from "./dual-rows.ts";
import { frictionForce } from "./qcqp.ts";

/** A rise of the cost above which a step is undone, as MuJoCo does. */
export const NO_DESCENT = 1e-10;
/** Instead of no bound. */
const UNBOUNDED = 1e30;

type Vector = readonly Scalar[];
type Matrix = readonly Vector[];

const quadratic = (A: Matrix, v: Vector): Scalar => sum(A.map((row, i) => mul(v[i], dotn(row, v))));

/** The step from `old` to `next`, none if it would raise the cost; and by how much it lowers it. */
export function descent(A: Matrix, residual: Vector, old: Vector, next: Vector): { step: Scalar[]; gain: Scalar } {
  const wanted = next.map((f, k) => sub(f, old[k]));
  const change = add(mul(0.5, quadratic(A, wanted)), dotn(wanted, residual));
  const rises = gt(change, NO_DESCENT);
  return { step: wanted.map((x) => select(rises, 0, x)), gain: select(rises, 0, neg(change)) };
}

/** Moves the block at a place to its least cost, and the accelerations with it; returns by how much the cost falls. */
export function stepBlock(dual: DualForces, place: Int): Scalar {
  const gain = variable("dual_gain", 0);
  gain.set(0);
  const moves = variable("dual_moves", 0);
  moves.set(0);
  dual.clear();
  const scalar = (residual: Scalar, A: Scalar, R: Scalar, low: Scalar, high: Scalar): Scalar => {
    const f = dual.force.get(place);
    const AR = add(A, R);
    const slope = add(residual, mul(R, f));
    const next = clamp(sub(f, div(slope, AR)), low, high);
    const { step, gain: lowered } = descent([[AR]], [slope], [f], [next]);
    gain.set(lowered);
    moves.set(max(step[0], neg(step[0])));
    dual.force.set(place, add(f, step[0]));
    return step[0];
  };
  when(
    dual.isRow(place),
    () => {
      const { A, R, loss, kind, residual } = dual.row(place);
      const low = select(eq(kind, KIND.friction), neg(loss), select(eq(kind, KIND.limit), 0, -UNBOUNDED));
      const high = select(eq(kind, KIND.friction), loss, UNBOUNDED);
      if (dual.hasMatrix) scalar(dual.residualAt(place), A, R, low, high);
      else dual.pushRow(place, scalar(residual(), A, R, low, high));
    },
    () => {
      if (dual.dim === 0) return;
      const { index, edge } = dual.contactAt(place);
      const contact = dual.hasMatrix ? undefined : dual.visit(index);
      const residual = contact && dual.residual(contact);
      if (dual.isPyramidal) {
        const { slope, direction, along, wrench } = dual.edge(index, edge);
        const A = add(
          dual.A(index, 0, 0),
          mul(
            slope,
            add(
              mul(
                2,
                direction((k) => dual.A(index, 0, k)),
              ),
              mul(
                slope,
                direction((k) => dual.A(index, k, k)),
              ),
            ),
          ),
        );
        const df = scalar(
          residual ? along(residual) : dual.residualAt(place),
          A,
          direction((k) => dual.R(index, k)),
          0,
          UNBOUNDED,
        );
        if (contact) dual.pushContact(contact, wrench(df));
        return;
      }
      const cone = contact?.cone ?? dual.contacts.cone(dual.slotOf(index));
      const apart = residual ?? Array.from({ length: dual.dim }, (_, k) => dual.residualAt(dual.placeOf(index, k)));
      const { step, gain: lowered } = stepCone(dual, index, cone, apart);
      gain.set(lowered);
      moves.set(step.map((x) => max(x, neg(x))).reduce(max));
      if (contact) dual.pushContact(contact, step);
    },
  );
  if (!dual.hasMatrix) when(gt(moves.get(), 0), () => dual.move());
  return gain.get();
}

/** One elliptic contact: along the normal or the ray of its force, then friction with the normal kept. */
function stepCone(
  dual: DualForces,
  index: Int,
  { condim, friction }: { readonly condim: Scalar; readonly friction: readonly Scalar[] },
  unregularized: Vector,
): { step: Scalar[]; gain: Scalar } {
  const exists = unregularized.map((_, k): Bool => (k === 0 ? true : gt(condim, k)));
  const old = unregularized.map((_, k) => select(exists[k], dual.force.get(dual.placeOf(index, k)), 0));
  const entry = (i: number, j: number): Scalar => {
    const a = i === j ? add(dual.A(index, i, j), dual.R(index, i)) : dual.A(index, i, j);
    return select(and(exists[i], exists[j]), a, 0);
  };
  const A = old.map((_, i) => old.map((__, j) => entry(i, j)));
  const residual = old.map((f, k) => select(exists[k], add(unregularized[k], mul(dual.R(index, k), f)), 0));

  // a normal alone, or a contact without friction
  const isNormal = lt(old[0], MINVAL);
  const least = max(0, sub(old[0], div(residual[0], A[0][0])));
  const curve = quadratic(A, old);
  const turns = ge(curve, MINVAL);
  const x = div(neg(dotn(old, residual)), select(turns, curve, 1));
  // MuJoCo's bound, which takes the force to 0
  const bounded = select(lt(add(old[0], mul(x, old[0])), 0), -1, x);
  const along = select(turns, bounded, 0);
  const takesNormal = or(isNormal, eq(condim, 1));
  const normal = select(takesNormal, least, add(old[0], mul(along, old[0])));

  const tangents = old.slice(1).map((_, k) => k + 1);
  const shift = sub(normal, old[0]);
  const rhs = tangents.map((i) =>
    add(
      sub(
        residual[i],
        dotn(
          tangents.map((j) => A[i][j]),
          tangents.map((j) => old[j]),
        ),
      ),
      mul(A[i][0], shift),
    ),
  );
  const solved = variableList("friction_force", tangents.length);
  const pushes = and(ge(normal, MINVAL), gt(condim, 1));
  when(pushes, () => {
    const f = frictionForce(
      tangents.map((i) => tangents.map((j) => A[i][j])),
      rhs,
      friction,
      normal,
      exists.slice(1),
      condim,
    );
    f.forEach((value, k) => solved[k].set(value));
  });
  const next = [normal, ...tangents.map((i) => select(exists[i], solved[i - 1].get(), 0))];
  const { step, gain } = descent(A, residual, old, next);
  step.forEach((df, k) => dual.force.set(dual.placeOf(index, k), add(old[k], df)));
  return { step, gain };
}

/** Variables that are zero each time the block is passed. */
export const variableList = (name: string, count: number) =>
  Array.from({ length: count }, (_, k) => {
    const made = variable(`${name}${k}`, 0);
    made.set(0);
    return made;
  });
