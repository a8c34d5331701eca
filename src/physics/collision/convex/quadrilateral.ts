// a large quadrilateral of a polygon's corners, by the search that MuJoCo makes
import { breakIf, loop, variable, when } from "../../../trace/control.ts";
import {
  add,
  and,
  band,
  eq,
  ge,
  gt,
  lt,
  mul,
  select,
  shr,
  toI32,
  toU32,
  type Bool,
  type Int,
  type Scalar,
} from "../../../trace/scalar.ts";
import { current } from "../../../trace/graph.ts";
import { cross, norm3, sub3, type Vec3 } from "../../../trace/vector.ts";
import { KEPT_BITS } from "./kept-corners.ts";
import { cornerAt, type Corners } from "./registers.ts";

/** An area must be larger by this factor to be so beyond rounding of float32. */
const LARGER = 1.0000005;

/** By the diagonals, as MuJoCo has it: of corners that cross it is the difference of two triangles. */
const twiceArea = ([a, b, c, d]: readonly Vec3[]): Scalar => norm3(cross(sub3(a, c), sub3(b, d)));

/**
 * Indices of four corners: the fourth is moved on while the area grows, then the third, then the second, from each first
 * one. The first four unless `chooses`; those of `known` (`keptCorners`) if it is not negative.
 */
export function largestQuadrilateral(of: Corners, count: Int, chooses: Bool, known: Int = -1): (i: Int) => Int {
  const best = [0, 1, 2, 3].map((k) => variable(`quad${k}`, k, "i32"));
  best.forEach((v, k) => v.set(k));
  if (known !== -1)
    when(ge(known, 0), () => {
      const mask = (1 << KEPT_BITS) - 1;
      best.forEach((v, k) => v.set(toI32(band(shr(toU32(known), KEPT_BITS * k), mask))));
    });
  when(known === -1 ? chooses : and(chooses, lt(known, 0)), () => {
    const at = [0, 1, 2, 3].map((k) => variable(`quad_at${k}`, k, "i32"));
    at.forEach((v, k) => v.set(k));
    const area = variable("quad_area", 0);
    area.set(twiceArea([0, 1, 2, 3].map((k) => cornerAt(of, k))));
    const moves = variable("quad_moves", 3, "i32");
    moves.set(3);
    const next = (i: Int): Int => select(eq(add(i, 1), count), 0, add(i, 1), "i32");
    // each turn tries one corner; each is passed a few times at most
    loop(mul(12, count), () => {
      breakIf(eq(at[0].get(), count));
      const here = at.map((v) => v.get());
      const which = moves.get();
      const trial = here.map((i, k) => (k === 0 ? i : select(eq(which, k), next(i), i, "i32")));
      const size = twiceArea(trial.map((i) => cornerAt(of, i)));
      const larger = gt(size, current().exact ? area.get() : mul(LARGER, area.get()));
      when(
        larger,
        () => {
          area.set(size);
          trial.forEach((i, k) => {
            at[k].set(i);
            best[k].set(i);
          });
          // after the fourth corner has moved the third is tried
          moves.set(select(eq(which, 3), 2, which, "i32"));
        },
        () => {
          const ends = eq(which, 3);
          moves.set(select(ends, 3, select(eq(which, 2), 1, 3, "i32"), "i32"));
          when(ends, () => {
            at[0].set(add(here[0], 1));
            const met = eq(here[1], here[0]);
            const second = select(met, next(here[1]), here[1], "i32");
            const pushed = and(met, eq(here[2], second));
            const third = select(pushed, next(here[2]), here[2], "i32");
            const fourth = select(and(pushed, eq(here[3], third)), next(here[3]), here[3], "i32");
            at[1].set(second);
            at[2].set(third);
            at[3].set(fourth);
          });
        },
      );
    });
  });
  return (i) =>
    select(
      lt(i, 2),
      select(eq(i, 0), best[0].get(), best[1].get(), "i32"),
      select(eq(i, 2), best[2].get(), best[3].get(), "i32"),
      "i32",
    );
}
