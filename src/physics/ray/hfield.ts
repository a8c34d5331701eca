// where a ray meets a height field (mj_rayHfield), in the geom's own frame
import { breakIf, loop, variable, when } from "../../trace/control.ts";
import { current } from "../../trace/graph.ts";
import {
  abs,
  add,
  and,
  clamp,
  div,
  eq,
  floor,
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
  sign,
  sub,
  toF32,
  toI32,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { addScaled3, normalize3, select3, ZERO3, type Vec3 } from "../../trace/vector.ts";
import type { Surfaces } from "../../model/surfaces.ts";
import { Elevations } from "../elevations.ts";
import { insideSlab, MISS, rayBox, type Hit, type LocalRay, type Span } from "./shapes.ts";

/** A cell's corner heights (m): z at (0, 0), (1, 0), (0, 1), (1, 1) of its own coordinates. */
interface Cell {
  readonly z00: Scalar;
  readonly z10: Scalar;
  readonly z01: Scalar;
  readonly z11: Scalar;
}

/** Slopes of a cell's two triangles along its coordinates: the one below the diagonal (u >= w), or above it. */
export const slopes = ({ z00, z10, z01, z11 }: Cell, isLower: Bool): readonly [Scalar, Scalar] => [
  select(isLower, sub(z10, z00), sub(z11, z01)),
  select(isLower, sub(z11, z10), sub(z01, z00)),
];

/** Takes what is met, if it is, where, and the normal there. */
type Meet = (isMet: Bool, x: Scalar, normal: Vec3) => void;

/** Half extents along x and y, the height of elevation 1 (m). */
interface Extents {
  readonly sx: Scalar;
  readonly sy: Scalar;
  readonly top: Scalar;
}

const outsideOf = (place: Scalar, count: Scalar): Bool => or(lt(place, 0), ge(place, count));

/** How far beyond its cell a triangle is met, in cells: what rounding takes from the place of a ray. */
const slack = (cells: number): number => (current().exact ? 1e-10 : 3e-7 * cells);

/** Casts rays into height fields: along the cells under a ray, one after the other. */
export class FieldRays {
  readonly #most: number;
  readonly #slack: number;
  readonly #fields: Elevations;

  constructor(surfaces: Surfaces) {
    this.#fields = new Elevations(surfaces);
    this.#most = this.#fields.mostLines;
    this.#slack = slack(this.#most);
  }

  /** Where a ray meets a height field nearer than `limit`; it is solid down to its base. */
  cast(field: Int, ray: LocalRay, limit: Scalar): Hit {
    const { p, v } = ray;
    const { sx, sy, top, base: bottom } = this.#fields.extents(field);
    const base = rayBox({ p: [p[0], p[1], add(p[2], mul(0.5, bottom))], v }, [sx, sy, mul(0.5, bottom)]);
    const nearest = variable("field_dist", min(base.x, limit));
    const normal = base.normal.map((x, k) => variable(`field_normal${k}`, x));
    const meet: Meet = (isMet, x, n) => {
      const isNearer = and(isMet, and(ge(x, 0), lt(x, nearest.get())));
      n.forEach((c, k) => normal[k].set(select(isNearer, c, normal[k].get())));
      nearest.set(select(isNearer, x, nearest.get()));
    };

    // the part of the line in the box over the base, where the surface is
    const spans = [
      insideSlab(p[0], v[0], sx),
      insideSlab(p[1], v[1], sy),
      insideSlab(sub(p[2], mul(0.5, top)), v[2], mul(0.5, top)),
    ];
    const lo = spans.map((s) => s.lo).reduce(max);
    const hi = spans.map((s) => s.hi).reduce(min);
    when(and(and(le(lo, hi), ge(hi, 0)), lt(lo, nearest.get())), () => {
      const half = { sx, sy, top };
      this.#walls(field, ray, half, spans, { lo, hi }, meet);
      this.#walk(field, ray, half, max(lo, 0), () => min(nearest.get(), hi), meet);
    });
    return { x: select(lt(nearest.get(), limit), nearest.get(), MISS), normal: normal.map((n) => n.get()) as never };
  }

  /** Places and heights in cells. */
  #grid(field: Int, { p, v }: LocalRay, { sx, sy, top }: Extents) {
    const [columns, rows] = [sub(this.#fields.ncol(field), 1), sub(this.#fields.nrow(field), 1)];
    const count = [toF32(columns), toF32(rows)] as const;
    // cells a metre
    const per = [div(count[0], mul(2, sx)), div(count[1], mul(2, sy))] as const;
    return {
      count,
      per,
      speed: [mul(v[0], per[0]), mul(v[1], per[1])] as const,
      placeAt: (t: Scalar): readonly [Scalar, Scalar] => {
        const at = addScaled3(p, t, v);
        return [mul(add(at[0], sx), per[0]), mul(add(at[1], sy), per[1])];
      },
      cellOf: (place: Scalar, k: 0 | 1) => clamp(floor(place), 0, sub(count[k], 1)),
      cornersOf: (column: Scalar, row: Scalar): Cell => {
        const z = (dr: number, dc: number) =>
          mul(top, this.#fields.at(field, add(toI32(row), dr), add(toI32(column), dc)));
        return { z00: z(0, 0), z10: z(0, 1), z01: z(1, 0), z11: z(1, 1) };
      },
    };
  }

  /** Where the line comes in or goes out at a side, below the edge of the surface there. */
  #walls(
    field: Int,
    ray: LocalRay,
    extents: Extents,
    spans: readonly Span[],
    ends: Readonly<Record<"lo" | "hi", Scalar>>,
    meet: Meet,
  ): void {
    const { p, v } = ray;
    const grid = this.#grid(field, ray, extents);
    for (const [end, outward] of [
      ["lo", -1],
      ["hi", 1],
    ] as const) {
      const t = ends[end];
      const place = grid.placeAt(t);
      const [column, row] = [grid.cellOf(place[0], 0), grid.cellOf(place[1], 1)];
      const cell = grid.cornersOf(column, row);
      const [u, w] = [clamp(sub(place[0], column), 0, 1), clamp(sub(place[1], row), 0, 1)];
      const [a, b] = slopes(cell, ge(u, w));
      const edge = add(cell.z00, add(mul(a, u), mul(b, w)));
      const isAt = (k: number): Bool => eq(spans[k][end], t);
      const z = add(p[2], mul(t, v[2]));
      const onX: Vec3 = [mul(outward, sign(v[0])), 0, 0];
      meet(and(or(isAt(0), isAt(1)), lt(z, edge)), t, select3(isAt(0), onX, [0, mul(outward, sign(v[1])), 0]));
    }
  }

  /** Along the cells under the line. */
  #walk(field: Int, ray: LocalRay, extents: Extents, start: Scalar, end: () => Scalar, meet: Meet): void {
    const { p, v } = ray;
    const grid = this.#grid(field, ray, extents);
    const [vx, vy] = grid.speed;
    const [x0, y0] = grid.placeAt(start);
    const z0 = add(p[2], mul(start, v[2]));
    const cx = variable("field_column", grid.cellOf(x0, 0));
    const cy = variable("field_row", grid.cellOf(y0, 1));
    // how long after the start the line leaves a cell
    const leaves = (cell: Scalar, from: Scalar, speed: Scalar): Scalar => {
      const still = lt(abs(speed), 1e-12);
      const side = select(gt(speed, 0), add(cell, 1), cell);
      return select(still, MISS, div(sub(side, from), select(still, 1, speed)));
    };
    const e = this.#slack;
    loop(
      this.#most,
      () => {
        const [column, row] = [cx.get(), cy.get()];
        const outside = or(outsideOf(column, grid.count[0]), outsideOf(row, grid.count[1]));
        breakIf(outside);
        const cell = grid.cornersOf(column, row);
        const [u0, w0] = [sub(x0, column), sub(y0, row)];
        for (const isLower of [true, false]) {
          const [a, b] = slopes(cell, isLower);
          const height = sub(z0, add(cell.z00, add(mul(a, u0), mul(b, w0))));
          const speed = sub(v[2], add(mul(a, vx), mul(b, vy)));
          const along = le(abs(speed), 1e-20);
          const t = div(neg(height), select(along, 1, speed));
          const [u, w] = [add(u0, mul(t, vx)), add(w0, mul(t, vy))];
          const least = (x: Scalar) => ge(x, -e);
          const most = (x: Scalar) => le(x, 1 + e);
          const ordered = isLower ? le(w, add(u, e)) : le(u, add(w, e));
          const inside = and(and(least(isLower ? w : u), most(isLower ? u : w)), ordered);
          const slope: Vec3 = [neg(mul(a, grid.per[0])), neg(mul(b, grid.per[1])), 1];
          meet(and(and(inside, not(along)), ge(add(t, start), 0)), add(t, start), normalize3(slope, ZERO3).unit);
        }
        const [tx, ty] = [leaves(column, x0, vx), leaves(row, y0, vy)];
        const onX = le(tx, ty);
        // nothing beyond is nearer, nor in the box
        breakIf(ge(add(start, min(tx, ty)), end()));
        cx.set(add(column, select(onX, sign(vx), 0)));
        cy.set(add(row, select(onX, 0, sign(vy))));
      },
      { label: "cells" },
    );
  }
}
