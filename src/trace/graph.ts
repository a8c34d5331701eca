// the traced program: expressions in static single assignment, in blocks with structured control flow
import { otherCopyError } from "../core/copies.ts";
import { CorralError } from "../core/errors.ts";
import { Expressions } from "./expressions.ts";
import { OPERATIONS, READS, isComputed, type Op, type Type } from "./operations.ts";

export type { Op, Type } from "./operations.ts";

/** An expression of the traced program. Values are immutable; program order is the order of creation. */
export class TraceNode {
  readonly id: number;
  readonly op: Op;
  readonly type: Type;
  readonly args: readonly Operand[];
  readonly block: Block;
  /** What a load reads: a variable, an array, a table, a buffer, a parameter. */
  readonly source: Source | undefined;
  /** A readable name for the emitted code, from the first field it was assigned to. */
  name: string | undefined;

  constructor(id: number, op: Op, type: Type, args: readonly Operand[], block: Block, source?: Source) {
    this.id = id;
    this.op = op;
    this.type = type;
    this.args = args;
    this.block = block;
    this.source = source;
  }

  /** JavaScript's own operators know no number here: without this, a comparison would be false throughout. */
  [Symbol.toPrimitive](hint: string): string {
    if (hint === "string") return `${this.op} (${this.type})`;
    throw (
      otherCopyError() ??
      new CorralError(
        "trace-operator",
        "a number of the world is not known while its kernel is made. Instead of JavaScript's operators, Math and ?: write " +
          "add(a, b), mul(a, b), gt(a, b), sin(a), select(condition, a, b), or an expression in quotes.",
      )
    );
  }
}

export type Operand = TraceNode | number | boolean;

/** The type of an operand, which a constant there takes. */
export function operandType(node: TraceNode, i: number): Type {
  const { op } = node;
  const [operands, result] = isComputed(op) ? [OPERATIONS[op].operands, OPERATIONS[op].result] : [READS[op], undefined];
  const declared: Type | "same" = operands[i];
  if (declared !== "same") return declared;
  if (result === "same") return node.type;
  const traced = node.args.find((a) => a instanceof TraceNode);
  return traced instanceof TraceNode ? traced.type : node.type;
}

/** A mutable scalar of the traced program. */
export interface VarRef {
  readonly kind: "var";
  readonly id: number;
  readonly name: string;
  readonly type: Type;
  readonly block: Block;
}

/** A private array of the traced program, indexable at run time. */
export interface ArrayRef {
  readonly kind: "array";
  readonly id: number;
  readonly name: string;
  readonly type: Type;
  readonly length: number;
}

/** Constant data indexable at run time; it lives in one read-only buffer shared by all kernels of a model. */
export interface TableRef {
  readonly kind: "table";
  readonly type: "f32" | "i32";
  readonly name: string;
  readonly offset: number;
  readonly values: readonly number[];
}

/** A buffer of the kernel, addressed in units of four floats. */
export interface BufferRef {
  readonly kind: "buffer";
  readonly name: string;
  readonly access: "read" | "read_write";
}

/** A number that the host may change between dispatches. */
export interface ParamRef {
  readonly kind: "param";
  readonly name: string;
  readonly type: "f32" | "i32" | "u32";
  readonly slot: number;
}

export type Source = VarRef | ArrayRef | TableRef | BufferRef | ParamRef;

export type Statement =
  | { kind: "let"; node: TraceNode }
  | { kind: "set"; target: VarRef; value: Operand }
  | { kind: "put"; target: ArrayRef; index: Operand; value: Operand }
  | {
      kind: "store";
      target: BufferRef;
      index: Operand;
      values: readonly Operand[];
      type: "f32" | "u32";
    }
  | { kind: "when"; cond: TraceNode; then: Block; otherwise: Block }
  | { kind: "loop"; index: TraceNode; start: Operand; bound: Operand; block: Block; label: string }
  | { kind: "break"; cond: Operand }
  | { kind: "stage"; name: string };

/** Elements of an array at indices of the run, as they were last read or written. */
export interface Elements {
  readonly values: Map<TraceNode, Operand>;
  /** Whether the block has written to the array: then blocks around it know nothing of it. */
  readonly written: boolean;
}

/** A straight run of statements; nested blocks belong to `when` and `loop` statements. */
export class Block {
  readonly parent: Block | undefined;
  /** The outermost block of the trace. */
  readonly root: Block;
  readonly statements: Statement[] = [];
  /** Whether all of it is recorded: its values cannot be used any more. */
  ended = false;
  /** Values of variables known here: what was last assigned or loaded. */
  readonly known = new Map<VarRef, Operand>();
  /** Variables assigned in this block or below it. */
  readonly assigned = new Set<VarRef>();
  /** Elements of arrays known here. */
  readonly elements = new Map<ArrayRef, Elements>();
  /** A loop body does not know what a variable held before: a later iteration may have changed it. */
  readonly isLoop: boolean;
  /** Whether it is the body of a loop, or within one. */
  readonly isInLoop: boolean;

  constructor(parent: Block | undefined, isLoop: boolean) {
    this.parent = parent;
    this.root = parent?.root ?? this;
    this.isLoop = isLoop;
    this.isInLoop = isLoop || (parent?.isInLoop ?? false);
  }
}

