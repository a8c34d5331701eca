// prisms of height fields that a shape may touch (mjc_ConvexHField)
import { array, loop, variable, when } from "../../trace/control.ts";
import {
  add,
  and,
  clamp,
  div,
  eq,
  floor,
  ge,
  idiv,
  le,
  max,
  min,
  mul,
  neg,
  select,
  sqrt,
  square,
  sub,
  sum,
  toF32,
  toI32,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { mulMat, mulMatTVec, mulMatVec, row, scale3, sub3, transpose, type Vec3 } from "../../trace/vector.ts";
import type { Elevations } from "../elevations.ts";
import { extent, type ConvexShape, type Prism } from "./convex/index.ts";

// everything is in the frame of the field

/** A prism as a shape in the field's orientation. */
export interface PlacedPrism {
  readonly isHigh: Bool;
  readonly pos: Vec3;
  readonly radius: Scalar;
  readonly prism: Prism;
}

/** The prisms of one field under one shape, of which there are as many as the shape's box covers. */
export class Prisms {
  readonly #fields: Elevations;
  readonly #most: number;
  readonly #first = ["row", "column"].map((name) => variable(`prism_${name}`, 0, "i32"));
  readonly #columns = variable("prism_columns", 1, "i32");
  readonly #lowest = variable("prism_lowest", 0);
  readonly #count = variable("prisms", 0, "i32");

  /** `most`: prisms that any pair covers. */
  constructor(fields: Elevations, most: number) {
    this.#fields = fields;
    this.#most = most;
  }

  get count(): Int {
    return this.#count.get();
  }

  /** Finds those that a shape in reach (m) covers. */
  cover(field: Int, a: ConvexShape, b: ConvexShape, reach: Scalar): void {
    const { sx, sy, top, base } = this.#fields.extents(field);
    const local = mulMatTVec(a.mat, sub3(b.pos, a.pos));
    const radius = add(b.radius, reach);
    const within = (lo: readonly Scalar[], hi: readonly Scalar[]): Bool =>
      [and(le(lo[0], sx), ge(hi[0], neg(sx))), and(le(lo[1], sy), ge(hi[1], neg(sy)))].reduce<Bool>(
        and,
        and(le(lo[2], top), ge(hi[2], neg(base))),
      );
    const shifted = (v: readonly Scalar[], by: Scalar) => v.map((x) => add(x, by));
    this.#count.set(0);
    when(within(shifted(local, neg(radius)), shifted(local, radius)), () => {
      const ends = array("prism_ends", 6);
      const rot = mulMat(transpose(a.mat), b.mat);
      const farthest = extent(b);
      // down, then up
      loop(6, (i) => {
        const up = ge(i, 3);
        const axis = select(up, sub(i, 3), i, "i32");
        const along = [0, 1, 2].map((c) =>
          select(eq(axis, 0), row(rot, 0)[c], select(eq(axis, 1), row(rot, 1)[c], row(rot, 2)[c])),
        ) as unknown as Vec3;
        const sign = select(up, 1, -1);
        const at = select(eq(axis, 0), local[0], select(eq(axis, 1), local[1], local[2]));
        ends.set(i, add(at, mul(sign, farthest(scale3(along, sign)))));
      });
      const [lo, hi] = [0, 3].map((from) => [0, 1, 2].map((k) => ends.get(from + k)));
      const lines = [sub(this.#fields.ncol(field), 1), sub(this.#fields.nrow(field), 1)];
      const [columns, rows] = ([sx, sy] as const).map((half, k) => {
        const cells = toF32(lines[k]);
        const place = (x: Scalar) => mul(div(add(x, half), mul(2, half)), cells);
        const first = toI32(clamp(floor(place(lo[k])), 0, cells));
        return { first, count: sub(toI32(clamp(neg(floor(neg(place(hi[k])))), 0, cells)), first) };
      });
      this.#first[0].set(rows.first);
      this.#first[1].set(columns.first);
      this.#columns.set(max(columns.count, 1));
      this.#lowest.set(lo[2]);
      const covered = mul(2, mul(max(rows.count, 0), max(columns.count, 0)));
      const near = within(shifted(lo, neg(reach)), shifted(hi, reach));
      // whatever the state is, no loop is longer than what a shape can cover
      this.#count.set(select(near, min(covered, this.#most), 0, "i32"));
    });
  }

  /** Prism `k` in MuJoCo's order, placed from `b`'s centre; and whether it is as high as the shape is low. */
  at(k: Int, field: Int, a: ConvexShape, b: ConvexShape, reach: Scalar): PlacedPrism {
    const fields = this.#fields;
    const { sx, sy, top, base } = fields.extents(field);
    const [dx, dy] = fields.cell(field);
    const cell = idiv(k, 2);
    const second = eq(sub(k, mul(cell, 2)), 1);
    const line = idiv(cell, this.#columns.get());
    const r = add(this.#first[0].get(), line);
    const c = add(this.#first[1].get(), sub(cell, mul(line, this.#columns.get())));
    const height = (dr: Int, dc: Int) => add(mul(fields.at(field, add(r, dr), add(c, dc)), top), reach);
    const either = (first: number, other: number): Int => select(second, other, first, "i32");
    // of the triangles on both sides of the diagonal from (r, c) to (r + 1, c + 1) the one at c first
    const places: readonly (readonly [row: Int, column: Int])[] = [
      [either(1, 0), 0],
      [either(0, 1), either(0, 1)],
      [either(1, 0), 1],
    ];
    const tops = places.map(([dr, dc]) => height(dr, dc));
    const [highest, least] = [tops.reduce(max), tops.reduce(min)];
    const lowest = this.#lowest.get();
    // nothing is pushed out through what is deeper than it is wide, and short prisms lose fewer digits
    const width = sum([dx, dy, mul(2, b.radius), reach]);
    const bottom = max(neg(base), sub(min(sub(lowest, reach), least), width));
    const middle = mul(0.5, add(highest, bottom));
    const local = mulMatTVec(a.mat, sub3(b.pos, a.pos));
    const center: Vec3 = [
      sub(sub(mul(dx, add(toF32(c), 0.5)), sx), local[0]),
      sub(sub(mul(dy, add(toF32(r), 0.5)), sy), local[1]),
      sub(middle, local[2]),
    ];
    const side = (at: Int, width: Scalar): Scalar => mul(width, sub(toF32(at), 0.5));
    const corners = places.map(([dr, dc], i): Vec3 => [side(dc, dx), side(dr, dy), sub(tops[i], middle)]);
    return {
      isHigh: ge(highest, lowest),
      pos: mulMatVec(a.mat, center),
      radius: mul(0.5, sqrt(sum([square(dx), square(dy), square(sub(highest, bottom))]))),
      prism: { corners: corners as unknown as Prism["corners"], base: sub(bottom, middle) },
    };
  }
}
