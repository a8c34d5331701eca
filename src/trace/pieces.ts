// the pieces of a kernel that is cut, each a trace of its own, and the cells that hold what passes between them
import { breakIf, load4, loop, store4, when, world, type Four } from "./control.ts";
import { crossingOf, type Crossing, type Loop, type Segment, type Turn } from "./cut.ts";
import { current, impure, pure, trace, type Trace } from "./graph.ts";
import { TraceNode, type ArrayRef, type Operand, type Source, type Statement, type VarRef } from "./nodes.ts";
import type { Type } from "./operations.ts";
import { add, div, lt, mul, ne, not, select, sub, toI32, toU32, type Bool, type Int } from "./scalar.ts";

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
 * Operations and their order are those of the trace. Undefined if there is no such stage.
 */
export function cutTrace(whole: Trace, marks: ReadonlySet<string>, tile: number): CutTrace | undefined {
  const crossing = crossingOf(whole, marks);
  if (!crossing) return undefined;
  const build = (stride: number) => {
    const cells = new Cells(tile, stride);
    const pieces = crossing.segments.map((segment, at) => ({
      name: segment.name,
      trace: new PieceBuilder(whole, crossing, cells, at).build(),
    }));
    return { pieces, fours: cells.count };
  };
  // addresses depend on how many fours there are
  const { fours } = build(0);
  return { ...build(fours), turns: crossing.turns };
}

/** Which cells hold what. Fours are of floats, or of words for all else. */
class Cells {
  readonly tile: number;
  readonly stride: number;
  count = 0;
  readonly values = new Map<TraceNode | VarRef, { readonly four: number; readonly at: number }>();
  readonly controls = new Map<Loop, number>();
  readonly arrays = new Map<ArrayRef, number>();