export interface TraceOptions {
  /** Straight-line code (default) or runtime loops if the program says `each`. */
  unroll?: boolean;
  /** Sines, logarithms and the like by the host's functions, for references in float64. */
  exact?: boolean;
  /** Parameters in slot order, where several kernels share one uniform buffer. */
  params?: readonly { readonly name: string; readonly type: "f32" | "i32" | "u32" }[];
}

/** One traced kernel or function: its top block and everything it refers to. */
export class Trace {
  readonly root = new Block(undefined, false);
  block: Block = this.root;
  readonly expressions = new Expressions();
  readonly vars: VarRef[] = [];
  readonly arrays: ArrayRef[] = [];
  readonly tables: TableRef[] = [];
  readonly buffers: BufferRef[] = [];
  readonly params: ParamRef[] = [];
  /** Whether `each` unrolls (straight-line code) or emits runtime loops over tables. */
  readonly unroll: boolean;
  /** Whether transcendental functions stay calls that only the float64 JavaScript back end can run. */
  readonly exact: boolean;
  nodes = 0;
  /** The loops of the program around this point, innermost last: `each` whether unrolled or not, and `loop`. */
  readonly nest: ("each" | "loop")[] = [];
  #tableKeys = new Map<string, TableRef>();
  #tableSize = { f32: 0, i32: 0 };

  constructor(options: TraceOptions = {}) {
    this.unroll = options.unroll ?? true;
    this.exact = options.exact ?? false;
    for (const { name, type } of options.params ?? []) this.param(name, type);
  }

  table(type: "f32" | "i32", name: string, values: readonly number[]): TableRef {
    const key = type + values.join(",");
    let ref = this.#tableKeys.get(key);
    if (!ref) {
      ref = { kind: "table", type, name, offset: this.#tableSize[type], values: [...values] };
      this.#tableSize[type] += values.length;
      this.#tableKeys.set(key, ref);
      this.tables.push(ref);
    }
    return ref;
  }

  param(name: string, type: "f32" | "i32" | "u32"): ParamRef {
    let ref = this.params.find((p) => p.name === name);
    if (!ref) {
      ref = { kind: "param", name, type, slot: this.params.length };
      this.params.push(ref);
    }
    return ref;
  }

  buffer(name: string, access: "read" | "read_write"): BufferRef {
    let ref = this.buffers.find((b) => b.name === name);
    if (!ref) {
      ref = { kind: "buffer", name, access };
      this.buffers.push(ref);
    }
    if (access === "read_write" && ref.access === "read") {
      throw new CorralError(
        "trace-access",
        `buffer ${name} was bound for reading and is now used with read_write. Pass "read_write" at its first use.`,
      );
    }
    return ref;
  }
}

let active: Trace | undefined;

/** The trace that operations are recorded in. */
export function current(): Trace {
  if (!active) {
    throw new CorralError(
      "trace-inactive",
      "an operation on a traced value was called outside a trace. Call it inside `trace(fn)`.",
    );
  }
  return active;
}

/** Runs `fn` with a new trace as the current one and returns the trace. */
export function trace(fn: () => void, options: TraceOptions = {}): Trace {
  const outer = active;
  const made = new Trace(options);
  active = made;
  try {
    fn();
  } finally {
    active = outer;
  }
  return made;
}

/** Whether a trace is being recorded and `each` should unroll; plain evaluation on numbers always unrolls. */
export function unrolling(): boolean {
  return active?.unroll ?? true;
}

/** Runs `fn` as the body of an `each` or a `loop`; `breakIf` looks at the innermost. */
export function nested(kind: "each" | "loop", fn: () => void): void {
  if (!active) return fn();
  const { nest } = active;
  nest.push(kind);
  try {
    fn();
  } finally {
    nest.pop();
  }
}

/** Whether values of a block can be used here: it is this trace's, and has not ended. */
const isVisible = (block: Block, t: Trace): boolean => !block.ended && block.root === t.root;

/** Refuses operands that do not exist here: made inside a branch or loop that has ended, or in another trace. */
export function assertVisible(operands: readonly Operand[]): void {
  const t = current();
  for (const a of operands) {
    if (!(a instanceof TraceNode) || isVisible(a.block, t)) continue;
    throw new CorralError(
      "trace-scope",
      `a value (${a.name ?? a.op}) is used outside the branch, loop or trace it was made in. Carry it out in a variable().`,
    );
  }
}

/** Records a pure expression, sharing an equal one that is visible from here. */
export function pure(op: Op, type: Type, args: readonly Operand[], source?: Source): TraceNode {
  const t = current();
  const found = t.expressions.find(op, type, args, source);
  if (found && !found.block.ended) return found;
  assertVisible(args);
  const node = new TraceNode(t.nodes++, op, type, args, t.block, source);
  t.expressions.keep(node);
  t.block.statements.push({ kind: "let", node });
  return node;
}

/** Records an expression whose value depends on when it is evaluated (a load); never shared. */
export function impure(op: Op, type: Type, args: readonly Operand[], source?: Source): TraceNode {
  const t = current();
  assertVisible(args);
  const node = new TraceNode(t.nodes++, op, type, args, t.block, source);
  t.block.statements.push({ kind: "let", node });
  return node;
}
