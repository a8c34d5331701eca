import { array, breakIf, loop, table, variable, when } from "../../trace/control.ts";
import { unrolling } from "../../trace/graph.ts";
import {
  add,
  and,
  band,
  bor,
  div,
  eq,
  firstTrailingBit,
  isNode,
  lt,
  ne,
  select,
  shl,
  sub,
  toU32,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import type { Vec3 } from "../../trace/vector.ts";
import type { GeomPair } from "../../model/pairs.ts";
import { defaultTangent, makeFrame, near, type Candidate } from "./colliders/index.ts";
import { boxTest } from "./boxes.ts";
import { clear, eachOf, type GeomFrames } from "./broad-phase.ts";
import { pooledCollision } from "./contact-pool.ts";
import { indexed } from "../smooth/sparsity.ts";
import { SlotField, slotValues, type ContactSlots } from "./contact-slots.ts";
import { eachFound, pairColliders, pairKind, type PairColliders, type PairKind } from "./pair-colliders.ts";
import type { WorldData, ModelView } from "../view.ts";

/** Pairs of one kind beyond this are tested in a runtime loop over those that come near, rather than in line. */
const MAX_INLINE_PAIRS = 6;

/**
 * Contacts that a world keeps at once unless told otherwise, and candidates beyond which they are a pool rather than slots
 * of their own: drivers compile an array in time that grows with the square of its length.
 */
export const MAX_POOL = 256;

/**
 * Narrow phase over the candidate pairs (mj_collision). Reads geom_xpos, geom_xmat; the contacts stay in registers
 * and private arrays.
 */
export function collision(m: ModelView, d: WorldData, pairs: readonly GeomPair[], nconmax: number): ContactSlots {
  const candidates = pairs.reduce((n, p) => n + p.ncon, 0);
  if (pairs.length > 0 && (!unrolling() || candidates > MAX_POOL))
    return pooledCollision(m, pairs, nconmax, copied(framesOf(m, d)));
  const pairOf: number[] = [];
  const firstSlot = pairs.map((p, k) => {
    const first = pairOf.length;
    for (let i = 0; i < p.ncon; i++) pairOf.push(k);
    return first;
  });
  const nslot = pairOf.length;
  const dist = new SlotField("con_dist", nslot);
  const pos = [0, 1, 2].map((c) => new SlotField(`con_pos${c}`, nslot));
  const normal = [0, 1, 2].map((c) => new SlotField(`con_normal${c}`, nslot));
  const tangent = [0, 1, 2].map((c) => new SlotField(`con_tangent${c}`, nslot));
  const words = Array.from({ length: Math.ceil(nslot / 32) }, (_, w) => variable(`active${w}`, 0, "u32"));
  // frames are built if they are read; a tangent is kept only where some collider chooses one
  const frames = framesOf(m, d);
  const colliders = pairColliders(m, pairs, frames);
  const kinds = pairs.map((p) => pairKind(m.model, p));
  const leaning = kinds.some((kind) => colliders.of(kind).leans);

  /** Keeps a candidate in its slot, known when the kernel is traced or only at run time. */
  const keep = (pair: { margin: Scalar; gap: Scalar }, slot: Int, c: Candidate) => {
    dist.set(slot, c.dist);
    c.pos.forEach((x, k) => pos[k].set(slot, x));
    c.normal.forEach((x, k) => normal[k].set(slot, x));
    if (leaning) (c.tangent ?? defaultTangent(c.normal)).forEach((x, k) => tangent[k].set(slot, x));
    // in the gap contacts are kept without a force
    const active = and(c.exists, lt(c.dist, add(pair.margin, pair.gap)));
    if (isNode(slot)) {
      const bit = shl(1, band(toU32(slot), 31));
      words.forEach((w, k) => {
        const here = words.length === 1 ? active : and(active, eq(div(slot, 32), k));
        w.set(bor(w.get(), select(here, bit, 0, "u32")));
      });
    } else {
      const w = words[slot >> 5];
      w.set(bor(w.get(), select(active, (1 << (slot & 31)) >>> 0, 0, "u32")));
    }
  };

  const test = (k: number) => {
    const p = pairs[k];
    const [a, b] = [colliders.shape(p.geom1), colliders.shape(p.geom2)];
    colliders
      .of(kinds[k])
      .collide(a, b, p.margin + p.gap, (found, before) =>
        eachFound(found, (c, i) => keep(p, add(add(i, before), firstSlot[k]), c)),
      );
  };

  const groups = new Map<PairKind, number[]>();
  kinds.forEach((kind, k) => {
    if (!groups.has(kind)) groups.set(kind, []);
    groups.get(kind)!.push(k);
  });
  for (const [kind, members] of groups) {
    const { costly, long } = colliders.of(kind);
    const many = members.length > (long ? 1 : MAX_INLINE_PAIRS);
    if ((kind.startsWith("plane-") && !long) || (!costly && !many)) members.forEach(test);
    else if (!many) {
      for (const k of members) when(nearPair(m, d, pairs[k]), () => test(k));
    } else {
      frames.copy();
      testLater(m, d, frames, pairs, members, kind, firstSlot, colliders, keep);
    }
  }

  return activeList(m, {
    pairs,
    pairOf,
    nslot,
    nconmax,
    dist,
    pos,
    normal,
    tangent: leaning ? tangent : undefined,
    words,
  });
}

/** Whether the bounding spheres of a pair, or a sphere and a plane, come within reach. */
function nearPair(m: ModelView, d: WorldData, p: GeomPair): Bool {
  return near(
    { pos: d.geom_xpos.vec3(p.geom1), mat: d.geom_xmat.mat3(p.geom1), rbound: m.geom_rbound.at(p.geom1) },
    { pos: d.geom_xpos.vec3(p.geom2), mat: d.geom_xmat.mat3(p.geom2), rbound: m.geom_rbound.at(p.geom2) },
    p.margin + p.gap,
  );
}

/** Frames that may be read at runtime indices. */
function copied(frames: ReturnType<typeof framesOf>): GeomFrames {
  frames.copy();
  return frames;
}

/** Frames of geoms; those in registers are copied to where a runtime index can read them, before it does. */
export function framesOf(m: ModelView, d: WorldData): GeomFrames & { copy(): void } {
  const from = { pos: d.geom_xpos, mat: d.geom_xmat };
  let readable = from;
  const copy = () => {
    if (readable === from) readable = { pos: indexed(from.pos), mat: indexed(from.mat) };
  };
  const of = (g: Int) => (isNode(g) ? readable : from);
  return { pos: (g) => of(g).pos.vec3(g), mat: (g) => of(g).mat.mat3(g), copy };
}

/** Tests the pairs of one collider that come near in a runtime loop: the reach of each is tested in line first. */
function testLater(
  m: ModelView,
  d: WorldData,
  frames: GeomFrames,
  pairs: readonly GeomPair[],
  members: readonly number[],
  name: PairKind,
  firstSlot: readonly number[],
  { of, shape }: PairColliders,
  keep: (pair: { margin: Scalar; gap: Scalar }, slot: Int, c: Candidate) => void,
): void {
  const column = (label: string, of: (k: number) => number, type: "f32" | "i32") =>
    table(`${name}_${label}`, members.map(of), type);
  const geom1 = column("geom1", (k) => pairs[k].geom1, "i32");
  const geom2 = column("geom2", (k) => pairs[k].geom2, "i32");
  const slot = column("slot", (k) => firstSlot[k], "i32");
  const margin = column("margin", (k) => pairs[k].margin, "f32");
  const gap = column("gap", (k) => pairs[k].gap, "f32");

  // one collider serves all words of the bit set: its code is long
  const count = Math.ceil(members.length / 32);
  const words = array(`${name}_near`, count, "u32");
  for (let w = 0; w < count; w++) {
    let bits: Int = 0;
    members.slice(32 * w, 32 * w + 32).forEach((k, i) => {
      bits = bor(bits, select(nearPair(m, d, pairs[k]), (1 << i) >>> 0, 0, "u32"));
    });
    words.set(w, bits);
  }
  // a short collider costs no more than the boxes
  if (of(name).long) {
    const isApart = boxTest(m, frames, pairs);
    eachOf(words, members.length, "boxes", (i) =>
      when(isApart(geom1(i), geom2(i), add(margin(i), gap(i))), () => clear(words, i)),
    );
  }
  eachOf(words, members.length, "near", (i) => {
    const params = { margin: margin(i), gap: gap(i) };
    of(name).collide(shape(geom1(i)), shape(geom2(i)), add(params.margin, params.gap), (found, before) =>
      eachFound(found, (c, k) => keep(params, add(slot(i), add(before, k)), c)),
    );
  });
}

interface Detected {
  pairs: readonly GeomPair[];
  pairOf: readonly number[];
  nslot: number;
  nconmax: number;
  dist: SlotField;
  pos: SlotField[];
  normal: SlotField[];
  tangent: SlotField[] | undefined;
  words: { get(): Int; set(v: Int): void }[];
}

/** The active slots in ascending order, as a list that runtime loops walk. */
function activeList(m: ModelView, f: Detected): ContactSlots {
  const { nslot, nconmax, words } = f;
  const count = variable("contacts", 0, "i32");
  const overflow = variable("overflow", 0, "i32");
  const list = array("con_slot", Math.max(1, Math.min(nslot, nconmax)), "i32");
  words.forEach((w, k) => {
    loop(32, () => {
      const bits = w.get();
      breakIf(eq(bits, 0));
      const n = count.get();
      const take = () => {
        list.set(n, add(firstTrailingBit(bits), 32 * k));
        count.set(add(n, 1));
      };
      if (nslot <= nconmax) take();
      else when(lt(n, nconmax), take, () => overflow.set(add(overflow.get(), 1)));
      w.set(band(bits, sub(bits, 1)));
    });
  });
  const at = (fields: SlotField[], slot: Int) => fields.map((x) => x.get(slot)) as unknown as Vec3;
  const total = nslot ? count.get() : 0;
  const dropped = nslot > nconmax ? overflow.get() : 0;
  return {
    pairs: f.pairs,
    table: (name, of, type) =>
      slotValues(
        name,
        f.pairOf.map((k) => of(f.pairs[k])),
        type,
      ),
    nslot,
    nconmax: Math.min(nslot, nconmax),
    ncon: add(total, dropped),
    count: total,
    overflow: dropped === 0 ? false : ne(dropped, 0),
    dist: (s) => f.dist.get(s),
    pos: (s) => at(f.pos, s),
    frame: (s) => makeFrame(at(f.normal, s), f.tangent && at(f.tangent, s)),
    each: (body) => {
      if (nslot === 0) return;
      loop(total, (i) => body(i, list.get(i)), { label: "contacts" });
    },
  };
}
