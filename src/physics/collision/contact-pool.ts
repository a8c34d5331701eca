// narrow phase in one runtime loop over the pairs that come near, contacts in a pool
import { array, loop, table, variable, when, type LocalArray } from "../../trace/control.ts";
import { add, eq, lt, min, mul, ne, select, sub, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import type { Vec3 } from "../../trace/vector.ts";
import type { GeomPair } from "../../model/pairs.ts";
import { boxTest } from "./boxes.ts";
import { eachNearPair, halves, type GeomFrames } from "./broad-phase.ts";
import { defaultTangent, makeFrame, type Candidate } from "./colliders/index.ts";
import { eachFound, pairColliders, pairKind } from "./pair-colliders.ts";
import { slotValues, type ContactSlots } from "./contact-slots.ts";
import type { ModelView } from "../view.ts";

/** More than there are types of geoms. */
const TYPES = 8;
/** The distance of a candidate that does not exist. */
const NOWHERE = 1e30;

/** Contacts of a world in the order of their pairs; the first `nconmax` of them are kept. */
export function pooledCollision(
  m: ModelView,
  pairs: readonly GeomPair[],
  nconmax: number,
  frames: GeomFrames,
): ContactSlots {
  const capacity = Math.min(
    nconmax,
    pairs.reduce((n, p) => n + p.ncon, 0),
  );
  const size = Math.max(1, capacity);
  const kindOf = (p: GeomPair) => pairKind(m.model, p);
  const names = [...new Set(pairs.map(kindOf))];
  const colliders = pairColliders(m, pairs, frames);
  const leans = names.some((name) => colliders.of(name).leans);
  const dist = array("con_dist", size);
  const vector = (name: string, length: number) => [0, 1, 2].map((k) => array(`${name}${k}`, length));
  const [pos, normal, tangent] = ["con_pos", "con_normal", "con_tangent"].map((name) => vector(name, size));
  const pairAt = array("con_pair", size, "i32");
  const count = variable("contacts", 0, "i32");

  // the candidates of one pair: whatever collider found them, they are kept in one place
  const most = Math.max(...names.map((name) => colliders.of(name).slots));
  const candidate = {
    dist: array("candidate_dist", most),
    pos: vector("candidate_pos", most),
    normal: vector("candidate_normal", most),
    tangent: vector("candidate_tangent", most),
  };
  const candidates = variable("candidates", 0, "i32");
  const put = (to: readonly LocalArray[], at: Int, v: Vec3) => v.forEach((x, i) => to[i].set(at, x));
  const at = (fields: readonly LocalArray[], i: Int) => fields.map((f) => f.get(i)) as unknown as Vec3;
  const propose = (c: Candidate, i: Int) => {
    candidate.dist.set(i, select(c.exists, c.dist, NOWHERE));
    put(candidate.pos, i, c.pos);
    put(candidate.normal, i, c.normal);
    if (leans) put(candidate.tangent, i, c.tangent ?? defaultTangent(c.normal));
  };
  const keep = (k: Int, reach: { margin: Scalar; gap: Scalar }, i: Int) => {
    const near = candidate.dist.get(i);
    when(lt(near, add(reach.margin, reach.gap)), () => {
      const n = count.get();
      when(lt(n, capacity), () => {
        dist.set(n, near);
        put(pos, n, at(candidate.pos, i));
        put(normal, n, at(candidate.normal, i));
        if (leans) put(tangent, n, at(candidate.tangent, i));
        pairAt.set(n, k);
      });
      count.set(add(n, 1));
    });
  };

  const keepAll = (k: Int, reach: { margin: Scalar; gap: Scalar }, found: Int) =>
    loop(found, (i) => keep(k, reach, i), { label: "candidates" });

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
  for (const p of pairs) kinds[TYPES * typeOf(p.geom1) + typeOf(p.geom2)] = names.indexOf(kindOf(p));
  const kind = table("pair_collider", kinds, "i32");

  const boxesApart = boxTest(m, frames, pairs);
  const isApart = (k: Int) => boxesApart(geoms[0](k), geoms[1](k), add(margin(k), gap(k)));
  eachNearPair(m, frames, pairs, isApart, (k) => {
    const reach = { margin: margin(k), gap: gap(k) };
    const [g1, g2] = geoms.map((g) => g(k));
    const is = kind(add(mul(m.geom_type.at(g1), TYPES), m.geom_type.at(g2)));
    const [a, b] = [colliders.shape(g1), colliders.shape(g2)];
    names.forEach((name, index) => {
      when(eq(is, index), () => {
        const { collide, streams } = colliders.of(name);
        collide(a, b, add(reach.margin, reach.gap), (all) => {
          eachFound(all, propose);
          if (streams) keepAll(k, reach, all.count);
          else candidates.set(all.count);
        });
        if (streams) candidates.set(0);
      });
    });
    keepAll(k, reach, candidates.get());
  });

  const kept = min(count.get(), capacity);
  const overflow: Bool = capacity < pairs.reduce((n, p) => n + p.ncon, 0) ? ne(sub(count.get(), kept), 0) : false;
  return {
    pairs,
    nslot: capacity,
    nconmax: capacity,
    ncon: count.get(),
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
