// the triangle of the difference of two shapes that MuJoCo's search ends with, where float32 does not tell corners apart
import { array, breakIf, loop, variable, when } from "../../../trace/control.ts";
import {
  abs,
  add,
  and,
  div,
  eq,
  ge,
  gt,
  le,
  max,
  min,
  mul,
  not,
  or,
  select,
  sub,
  type Bool,
  type Scalar,
} from "../../../trace/scalar.ts";
import { cross, dot3, mulMatTVec, neg3, sub3, type Vec3 } from "../../../trace/vector.ts";
import { across } from "./directions.ts";
import type { Placed } from "./faces.ts";
import { levelCorners, wholeDirection } from "./level-corners.ts";
import type { Corner3 } from "./record.ts";
import type { Corners } from "./registers.ts";
import { isPolyhedron } from "./support.ts";

/** How far the corners of the first triangle are from the origin, in sizes of the pair, and how deep. */
const FAR = 16;
const DEEP = 1;
/** Corners that are taken into the triangle, and out of it, at most. */
const MOST_TURNS = 24;
/** What is less above a triangle, in parts of its own heights and in sizes of the pair, is on it. */
const RELATIVE = 1e-6;
const LEAST = 1e-12;
/** A triangle of less area has no slope. */
const FLAT = 1e-20;

/** Corners of the first and of the second shape that make the triangle; not known if none is in front of the origin. */
export interface LastTriangle {
  readonly known: Bool;
  readonly triangle: readonly [Corner3, Corner3];
}

/**
 * The triangle of level corners that the origin is in front of, where the overlap of boxes and hulls is least along a direction
 * by what float32 tells. That is a linear program: what is highest above the origin of all that corners span, which is
 * solved by taking into a triangle the corner that is farthest above it until none is.
 */
export function lastTriangle(
  { a, b, rot, offset }: Placed,
  normal: Vec3,
  scratch: readonly Corners[],
  where: Bool = true,
): LastTriangle {
  const flat = and(and(isPolyhedron(a.shape), isPolyhedron(b.shape)), where);
  const isKnown = variable("last_known", 0, "i32");
  isKnown.set(0);
  const corners = [0, 1].map((side) => [0, 1, 2].map((k) => variable(`last_corner${side}${k}`, 0, "i32")));
  corners.flat().forEach((c) => c.set(0));
  const found = (): LastTriangle => ({
    known: eq(isKnown.get(), 1),
    triangle: corners.map((of) => of.map((c) => c.get())) as unknown as LastTriangle["triangle"],
  });
  if (flat === false) return found();

  when(flat, () => {
    const sides = [
      levelCorners("level0", a, normal, scratch[0]),
      levelCorners("level1", b, neg3(mulMatTVec(rot, normal)), scratch[1]),
    ];
    // from a triangle that is far away and deep
    const [x, y, z] = ["x", "y", "z"].map((name) => array(`last_${name}`, 3));
    const ids = [0, 1].map((side) => array(`last_id${side}`, 3, "i32"));
    for (let k = 0; k < 3; k++) {
      const turn = (2 * Math.PI * k) / 3;
      x.set(k, FAR * Math.cos(turn));
      y.set(k, FAR * Math.sin(turn));
      z.set(k, -DEEP);
      ids.forEach((of) => of.set(k, -1));
    }
    const settled = variable("last_settled", 0, "i32");
    settled.set(0);
    // one corner and three, or two and two, make one face
    const counts = sides.map((level) => level.count.get());
    const single = eq(add(counts[0], counts[1]), 4);
    when(
      single,
      () => {
        settled.set(1);
        for (let k = 0; k < 3; k++)
          ids.forEach((of, side) => of.set(k, sides[side].id.get(min(sub(counts[side], 1), side === 0 ? k : 2 - k))));
      },
      () => {
        const axes = [across(normal)];
        axes.push(cross(normal, axes[0]));
        const [axesOfB, shift] = [axes.map((t) => mulMatTVec(rot, t)), axes.map((t) => dot3(t, offset))];
        const up = wholeDirection(normal);
        const down = neg3(mulMatTVec(rot, up.exact));
        const along = wholeDirection(down);
        const rest = sub3(down, along.exact);
        sides[0].measure(up.whole, (p) => ({ x: dot3(axes[0], p), y: dot3(axes[1], p), more: 0 }));
        sides[1].measure(along.whole, (p, fromFirst) => ({
          x: add(dot3(axesOfB[0], p), shift[0]),
          y: add(dot3(axesOfB[1], p), shift[1]),
          more: dot3(rest, fromFirst),
        }));
      },
    );
    loop(
      select(single, 0, MOST_TURNS, "i32"),
      () => {
        const [px, py, pz] = [x, y, z].map((of) => [0, 1, 2].map((k) => of.get(k)));
        const area = crossOf(px, py);
        const inverse = div(1, max(area, FLAT));
        const [slopeX, slopeY] = [mul(crossOf(pz, py), inverse), mul(crossOf(px, pz), inverse)];
        const tops = sides.map((level, side) => {
          const [most, at] = [variable(`level${side}_most`, 0), variable(`level${side}_at`, 0, "i32")];
          most.set(-1e30);
          at.set(0);
          loop(level.count.get(), (i) => {
            const slope = add(mul(slopeX, level.x.get(i)), mul(slopeY, level.y.get(i)));
            const h = side === 0 ? sub(level.height.get(i), slope) : add(level.height.get(i), slope);
            const more = gt(h, most.get());
            most.set(select(more, h, most.get()));
            at.set(select(more, i, at.get(), "i32"));
          });
          return at.get();
        });
        const [wx, wy] = (["x", "y"] as const).map((c) => sub(sides[0][c].get(tops[0]), sides[1][c].get(tops[1])));
        const wz = add(sides[0].height.get(tops[0]), sides[1].height.get(tops[1]));
        const plane = add(pz[0], add(mul(slopeX, sub(wx, px[0])), mul(slopeY, sub(wy, py[0]))));
        const deepest = pz.map(abs).reduce(max);
        const above = gt(sub(wz, plane), max(mul(RELATIVE, deepest), LEAST));
        settled.set(select(above, 0, 1, "i32"));
        breakIf(or(not(above), le(area, FLAT)));
        // for the corner behind which the origin is not
        const turns = [0, 1, 2].map((k) => sub(mul(wx, py[k]), mul(wy, px[k])));
        const between = [0, 1].map((k) => and(ge(turns[k], 0), le(turns[k + 1], 0)));
        const slot = select(between[0], 2, select(between[1], 0, 1, "i32"), "i32");
        [wx, wy, wz].forEach((v, k) => [x, y, z][k].set(slot, v));
        ids.forEach((of, side) => of.set(slot, sides[side].id.get(tops[side])));
      },
      { label: "last" },
    );
    const all = [0, 1, 2].map((k) => ge(ids[0].get(k), 0)).reduce(and);
    const fits = and(eq(sides[0].fits.get(), 1), eq(sides[1].fits.get(), 1));
    when(and(and(eq(settled.get(), 1), fits), all), () => {
      isKnown.set(1);
      corners.forEach((of, side) => of.forEach((c, k) => c.set(ids[side].get(k))));
    });
  });
  return found();
}

/** Twice the area of a triangle of these coordinates, counter-clockwise. */
const crossOf = (x: readonly Scalar[], y: readonly Scalar[]): Scalar =>
  sub(mul(sub(x[1], x[0]), sub(y[2], y[0])), mul(sub(x[2], x[0]), sub(y[1], y[0])));
