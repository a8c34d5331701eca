// geoms that nothing moves but where worlds put their bodies: their frames are numbers beside these places, and take no memory
import { array, table, variable, type LocalArray, type Variable } from "../../trace/control.ts";
import { current } from "../../trace/graph.ts";
import { add, isNode, type Int } from "../../trace/scalar.ts";
import { add3, quatToMat, type Vec3 } from "../../trace/vector.ts";
import { product } from "../../core/quaternion.ts";
import { quatAt, steadyBodies } from "../collision/steady-geoms.ts";
import { fixedIds, leftOutIds } from "../fixed-ids.ts";
import { sameFrames } from "../same-frames.ts";
import { carried } from "./carried.ts";
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
export function fixedFrames(m: ModelView, geoms: readonly number[]): FixedFrame[] {
  const { model, body_pos } = m;
  const { geom_pos, geom_quat } = current().exact ? sameFrames(model, ownFields(m)) : model;
  const { frames } = steadyBodies(model);
  const row = (values: Float64Array, i: number) => Array.from(values.subarray(3 * i, 3 * i + 3)) as never as Vec3;
  const places: Vec3[] = [[0, 0, 0]];
  for (let b = 1; b < model.nbody; b++) {
    const parent = model.body_parentid[b];
    places[b] = add3(places[parent], carried(frames[parent], row(model.body_pos, b)));
  }
  return geoms.map((geom) => {
    const body = model.geom_bodyid[geom];
    const own = carried(frames[body], row(geom_pos, geom));
    const at = (body_pos.isOwn ? own : add3(places[body], own)) as readonly number[];
    const mat = quatToMat(product(frames[body], quatAt(geom_quat, geom))) as readonly number[];
    return { geom, body: body_pos.isOwn ? body : 0, at, mat };
  });
}

/** Where bodies of a list are kept, by the place in the list, known while tracing or only at run time. */
export class BodyPlaces {
  readonly #all: readonly number[];
  readonly #index: readonly number[];
  readonly #known: readonly (readonly Variable[])[];
  readonly #stored: readonly LocalArray[];
  #at: ((place: Int) => Int) | undefined;

  constructor(bodies: readonly number[]) {
    this.#all = [...new Set(bodies)];
    this.#index = bodies.map((body) => this.#all.indexOf(body));
    // the world stays at its origin
    const isMoved = this.#all.some((body) => body !== 0);
    this.#known = isMoved ? this.#all.map(() => [0, 1, 2].map((k) => variable(`fixed_place${k}`))) : [];
    this.#stored = this.#known.length > 1 ? [0, 1, 2].map((k) => array(`fixed_places${k}`, this.#all.length)) : [];
  }

  /** Bodies are now where this says. */
  set(placeOf: (body: number) => Vec3): void {
    this.#known.forEach((kept, i) => {
      placeOf(this.#all[i]).forEach((x, k) => {
        kept[k].set(x);
        this.#stored[k]?.set(i, x);
      });
    });
  }

  get(place: Int): Vec3 {
    if (this.#known.length === 0) return [0, 0, 0];
    if (this.#known.length === 1 || !isNode(place))
      return this.#known[isNode(place) ? 0 : this.#index[place]].map((x) => x.get()) as never as Vec3;
    this.#at ??= table("fixed_body", this.#index, "i32");
    const at = this.#at(place);
    return this.#stored.map((component) => component.get(at)) as never as Vec3;
  }
}

/** Those of a trace's data: a kernel finds frames in several branches, and reads them after all of these. */
const kept = new WeakMap<WorldData, BodyPlaces>();

/**
 * Leaves the frames of fixed geoms out of what is kept of geoms, once bodies are where they are; where they may be kept sets them.
 * Returns the others.
 */
export function leaveOutFixed(m: ModelView, d: WorldData): readonly number[] {
  const fixed = fixedGeoms(m);
  const isFixed = new Set(fixed);
  const moving = Array.from({ length: m.ngeom }, (_, g) => g).filter((g) => !isFixed.has(g));
  if (fixed.length === 0) return moving;
  const frames = fixedFrames(m, fixed);
  const bodies = kept.get(d) ?? new BodyPlaces(frames.map(({ body }) => body));
  kept.set(d, bodies);
  bodies.set((body) => d.xpos.vec3(body));
  if (leftOutIds(m.model, ownFields(m), m.form.hasRoom).length === 0) {
    frames.forEach(({ geom, at, mat }, i) => {
      d.geom_xpos.setRow(geom, add3(at as never as Vec3, bodies.get(i)));
      d.geom_xmat.setRow(geom, mat);
    });
    return moving;
  }
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
  d.geom_xpos.leaveOut(leftOut((i) => bodies.get(i).map((x, k) => add(numbers[k](i), x))));
  d.geom_xmat.leaveOut(leftOut((i) => numbers.slice(3).map((number) => number(i))));
  return moving;
}
