// where a ray meets the triangles of a mesh (mj_rayMesh), in the geom's own frame
import { breakIf, loop, table, variable, when } from "../../trace/control.ts";
import {
  abs,
  add,
  and,
  div,
  eq,
  ge,
  gt,
  le,
  lt,
  max,
  min,
  mul,
  ne,
  or,
  select,
  sub,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { addScaled3, cross, dot3, normalize3, select3, sub3, ZERO3, type Vec3 } from "../../trace/vector.ts";
import type { Surfaces } from "../../model/surfaces.ts";
import { MISS, type Hit, type LocalRay } from "./shapes.ts";
import { treesOf } from "./tree.ts";

/** Instead of an infinite slope. */
const STEEP = 1e18;

/** Two directions across v, at right angles to it and each other. */
function across(v: Vec3): [Vec3, Vec3] {
  const [x, y, z] = v.map(abs);
  const onX = and(ge(x, y), ge(x, z));
  const onY = ge(y, z);
  // ones, but for the largest part of v
  const seed = select3(onX, [0, 1, 1], select3(onY, [1, 0, 1], [1, 1, 0]));
  const first = addScaled3(seed, mul(-1, div(dot3(v, seed), dot3(v, v))), v);
  const one = normalize3(first, ZERO3).unit;
  return [one, normalize3(cross(one, v), ZERO3).unit];
}

/** Casts rays into meshes by their hierarchies of boxes: a walk that meets the nearest triangles of many. */
export class MeshRays {
  readonly #most: number;
  readonly #root: (mesh: Int) => Int;
  readonly #end: (mesh: Int) => Int;
  readonly #box: (i: Int) => Scalar;
  readonly #skip: (node: Int) => Int;
  readonly #first: (node: Int) => Int;
  readonly #count: (node: Int) => Int;
  readonly #corners: (i: Int) => Scalar;

  constructor(surfaces: Surfaces) {
    const trees = treesOf(surfaces);
    const ints = (name: "root" | "end" | "skip" | "first" | "count") => table(`mesh_${name}`, trees[name], "i32");
    this.#most = trees.most;
    this.#root = ints("root");
    this.#end = ints("end");
    this.#skip = ints("skip");
    this.#first = ints("first");
    this.#count = ints("count");
    this.#box = table("mesh_box", trees.box);
    this.#corners = table("mesh_corners", trees.corners);
  }

  #corner(triangle: Int, which: number): Vec3 {
    return [0, 1, 2].map((k) => this.#corners(add(mul(triangle, 9), 3 * which + k))) as unknown as Vec3;
  }

  /** Where a ray meets a mesh nearer than `limit`. */
  cast(mesh: Int, { p, v }: LocalRay, limit: Scalar): Hit {
    const end = this.#end(mesh);
    const node = variable("mesh_node", this.#root(mesh), "i32");
    const nearest = variable("mesh_dist", limit);
    const found = variable("mesh_triangle", -1, "i32");
    const [b0, b1] = across(v);
    const inverse = v.map((x) =>
      select(lt(abs(x), 1 / STEEP), STEEP, div(1, select(eq(x, 0), 1, x))),
    ) as unknown as Vec3;
    const perLength = div(1, dot3(v, v));

    const meetTriangle = (triangle: Int) => {
      const seen = [0, 1, 2].map((k) => {
        const from = sub3(this.#corner(triangle, k), p);
        return { x: dot3(b0, from), y: dot3(b1, from), z: mul(dot3(v, from), perLength) };
      });
      // twice the areas that the ray makes with each side: all of one sign if it passes within
      const [u, w, q] = [0, 1, 2].map((k) => {
        const [a, b] = [seen[(k + 1) % 3], seen[(k + 2) % 3]];
        return sub(mul(a.x, b.y), mul(b.x, a.y));
      });
      const inside = or(and(and(ge(u, 0), ge(w, 0)), ge(q, 0)), and(and(le(u, 0), le(w, 0)), le(q, 0)));
      const area = add(add(u, w), q);
      const flat = eq(area, 0);
      const sum = add(add(mul(u, seen[0].z), mul(w, seen[1].z)), mul(q, seen[2].z));
      const x = div(sum, select(flat, 1, area));
      const isNearer = and(and(inside, ne(area, 0)), and(ge(x, 0), lt(x, nearest.get())));
      found.set(select(isNearer, triangle, found.get(), "i32"));
      nearest.set(select(isNearer, x, nearest.get()));
    };

    loop(
      this.#most,
      () => {
        const at = node.get();
        breakIf(ge(at, end));
        const side = (k: number) => this.#box(add(mul(at, 6), k));
        const times = [0, 1, 2].map((k) => [
          mul(sub(side(k), p[k]), inverse[k]),
          mul(sub(side(3 + k), p[k]), inverse[k]),
        ]);
        const enters = times.map(([a, b]) => min(a, b)).reduce(max, 0);
        const leaves = times.map(([a, b]) => max(a, b)).reduce(min);
        const meets = and(le(enters, leaves), lt(enters, nearest.get()));
        const count = this.#count(at);
        when(and(meets, gt(count, 0)), () => {
          const first = this.#first(at);
          loop(count, (i) => meetTriangle(add(first, i)), { label: "triangles" });
        });
        node.set(select(meets, add(at, 1), this.#skip(at), "i32"));
      },
      { label: "mesh" },
    );

    const triangle = found.get();
    const isMet = ge(triangle, 0);
    const known = select(isMet, triangle, 0, "i32");
    const [a, b, c] = [0, 1, 2].map((k) => this.#corner(known, k));
    return {
      x: select(isMet, nearest.get(), MISS),
      normal: normalize3(cross(sub3(a, c), sub3(b, c)), ZERO3).unit,
    };
  }
}
