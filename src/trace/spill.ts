// values that are put aside into private memory where more of them live at once than a lane of a GPU has registers for
import { firstFour } from "./cells.ts";
import { load4, type Four } from "./control.ts";
import { current, impure, pure, type Trace } from "./graph.ts";
import { analyse, type Liveness } from "./liveness.ts";
import {
  TraceNode,
  type ArrayRef,
  type Block,
  type BufferRef,
  type Operand,
  type Statement,
  type VarRef,
} from "./nodes.ts";
import type { Type } from "./operations.ts";
import { indexedAtRunTime } from "./private-memory.ts";
import { placesOf, type Access, type Place, type Places, type Span } from "./places.ts";
import { recordAnew, Retrace } from "./retrace.ts";
import { add, mul, toI32, type Int } from "./scalar.ts";

/** Statements for which a value that was read stays in a register. */
const NEAR = 24;
/** AMD's compiler keeps an array of up to 256 bytes in registers, and reaches it by ladders of selects. */
const LEAST = 65;
/** How much more an access in a loop costs than one outside. */
const LOOP = 8;

/**
 * A trace in which at most about `most` values live at once: others lie in private memory from where they are made to
 * where they are used, those that are used least, and least deep in loops, for their time. What `reread` says is read
 * again from its buffer instead. Operations and their order are those of the trace.
 */
export function spilled(whole: Trace, most: number, reread: (buffer: BufferRef) => boolean): Trace {
  const live = analyse(whole);
  const places = placesOf(whole, live);
  const stays = unchanged(places, live, reread);
  const isCell = (place: Place): boolean => place instanceof TraceNode && place.op === "component" && stays(place);
  const inRegisters = registerArrays(whole, live);
  const words = inRegisters.reduce((sum, { length }) => sum + length, 0);
  const chosen = choose(places, most, isCell, words);
  if (!chosen) return whole;
  return recordAnew(whole, () => new Spiller(whole, live, places, chosen, isCell, new Set(inRegisters)).build());
}

/** Whether a component of a load has its last use before its place in the buffer may be another value's. */
function unchanged(
  { numbers, accesses }: Places,
  live: Liveness,
  reread: (buffer: BufferRef) => boolean,
): (component: TraceNode) => boolean {
  const first = new Map<number | undefined, number>();
  for (const [s, at] of numbers) {
    if (s.kind !== "store" || !reread(s.target)) continue;
    const place = offsetOf(live.resolve(s.index));
    first.set(place, Math.min(at, first.get(place) ?? at));
  }
  return (component) => {
    const { source, args } = component.args[0] as TraceNode;
    const place = offsetOf(live.resolve(args[0]));
    if (!reread(source as BufferRef) || place === undefined || first.has(undefined)) return false;
    const overwritten = first.get(place) ?? Infinity;
    return accesses.get(component)!.every(({ at }) => at <= overwritten);
  };
}

/** What a constant adds to the first index of a world; undefined for an index of another form. */
function offsetOf(index: Operand): number | undefined {
  if (!(index instanceof TraceNode) || index.op !== "add") return undefined;
  const [a, b] = index.args;
  if (typeof b === "number") return b;
  // the first index itself
  return a instanceof TraceNode && a.op === "mul" ? 0 : undefined;
}

/** Accesses between which a value that lies in memory stays in a register, as spans. */
function staysOf(accesses: readonly Access[]): Span[] {
  const spans: Span[] = [];
  let block: Block | undefined;
  for (const access of accesses) {
    const last = spans.at(-1);
    if (last && block === access.block && access.at - last.end <= NEAR) last.end = access.at;
    else spans.push({ start: access.at, end: access.at });
    ({ block } = access);
  }
  return spans;
}

/** Private arrays that only constants index: compilers keep them in registers. */
function registerArrays(trace: Trace, live: Liveness): ArrayRef[] {
  const { arrays: indexed } = indexedAtRunTime(trace, live);
  return trace.arrays.filter(({ id, kept }) => !kept && live.liveArrays.has(id) && !indexed.has(id));
}

/**
 * What is put aside so that no more than `most` live at once, as far as that can be; undefined if no more do, with
 * `others` beside them.
 */
