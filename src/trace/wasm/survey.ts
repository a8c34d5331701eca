// what the emitter knows of a program beforehand: which values all worlds share, which need no local, where each is used last
import type { Trace } from "../graph.ts";
import { operandType, TraceNode, type Block, type Operand, type Statement, type VarRef } from "../nodes.ts";
import { isWithin, operandsOf, type Liveness } from "../liveness.ts";
import { isComputed, type Op } from "../operations.ts";
import { SCALARS } from "./instructions.ts";

/** Expressions are written within one another as deep as this: the emitter recurses over it. */
const MAX_DEPTH = 24;

/** Reads that keep their place in the program. */
const ORDERED: ReadonlySet<Op> = new Set<Op>(["load", "at", "load4", "component", "index", "world"]);

/** Whether a `break` of the loop around a block is in it. */
export const breaks = (block: Block, live: Liveness): boolean =>
  block.statements.some(
    (s) =>
      live.isLive(s) &&
      (s.kind === "break" || (s.kind === "when" && (breaks(s.then, live) || breaks(s.otherwise, live)))),
  );

export const isEmpty = (block: Block, live: Liveness): boolean => !block.statements.some((s) => live.isLive(s));

function commonBlock(a: Block, b: Block): Block {
  if (a === b) return a;
  const around = new Set<Block>();
  for (let at: Block | undefined = a; at; at = at.parent) around.add(at);
  let at = b;
  while (!around.has(at)) at = at.parent!;
  return at;
}

/** Whether a block asks which lane it is, but for loops within it. */
const asksLane = ({ statements }: Block): boolean =>
  statements.some(
    (s) =>
      (s.kind === "let" && s.node.op === "lane") || (s.kind === "when" && (asksLane(s.then) || asksLane(s.otherwise))),
  );

export class Survey {
  readonly #live: Liveness;
  /** By node: an integer or a condition that all worlds share. */
  readonly #uniform: Uint8Array;
  readonly #inlined: Uint8Array;
  readonly #depths: Uint8Array;
  /** By node, the last statement of its block that uses it; -1 if none does. */
  readonly #last: Int32Array;
  /** The statement that each open block is at. */
  readonly #place = new Map<Block, number>();
  /** The parts of a read of four numbers that are used. */
  readonly components = new Map<TraceNode, TraceNode[]>();
  readonly #setFirst = new Map<VarRef, boolean>();
  /** The block around all uses of a value, by node. */
  readonly #around: (Block | undefined)[];
  /** Values by the branch that alone uses them, in program order. */
  readonly #sunk = new Map<Block, TraceNode[]>();
  readonly #blockOf: (Block | undefined)[];
  readonly #forOthers = new Map<Block, boolean>();

  constructor(trace: Trace, live: Liveness) {
    this.#live = live;
    this.#uniform = new Uint8Array(trace.nodes);
    this.#inlined = new Uint8Array(trace.nodes);
    this.#depths = new Uint8Array(trace.nodes);
    this.#last = new Int32Array(trace.nodes).fill(-1);
    this.#around = Array.from({ length: trace.nodes });
    this.#blockOf = Array.from({ length: trace.nodes });
    this.#classify(trace.root);
    this.#sink(trace.root);
    for (const nodes of this.#sunk.values()) nodes.reverse();
    this.#visit(trace.root);
    this.#order(trace.root);
  }

  /** Whether a loop, or one around it, has lanes take items of any world (`pooled.ts`), for which a lane asks which it is. */
  isForOthers(block: Block): boolean {
    let known = this.#forOthers.get(block);
    if (known === undefined) {
      known = (block.isLoop && asksLane(block)) || (block.parent !== undefined && this.isForOthers(block.parent));
      this.#forOthers.set(block, known);
    }
    return known;
  }

  isUniform(a: Operand): boolean {
    const value = this.#live.resolve(a);
    return !(value instanceof TraceNode) || this.#uniform[value.id] === 1;
  }

  /** Whether a value is written where it is used, and has no local. */
  isInlined(node: TraceNode): boolean {
    return this.#inlined[node.id] === 1;
  }

  /** The last statement of its block that uses a value; -1 if none does. */
  lastUse(node: TraceNode): number {
    return this.#last[node.id];
  }

  /** Values that are computed when a branch begins, since it alone uses them. */
  sunkInto(block: Block): readonly TraceNode[] {
    return this.#sunk.get(block) ?? [];
  }

  /** Whether a value is computed elsewhere than where the program says. */
  isSunk(node: TraceNode): boolean {
    return this.#blockOf[node.id] !== undefined;
  }

  #placeOf(node: TraceNode): Block {
    return this.#blockOf[node.id] ?? node.block;
  }

