// the pieces of a kernel that is cut, each a trace of its own, and the cells that hold what passes between them
import { arraysBeyond, foursAway, moveAway, type PrivateRoom } from "./away.ts";
import { cellWords, clearFours, firstFour, type CellLayout } from "./cells.ts";
import { load4, store4, when, type Four } from "./control.ts";
import { crossingOf, type Crossing, type Loop, type Segment, type Turn } from "./cut.ts";
import { current, impure, trace, type Trace } from "./graph.ts";
import { TraceNode, type ArrayRef, type Operand, type Statement, type VarRef } from "./nodes.ts";
import type { Type } from "./operations.ts";
import { copies, passage, type Passed } from "./passed-cells.ts";
import { Retrace } from "./retrace.ts";
import {
  add,
  bitcastF32,
  bitcastU32,
  lt,
  mul,
  ne,
  not,
  select,
  toI32,
  toU32,
  type Bool,
  type Int,
  type Scalar,
} from "./scalar.ts";

/** The buffer that holds cells. */
export const CELLS = "cells";

export interface Piece {
  /** The stage that it begins with; "" for the first. */
  readonly name: string;
  readonly trace: Trace;
}

export interface CutTrace {
  readonly pieces: readonly Piece[];
  readonly turns: readonly Turn[];
  /** Fours of words that a world has in `cells`. */
  readonly fours: number;
}

/**
 * Cuts a trace where stages of these names begin, outside branches. `tile`: worlds whose cells lie interleaved in fours.
 * `room`: private memory beyond which a piece has arrays there too, all pieces in one place.
 * `inLoops`: cells are read and written in a loop at the start and the end of a piece rather than where they are used,
 * for drivers that compile each place that touches a buffer slowly (docs/decisions/0134).
 * Operations and their order are those of the trace. Undefined if there is no such stage, or no room wherever arrays lie.
 */
export function cutTrace(
  whole: Trace,
  marks: ReadonlySet<string>,
  tile: number,
  room: PrivateRoom = { bytes: Infinity },
  inLoops = false,
): CutTrace | undefined {
  const crossing = crossingOf(whole, marks);
  if (!crossing) return undefined;
  const build = (stride: number, passed?: readonly Passed[]) => {
    const cells = new Cells({ tile, stride, byWorld: inLoops }, passed);
    const pieces = crossing.segments.map((segment, at) => ({
      name: segment.name,
      trace: new PieceBuilder(whole, crossing, cells, at).build(),
    }));
    const beyond = pieces.map((piece) => arraysBeyond(piece.trace, room));
    const most = Math.max(...beyond.map(({ away }) => foursAway(away)));
    return { pieces, beyond, shared: cells.count, fours: cells.count + most, touched: cells.touched };
  };
  // addresses depend on how many fours there are
  const bare = build(0);
  const passed = inLoops ? bare.touched : undefined;
  const first = build(bare.fours, passed);
  // what is moved in loops takes room of its own, for which more arrays may have to go
  const made = first.fours > bare.fours ? build(first.fours, passed) : first;
  if (room.perAccess !== undefined && made.beyond.some(({ lacking }) => lacking > 0)) return undefined;
  const stride = Math.max(bare.fours, made.fours);
  const region = { buffer: CELLS, tile, stride, first: made.shared, byWorld: inLoops };
  const pieces = made.pieces.map((piece, i) => ({
    ...piece,
    trace: moveAway(piece.trace, made.beyond[i].away, region),
  }));
  return { pieces, fours: stride, turns: crossing.turns };
}

/** Which cells hold what. Fours are of floats, or of words for all else. */
class Cells {
  readonly layout: CellLayout;
  /** What passes in loops, if any does. */
  readonly passed: readonly Passed[] | undefined;
  /** By the number of a piece. */
  readonly touched: { readonly reads: Set<number>; readonly writes: Set<number> }[] = [];
  count = 0;
  readonly values = new Map<TraceNode | VarRef, { readonly four: number; readonly at: number }>();
  readonly controls = new Map<Loop, number>();
  readonly arrays = new Map<ArrayRef, number>();

