// the minimum of the cost along a search direction
import { current } from "../../trace/graph.ts";
import { breakIf, flag, increase, loop, variable, when } from "../../trace/control.ts";
import {
  abs,
  add,
  and,
  div,
  eq,
  ge,
  gt,
  le,
  lt,
  max,
  min,
  mul,
  neg,
  not,
  or,
  select,
  sub,
  type Bool,
  type Scalar,
} from "../../trace/scalar.ts";

type Register = { get(): Scalar; set(value: Scalar): void };

/** The cost along the search direction, with its derivatives: `evaluate` sets them for the point it is given. */
export interface Line {
  /** First derivative at alpha = 0. */
  readonly start: Scalar;
  readonly evaluate: (alpha: Scalar) => void;
  /** Cost beyond that at alpha = 0. */
  readonly cost: Register;
  /** First and second derivative at alpha (MuJoCo's deriv[0] and deriv[1]). */
  readonly deriv0: Register;
  readonly deriv1: Register;
  /** The point; on entry one Newton step from the start, and evaluated. */
  readonly alpha: Register;
}

/** Second derivatives below this are rounding. */
const TINY = 1e-30;
/** The upper end of a bracket that has none yet. */
const UNBOUNDED = 1e30;
/** Relative distances that float32 and float64 resolve. */
const RESOLVED = { float32: 1e-6, float64: 1e-14 };
const newtonPoint = (a: Scalar, deriv0: Scalar, deriv1: Scalar) => sub(a, div(deriv0, max(deriv1, TINY)));

/** Newton's method within brackets, until |deriv0| is at most `gtol`; returns at once if `isDone`. */
export function safeguardedNewton(line: Line, iterations: number, gtol: Scalar, isDone: Bool): void {
  const { deriv0, deriv1, alpha } = line;
  const low = variable("low", 0);
  const high = variable("high", UNBOUNDED);
  loop(
    Math.max(1, iterations),
    () => {
      breakIf(or(isDone, le(abs(deriv0.get()), gtol)));
      const a = alpha.get();
      const isBefore = lt(deriv0.get(), 0);
      low.set(select(isBefore, a, low.get()));
      high.set(select(isBefore, high.get(), a));
      const next = newtonPoint(a, deriv0.get(), deriv1.get());
      const inside = and(gt(next, low.get()), lt(next, high.get()));
      // the middle of the bracket, or twice as far while it has no upper end
      const fallback = select(lt(high.get(), 1e29), mul(0.5, add(low.get(), high.get())), mul(2, add(low.get(), 1)));
      alpha.set(select(inside, next, fallback));
      line.evaluate(alpha.get());
    },
    { label: "linesearch" },
  );
}

/**
 * The same for costs that are no piecewise parabolas, as those of elliptic cones: a slope that rises in one narrow place, where
 * a contact sticks, throws Newton's points out of the bracket. Points between its ends by their slopes then take turns with its
 * middle. Ends as well where numbers resolve no nearer point.
 */
export function bracketedNewton(line: Line, iterations: number, gtol: Scalar, isDone: Bool): void {
  const { deriv0, deriv1, alpha } = line;
  const low = variable("low", 0);
  const high = variable("high", UNBOUNDED);
  const lowSlope = variable("low_slope", line.start);
  const highSlope = variable("high_slope", 1);
  const halves = flag("halves", false);
  loop(
    Math.max(1, iterations),
    () => {
      breakIf(or(isDone, le(abs(deriv0.get()), gtol)));
      const a = alpha.get();
      const slope = deriv0.get();
      const isBefore = lt(slope, 0);
      low.set(select(isBefore, a, low.get()));
      lowSlope.set(select(isBefore, slope, lowSlope.get()));
      high.set(select(isBefore, high.get(), a));
      highSlope.set(select(isBefore, highSlope.get(), slope));
      const width = sub(high.get(), low.get());
      const next = newtonPoint(a, slope, deriv1.get());
      breakIf(le(min(width, abs(sub(next, a))), mul(current().wide ? RESOLVED.float64 : RESOLVED.float32, a)));
      const inside = and(gt(next, low.get()), lt(next, high.get()));
      const isBounded = lt(high.get(), 1e29);
      const share = div(neg(lowSlope.get()), max(sub(highSlope.get(), lowSlope.get()), TINY));
      const between = add(low.get(), mul(select(halves.get(), 0.5, share), width));
      halves.set(select2(or(inside, not(isBounded)), halves.get(), not(halves.get())));
      alpha.set(select(inside, next, select(isBounded, between, mul(2, add(low.get(), 1)))));
      line.evaluate(alpha.get());
    },
    { label: "linesearch" },
  );
}

/** A point of the search that is kept. */
class Point {
  readonly #parts: readonly Register[];