  /** Finds values that only a branch uses: worlds that do not take it then need not compute them. Last statements first. */
  #sink(block: Block): void {
    for (let at = block.statements.length - 1; at >= 0; at--) {
      const s = block.statements[at];
      if (s.kind === "stage" || !this.#live.isLive(s)) continue;
      if (s.kind === "let") {
        this.#sinkValue(s.node, block);
        continue;
      }
      if (s.kind === "when") [s.otherwise, s.then].forEach((b) => this.#sink(b));
      else if (s.kind === "loop") this.#sink(s.block);
      for (const a of operandsOf(s)) this.#usedIn(a, block);
    }
  }

  #sinkValue(node: TraceNode, block: Block): void {
    if (this.#live.resolve(node) !== node) return;
    let to = this.#around[node.id];
    // a loop would compute it again and again
    for (let b = to; b !== undefined && b !== block; b = b.parent!) if (b.isLoop) to = b.parent!;
    if (to !== undefined && to !== block && !ORDERED.has(node.op)) {
      this.#blockOf[node.id] = to;
      const known = this.#sunk.get(to);
      if (known) known.push(node);
      else this.#sunk.set(to, [node]);
    }
    for (const a of node.args) this.#usedIn(a, this.#placeOf(node));
  }

  #usedIn(a: Operand, block: Block): void {
    const node = this.#live.resolve(a);
    if (!(node instanceof TraceNode)) return;
    const before = this.#around[node.id];
    this.#around[node.id] = before === undefined ? block : commonBlock(before, block);
  }

  /** Whether a variable is assigned in its own block before anything reads it: other lanes' values are nothing to it. */
  isSetFirst(ref: VarRef): boolean {
    return this.#setFirst.get(ref) === true;
  }

  #classify(block: Block): void {
    for (const s of block.statements) {
      if (!this.#live.isLive(s)) continue;
      if (s.kind === "let") this.#uniform[s.node.id] = this.#isShared(s.node) ? 1 : 0;
      else if (s.kind === "when") {
        this.#classify(s.then);
        this.#classify(s.otherwise);
      } else if (s.kind === "loop") {
        this.#uniform[s.index.id] = this.isUniform(s.start) ? 1 : 0;
        this.#classify(s.block);
      }
    }
  }

  #isShared(node: TraceNode): boolean {
    const { op, type } = node;
    if (type === "f32") return false;
    if (op === "param") return true;
    const known = op === "table" ? type === "i32" : isComputed(op) && op in SCALARS;
    return known && node.args.every((a, i) => this.isUniform(a) && operandType(node, i) !== "f32");
  }

  #visit(block: Block): void {
    this.#place.set(block, 0);
    for (const node of this.sunkInto(block)) this.#define(node, block);
    block.statements.forEach((s, at) => {
      this.#place.set(block, at);
      if (s.kind !== "stage" && this.#live.isLive(s)) this.#statement(s, block, at);
    });
  }

  #statement(s: Statement, block: Block, at: number): void {
    switch (s.kind) {
      case "let":
        if (!this.isSunk(s.node)) this.#define(s.node, block);
        return;
      case "set":
        if (this.#live.liveVars.has(s.target)) this.#use(s.value);
        return;
      case "put":
        this.#use(s.index);
        return this.#use(s.value);
      case "store":
        this.#use(s.index);
        s.values.forEach((v) => this.#use(v));
        return;
      case "when":
        this.#use(s.cond);
        this.#visit(s.then);
        this.#visit(s.otherwise);
        return;
      case "loop":
        this.#use(s.start);
        this.#visit(s.block);
        // the bound is compared once more after each turn
        this.#place.set(block, at);
        return this.#use(s.bound);
      case "break":
        return this.#use(s.cond);
      case "stage":
    }
  }

  #define(node: TraceNode, block: Block): void {
    const live = this.#live;
    if (live.resolve(node) !== node) return;
    if (node.op === "component") {
      const from = live.resolve(node.args[0]) as TraceNode;
      const known = this.components.get(from);
      if (known) known.push(node);
      else this.components.set(from, [node]);
      return;
    }
    if (!ORDERED.has(node.op)) {
      const depth = 1 + Math.max(0, ...node.args.map((a) => this.#depthOf(a)));
      const once = live.uses(node) === 1 && this.#around[node.id] === block;
      if (depth <= MAX_DEPTH && (once || node.op === "param" || node.op === "hide")) {
        this.#inlined[node.id] = 1;
        this.#depths[node.id] = depth;
        return;
      }
    }
    node.args.forEach((a) => this.#use(a));
  }

  #depthOf(a: Operand): number {
    const value = this.#live.resolve(a);
    return value instanceof TraceNode ? this.#depths[value.id] : 0;
  }

  #use(a: Operand): void {
    const node = this.#live.resolve(a);
    if (!(node instanceof TraceNode)) return;
    if (this.#inlined[node.id]) return node.args.forEach((x) => this.#use(x));
    this.#last[node.id] = Math.max(this.#last[node.id], this.#place.get(this.#placeOf(node))!);
  }

  #order(block: Block): void {
    for (const s of block.statements) {
      if (!this.#live.isLive(s)) continue;
      if (s.kind === "let" && s.node.op === "load" && this.#live.resolve(s.node) === s.node) {
        const ref = s.node.source as VarRef;
        // lanes that had left the block read what they left there
        if (!this.#setFirst.has(ref) || !isWithin(s.node.block, ref.block)) this.#setFirst.set(ref, false);
      } else if (s.kind === "set" && !this.#setFirst.has(s.target)) {
        this.#setFirst.set(s.target, s.target.block === block);
      } else if (s.kind === "when") {
        this.#order(s.then);
        this.#order(s.otherwise);
      } else if (s.kind === "loop") this.#order(s.block);
    }
  }
}
