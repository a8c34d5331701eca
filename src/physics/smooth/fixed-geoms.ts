// geoms that nothing moves but where worlds put their bodies: their frames are numbers beside these places, and take no memory
import { array, table, variable } from "../../trace/control.ts";
import { add, isNode, type Int } from "../../trace/scalar.ts";
import { add3, quatToMat, rotate, type Vec3 } from "../../trace/vector.ts";
import { product, quatAt, steadyBodies } from "../collision/steady-geoms.ts";
import { fixedIds } from "../fixed-ids.ts";
import { ownFields, type LeftOut, type ModelView, type WorldData } from "../view.ts";

/** What there is of a geom beside a body whose place worlds have of their own, or beside the world's origin (m). */
export interface FixedFrame {
  readonly geom: number;
  readonly body: number;
  readonly at: readonly number[];
  readonly mat: readonly number[];
}

/** `fixedIds` of what worlds have of their own. */
export const fixedGeoms = (m: ModelView): readonly number[] => fixedIds(m.model, ownFields(m));

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

/** Where bodies are, as this says it now: at the places of a list, known while tracing or only at run time. */
export function placesOf(bodies: readonly number[], placeOf: (body: number) => Vec3): (place: Int) => Vec3 {
  const all = [...new Set(bodies)];
  if (all.every((body) => placeOf(body).every((x) => x === 0))) return () => [0, 0, 0];
  const known = all.map((body) =>
    placeOf(body).map((x, k) => {
      const kept = variable(`fixed_place${k}`);
      kept.set(x);
      return kept;
    }),
  );
  const stored = all.length > 1 ? [0, 1, 2].map((k) => array(`fixed_places${k}`, all.length)) : [];
  stored.forEach((component, k) => known.forEach((place, i) => component.set(i, place[k].get())));
  const index = bodies.map((body) => all.indexOf(body));
  const at = table("fixed_body", index, "i32");
  return (place) => {
    if (all.length === 1 || !isNode(place))
      return known[isNode(place) ? 0 : index[place]].map((x) => x.get()) as never as Vec3;
    return stored.map((component) => component.get(at(place))) as unknown as Vec3;
  };
}

/** Leaves the frames of fixed geoms out of what is kept of geoms, once bodies are where they are. Returns the others. */
export function leaveOutFixed(m: ModelView, d: WorldData): readonly number[] {
  const fixed = fixedGeoms(m);
  const isFixed = new Set(fixed);
  const moving = Array.from({ length: m.ngeom }, (_, g) => g).filter((g) => !isFixed.has(g));
  if (fixed.length === 0) return moving;
  const frames = fixedFrames(m, fixed);
  const bodyAt = placesOf(
    frames.map(({ body }) => body),
    (body) => d.xpos.vec3(body),
  );
  const places: number[] = Array(m.ngeom).fill(0);
  [...moving, ...fixed].forEach((g, i) => (places[g] = i));
  const placeOf = table("frame_place", places, "i32");
  const numbers = Array.from({ length: 12 }, (_, k) =>
    table(
      `frame_fixed${k}`,
      frames.map(({ at, mat }) => (k < 3 ? at[k] : mat[k - 3])),
    ),
  );
  const leftOut = (read: LeftOut["read"]): LeftOut => ({
    kept: moving.length,
    placeOf: (g) => (isNode(g) ? placeOf(g) : places[g]),
    read,
  });
  d.geom_xpos.leaveOut(leftOut((i) => bodyAt(i).map((x, k) => add(numbers[k](i), x))));
  d.geom_xmat.leaveOut(leftOut((i) => numbers.slice(3).map((number) => number(i))));
  return moving;
}
