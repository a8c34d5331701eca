// geoms that nothing moves but where worlds put their bodies: their frames are numbers beside these places
import { array, table } from "../../trace/control.ts";
import type { Int } from "../../trace/scalar.ts";
import { add3, quatToMat, rotate, type Vec3 } from "../../trace/vector.ts";
import type { GeomPair } from "../../model/pairs.ts";
import { isBoxed } from "./geom-boxes.ts";
import { product, quatAt, steadyBodies } from "./steady-geoms.ts";
import type { ModelView } from "../view.ts";

/** Fewer than these are as all others. */
const FEWEST = 32;

/** What there is of a geom beside a body whose place worlds have of their own, or beside the world's origin (m). */
export interface FixedFrame {
  readonly geom: number;
  readonly body: number;
  readonly at: readonly number[];
  readonly mat: readonly number[];
}

/** Those of the pairs' geoms that stay where their bodies are put, which worlds may do each for itself. */
export function fixedGeoms(m: ModelView, pairs: readonly GeomPair[]): readonly number[] {
  if (m.body_quat.isOwn || m.geom_pos.isOwn || m.geom_size.isOwn) return [];
  const { model } = m;
  const { turns } = steadyBodies(model);
  const isFixed = (g: number): boolean => {
    const body = model.geom_bodyid[g];
    return !turns[body] && model.body_weldid[body] === 0 && isBoxed(model, g);
  };
  const each = pairs.map(({ geom1, geom2 }) => [geom1, geom2].filter(isFixed));
  // two that an explicit pair names are compared as any others
  const both = new Set(each.filter((of) => of.length > 1).flat());
  const fixed = [...new Set(each.flat())].filter((g) => !both.has(g)).sort((a, b) => a - b);
  return fixed.length < FEWEST ? [] : fixed;
}

/** The frames of geoms that `fixedGeoms` names. */
export function fixedFrames({ model, body_pos }: ModelView, geoms: readonly number[]): FixedFrame[] {
  const { frames } = steadyBodies(model);
  const row = (values: Float64Array, i: number) => Array.from(values.subarray(3 * i, 3 * i + 3)) as never as Vec3;
  const places: Vec3[] = [[0, 0, 0]];
  for (let b = 1; b < model.nbody; b++) {
    const parent = model.body_parentid[b];
    places[b] = add3(places[parent], rotate(frames[parent], row(model.body_pos, b)));
  }
  return geoms.map((geom) => {
    const body = model.geom_bodyid[geom];
    const own = rotate(frames[body], row(model.geom_pos, geom));
    const at = (body_pos.isOwn ? own : add3(places[body], own)) as readonly number[];
    const mat = quatToMat(product(frames[body], quatAt(model.geom_quat, geom))) as readonly number[];
    return { geom, body: body_pos.isOwn ? body : 0, at, mat };
  });
}

/** Where bodies are, at an index known only at run time. */
export function placesOf(bodies: readonly number[], placeOf: (body: number) => Vec3): (place: Int) => Vec3 {
  const all = [...new Set(bodies)];
  if (all.length === 1) return () => placeOf(all[0]);
  const stored = [0, 1, 2].map((k) => array(`fixed_place${k}`, all.length));
  all.forEach((body, i) => placeOf(body).forEach((x, k) => stored[k].set(i, x)));
  const at = table(
    "fixed_body",
    bodies.map((body) => all.indexOf(body)),
    "i32",
  );
  return (place) => stored.map((component) => component.get(at(place))) as unknown as Vec3;
}