  constructor(layout: CellLayout, passed?: readonly Passed[]) {
    this.layout = layout;
    this.passed = passed;
  }

  take(fours: number): number {
    this.count += fours;
    return this.count - fours;
  }
}

const classOf = (type: Type): "f32" | "u32" => (type === "f32" ? "f32" : "u32");

/** A value as a word of a cell, and back. */
const toCell = (value: Operand, type: Type): Int => {
  if (type === "bool") return select(value as Bool, 1, 0, "u32");
  return type === "i32" ? toU32(value as Int) : (value as Int);
};
const fromCell = (word: Operand, type: Type): Operand => {
  if (type === "bool") return ne(word as Int, 0);
  return type === "i32" ? toI32(word as Int) : word;
};

class PieceBuilder extends Retrace {
  readonly #whole: Trace;
  readonly #crossing: Crossing;
  readonly #cells: Cells;
  readonly #at: number;
  readonly #segment: Segment;
  readonly #fours = new Map<number, Four>();
  /** Values that are to be stored, once there are four. */
  readonly #pending = { f32: [] as TraceNode[], u32: [] as TraceNode[] };
  /** Where fours pass that are moved in loops. */
  #reads?: ReturnType<typeof passage>;
  #writes?: ReturnType<typeof passage>;
  #copies?: ReturnType<typeof copies>;

  constructor(whole: Trace, crossing: Crossing, cells: Cells, at: number) {
    super(crossing.live);
    this.#whole = whole;
    this.#crossing = crossing;
    this.#cells = cells;
    this.#at = at;
    this.#segment = crossing.segments[at];
    cells.touched.push({ reads: new Set(), writes: new Set() });
  }