function choose(
  places: Places,
  most: number,
  isCell: (place: Place) => boolean,
  others: number,
): ReadonlySet<Place> | undefined {
  const { accesses, length } = places;
  const pressure = new Int32Array(length + 2);
  const change = (spans: readonly Span[], by: number) => {
    for (const { start, end } of spans) for (let at = start; at <= end; at++) pressure[at] += by;
  };
  interface Candidate {
    readonly place: Place;
    readonly spans: readonly Span[];
    readonly stays: readonly Span[];
    readonly cost: number;
  }
  let candidates: Candidate[] = [];
  for (const [place, all] of accesses) {
    const spans = places.spans(place);
    change(spans, 1);
    const own = staysOf(all);
    // what is read again from a buffer is not written
    const paid = isCell(place) ? own.slice(1) : own;
    const cost = paid.reduce((sum, { start }) => sum + LOOP ** all.find(({ at }) => at === start)!.loops.length, 0);
    candidates.push({ place, spans, stays: own, cost: Math.max(cost, 1) });
  }
  const chosen = new Set<Place>();
  const over = new Int32Array(length + 3);
  for (;;) {
    let peak = 0;
    for (let at = 0; at <= length + 1; at++) {
      over[at + 1] = over[at] + (pressure[at] > most ? 1 : 0);
      peak = Math.max(peak, pressure[at]);
    }
    if (chosen.size === 0 && peak + others <= most) return undefined;
    if (peak <= most) return chosen;
    const overIn = (spans: readonly Span[]) => spans.reduce((n, s) => n + over[s.end + 1] - over[s.start], 0);
    const worth = candidates
      .map((c) => ({ c, freed: overIn(c.spans) - overIn(c.stays) }))
      .filter(({ freed }) => freed > 0)
      .map(({ c, freed }) => ({ c, ratio: freed / c.cost }))
      .sort((a, b) => b.ratio - a.ratio || idOf(a.c.place) - idOf(b.c.place));
    if (worth.length === 0) return chosen;
    const taken = new Set(worth.slice(0, Math.ceil((peak - most) / 4)).map(({ c }) => c));
    for (const c of taken) {
      chosen.add(c.place);
      change(c.spans, -1);
      change(c.stays, 1);
    }
    candidates = candidates.filter((c) => !taken.has(c));
  }
}

const idOf = (place: Place): number => place.id + (place instanceof TraceNode ? 0.5 : 0);

/** An index that compilers do not know: they would keep what is put aside in registers after all. */
const hidden = (index: Operand): Operand => pure("hide", "i32", [index]);

/** A value in a register for a while. */
interface Held {
  readonly value: Operand;
  readonly block: Block;
  at: number;
}

class Spiller extends Retrace {
  readonly #whole: Trace;
  readonly #places: Places;
  readonly #chosen: ReadonlySet<Place>;
  readonly #isCell: (place: Place) => boolean;
  readonly #inRegisters: ReadonlySet<ArrayRef>;
  readonly #memory = new Map<Type, ArrayRef>();
  readonly #slots = new Map<Place, number>();
  readonly #held = new Map<TraceNode, Held>();
  readonly #fours = new Map<TraceNode, { readonly four: Four; readonly block: Block; at: number }>();
  readonly #bases = new Map<number, Held>();
  readonly #turns: TraceNode[] = [];
  #now = 0;
  #reads = 0;

  constructor(
    whole: Trace,
    live: Liveness,
    places: Places,
    chosen: ReadonlySet<Place>,
    isCell: (place: Place) => boolean,
    inRegisters: ReadonlySet<ArrayRef>,
  ) {
    super(live);
    this.#inRegisters = inRegisters;
    this.#whole = whole;
    this.#places = places;
    this.#chosen = chosen;
    this.#isCell = isCell;
  }

