// contacts in a pool: the first of them that pairs in their order make
import { array, loop, table, variable, when, type LocalArray } from "../../trace/control.ts";
import { add, isNode, lt, min, ne, select, sub, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import type { Vec3 } from "../../trace/vector.ts";
import type { GeomPairs } from "../../model/pairs.ts";
import { defaultTangent, makeFrame, type Candidate } from "./colliders/index.ts";
import { eachFound } from "./pair-colliders.ts";
import { slotValues, type ContactSlots, type ContactStore } from "./contact-slots.ts";

const GEOMS = ["geom1", "geom2"] as const;
/** The distance of a candidate that does not exist. */
const NOWHERE = 1e30;
/** Pairs that share a number with another one, from which on they are told to which of the numbers they go. */
const MANY = 256;

/** What a pool asks of its pairs. */
interface Pooled {
  readonly pairs: GeomPairs;
  readonly ngeom: number;
  /** A geom of a pair, by the pair's index. */
  readonly geoms: readonly ((pair: Int) => Int)[];
  /** Most candidates of one pair. */
  readonly slots: number;
  /** Whether some collider chooses the tangent of its frames. */
  readonly leans: boolean;
  /** Whether room without a contact is zero when a kernel begins; clearing it takes as long as many instructions. */
  readonly isCleared: boolean;
}

/** Room for the first `nconmax` contacts of pairs that come in their order. */
export function contactPool({ pairs, ngeom, geoms, slots, leans, isCleared }: Pooled, nconmax: number): ContactStore {
  const most = pairs.total((p) => p.ncon);
  const capacity = Math.min(nconmax, most);
  const size = Math.max(1, capacity);
  const dist = array("con_dist", size, "f32", !isCleared);
  const vector = (name: string, length: number) =>
    [0, 1, 2].map((k) => array(`${name}${k}`, length, "f32", !isCleared));
  const [pos, normal, tangent] = ["con_pos", "con_normal", "con_tangent"].map((name) => vector(name, size));
  const pairAt = array("con_pair", size, "i32", !isCleared);
  const count = variable("contacts", 0, "i32");

  // the candidates of one pair: whatever collider found them, they are kept in one place
  const candidate = {
    dist: array("candidate_dist", slots, "f32", !isCleared),
    pos: vector("candidate_pos", slots),
    normal: vector("candidate_normal", slots),
    tangent: vector("candidate_tangent", slots),
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
  const reader = (name: string, given: PairValues, type: "f32" | "i32" = "f32"): ((slot: Int) => Scalar) => {
    const { same, places, known } = given;
    if (same !== undefined) return () => same;
    for (const end of [0, 1] as const) {
      const of = GEOMS[end];
      // which kinds geoms have is known of all pairs
      const { geoms: ends, kinds: at } =
        places === pairs.kind ? pairs.kindsOf(of) : { geoms: pairs[of], kinds: places };
      const perGeom = byGeom(ends, { places: at, known }, ngeom);
      if (!perGeom) continue;
      const read = table(name, perGeom, type);
      return (slot) => read(geoms[end](pairAt.get(slot)));
    }
    if (areNumbers(known)) {
      let read: ((pair: Int) => Scalar) | undefined;
      return (slot) => (read ??= table(name, listed(known, places, type), type))(pairAt.get(slot));
    }
    const values: Scalar[] = Array.from(places ?? known, (x) => (places ? known[x as number] : x));
    const distinct = [...new Set(values)];
    if (values.length - distinct.length >= MANY) {
      // numbers that worlds have of their own, such as of a body's pairs with all of the ground
      const place = new Map(distinct.map((value, i) => [value, i]));
      const index = reader(`${name}_of`, { known: values.map((value) => place.get(value)!) }, "i32");
      const read = slotValues(name, distinct, type);
      return (slot) => read(index(slot));
    }
    const read = slotValues(name, values, type);
    return (slot) => read(pairAt.get(slot));
  };
  const contacts = (): ContactSlots => {
    const kept = min(count.get(), capacity);
    const overflow: Bool = capacity < most ? ne(sub(count.get(), kept), 0) : false;
    return {
      pairs,
      nslot: capacity,
      nconmax: capacity,
      ncon: count.get(),
      count: kept,
      overflow,
      table: (name, of, type) => reader(name, valuesOf(pairs.length, of), type),
      column: (name, values) => reader(name, areAlike(values) ? alike(values[0] ?? 0) : { known: values }),
      ofKind: (name, of, type) =>
        reader(
          name,
          spread(pairs.kind, [...pairs.kinds.keys()], (k) => of(pairs.kinds[k], k)),
          type,
        ),
      ofGeom: (name, end, of, type) => reader(name, spread(pairs[end], pairs.first(end), of), type),
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

/** Values of pairs: `same`, which millions of them most often have in common, or those in `known` at their `places`. */
interface PairValues {
  readonly same?: Scalar;
  /** Of each pair; undefined if `known` has one of each. */
  readonly places?: ArrayLike<number>;
  readonly known: readonly Scalar[] | Float64Array;
}

const areNumbers = (values: PairValues["known"]): values is readonly number[] | Float64Array =>
  values instanceof Float64Array || !values.some(isNode);

const alike = (same: Scalar): PairValues => ({ same, known: [same] });

function areAlike(values: Float64Array): boolean {
  let from = 1;
  while (from < values.length && values[from] === values[0]) from++;
  return from >= values.length;
}

function valuesOf(count: number, of: (pair: number) => Scalar): PairValues {
  const same = count === 0 ? 0 : of(0);
  let known: Scalar[] | undefined;
  for (let k = 1; k < count; k++) {
    const value = of(k);
    if (known === undefined && value !== same) known = Array.from({ length: k }, () => same);
    known?.push(value);
  }
  return known ? { known } : alike(same);
}

/** The same of what pairs have by a place, such as of a geom; `met`: those places, in the order of their first pairs. */
function spread(places: Int32Array, met: readonly number[], of: (place: number) => Scalar): PairValues {
  const values = met.map(of);
  const same = values.length === 0 ? 0 : values[0];
  if (values.every((value) => value === same)) return alike(same);
  const known: Scalar[] = Array(Math.max(...met) + 1).fill(0);
  met.forEach((place, i) => (known[place] = values[i]));
  return { places, known };
}

/** Values of pairs by one of their geoms, where it alone decides: there are fewer geoms than pairs. */
function byGeom(geoms: ArrayLike<number>, { places, known }: PairValues, ngeom: number): number[] | undefined {
  const found = Array<number | undefined>(ngeom).fill(undefined);
  if (places === geoms && areNumbers(known)) return found.map((_, g) => known[g] ?? 0);
  for (let k = 0; k < geoms.length; k++) {
    const value = known[places ? places[k] : k];
    if (typeof value !== "number" || (found[geoms[k]] ?? value) !== value) return undefined;
    found[geoms[k]] = value;
  }
  return Array.from(found, (x) => x ?? 0);
}

/** A value of each pair. */
function listed(
  known: ArrayLike<number>,
  places: ArrayLike<number> | undefined,
  type: "f32" | "i32",
): ArrayLike<number> {
  if (places === undefined) return known;
  const values = type === "i32" ? new Int32Array(places.length) : new Float64Array(places.length);
  for (let k = 0; k < places.length; k++) values[k] = known[places[k]];
  return values;
}