  constructor(tile: number, stride: number) {
    this.tile = tile;
    this.stride = stride;
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

class PieceBuilder {
  readonly #whole: Trace;
  readonly #crossing: Crossing;
  readonly #cells: Cells;
  readonly #at: number;
  readonly #segment: Segment;
  /** Nodes of the whole by those of the piece. */
  readonly #made = new Map<TraceNode, Operand>();
  readonly #fours = new Map<number, Four>();
  readonly #vars = new Map<VarRef, VarRef>();
  readonly #arrays = new Map<ArrayRef, ArrayRef>();
  /** Values that are to be stored, once there are four. */
  readonly #pending = { f32: [] as TraceNode[], u32: [] as TraceNode[] };

  constructor(whole: Trace, crossing: Crossing, cells: Cells, at: number) {
    this.#whole = whole;
    this.#crossing = crossing;
    this.#cells = cells;
    this.#at = at;
    this.#segment = crossing.segments[at];
  }

  build(): Trace {
    const { unroll, exact, params } = this.#whole;
    const { loops } = this.#segment;
    const { segments, arrays } = this.#crossing;
    return trace(
      () => {
        current().buffer(CELLS, "read_write");
        if (this.#at === 0) {
          for (const { enters } of segments) if (enters) this.#control(enters, 0, false);
          // private arrays are zero at the start of a kernel
          for (const array of arrays) this.#zero(array);
        }
        const inner = loops.at(-1);
        if (inner) when(this.#isRunning(inner), () => this.#body());
        else this.#body();
      },
      { unroll, exact, params: params.map(({ name, type }) => ({ name, type })) },
    );
  }

  #body(): void {
    const { loads, stores } = this.#crossing;
    for (const ref of loads[this.#at]) {
      current().block.statements.push({ kind: "set", target: this.#var(ref), value: this.#read(ref) });
    }
    this.#top(this.#segment.statements);
    this.#storeVariables([...stores[this.#at]]);
  }

  /** Statements of the segment; what follows a break of a loop of the host runs if it has not ended. */
  #top(statements: readonly Statement[]): void {
    const { loops, advances, enters } = this.#segment;
    for (const [i, s] of statements.entries()) {
      if (s.kind === "break") {
        this.#flush();
        const cond = this.#operand(s.cond) as Bool;
        const loop = loops.at(-1)!;
        when(cond, () => this.#control(loop, this.#operand(loop.index) as Int, false));
        when(not(cond), () => {
          this.#top(statements.slice(i + 1));
          this.#flush();
        });
        return;
      }
      this.#statement(s);
    }
    this.#flush();
    const bound = (l: Loop) => this.#operand(l.bound) as Int;
    if (enters) {
      const start = this.#operand(enters.start) as Int;
      this.#control(enters, start, lt(start, bound(enters)));
    }
    if (advances) {
      const next = add(this.#operand(advances.index) as Int, 1);
      this.#control(advances, next, lt(next, bound(advances)));
    }
  }

  #statement(s: Statement): void {
    const { live, nodes, isFree } = this.#crossing;
    if (s.kind === "stage") return void current().block.statements.push(s);
    if (!live.isLive(s)) return;
    switch (s.kind) {
      case "let": {
        const { node } = s;
        if (live.resolve(node) !== node || isFree(node)) return;
        this.#make(node);
        if (nodes.has(node)) this.#keep(node);
        return;
      }
      case "set": {
        const value = this.#operand(s.value);
        return void current().block.statements.push({ kind: "set", target: this.#var(s.target), value });
      }
      case "put": {
        const [index, value] = [this.#operand(s.index), this.#operand(s.value)];
        return void current().block.statements.push({ kind: "put", target: this.#array(s.target), index, value });
      }
      case "store": {
        const target = current().buffer(s.target.name, s.target.access);
        const [index, values] = [this.#operand(s.index), s.values.map((v) => this.#operand(v))];
        return void current().block.statements.push({ kind: "store", target, index, values, type: s.type });
      }
      case "when": {
        const each = (block: { statements: readonly Statement[] }) => () =>
          block.statements.forEach((inner) => this.#statement(inner));
        return when(this.#operand(s.cond) as Bool, each(s.then), each(s.otherwise));
      }
      case "loop":
        return loop(
          this.#operand(s.bound) as Int,
          (index) => {
            this.#made.set(s.index, index);
            s.block.statements.forEach((inner) => this.#statement(inner));
          },
          { start: this.#operand(s.start) as Int, label: s.label },
        );
      case "break":
        return breakIf(this.#operand(s.cond) as Bool);
    }
  }

  #operand(a: Operand): Operand {
    const value = this.#crossing.live.resolve(a);
    if (!(value instanceof TraceNode)) return value;
    const made = this.#made.get(value);
    if (made !== undefined && !(made instanceof TraceNode && made.block.ended)) return made;
    const { loops } = this.#segment;
    const counted = loops.find(({ index }) => index === value);
    const found = counted
      ? toI32(this.#four(this.#controlOf(counted), "u32")[0])
      : this.#crossing.isFree(value)
        ? this.#make(value)
        : this.#read(value);
    this.#made.set(value, found);
    return found;
  }

  #make(node: TraceNode): Operand {
    const args = node.args.map((a) => this.#operand(a));
    const source = this.#source(node.source);
    const isPure = node.op !== "load" && node.op !== "at" && node.op !== "load4";
    const made = (isPure ? pure : impure)(node.op, node.type, args, source);
    made.name ??= node.name;
    this.#made.set(node, made);
    return made;
  }

  #source(source: Source | undefined): Source | undefined {
    if (!source) return undefined;
    switch (source.kind) {
      case "var":
        return this.#var(source);
      case "array":
        return this.#array(source);
      case "table":
        return current().table(source.type, source.name, source.values);
      case "buffer":
        return current().buffer(source.name, source.access);
      case "param":
        return current().param(source.name, source.type);
    }
  }

  #var(ref: VarRef): VarRef {
    let own = this.#vars.get(ref);
    if (!own) {
      const t = current();
      own = { kind: "var", id: t.vars.length, name: ref.name, type: ref.type, block: t.root };
      t.vars.push(own);
      this.#vars.set(ref, own);
    }
    return own;
  }

  #array(ref: ArrayRef): ArrayRef {
    let own = this.#arrays.get(ref);
    if (!own) {
      const t = current();
      const { name, type, length } = ref;
      const { tile, stride } = this.#cells;
      const place = this.#crossing.arrays.includes(ref)
        ? { kept: { buffer: t.buffer(CELLS, "read_write"), tile, stride, first: this.#arrayAt(ref) } }
        : {};
      own = { kind: "array", id: t.arrays.length, name, type, length, ...place };
      t.arrays.push(own);
      this.#arrays.set(ref, own);
    }
    return own;
  }

  #arrayAt(ref: ArrayRef): number {
    const { arrays } = this.#cells;
    let first = arrays.get(ref);
    if (first === undefined) arrays.set(ref, (first = this.#cells.take(Math.ceil(ref.length / 4))));
    return first;
  }

  #zero(ref: ArrayRef): void {
    const first = this.#arrayAt(ref);
    loop(Math.ceil(ref.length / 4), (q) => store4(CELLS, this.#index(add(q, first)), [0, 0, 0, 0], "u32"), {
      label: "zeros",
    });
  }

  /** Where a four of this world is. */
  #index(four: Int): Int {
    const { tile, stride } = this.#cells;
    const w = world();
    const at = div(w, tile);
    const base = add(mul(at, stride * tile), sub(w, mul(at, tile)));
    return add(base, mul(four, tile));
  }

  #four(four: number, type: "f32" | "u32"): Four {
    const known = this.#fours.get(four);
    if (known && known.every((x) => !(x instanceof TraceNode && x.block.ended))) return known;
    const read = load4(CELLS, this.#index(four), type);
    this.#fours.set(four, read);
    return read;
  }

  #read(value: TraceNode | VarRef): Operand {
    const cell = this.#cells.values.get(value);
    if (!cell) throw new Error(`${value.name ?? "a value"} is used before its piece`);
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
      if (nodes.length > 0) this.#store(kind, nodes, (node) => this.#made.get(node)!, this.#cells.take(1));
    }
  }

  #store<T extends TraceNode | VarRef>(
    kind: "f32" | "u32",
    values: readonly T[],
    valueOf: (value: T) => Operand,
    four: number,
  ): void {
    values.forEach((value, at) => this.#cells.values.set(value, { four, at }));
    const words = [0, 1, 2, 3].map((i) => (values[i] ? toCell(valueOf(values[i]), values[i].type) : 0));
    store4(CELLS, this.#index(four), words as unknown as Four, kind);
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
    const valueOf = (ref: VarRef) => impure("load", ref.type, [], this.#var(ref));
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
