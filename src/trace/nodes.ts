// what a traced program is made of: expressions, variables, arrays, buffers, statements, blocks
import { otherCopyError } from "../core/copies.ts";
import { CorralError } from "../core/errors.ts";
import { isComputed, OPERATIONS, READS, type Op, type Read, type Type } from "./operations.ts";

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
          "add(a, b), mul(a, b), gt(a, b), select(condition, a, b) of `scalar`, sin(a) of `functions`, which corral exports, " +
          "or an expression in quotes.",
      )
    );
  }
}

export type Operand = TraceNode | number | boolean;

/** The type of an operand, which a constant there takes. */
export function operandType(node: TraceNode, i: number): Type {
  const { op } = node;
  const row = isComputed(op) ? OPERATIONS[op] : undefined;
  const operands: readonly (Type | "same")[] = row ? row.operands : READS[op as Read];
  const declared = operands[i];
  if (declared !== "same") return declared;
  if (row?.result === "same") return node.type;
  for (const a of node.args) if (a instanceof TraceNode) return a.type;
  return node.type;
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
  /** Whether nothing depends on an element before it is written: it need not be zero at the start of the kernel. */
  readonly isScratch?: boolean;
  /** Whether a world that others run through a write without may have that written too (`array`). */
  readonly isOwn?: boolean;
  /**
   * If it lies in a buffer instead, for other kernels to read: `stride` fours a world, in tiles of worlds, from its `first`.
   * `byWorld`: words of neighbouring worlds side by side, rather than four of a world.
   */
  readonly kept?: {
    readonly buffer: BufferRef;
    readonly tile: number;
    readonly stride: number;
    readonly first: number;
    readonly byWorld?: boolean;
  };
}

/** Constant data indexable at run time; it lives in one read-only buffer shared by all kernels of a model. */
export interface TableRef {
  readonly kind: "table";
  readonly type: "f32" | "i32";
  readonly name: string;
  readonly offset: number;
  readonly values: ArrayLike<number>;
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

/** Elements of an array at runtime indices, as they were last read or written. */
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
