// contacts in fixed slots: every candidate of a pair has a place of its own, in whatever order pairs are tested
import { array, breakIf, increase, loop, variable, when } from "../../trace/control.ts";
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
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import type { Vec3 } from "../../trace/vector.ts";
import type { GeomPairs } from "../../model/pairs.ts";
import { defaultTangent, makeFrame, type Candidate } from "./colliders/index.ts";
import { SlotField, slotValues, type ContactSlots, type ContactStore } from "./contact-slots.ts";
import { eachFound } from "./pair-colliders.ts";

/** The first slot of each pair. */
export const firstSlots = (pairs: GeomPairs): number[] => {
  let next = 0;
  return pairs.map(({ ncon }) => (next += ncon) - ncon);
};

/** Slots for all candidates of the pairs; `leans` if some collider chooses the tangent of its frames. */
export function fixedSlots(pairs: GeomPairs, nconmax: number, leans: boolean): ContactStore {
  const pairOf = pairs.flatMap(({ ncon }, k) => Array<number>(ncon).fill(k));
  const nslot = pairOf.length;
  const dist = new SlotField("con_dist", nslot);
  const pos = [0, 1, 2].map((c) => new SlotField(`con_pos${c}`, nslot));
  const normal = [0, 1, 2].map((c) => new SlotField(`con_normal${c}`, nslot));
  const tangent = [0, 1, 2].map((c) => new SlotField(`con_tangent${c}`, nslot));
  const words = Array.from({ length: Math.ceil(nslot / 32) }, (_, w) => variable(`active${w}`, 0, "u32"));

  /** Keeps a candidate in its slot, known when the kernel is traced or only at run time. */
  const keep = (pair: { margin: Scalar; gap: Scalar }, slot: Int, c: Candidate) => {
    const place = () => {
      dist.set(slot, c.dist);
      c.pos.forEach((x, k) => pos[k].set(slot, x));
      c.normal.forEach((x, k) => normal[k].set(slot, x));
      if (leans) (c.tangent ?? defaultTangent(c.normal)).forEach((x, k) => tangent[k].set(slot, x));
    };
    // in the gap contacts are kept without a force
    const active = and(c.exists, lt(c.dist, add(pair.margin, pair.gap)));
    if (isNode(slot)) {
      // most candidates are none, and a runtime index is dear
      when(active, place);
      const bit = shl(1, band(toU32(slot), 31));
      words.forEach((w, k) => {
        const here = words.length === 1 ? active : and(active, eq(div(slot, 32), k));
        w.set(bor(w.get(), select(here, bit, 0, "u32")));
      });
    } else {
      place();
      const w = words[slot >> 5];
      w.set(bor(w.get(), select(active, (1 << (slot & 31)) >>> 0, 0, "u32")));
    }
  };

  return {
    pair: (pair, collide) =>
      collide((found, before) => eachFound(found, (c, i) => keep(pair, add(add(i, before), pair.place), c))),
    contacts: () =>
      activeList({ pairs, pairOf, nslot, nconmax, dist, pos, normal, tangent: leans ? tangent : undefined, words }),
  };
}

interface Detected {
  pairs: GeomPairs;
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
function activeList(f: Detected): ContactSlots {
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
      else when(lt(n, nconmax), take, () => increase(overflow, 1));
      w.set(band(bits, sub(bits, 1)));
    });
  });
  const at = (fields: SlotField[], slot: Int) => fields.map((x) => x.get(slot)) as unknown as Vec3;
  const total = nslot ? count.get() : 0;
  const dropped = nslot > nconmax ? overflow.get() : 0;
  const { pairs } = f;
  const table = (name: string, of: (pair: number) => Scalar, type?: "f32" | "i32") =>
    slotValues(name, f.pairOf.map(of), type);
  return {
    pairs,
    table,
    column: (name, values) => table(name, (k) => values[k]),
    ofKind: (name, of, type) => table(name, (k) => of(pairs.kinds[pairs.kind[k]], pairs.kind[k]), type),
    ofGeom: (name, end, of, type) => table(name, (k) => of(pairs[end][k]), type),
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
