// which pairs of geoms make contacts: those that come near are handed to their colliders (mj_collision)
import { array, breakIf, loop, table, variable, when } from "../../trace/control.ts";
import { add, and, bor, eq, ge, mul, select, sub, type Bool, type Int } from "../../trace/scalar.ts";
import type { GeomPair, GeomPairs } from "../../model/pairs.ts";
import { MOST_CONTACTS } from "../../model/rest-contacts.ts";
import { near } from "./colliders/index.ts";
import { boxTest } from "./bounding-boxes.ts";
import { clear, eachNearPair, eachOf, halves, nearPairs } from "./broad-phase.ts";
import { contactPool } from "./contact-pool.ts";
import { firstSlots, fixedSlots } from "./fixed-slots.ts";
import { fixedIn } from "./fixed-boxes.ts";
import { geomClusters, lateGeoms } from "./geom-clusters.ts";
import { framesOf } from "./geom-frames.ts";
import type { ContactSlots, PairAt } from "./contact-slots.ts";
import { pairColliders, pairKind, type PairColliders, type PairKind } from "./pair-colliders.ts";
import type { WorldData, ModelView } from "../view.ts";

/** Pairs of one kind beyond this are tested in a runtime loop over those that come near, rather than in line. */
const MAX_INLINE_PAIRS = 6;
/** More than there are types of geoms. */
const TYPES = 8;

/** What the search for near pairs needs, and what it hands them to. */
interface Search {
  readonly m: ModelView;
  readonly d: WorldData;
  readonly pairs: GeomPairs;
  /** Of each of the pairs' kinds. */
  readonly kinds: readonly PairKind[];
  readonly frames: ReturnType<typeof framesOf>;
  readonly colliders: PairColliders;
  /** Runs the collider of a pair; of several kinds the one that `is` says at run time. */
  visit(pair: PairAt, kinds: readonly PairKind[], is?: Int): void;
}

/**
 * Narrow phase over the candidate pairs (mj_collision). Reads geom_xpos, geom_xmat; the contacts stay in registers
 * and private arrays.
 */
export function collision(m: ModelView, d: WorldData, pairs: GeomPairs, nconmax: number): ContactSlots {
  // frames are built where they are read
  const frames = framesOf(m, d);
  const candidates = pairs.total((p) => p.ncon);
  const isPool = pairs.length > 0 && (d.geom_xpos.isIndexed || candidates > MOST_CONTACTS);
  const colliders = pairColliders(m, pairs, frames, isPool);
  const kinds = pairs.kinds.map((p) => pairKind(m.model, p));
  const leans = kinds.some((kind) => colliders.of(kind).leans);
  const most = kinds.reduce((slots, kind) => Math.max(slots, colliders.of(kind).slots), 0);
  const geoms = geomsAt(pairs);

  const store = isPool
    ? contactPool({ pairs, ngeom: m.ngeom, geoms, slots: most, leans, isCleared: !m.form.hasRoom }, nconmax)
    : fixedSlots(pairs, nconmax, leans);
  const visit: Search["visit"] = (pair, of, is) => {
    const [a, b] = [colliders.shape(pair.geom1), colliders.shape(pair.geom2)];
    const reach = add(pair.margin, pair.gap);
    store.pair(pair, (take) =>
      of.forEach((kind, index) => {
        const { collide, streams } = colliders.of(kind);
        const run = () => collide(a, b, reach, (found, before) => take(found, before, streams));
        if (is === undefined) run();
        else when(eq(is, index), run);
      }),
    );
  };
  const search = { m, d, pairs, kinds, frames, colliders, visit };
  if (isPool) inOrder(search, geoms);
  else kindByKind(search);
  return isPool ? { ...store.contacts(), geomPos: frames.pos } : store.contacts();
}

/** The two geoms of a pair, by its index. */
function geomsAt({ length, geom1, geom2 }: GeomPairs): ((pair: Int) => Int)[] {
  const ends = new Int32Array(2 * length);
  for (let k = 0; k < length; k++) {
    ends[2 * k] = geom1[k];
    ends[2 * k + 1] = geom2[k];
  }
  const both = halves("pair_geoms", ends);
  return [0, 1].map((end) => (k: Int) => both(add(mul(k, 2), end)));
}

