// the friction of one contact with an elliptic cone, its normal force kept (mju_QCQP)
import { breakIf, flag, increase, loop, variable } from "../../trace/control.ts";
import {
  add,
  and,
  div,
  gt,
  le,
  lt,
  max,
  mul,
  ne,
  neg,
  not,
  or,
  select,
  sqrt,
  square,
  sub,
  sum,
  type Bool,
  type Scalar,
} from "../../trace/scalar.ts";
import { MINVAL } from "../../trace/vector.ts";

const MOST_ITERATIONS = 20;
/** Below this MuJoCo takes a matrix for singular, and an excess or a step for nothing. */
const TINY = 1e-10;

type Matrix = readonly (readonly Scalar[])[];

/** Scales a friction force onto the ellipsoid |f / friction| = normal; `inside` leaves one within it. */
export function onEllipsoid(
  force: readonly Scalar[],
  normal: Scalar,
  friction: readonly Scalar[],
  inside: boolean,
): Scalar[] {
  const s = sum(force.map((f, k) => square(div(f, friction[k]))));
  const scale = mul(normal, div(1, sqrt(max(s, MINVAL))));
  const keeps: Bool = inside ? le(s, square(normal)) : false;
  return force.map((f) => select(keeps, f, mul(f, scale)));
}

/**
 * The f that minimises fᵀ A f / 2 + fᵀ b with |f / friction| <= normal, by Newton on the multiplier of the bound.
 * `exists`: which directions the contact has; `condim` decides when MuJoCo takes A for singular.
 */
export function frictionForce(
  A: Matrix,
  b: readonly Scalar[],
  friction: readonly Scalar[],
  normal: Scalar,
  exists: readonly Bool[],
  condim: Scalar,
): Scalar[] {
  const n = b.length;
  // in units of friction the bound is a ball; a direction that is not there is the identity's
  const scaled = A.map((row, i) =>
    row.map((x, j) => select(and(exists[i], exists[j]), mul(x, mul(friction[i], friction[j])), i === j ? 1 : 0)),
  );
  const rhs = b.map((x, i) => select(exists[i], mul(x, friction[i]), 0));
  const lambda = variable("qcqp_lambda", 0);
  const v = rhs.map((_, i) => variable(`qcqp_v${i}`, 0));
  const singular = flag("qcqp_singular", false);
  lambda.set(0);
  v.forEach((x) => x.set(0));
  singular.set(false);

  loop(
    MOST_ITERATIONS,
    () => {
      const shifted = scaled.map((row, i) =>
        row.map((x, j) => (i === j ? add(x, select(exists[i], lambda.get(), 0)) : x)),
      );
      const { solve, pivots } = factor(shifted);
      const det = pivots.reduce(mul);
      const least = pivots.reduce<Bool>((any, p) => or(any, lt(p, TINY)), false);
      // of two and three directions MuJoCo asks the determinant
      const isSmall = or(and(lt(condim, 5), lt(det, TINY)), and(gt(condim, 5), least));
      singular.set(isSmall);
      breakIf(isSmall);
      const f = solve(rhs).map(neg);
      f.forEach((x, i) => v[i].set(x));
      const excess = sub(sum(f.map(square)), square(normal));
      breakIf(lt(excess, TINY));
      const slope = mul(-2, sum(solve(f).map((x, i) => mul(x, f[i]))));
      const step = neg(div(excess, slope));
      breakIf(lt(step, TINY));
      increase(lambda, step);
    },
    { label: "qcqp" },
  );
  const isBound = and(ne(lambda.get(), 0), not(singular.get()));
  const f = v.map((x, i) => mul(x.get(), friction[i]));
  const bounded = onEllipsoid(f, normal, friction, false);
  return f.map((x, i) => select(singular.get(), 0, select(isBound, bounded[i], x)));

  /** L D Lᵀ of a small matrix: a solver, and D. */
  function factor(M: Matrix) {
    const L: Scalar[][] = M.map(() => Array<Scalar>(n).fill(0));
    const pivots: Scalar[] = [];
    for (let j = 0; j < n; j++) {
      let d = M[j][j];
      for (let k = 0; k < j; k++) d = sub(d, mul(square(L[j][k]), pivots[k]));
      pivots.push(d);
      const inverse = div(1, select(lt(d, 1e-30), 1, d));
      for (let i = j + 1; i < n; i++) {
        let x = M[i][j];
        for (let k = 0; k < j; k++) x = sub(x, mul(mul(L[i][k], L[j][k]), pivots[k]));
        L[i][j] = mul(x, inverse);
      }
    }
    const solve = (y: readonly Scalar[]): Scalar[] => {
      const x = [...y];
      for (let i = 0; i < n; i++) for (let k = 0; k < i; k++) x[i] = sub(x[i], mul(L[i][k], x[k]));
      for (let i = 0; i < n; i++) x[i] = div(x[i], select(lt(pivots[i], 1e-30), 1, pivots[i]));
      for (let i = n - 1; i >= 0; i--) for (let k = i + 1; k < n; k++) x[i] = sub(x[i], mul(L[k][i], x[k]));
      return x;
    };
    return { solve, pivots };
  }
}
