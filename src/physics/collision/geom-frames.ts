// where geoms are: frames that can be read at runtime indices
import { array, table } from "../../trace/control.ts";
import { add, ge, isNode, max, min, select, sub, type Int, type Scalar } from "../../trace/scalar.ts";
import type { Mat3, Vec3 } from "../../trace/vector.ts";
import type { GeomPair } from "../../model/pairs.ts";
import { indexed } from "../smooth/sparsity.ts";
import type { ModelView, WorldData } from "../view.ts";
import { fixedFrames, fixedGeoms, placesOf } from "./fixed-geoms.ts";

/** Frames of geoms, at indices known when the kernel is traced or only at run time. */
export interface GeomFrames {
  pos(geom: Int): Vec3;
  mat(geom: Int): Mat3;
  /** Where a body is. */
  body(body: number): Vec3;
}

type Frames = Pick<GeomFrames, "pos" | "mat">;

/** Frames of the pairs' geoms; those in registers are copied to where a runtime index can read them, before it does. */
export function framesOf(m: ModelView, d: WorldData, pairs: readonly GeomPair[] = []): GeomFrames & { copy(): void } {
  const from: Frames = { pos: d.geom_xpos.vec3, mat: d.geom_xmat.mat3 };
  const body = (b: number) => d.xpos.vec3(b);
  let readable = from;
  const copy = () => {
    if (readable !== from || d.geom_xpos.isIndexed) return;
    const fixed = m.form.hasRoom ? fixedGeoms(m, pairs) : [];
    const [pos, mat] = [d.geom_xpos, d.geom_xmat];
    readable =
      fixed.length > 0 ? partlyFixed(m, from, fixed, body) : { pos: indexed(pos).vec3, mat: indexed(mat).mat3 };
  };
  const of = (g: Int) => (isNode(g) ? readable : from);
  return { pos: (g) => of(g).pos(g), mat: (g) => of(g).mat(g), body, copy };
}

/** Frames of which those of fixed geoms are read from tables, and only the others copied. */
function partlyFixed(m: ModelView, from: Frames, fixed: readonly number[], body: (b: number) => Vec3): Frames {
  const still = fixedFrames(m, fixed);
  const isStill = new Set(fixed);
  const moving = Array.from({ length: m.ngeom }, (_, g) => g).filter((g) => !isStill.has(g));
  const places: number[] = Array(m.ngeom).fill(0);
  [...moving, ...fixed].forEach((g, i) => (places[g] = i));
  const placeOf = table("frame_place", places, "i32");

  const stored = Array.from({ length: 12 }, (_, k) => array(`frame_${k}`, moving.length));
  moving.forEach((g, i) => [...from.pos(g), ...from.mat(g)].forEach((x, k) => stored[k].set(i, x)));
  const numbers = Array.from({ length: 12 }, (_, k) =>
    table(
      `frame_fixed${k}`,
      still.map(({ at, mat }) => (k < 3 ? at[k] : mat[k - 3])),
    ),
  );
  const bodyAt = placesOf(
    still.map((one) => one.body),
    body,
  );
  const read = (g: Int, first: number, count: number): Scalar[] => {
    const place = placeOf(g);
    const is = ge(place, moving.length);
    const [own, beside] = [min(place, moving.length - 1), max(sub(place, moving.length), 0)];
    const at = first === 0 ? bodyAt(beside) : [];
    return Array.from({ length: count }, (_, k) => {
      const number = numbers[first + k](beside);
      return select(is, first === 0 ? add(number, at[k]) : number, stored[first + k].get(own));
    });
  };
  return { pos: (g) => read(g, 0, 3) as never, mat: (g) => read(g, 3, 9) as never };
}
