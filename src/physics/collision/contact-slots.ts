// contact slots: every contact that a pair of geoms may make has a fixed place
import { array, table, type LocalArray } from "../../trace/control.ts";
import { isNode, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import { current } from "../../trace/graph.ts";
import type { Block } from "../../trace/nodes.ts";
import type { Mat3, Vec3 } from "../../trace/vector.ts";
import type { GeomPairs, PairNumbers } from "../../model/pairs.ts";
import type { Found } from "./pair-colliders.ts";

/** Contacts of a world: candidates in fixed slots, the active ones as a list of slots in MuJoCo's order. */
export interface ContactSlots {
  readonly pairs: GeomPairs;
  /** A number of the pair that a slot belongs to, by its place among all. */
  table(name: string, of: (pair: number) => Scalar, type?: "f32" | "i32"): (slot: Int) => Scalar;
  /** The same of numbers in a list over the pairs. */
  column(name: string, values: Float64Array): (slot: Int) => Scalar;
  /** The same of a number that the pair's kind decides, by its place in `kinds`, or one of its geoms: they are fewer than pairs. */
  ofKind(name: string, of: (kind: PairNumbers, place: number) => Scalar, type?: "f32" | "i32"): (slot: Int) => Scalar;
  ofGeom(
    name: string,
    end: "geom1" | "geom2",
    of: (geom: number) => Scalar,
    type?: "f32" | "i32",
  ): (slot: Int) => Scalar;
  readonly nslot: number;
  readonly nconmax: number;
  /** Contacts nearer than margin + gap (mjData.ncon). */
  readonly ncon: Int;
  /** Those of them that are kept, at most nconmax. */
  readonly count: Int;
  /** Whether there are more than nconmax. */
  readonly overflow: Bool;
  dist(slot: Int): Scalar;
  pos(slot: Int): Vec3;
  frame(slot: Int): Mat3;
  /** Where a geom is that has a contact, by an index known only at run time: where frames can be read so. */
  readonly geomPos?: (geom: Int) => Vec3;
  /** Runs `body` for each contact that is kept, in a runtime loop. */
  each(body: (index: Int, slot: Int) => void): void;
}

/** A pair of geoms, known when the kernel is traced or only at run time. */
export interface PairAt {
  /** Its first slot, or its index, as the store asks. */
  readonly place: Int;
  readonly geom1: Int;
  readonly geom2: Int;
  readonly margin: Scalar;
  readonly gap: Scalar;
}

/** Takes what a collider found: `before` candidates of the pair came earlier, in a runtime loop if it `streams`. */
export type Take = (found: Found, before: Int, streams: boolean) => void;

/** Where the contacts of a world are kept. */
export interface ContactStore {
  /** Keeps the contacts of one pair: `collide` runs what finds them, and gives it to `take`. */
  pair(pair: PairAt, collide: (take: Take) => void): void;
  /** All that were kept, in MuJoCo's order. */
  contacts(): ContactSlots;
}

/** A quantity of each slot: written where a pair is tested, read at a slot index known only at run time. */
export class SlotField {
  readonly #values: LocalArray;
  #common: Scalar | undefined;
  #differs = false;

  constructor(name: string, count: number) {
    this.#values = array(name, count);
  }

  set(slot: Int, value: Scalar): void {
    this.#values.set(slot, value);
    if (this.#common === undefined) this.#common = value;
    else if (this.#common !== value) this.#differs = true;
  }

  /** The value at a slot; one that all slots share needs no memory. */
  get(slot: Int): Scalar {
    const common = this.#common;
    if (!this.#differs && common !== undefined && visible(common)) return common;
    return this.#values.get(slot);
  }
}

/** Whether a value was computed in a block that encloses the current one. */
function visible(value: Scalar): boolean {
  if (!isNode(value)) return true;
  for (let b: Block | undefined = current().block; b; b = b.parent) if (b === value.block) return true;
  return false;
}

/** A number of each slot, that some worlds may have their own of. */
export function slotValues(
  name: string,
  values: readonly Scalar[],
  type: "f32" | "i32" = "f32",
): (slot: Int) => Scalar {
  if (values.every((v): v is number => !isNode(v))) return slotTable(name, values, type);
  const field = new SlotField(name, values.length);
  values.forEach((v, slot) => field.set(slot, v));
  return (slot) => field.get(slot);
}

/** A constant of each slot. */
function slotTable(name: string, values: readonly number[], type: "f32" | "i32" = "f32"): (slot: Int) => Scalar {
  if (values.length === 0) return () => 0;
  const at = table(name, values, type);
  const same = values.every((v) => v === values[0]);
  return same ? () => values[0] : at;
}