  constructor(name: string, values: readonly Scalar[]) {
    this.#parts = ["alpha", "deriv0", "deriv1", "cost"].map((part, i) => variable(`${name}_${part}`, values[i]));
  }
  get alpha(): Scalar {
    return this.#parts[0].get();
  }
  get deriv0(): Scalar {
    return this.#parts[1].get();
  }
  get cost(): Scalar {
    return this.#parts[3].get();
  }
  /** One Newton step from here. */
  get next(): Scalar {
    return newtonPoint(this.alpha, this.deriv0, this.#parts[2].get());
  }
  /** Takes over what another point, or the line's last evaluation, holds. */
  take(from: Point | readonly Scalar[], cond: Bool = true): void {
    const values = from instanceof Point ? from.#parts.map((p) => p.get()) : from;
    this.#parts.forEach((p, i) => p.set(select(cond, values[i], p.get())));
  }
}

/** Whether `c` lies on the same side of the minimum as `p` and nearer to it (updateBracket). */
const isNearer = (p: Point, c: Point): Bool =>
  or(
    and(and(lt(p.deriv0, 0), lt(c.deriv0, 0)), lt(p.deriv0, c.deriv0)),
    and(and(gt(p.deriv0, 0), gt(c.deriv0, 0)), gt(p.deriv0, c.deriv0)),
  );

/** What the search evaluates next: a step along one side, then by turns the bracket's middle and Newton points of its ends. */
const PHASE = { side: 0, bracket: 1, middle: 2, newton1: 3, newton2: 4 } as const;

/**
 * MuJoCo's own search (PrimalSearch), for models whose ls_iterations end it before the minimum: where it ends is then
 * part of the result. Sets alpha, to 0 if nothing improves.
 */
export function primalSearch(line: Line, iterations: number, gtol: Scalar, isDone: Bool): void {
  const { deriv0, deriv1, cost, alpha } = line;
  const here = () => [alpha.get(), deriv0.get(), deriv1.get(), cost.get()];
  // PrimalSearch's p1 and p2 are the bracket's ends, next1 and next2 a Newton step from each, mid its middle
  const p1 = new Point("p1", here());
  const p2 = new Point("p2", [0, line.start, 1, 0]);
  const next1 = new Point("next1", here());
  const next2 = new Point("next2", here());
  const mid = new Point("mid", here());

  // evaluations so far: at the start and one step from it
  const count = variable("ls_count", 2, "i32");
  const forward = lt(deriv0.get(), 0);
  const isGood = (p: Point) => lt(abs(p.deriv0), gtol);
  const found = flag("ls_found", or(isDone, and(isGood(p1), lt(p1.cost, 0))));
  const finish = (cond: Bool, at: Scalar) => {
    const now = and(cond, not(found.get()));
    alpha.set(select(now, at, alpha.get()));
    found.set(or(found.get(), now));
  };

  const phase = variable("ls_phase", PHASE.side, "i32");
  const movedP2 = flag("ls_pending", false);
  const is = (name: keyof typeof PHASE): Bool => eq(phase.get(), PHASE[name]);

  loop(
    iterations + 4,
    () => {
      breakIf(found.get());
      const spent = ge(count.get(), iterations);
      finish(and(is("side"), spent), p1.alpha);
      // neither end converged: the better one that improves
      const first = and(le(p1.cost, p2.cost), lt(p1.cost, 0));
      const second = and(le(p2.cost, p1.cost), lt(p2.cost, 0));
      finish(and(is("middle"), spent), select(first, p1.alpha, select(second, p2.alpha, 0)));
      breakIf(found.get());

      const goesOn = and(is("side"), select2(forward, le(p1.deriv0, neg(gtol)), ge(p1.deriv0, gtol)));
      p2.take(p1, goesOn);
      next2.take(p1, and(is("side"), not(goesOn)));
      phase.set(select(and(is("side"), not(goesOn)), PHASE.bracket, phase.get(), "i32"));

      const target = select(is("middle"), mul(0.5, add(p1.alpha, p2.alpha)), select(is("newton2"), p2.next, p1.next));
      alpha.set(target);
      line.evaluate(target);
      increase(count, 1);

      const was = phase.get();
      when(eq(was, PHASE.side), () => {
        p1.take(here());
        finish(and(isGood(p1), lt(p1.cost, 0)), p1.alpha);
      });
      when(or(eq(was, PHASE.bracket), eq(was, PHASE.newton1)), () => {
        next1.take(here());
        phase.set(select(and(eq(was, PHASE.newton1), movedP2.get()), PHASE.newton2, PHASE.middle, "i32"));
      });
      when(eq(was, PHASE.newton2), () => {
        next2.take(here());
        phase.set(PHASE.middle);
      });
      when(eq(was, PHASE.middle), () => {
        mid.take(here());
        const candidates = [next1, next2, mid];
        // the best of those that have converged
        const best = variable("ls_best", 0);
        const any = flag("ls_any", false);
        const at = variable("ls_at", 0);
        for (const c of candidates) {
          const better = and(isGood(c), or(not(any.get()), lt(c.cost, best.get())));
          best.set(select(better, c.cost, best.get()));
          at.set(select(better, c.alpha, at.get()));
          any.set(or(any.get(), better));
        }
        finish(any.get(), at.get());

        const updates = [p1, p2].map((p, k) => {
          const moved = flag(`ls_moved${k}`, false);
          for (const c of candidates) {
            const nearer = isNearer(p, c);
            p.take(c, nearer);
            moved.set(or(moved.get(), nearer));
          }
          return moved.get();
        });
        // nothing nearer: as exact as numbers are
        finish(and(not(updates[0]), not(updates[1])), mid.alpha);
        movedP2.set(updates[1]);
        phase.set(select(updates[0], PHASE.newton1, PHASE.newton2, "i32"));
      });
    },
    { label: "linesearch" },
  );
}

const select2 = (c: Bool, a: Bool, b: Bool): Bool => or(and(c, a), and(not(c), b));
