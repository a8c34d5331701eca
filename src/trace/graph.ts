// the traced program: expressions in static single assignment, in blocks with structured control flow
import { CorralError } from "../core/errors.ts";
import { Expressions } from "./expressions.ts";
import {
  Block,
  TraceNode,
  type ArrayRef,
  type BufferRef,
  type Operand,
  type ParamRef,
  type Source,
  type TableRef,
  type VarRef,
} from "./nodes.ts";
import type { Op, Type } from "./operations.ts";

/** How the code of a kernel is laid out. */
export interface TraceForm {
  /** Straight-line code (default) or runtime loops if the program says `each`. */
  readonly unroll?: boolean;
  /** Whether private memory is that of a CPU: WebAssembly's and JavaScript's. */
  readonly roomy?: boolean;
  /** Whether what private memory has no room for lies in an arena, of a CPU's memory. */
  readonly hasArena?: boolean;
  /** Float64 between what is read and written, which stays float32; WebAssembly and JavaScript can. Not beside `exact`. */
  readonly wide?: boolean;
}

export interface TraceOptions extends TraceForm {
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
  /** Whether it computes in float64, so that its tolerances are those of float64. */
  readonly exact: boolean;
  /** Whether it does so between what is read and written, which stays float32, with functions of its own. */
  readonly wide: boolean;
  /** Whether private memory is that of a CPU. */
  readonly roomy: boolean;
  /** Whether more of a CPU's memory is an arena. */
  readonly hasArena: boolean;
  nodes = 0;
  /** The loops of the program around this point, innermost last: `each` whether unrolled or not, and `loop`. */
  readonly nest: ("each" | "loop")[] = [];
  /** Tables by what is cheap to tell of them. */
  #tableKeys = new Map<string, TableRef[]>();
  #tableSize = { f32: 0, i32: 0 };

  constructor(options: TraceOptions = {}) {
    this.unroll = options.unroll ?? true;
    this.wide = options.wide === true && options.exact !== true;
    this.exact = options.exact === true || this.wide;
    this.roomy = options.roomy ?? false;
    this.hasArena = options.hasArena ?? false;
    for (const { name, type } of options.params ?? []) this.param(name, type);
  }

  /** `isKept`: the list is one of another trace, which nothing changes. */
  table(type: "f32" | "i32", name: string, values: ArrayLike<number>, isKept = false): TableRef {
    const { length } = values;
    const key = [type, length, values[0], values[length >> 1], values[length - 1]].join();
    const alike = this.#tableKeys.get(key) ?? [];
    let ref = alike.find((known) => areSame(known.values, values));
    if (!ref) {
      ref = { kind: "table", type, name, offset: this.#tableSize[type], values: isKept ? values : copyOf(values) };
      this.#tableSize[type] += length;
      this.#tableKeys.set(key, [...alike, ref]);
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

const copyOf = (values: ArrayLike<number>): ArrayLike<number> =>
  values instanceof Int32Array || values instanceof Float64Array ? values.slice() : Array.from(values);

/** Whether two lists of a length are of the same numbers; zeros of either sign are. */
function areSame(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  if (a === b) return true;
  let k = 0;
  while (k < a.length && (a[k] === b[k] || (a[k] !== a[k] && b[k] !== b[k]))) k++;
  return k === a.length;
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
