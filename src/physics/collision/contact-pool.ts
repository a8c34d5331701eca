// contacts in a pool: the first of them that pairs in their order make
import { array, loop, table, variable, when, type LocalArray } from "../../trace/control.ts";
import { add, isNode, lt, min, ne, select, sub, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import type { Vec3 } from "../../trace/vector.ts";
import type { GeomPair } from "../../model/pairs.ts";
import { defaultTangent, makeFrame, type Candidate } from "./colliders/index.ts";
import { eachFound } from "./pair-colliders.ts";
import { slotValues, type ContactSlots, type ContactStore } from "./contact-slots.ts";

/** The distance of a candidate that does not exist. */
const NOWHERE = 1e30;
/** Pairs that share a number with another one, from which on they are told to which of the numbers they go. */
const MANY = 256;

/** What a pool asks of its pairs. */
interface Pooled {
  readonly pairs: readonly GeomPair[];
  readonly ngeom: number;
  /** A geom of a pair, by the pair's index. */
  readonly geoms: readonly ((pair: Int) => Int)[];
  /** Most candidates of one pair. */
  readonly most: number;
  /** Whether some collider chooses the tangent of its frames. */
  readonly leans: boolean;
}

/** Room for the first `nconmax` contacts of pairs that come in their order. */
export function contactPool({ pairs, ngeom, geoms, most, leans }: Pooled, nconmax: number): ContactStore {
  const capacity = Math.min(
    nconmax,
    pairs.reduce((n, p) => n + p.ncon, 0),
  );
  const size = Math.max(1, capacity);
  const dist = array("con_dist", size);
  const vector = (name: string, length: number) => [0, 1, 2].map((k) => array(`${name}${k}`, length));
  const [pos, normal, tangent] = ["con_pos", "con_normal", "con_tangent"].map((name) => vector(name, size));
  const pairAt = array("con_pair", size, "i32");
  const count = variable("contacts", 0, "i32");

  // the candidates of one pair: whatever collider found them, they are kept in one place
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

  const pair: ContactStore["pair"] = (p, collide) => {
    candidates.set(0);
    collide((found, _before, streams) => {
      eachFound(found, propose);
      if (streams) keepAll(p.place, p, found.count);
      else candidates.set(found.count);
    });
    keepAll(p.place, p, candidates.get());
  };
  const contacts = (): ContactSlots => {
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
        const { same, values } = valuesOf(pairs, of);
        if (!values) return () => same;
        for (const end of [0, 1] as const) {
          const perGeom = byGeom(pairs, values, end, ngeom);
          if (!perGeom) continue;
          const read = table(name, perGeom, type);
          return (slot) => read(geoms[end](pairAt.get(slot)));
        }
        const distinct = [...new Set(values)];
        if (values.some(isNode) && values.length - distinct.length >= MANY) {
          // numbers that worlds have of their own, such as of a body's pairs with all of the ground
          const place = new Map(distinct.map((value, i) => [value, i]));
          const index = this.table(`${name}_of`, (_, k) => place.get(values[k])!, "i32");
          const read = slotValues(name, distinct, type);
          return (slot) => read(index(slot));
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
  };
  return { pair, contacts };
}

/** Values of pairs, which millions of them most often have in common: then no list of them is made. */
function valuesOf(pairs: readonly GeomPair[], of: (pair: GeomPair, k: number) => Scalar) {
  const same = pairs.length === 0 ? 0 : of(pairs[0], 0);
  let values: Scalar[] | undefined;
  for (let k = 1; k < pairs.length; k++) {
    const value = of(pairs[k], k);
    if (values === undefined && value !== same) values = Array.from({ length: k }, () => same);
    values?.push(value);
  }
  return { same, values };
}

/** Values of pairs by one of their geoms, where it alone decides: there are fewer geoms than pairs. */
function byGeom(
  pairs: readonly GeomPair[],
  values: readonly Scalar[],
  end: 0 | 1,
  ngeom: number,
): number[] | undefined {
  const found = Array<number | undefined>(ngeom);
  for (let k = 0; k < pairs.length; k++) {
    const geom = end === 0 ? pairs[k].geom1 : pairs[k].geom2;
    const value = values[k];
    if (typeof value !== "number" || (found[geom] ?? value) !== value) return undefined;
    found[geom] = value;
  }
  return Array.from(found, (x) => x ?? 0);
}
