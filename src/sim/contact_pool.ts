// narrow phase in one runtime loop over all pairs, contacts in a pool: for rolled kernels
import { array, loop, table, variable, when, type LocalArray } from "../trace/control.ts";
import { add, and, eq, lt, min, ne, select, sub, type Bool, type Int, type Scalar } from "../trace/scalar.ts";
import type { Vec3 } from "../trace/vector.ts";
import type { GeomPair } from "../model/pairs.ts";
import type { ContactSlots } from "./collision.ts";
import { colliders, defaultTangent, makeFrame, near, type Candidate, type ColliderName } from "./colliders/index.ts";
import { slotValues } from "./slots.ts";
import type { DataView, ModelView } from "./view.ts";

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

  const column = (name: string, of: (p: GeomPair) => number, type: "f32" | "i32" = "f32") =>
    table(`pair_${name}`, pairs.map(of), type);
  const geoms = [column("geom1", (p) => p.geom1, "i32"), column("geom2", (p) => p.geom2, "i32")];
  const margin = column("margin", (p) => p.margin);
  const gap = column("gap", (p) => p.gap);
  const kind = column("collider", (p) => names.indexOf(colliderOf(p)), "i32");

  loop(
    pairs.length,
    (k) => {
      const reach = { margin: margin(k), gap: gap(k) };
      const [g1, g2] = geoms.map((g) => g(k));
      const look = add(reach.margin, reach.gap);
      const is = kind(k);
      names.forEach((name, index) => {
        when(eq(is, index), () => {
          const shape = (g: Int) => ({ pos: d.geom_xpos.vec3(g), mat: d.geom_xmat.mat3(g), size: m.geom_size.vec3(g) });
          const [a, b] = [shape(g1), shape(g2)];
          const plane = name.startsWith("plane-");
          const bound = (g: Int) => m.geom_rbound.at(g);
          when(near({ ...a, rbound: plane ? 0 : bound(g1) }, { ...b, rbound: bound(g2) }, look), () => {
            for (const c of colliders[name].collide(a, b, look)) keep(k, reach, c);
          });
        });
      });
    },
    { label: "pairs" },
  );

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
