// the nearest geom that a ray meets (mj_ray)
import { loop, table, variable, when } from "../../trace/control.ts";
import {
  and,
  div,
  isNode,
  le,
  lt,
  mul,
  ne,
  neg,
  select,
  square,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import {
  addScaled3,
  dot3,
  lengthSquared,
  mulMatTVec,
  mulMatVec,
  sub3,
  type Mat3,
  type Vec3,
} from "../../trace/vector.ts";
import { mjtGeom } from "../../model/enums.ts";
import { seenGeoms, type RayFilter } from "../../model/rays.ts";
import { indexed } from "../smooth/sparsity.ts";
import type { Field, ModelView, WorldData } from "../view.ts";
import { FieldRays } from "./hfield.ts";
import { MeshRays } from "./mesh.ts";
import { MISS, rayShape, type Hit } from "./shapes.ts";

/** A ray: origin (m, global), direction (any length but 0, global), a body whose geoms it does not see (-1: none). */
export interface Ray {
  readonly origin: Vec3;
  readonly direction: Vec3;
  readonly exclude: Int;
}

/** The nearest geom that a ray meets. */
export interface RayHit {
  /** In lengths of the direction; -1 if there is none. */
  readonly dist: Scalar;
  /** -1 if there is none. */
  readonly geom: Int;
  /** Unit, global, out of the geom; zero if there is none. */
  readonly normal: Vec3;
}

/** Geoms of one kind up to this many are tested in line: one, if their code is long. */
const inLine = (type: number): number => (type === mjtGeom.MESH || type === mjtGeom.HFIELD ? 1 : 4);
/** Rays up to this many are cast in line. */
const FEW_RAYS = 2;

/** Whether so many rays are cast in a runtime loop. */
export const isManyRays = (count: number): boolean => count > FEW_RAYS;

/** Frames by index, of the run too if `isIndexed`. */
export type Frames = (index: Int) => { readonly pos: Vec3; readonly mat: Mat3 };

/** Frames of objects; those in registers are copied to where a runtime index can read them. */
export function indexedFrames(pos: Field, mat: Field, isIndexed: boolean): Frames {
  const read = isIndexed ? { pos: indexed(pos), mat: indexed(mat) } : { pos, mat };
  return (i) => (isNode(i) ? { pos: read.pos.vec3(i), mat: read.mat.mat3(i) } : { pos: pos.vec3(i), mat: mat.mat3(i) });
}

/** Casts rays into the geoms of a world, which are read once for all of them. */
export class RayCaster {
  readonly #m: ModelView;
  readonly #frames: Frames;
  readonly #meshes: MeshRays | undefined;
  readonly #fields: FieldRays | undefined;
  /** Geoms by type, in the order of types. */
  readonly #kinds: readonly (readonly [type: number, geoms: readonly number[]])[];

  constructor(m: ModelView, d: WorldData, filter: RayFilter = {}) {
    const { model } = m;
    const geoms = seenGeoms(model, filter);
    const types = [...new Set(geoms.map((g) => model.geom_type[g]))].sort((a, b) => a - b);
    this.#m = m;
    this.#kinds = types.map((type) => [type, geoms.filter((g) => model.geom_type[g] === type)]);
    const { surfaces } = model;
    if (surfaces && types.includes(mjtGeom.MESH)) this.#meshes = new MeshRays(surfaces);
    if (surfaces && types.includes(mjtGeom.HFIELD)) this.#fields = new FieldRays(surfaces);
    const isLooped = this.#kinds.some(([type, members]) => members.length > inLine(type));
    this.#frames = indexedFrames(d.geom_xpos, d.geom_xmat, isLooped);
    if (isLooped) {
      m.geom_size.copyOwn();
      m.geom_rbound.copyOwn();
    }
  }

  /** The nearest geom that a ray meets. */
  cast(ray: Ray): RayHit {
    const nearest = variable("ray_dist", MISS);
    const geom = variable("ray_geom", -1, "i32");
    const normal = [0, 1, 2].map((k) => variable(`ray_normal${k}`, 0));
    const look = (type: number, g: Int) => {
      const hit = this.#meet(type, g, ray, nearest.get());
      const isNearer = and(this.#isSeen(g, ray.exclude), lt(hit.x, nearest.get()));
      geom.set(select(isNearer, g, geom.get(), "i32"));
      hit.normal.forEach((n, k) => normal[k].set(select(isNearer, n, normal[k].get())));
      nearest.set(select(isNearer, hit.x, nearest.get()));
    };

    for (const [type, members] of this.#kinds) {
      if (members.length <= inLine(type)) {
        for (const g of members) if (this.#isSeen(g, ray.exclude) !== false) look(type, g);
        continue;
      }
      const geomAt = table(`ray_geoms${type}`, members, "i32");
      loop(members.length, (i) => {
        const g = geomAt(i);
        if (type === mjtGeom.PLANE) look(type, g);
        else when(this.#comesNear(g, ray), () => look(type, g));
      });
    }
    const dist = nearest.get();
    return {
      dist: select(lt(dist, MISS), dist, -1),
      geom: geom.get(),
      normal: normal.map((n) => n.get()) as unknown as Vec3,
    };
  }

  /** Runs `body` with what each of `count` rays meets, in a runtime loop if there are several. */
  castAll(count: number, rayAt: (i: Int) => Ray, body: (i: Int, hit: RayHit, ray: Ray) => void): void {
    const one = (i: Int) => {
      const ray = rayAt(i);
      body(i, this.cast(ray), ray);
    };
    if (isManyRays(count)) loop(count, one, { label: "rays" });
    else for (let i = 0; i < count; i++) one(i);
  }

  #isSeen(g: Int, exclude: Int): Bool {
    const body = this.#m.geom_bodyid.at(g);
    if (isNode(body) || isNode(exclude)) return exclude === -1 ? true : ne(body, exclude);
    return body !== exclude;
  }

  /** Whether the line comes as near to a geom's centre as its bounding sphere. */
  #comesNear(g: Int, { origin, direction }: Ray): Bool {
    const offset = sub3(this.#frames(g).pos, origin);
    const a = dot3(direction, direction);
    const foot = addScaled3(offset, neg(div(dot3(offset, direction), a)), direction);
    // a margin, so that rounding loses nothing that the geom's own formula finds
    return le(lengthSquared(foot), mul(1.01, square(this.#m.geom_rbound.at(g))));
  }

  #meet(type: number, g: Int, { origin, direction }: Ray, limit: Scalar): Hit {
    const { pos, mat } = this.#frames(g);
    const offset = sub3(origin, pos);
    const size = this.#m.geom_size.vec3(g);
    // a ball looks the same from all sides
    if (type === mjtGeom.SPHERE) return rayShape(type, { p: offset, v: direction }, size);
    const ray = { p: mulMatTVec(mat, offset), v: mulMatTVec(mat, direction) };
    const searched = { [mjtGeom.MESH]: this.#meshes, [mjtGeom.HFIELD]: this.#fields }[type];
    const hit = searched ? searched.cast(this.#m.geom_dataid.at(g), ray, limit) : rayShape(type, ray, size);
    return { x: hit.x, normal: mulMatVec(mat, hit.normal) };
  }
}
