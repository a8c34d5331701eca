// narrow phase in one runtime loop over the pairs that come near, contacts in a pool: for rolled kernels
import { array, loop, table, variable, when, type LocalArray } from "../trace/control.ts";
import { add, and, eq, lt, min, mul, ne, select, sub, type Bool, type Int, type Scalar } from "../trace/scalar.ts";
import type { Vec3 } from "../trace/vector.ts";
import type { GeomPair } from "../model/pairs.ts";
import type { ContactSlots } from "./collision.ts";
import { eachNearPair, halves } from "./broad_phase.ts";
import { colliders, defaultTangent, makeFrame, type Candidate, type ColliderName } from "./colliders/index.ts";
import { slotValues } from "./slots.ts";
import type { DataView, ModelView } from "./view.ts";

/** More than there are types of geoms. */
const TYPES = 8;

/** Contacts of a world in the order of their pairs; the first `nconmax` of them are kept. */
export function pooledCollision(
  m: ModelView,
  d: DataView,
  pairs: readonly GeomPair[],
  nconmax: number,
  colliderOf: (p: GeomPair) => ColliderName,
): ContactSlots {
  const capacity = Math.min(
    nconmax,
    pairs.reduce((n, p) => n + p.ncon, 0),
  );
  const size = Math.max(1, capacity);
  const names = [...new Set(pairs.map(colliderOf))];
  const leans = names.some((name) => colliders[name].leans);
  const dist = array("con_dist", size);
  const vector = (name: string) => [0, 1, 2].map((k) => array(`con_${name}${k}`, size));
  const [pos, normal, tangent] = ["pos", "normal", "tangent"].map(vector);
  const pairAt = array("con_pair", size, "i32");
  const count = variable("contacts", 0, "i32");
  const found = variable("ncon", 0, "i32");
  const gaps = pairs.some((p) => p.gap > 0);

  const keep = (k: Int, reach: { margin: Scalar; gap: Scalar }, c: Candidate) => {
    const put = (to: readonly LocalArray[], at: Int, v: Vec3) => v.forEach((x, i) => to[i].set(at, x));
    if (gaps) {
      const seen = and(c.exists, lt(c.dist, add(reach.margin, reach.gap)));
      found.set(add(found.get(), select(seen, 1, 0, "i32")));
    }
    when(and(c.exists, lt(c.dist, reach.margin)), () => {
      const n = count.get();
      when(lt(n, capacity), () => {
        dist.set(n, c.dist);
        put(pos, n, c.pos);
        put(normal, n, c.normal);
        if (leans) put(tangent, n, c.tangent ?? defaultTangent(c.normal));
        pairAt.set(n, k);
      });
      count.set(add(n, 1));
    });
  };

  const typeOf = (g: number) => m.model.geom_type[g];
  const column = (name: string, of: (p: GeomPair) => number, type: "f32" | "i32" = "f32") =>
    table(`pair_${name}`, pairs.map(of), type);
  const both = halves(
    "pair_geoms",
    pairs.flatMap((p) => [p.geom1, p.geom2]),
  );
  const geoms = [0, 1].map((end) => (k: Int) => both(add(mul(k, 2), end)));
  const margin = column("margin", (p) => p.margin);
  const gap = column("gap", (p) => p.gap);
  // by the types of the two geoms: there are few of them
  const kinds: number[] = Array(TYPES * TYPES).fill(-1);
  for (const p of pairs) kinds[TYPES * typeOf(p.geom1) + typeOf(p.geom2)] = names.indexOf(colliderOf(p));
  const kind = table("pair_collider", kinds, "i32");

  const shape = (g: Int) => ({ pos: d.geom_xpos.vec3(g), mat: d.geom_xmat.mat3(g), size: m.geom_size.vec3(g) });
  eachNearPair(m, d, pairs, (k) => {
    const reach = { margin: margin(k), gap: gap(k) };
    const [g1, g2] = geoms.map((g) => g(k));
    const is = kind(add(mul(m.geom_type.at(g1), TYPES), m.geom_type.at(g2)));
    names.forEach((name, index) => {
      when(eq(is, index), () => {
        const [a, b] = [shape(g1), shape(g2)];
        for (const c of colliders[name].collide(a, b, add(reach.margin, reach.gap))) keep(k, reach, c);
      });
    });
  });

  const kept = min(count.get(), capacity);
  const overflow: Bool = capacity < pairs.reduce((n, p) => n + p.ncon, 0) ? ne(sub(count.get(), kept), 0) : false;
  const at = (fields: readonly LocalArray[], slot: Int) => fields.map((f) => f.get(slot)) as unknown as Vec3;
  return {
    pairs,
    nslot: capacity,
    nconmax: capacity,
    ncon: gaps ? found.get() : count.get(),
    count: kept,
    overflow,
    table(name, of, type = "f32") {
      const values = pairs.map(of);
      if (values.every((v) => v === values[0])) return () => values[0];
      for (const end of [0, 1] as const) {
        const perGeom = byGeom(pairs, values, end, m.ngeom);
        if (!perGeom) continue;
        const read = table(name, perGeom, type);
        return (slot) => read(geoms[end](pairAt.get(slot)));
      }
      const read = slotValues(name, values, type);
      return (slot) => read(pairAt.get(slot));
    },
    dist: (s) => dist.get(s),
    pos: (s) => at(pos, s),
    frame: (s) => makeFrame(at(normal, s), leans ? at(tangent, s) : undefined),
    each: (body) => {
      if (capacity > 0) loop(kept, (i) => body(i, i), { label: "contacts" });
    },
  };
}

/** Values of pairs by one of their geoms, where it alone decides: there are fewer geoms than pairs. */
function byGeom(
  pairs: readonly GeomPair[],
  values: readonly Scalar[],
  end: 0 | 1,
  ngeom: number,
): number[] | undefined {
  const found = Array<number | undefined>(ngeom);
  for (const [k, pair] of pairs.entries()) {
    const [geom, value] = [end === 0 ? pair.geom1 : pair.geom2, values[k]];
    if (typeof value !== "number" || (found[geom] ?? value) !== value) return undefined;
    found[geom] = value;
  }
  return Array.from(found, (x) => x ?? 0);
}