  build(): void {
    const lengths = new Map<Type, number>();
    for (const place of this.#chosen) {
      if (this.#isCell(place)) continue;
      const slot = lengths.get(place.type) ?? 0;
      this.#slots.set(place, slot);
      lengths.set(place.type, slot + 1);
    }
    const { arrays } = current();
    for (const [type, length] of lengths) {
      const ref: ArrayRef = {
        kind: "array",
        id: arrays.length,
        name: "spilled",
        type,
        length: Math.max(length, LEAST),
      };
      arrays.push(ref);
      this.#memory.set(type, ref);
    }
    this.block(this.#whole.root);
  }

  protected override statement(s: Statement): void {
    const number = this.#places.numbers.get(s);
    if (number !== undefined) this.#now = number;
    super.statement(s);
  }

  /** Where a value lies, if it was put aside. */
  #placeOf(node: TraceNode): Place | undefined {
    const place = this.#places.holder.get(node) ?? node;
    return this.#chosen.has(place) ? place : undefined;
  }

  protected override define(node: TraceNode): void {
    const place = this.#placeOf(node);
    const source = node.op === "load" ? (node.source as VarRef) : undefined;
    if (!place) {
      if (source && this.#slots.has(source)) this.made.set(node, this.#read(source));
      else this.make(node);
      return;
    }
    // what lies somewhere is read where it is used
    if (this.#isCell(place) || place === source) return;
    const value = source && this.#slots.has(source) ? this.#read(source) : this.make(node);
    this.#held.set(node, { value, block: current().block, at: this.#now + 1 });
    if (place === node) this.#put(place, value);
  }

  protected override set(target: VarRef, value: Operand): void {
    if (this.#slots.has(target)) this.#put(target, value);
    else super.set(target, value);
  }

  protected override put(target: ArrayRef, index: Operand, value: Operand): void {
    super.put(target, this.#inRegisters.has(target) ? hidden(index) : index, value);
  }

  protected override operand(a: Operand): Operand {
    const node = this.live.resolve(a);
    const place = node instanceof TraceNode ? this.#placeOf(node) : undefined;
    if (!place) return super.operand(a);
    const { block } = current();
    const held = this.#held.get(node as TraceNode);
    if (held && held.block === block && this.#now - held.at <= NEAR) {
      held.at = this.#now;
      return held.value;
    }
    const value = this.#isCell(place) ? this.#readCell(place as TraceNode) : this.#read(place);
    this.#held.set(node as TraceNode, { value, block, at: this.#now });
    return value;
  }

  #read(place: Place): Operand {
    return impure("at", place.type, [this.#slots.get(place)!], this.#memory.get(place.type));
  }

  #put(place: Place, value: Operand): void {
    const index = hidden(this.#slots.get(place)!);
    this.push({ kind: "put", target: this.#memory.get(place.type)!, index, value });
  }

  protected override turn(s: Extract<Statement, { kind: "loop" }>, index: TraceNode): void {
    this.#turns.push(index);
    super.turn(s, index);
    this.#turns.pop();
  }

  /**
   * What constants index of an array in a buffer is read at an index that compilers do not know: they would make all such
   * reads before a loop, four neighbours at once, and keep them.
   */
  protected override make(node: TraceNode): Operand {
    const { kept } = (node.op === "at" ? node.source : {}) as ArrayRef;
    const index = this.live.resolve(node.args[0]);
    if (!kept || typeof index !== "number") return super.make(node);
    const { buffer, first, tile, stride } = kept;
    const kind = node.type === "f32" ? "f32" : "u32";
    const at = add(this.#base(tile, stride), (first + (index >> 2)) * tile);
    const word = load4(buffer.name, at, kind)[index & 3];
    const value = node.type === "i32" ? toI32(word) : word;
    this.made.set(node, value);
    return value;
  }

  /** The first index of this world, of which compilers do not know that it is the same elsewhere and in each turn of a loop. */
  #base(tile: number, stride: number): Int {
    const { block } = current();
    const known = this.#bases.get(stride);
    if (known && known.block === block && this.#now - known.at <= NEAR) return known.value as Int;
    const value = add(firstFour({ tile, stride }), mul(hidden(0) as Int, add(this.#turns.at(-1) ?? 0, ++this.#reads)));
    this.#bases.set(stride, { value, block, at: this.#now });
    return value;
  }

  /** The same again, at an index of which compilers do not know that it is the same. */
  #readCell(node: TraceNode): Operand {
    const [source, component] = node.args as [TraceNode, number];
    const { block } = current();
    const known = this.#fours.get(source);
    if (known && known.block === block && this.#now - known.at <= NEAR) return known.four[component];
    const turn = add(this.#turns.at(-1) ?? 0, ++this.#reads);
    const index = add(this.operand(source.args[0]) as Int, mul(pure("hide", "i32", [0]), turn));
    const four = load4((source.source as BufferRef).name, index, source.type as "f32" | "u32");
    this.#fours.set(source, { four, block, at: this.#now });
    return four[component];
  }
}