/** All near pairs in one runtime loop, whatever their kind. */
function inOrder(search: Search, geoms: readonly ((pair: Int) => Int)[]): void {
  const { m, d, pairs, kinds, frames, colliders, visit } = search;
  const clusters = geomClusters(m, pairs, fixedIn(m, pairs));
  const clustered = { clusters, late: lateGeoms(d, clusters), make: frames.make };
  frames.copy(clustered.late);
  const names = [...new Set(kinds)];
  // by the types of the two geoms: there are few of them
  const numbers: number[] = Array(TYPES * TYPES).fill(-1);
  pairs.kinds.forEach(({ type1, type2 }, k) => (numbers[TYPES * type1 + type2] = names.indexOf(kinds[k])));
  const number = table("pair_collider", numbers, "i32");
  const [margin, gap] = (["margin", "gap"] as const).map((name) => {
    const { [name]: first } = pairs.kinds[0];
    // most often all pairs have the same
    if (pairs.kinds.every((p) => p[name] === first)) return () => first;
    const values = pairs.column((p) => p[name]);
    return table(`pair_${name}`, values);
  });

  const boxesApart = boxTest(m, frames, pairs);
  const isApart = (k: Int) => boxesApart(geoms[0](k), geoms[1](k), add(margin(k), gap(k)));
  const ends = (k: Int) => geoms.map((g) => g(k));
  const kindOf = ([geom1, geom2]: readonly Int[]) =>
    number(add(mul(m.geom_type.at(geom1), TYPES), m.geom_type.at(geom2)));
  const test = (k: Int) => {
    const [geom1, geom2] = ends(k);
    const is = kindOf([geom1, geom2]);
    visit({ place: k, geom1, geom2, margin: margin(k), gap: gap(k) }, names, is);
  };
  const { ahead } = colliders;
  if (!ahead) return eachNearPair(m, frames, pairs, isApart, clustered, test);

  const list = nearPairs(m, frames, pairs, isApart, clustered);
  const isSearched = (k: Int) => eq(kindOf(ends(k)), names.indexOf("convex"));
  const at = variable("near_at", 0, "i32");
  loop(
    pairs.length,
    () => {
      breakIf(ahead.isOver(sub(list.count, at.get())));
      ahead.run({
        count: list.count,
        isSearched: (i) => isSearched(list.at(i)),
        at: (i) => {
          const k = list.at(i);
          const both = ends(k) as [Int, Int];
          return { geoms: both, reach: add(margin(k), gap(k)), numbers: both.flatMap(ahead.numbers) };
        },
      });
      loop(
        list.count,
        () => {
          const i = at.get();
          breakIf(ge(i, list.count));
          const k = list.at(i);
          breakIf(and(isSearched(k), ahead.isEmpty()));
          at.set(add(i, 1));
          test(k);
        },
        { label: "near" },
      );
    },
    { label: "ahead" },
  );
}

/** One kind of pairs after the other: in line, or in a runtime loop for each kind where there are many. */
function kindByKind(search: Search): void {
  const { m, d, pairs, kinds, frames, colliders, visit } = search;
  const places = firstSlots(pairs);
  const test = (k: number) => {
    const { geom1, geom2, margin, gap } = pairs.at(k);
    visit({ geom1, geom2, margin, gap, place: places[k] }, [kinds[pairs.kind[k]]]);
  };
  const groups = new Map<PairKind, number[]>();
  pairs.forEach((_, k) => {
    const kind = kinds[pairs.kind[k]];
    if (!groups.has(kind)) groups.set(kind, []);
    groups.get(kind)!.push(k);
  });
  for (const [kind, members] of groups) {
    const { costly, long } = colliders.of(kind);
    const many = members.length > (long ? 1 : MAX_INLINE_PAIRS);
    if ((kind.startsWith("plane-") && !long) || (!costly && !many)) members.forEach(test);
    else if (!many) {
      for (const k of members) when(nearPair(m, d, pairs.at(k)), () => test(k));
    } else {
      frames.copy();
      testLater(search, kind, members, places);
    }
  }
}

/** Whether the bounding spheres of a pair, or a sphere and a plane, come within reach. */
function nearPair(m: ModelView, d: WorldData, p: GeomPair): Bool {
  return near(
    { pos: d.geom_xpos.vec3(p.geom1), mat: d.geom_xmat.mat3(p.geom1), rbound: m.geom_rbound.at(p.geom1) },
    { pos: d.geom_xpos.vec3(p.geom2), mat: d.geom_xmat.mat3(p.geom2), rbound: m.geom_rbound.at(p.geom2) },
    p.margin + p.gap,
  );
}

/** Tests the pairs of one collider that come near in a runtime loop: the reach of each is tested in line first. */
function testLater(
  { m, d, pairs, frames, colliders, visit }: Search,
  kind: PairKind,
  members: readonly number[],
  places: readonly number[],
): void {
  const column = (label: string, of: (k: number) => number, type: "f32" | "i32") =>
    table(`${kind}_${label}`, members.map(of), type);
  const geom1 = column("geom1", (k) => pairs.at(k).geom1, "i32");
  const geom2 = column("geom2", (k) => pairs.at(k).geom2, "i32");
  const place = column("slot", (k) => places[k], "i32");
  const margin = column("margin", (k) => pairs.at(k).margin, "f32");
  const gap = column("gap", (k) => pairs.at(k).gap, "f32");

  // one collider serves all words of the bit set: its code is long
  const count = Math.ceil(members.length / 32);
  const words = array(`${kind}_near`, count, "u32");
  for (let w = 0; w < count; w++) {
    let bits: Int = 0;
    members.slice(32 * w, 32 * w + 32).forEach((k, i) => {
      bits = bor(bits, select(nearPair(m, d, pairs.at(k)), (1 << i) >>> 0, 0, "u32"));
    });
    words.set(w, bits);
  }
  // a short collider costs no more than the boxes
  if (colliders.of(kind).long) {
    const isApart = boxTest(m, frames, pairs);
    eachOf(words, members.length, "boxes", (i) =>
      when(isApart(geom1(i), geom2(i), add(margin(i), gap(i))), () => clear(words, i)),
    );
  }
  eachOf(words, members.length, "near", (i) =>
    visit({ place: place(i), geom1: geom1(i), geom2: geom2(i), margin: margin(i), gap: gap(i) }, [kind]),
  );
}