  build(): Trace {
    const { unroll, exact, wide, params } = this.#whole;
    const { loops } = this.#segment;
    const { segments, arrays } = this.#crossing;
    return trace(
      () => {
        current().buffer(CELLS, "read_write");
        if (this.#at === 0) {
          for (const { enters } of segments) if (enters) this.#control(enters, 0, false);
          // private arrays are zero at the start of a kernel
          this.#clear(arrays);
        }
        const inner = loops.at(-1);
        if (inner) when(this.#isRunning(inner), () => this.#body());
        else this.#body();
      },
      { unroll, exact: exact && !wide, wide, params: params.map(({ name, type }) => ({ name, type })) },
    );
  }

  /**
   * Zeros of arrays. Where words of worlds lie side by side in one loop, since each compiles slowly there, and not of those
   * that turns of the host's loops alone touch: these depend on nothing that a turn before them has left.
   */
  #clear(arrays: readonly ArrayRef[]): void {
    const { layout } = this.#cells;
    const { segments, uses } = this.#crossing;
    const isOutside = (ref: ArrayRef) =>
      uses.get(ref)!.some(({ reads, writes }, at) => reads + writes > 0 && segments[at].loops.length === 0);
    const cleared = layout.byWorld ? arrays.filter(isOutside) : arrays;
    const firsts = cleared.map((array) => this.#arrayAt(array));
    const fours = cleared.map(({ length }) => Math.ceil(length / 4));
    const all = fours.reduce((sum, n) => sum + n, 0);
    if (layout.byWorld && all > 0) clearFours(CELLS, layout, firsts[0], all);
    else cleared.forEach((_, i) => clearFours(CELLS, layout, firsts[i], fours[i]));
  }

  #body(): void {
    const { loads, stores, arrays, uses } = this.#crossing;
    const { layout, count } = this.#cells;
    if (layout.byWorld && !this.#whole.unroll) {
      const used = arrays.map((ref) => ({ ref, first: this.#arrayAt(ref), uses: uses.get(ref)![this.#at] }));
      this.#copies = copies(used.filter(({ uses: { reads, writes } }) => reads + writes > 0));
    }
    const words = this.#copies && cellWords(CELLS, layout, 0, 4 * count);
    // the first finds zeros
    if (this.#at > 0) this.#copies?.load(words!);
    const passed = this.#cells.passed?.[this.#at];
    if (passed) {
      const reads = (this.#reads = passage("reads", passed.reads));
      reads.each((q, four) => reads.put(q, load4(CELLS, this.#index(four), "u32")));
      this.#writes = passage("writes", passed.writes);
    }
    for (const ref of loads[this.#at]) {
      this.set(ref, this.#read(ref));
    }
    this.#top(this.#segment.statements);
    this.#storeVariables([...stores[this.#at]]);
    const writes = this.#writes;
    writes?.each((q, four) => store4(CELLS, this.#index(four), writes.get(q), "u32"));
    this.#copies?.store(words!);
  }

  /** Statements of the segment; what follows a break of a loop of the host runs if it has not ended. */
  #top(statements: readonly Statement[]): void {
    const { loops, advances, enters } = this.#segment;
    for (const [i, s] of statements.entries()) {
      if (s.kind === "break") {
        this.#flush();
        const cond = this.operand(s.cond) as Bool;
        const loop = loops.at(-1)!;
        when(cond, () => this.#control(loop, this.operand(loop.index) as Int, false));
        when(not(cond), () => {
          this.#top(statements.slice(i + 1));
          this.#flush();
        });
        return;
      }
      this.statement(s);
    }
    this.#flush();
    const bound = (l: Loop) => this.operand(l.bound) as Int;
    if (enters) {
      const start = this.operand(enters.start) as Int;
      this.#control(enters, start, lt(start, bound(enters)));
    }
    if (advances) {
      const next = add(this.operand(advances.index) as Int, 1);
      this.#control(advances, next, lt(next, bound(advances)));
    }
  }

  protected override define(node: TraceNode): void {
    const { nodes, isFree } = this.#crossing;
    if (isFree(node)) return;
    this.make(node);
    if (nodes.has(node)) this.#keep(node);
  }

  protected override missing(value: TraceNode): Operand {
    const counted = this.#segment.loops.find(({ index }) => index === value);
    if (counted) return toI32(this.#four(this.#controlOf(counted), "u32")[0]);
    return this.#crossing.isFree(value) ? this.make(value) : this.#read(value);
  }

  protected override place(ref: ArrayRef): Pick<ArrayRef, "kept"> {
    if (!this.#crossing.arrays.includes(ref)) return {};
    return {
      kept: { buffer: current().buffer(CELLS, "read_write"), ...this.#cells.layout, first: this.#arrayAt(ref) },
    };
  }

  protected override make(node: TraceNode): Operand {
    const offset = node.op === "at" ? this.#copies?.offsets.get(node.source as ArrayRef) : undefined;
    if (offset === undefined) return super.make(node);
    const word = this.#copies!.get(add(this.operand(node.args[0]) as Int, offset));
    const value = node.type === "f32" ? bitcastF32(word) : fromCell(word, node.type);
    if (value instanceof TraceNode) value.name ??= node.name;
    this.made.set(node, value);
    return value;
  }

  protected override put(target: ArrayRef, index: Operand, value: Operand): void {
    const offset = this.#copies?.offsets.get(target);
    if (offset === undefined) return super.put(target, index, value);
    const word = target.type === "f32" ? bitcastU32(value as Scalar) : toCell(value, target.type);
    this.#copies!.put(add(index as Int, offset), word);
  }

  #arrayAt(ref: ArrayRef): number {
    const { arrays } = this.#cells;
    let first = arrays.get(ref);
    if (first === undefined) arrays.set(ref, (first = this.#cells.take(Math.ceil(ref.length / 4))));
    return first;
  }

  /** Where a four of this world is. */
  #index(four: Int): Int {
    return add(firstFour(this.#cells.layout), mul(four, this.#cells.layout.tile));
  }

  #passed(place: number, type: "f32" | "u32"): Four {
    const words = this.#reads!.get(place);
    return type === "f32" ? (words.map(bitcastF32) as unknown as Four) : words;
  }

  #four(four: number, type: "f32" | "u32"): Four {
    const known = this.#fours.get(four);
    if (known && known.every((x) => !(x instanceof TraceNode && x.block.ended))) return known;
    const place = this.#reads?.places.get(four);
    const read = place === undefined ? load4(CELLS, this.#index(four), type) : this.#passed(place, type);
    this.#fours.set(four, read);
    return read;
  }

  #read(value: TraceNode | VarRef): Operand {
    const cell = this.#cells.values.get(value);
    if (!cell) throw new Error(`${value.name ?? "a value"} is used before its piece`);
    this.#cells.touched[this.#at].reads.add(cell.four);
    return fromCell(this.#four(cell.four, classOf(value.type))[cell.at], value.type);
  }

  #keep(node: TraceNode): void {
    const kind = classOf(node.type);
    this.#pending[kind].push(node);
    if (this.#pending[kind].length === 4) this.#flush(kind);
  }

  #flush(...kinds: ("f32" | "u32")[]): void {
    for (const kind of kinds.length > 0 ? kinds : (["f32", "u32"] as const)) {
      const nodes = this.#pending[kind].splice(0);
      if (nodes.length > 0) this.#store(kind, nodes, (node) => this.made.get(node)!, this.#cells.take(1));
    }
  }

  #store<T extends TraceNode | VarRef>(
    kind: "f32" | "u32",
    values: readonly T[],
    valueOf: (value: T) => Operand,
    four: number,
  ): void {
    values.forEach((value, at) => this.#cells.values.set(value, { four, at }));
    const words = [0, 1, 2, 3].map((i) =>
      values[i] ? toCell(valueOf(values[i]), values[i].type) : 0,
    ) as unknown as Four;
    this.#cells.touched[this.#at].writes.add(four);
    const place = this.#writes?.places.get(four);
    if (place === undefined) store4(CELLS, this.#index(four), words, kind);
    else this.#writes!.put(place, kind === "f32" ? (words.map(bitcastU32) as unknown as Four) : words);
  }

  /** Variables that are stored by the same segments share fours. */
  #storeVariables(refs: VarRef[]): void {
    refs.sort((a, b) => a.id - b.id);
    const { stores } = this.#crossing;
    const groups = new Map<string, VarRef[]>();
    for (const ref of refs) {
      const key = `${classOf(ref.type)} ${stores.flatMap((set, at) => (set.has(ref) ? [at] : [])).join(",")}`;
      groups.set(key, [...(groups.get(key) ?? []), ref]);
    }
    const valueOf = (ref: VarRef) => impure("load", ref.type, [], this.variable(ref));
    for (const group of groups.values()) {
      const { values } = this.#cells;
      for (let i = 0; i < group.length; i += 4) {
        const part = group.slice(i, i + 4);
        const four = values.get(part[0])?.four ?? this.#cells.take(1);
        this.#store(classOf(part[0].type), part, valueOf, four);
      }
    }
  }

  #controlOf(of: Loop): number {
    const { controls } = this.#cells;
    let four = controls.get(of);
    if (four === undefined) controls.set(of, (four = this.#cells.take(1)));
    return four;
  }

  #isRunning(of: Loop): Bool {
    return ne(this.#four(this.#controlOf(of), "u32")[1], 0);
  }

  #control(of: Loop, index: Int, isRunning: Bool): void {
    const running = select(isRunning, 1, 0, "u32");
    store4(CELLS, this.#index(this.#controlOf(of)), [toU32(index), running, 0, 0], "u32");
  }
}
