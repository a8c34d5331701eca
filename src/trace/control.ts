// control flow, variables, arrays, tables, buffers and parameters of the traced program
import { CorralError } from "../core/errors.ts";
import { assertVisible, current, impure, nested, type Trace, pure, unrolling } from "./graph.ts";
import type { Type } from "./operations.ts";
import { Block, type TableRef, TraceNode, type ArrayRef, type Operand, type VarRef } from "./nodes.ts";
import { add, isNode, type Bool, type Int, type Scalar } from "./scalar.ts";

function inBlock(isLoop: boolean, fn: () => void): Block {
  const t = current();
  const block = new Block(t.block, isLoop);
  t.block = block;
  try {
    fn();
  } finally {
    t.block = block.parent!;
    block.ended = true;
  }
  return block;
}

/** What an enclosing block no longer knows after a nested block has run. */
function forget(inner: Block): void {
  const parent = inner.parent!;
  for (const ref of inner.assigned) {
    parent.assigned.add(ref);
    // hides what an outer block knew too
    parent.known.set(ref, UNKNOWN);
  }
  for (const [ref, { written }] of inner.elements) {
    if (written) parent.elements.set(ref, { values: new Map(), written });
  }
}

const UNKNOWN = Symbol("unknown") as unknown as Operand;

function knownValue(ref: VarRef): Operand | undefined {
  for (let b: Block | undefined = current().block; b; b = b.parent) {
    const value = b.known.get(ref);
    if (value !== undefined) return value === UNKNOWN ? undefined : value;
    if (b.isLoop) return undefined;
  }
  return undefined;
}

/** An element that was read or written before and is still what it was. */
function knownElement(ref: ArrayRef, index: TraceNode): Operand | undefined {
  for (let b: Block | undefined = current().block; b; b = b.parent) {
    const known = b.elements.get(ref);
    const value = known?.values.get(index);
    if (value !== undefined) return value;
    if (known?.written || b.isLoop) return undefined;
  }
  return undefined;
}

/** A branch that lanes may take apart; worth it where skipping saves work. A constant condition leaves no branch. */
export function when(cond: Bool, then: () => void, otherwise?: () => void): void {
  if (!isNode(cond)) {
    if (cond) then();
    else otherwise?.();
    return;
  }
  assertVisible([cond]);
  const a = inBlock(false, then);
  const b = inBlock(false, otherwise ?? (() => {}));
  forget(a);
  forget(b);
  current().block.statements.push({ kind: "when", cond, then: a, otherwise: b });
}

/** A runtime loop over [start, bound). Bounds that are constants are hidden from the driver, which would unroll them. */
export function loop(bound: Int, body: (index: Int) => void, options: { start?: Int; label?: string } = {}): void {
  const t = current();
  const start = options.start ?? 0;
  if (!isNode(bound) && !isNode(start) && bound <= start) return;
  assertVisible([start, bound]);
  const hidden = isNode(bound) ? bound : pure("hide", "i32", [bound]);
  let index!: TraceNode;
  const block = inBlock(true, () => {
    index = new TraceNode(t.nodes++, "index", "i32", [], t.block);
    nested("loop", () => body(index));
  });
  forget(block);
  t.block.statements.push({ kind: "loop", index, start, bound: hidden, block, label: options.label ?? "loop" });
}

/** Leaves the innermost `loop` if `cond` holds. Not for `each`, which may be unrolled. */
export function breakIf(cond: Bool): void {
  const inside = current().nest.at(-1);
  if (inside !== "loop") {
    const where = inside ? "inside each, which may be unrolled" : "outside any loop";
    throw new CorralError("trace-break", `breakIf was called ${where}. Call it in the body of loop().`);
  }
  if (cond === false) return;
  assertVisible([cond]);
  current().block.statements.push({ kind: "break", cond });
}

/**
 * A loop over [start, bound) that the trace unrolls (straight-line code with constant indices) or rolls (a runtime
 * loop with indices into tables). Bounds known only at run time are always rolled.
 */
export function each(bound: Int, body: (index: Int) => void, options: { start?: Int } = {}): void {
  const start = options.start ?? 0;
  if (!isNode(bound) && !isNode(start) && (unrolling() || bound - start <= 1)) {
    for (let i = start; i < bound; i++) nested("each", () => body(i));
  } else {
    loop(bound, (i) => nested("each", () => body(i)), { start });
  }
}

/** A mutable scalar. Reads that follow an assignment in the same block are replaced by the assigned value. */
export interface Variable {
  get(): Scalar;
  set(value: Scalar): void;
}

function assertType(name: string, type: Type, value: Operand): void {
  if (isNode(value) && value.type !== type) {
    throw new CorralError(
      "trace-type",
      `${name} holds ${type} and is given ${value.type}. Declare it as ${value.type}, or convert.`,
    );
  }
}

/**
 * Declares a mutable scalar of the traced program. Without an initial value it is zero at the start of the kernel, and
 * if it is declared in a runtime loop keeps its value from one iteration to the next.
 */
export function variable(name: string, initial?: Scalar, type: Type = "f32"): Variable {
  const t = current();
  const ref: VarRef = { kind: "var", id: t.vars.length, name, type, block: t.block };
  t.vars.push(ref);
  if (!t.block.isInLoop) t.block.known.set(ref, type === "bool" ? false : 0);

  const set = (value: Scalar) => {
    assertType(name, type, value);
    assertVisible([value]);
    const { block } = current();
    block.statements.push({ kind: "set", target: ref, value });
    block.known.set(ref, value);
    block.assigned.add(ref);
    // a loop's index keeps its own name, which a stored program does not hold
    if (isNode(value) && value.op !== "index") value.name ??= name;
  };
  const get = () => {
    const value = knownValue(ref);
    if (value !== undefined) return value as Scalar;
    const load = impure("load", type, [], ref);
    current().block.known.set(ref, load);
    return load;
  };
  if (initial !== undefined) set(initial);
  return { get, set };
}

/** Adds to a variable. */
export const increase = (to: Variable, x: Scalar): void => to.set(add(to.get(), x));

/** A flag: a mutable boolean of the traced program. */
export function flag(name: string, initial: Bool): { get(): Bool; set(value: Bool): void } {
  return variable(name, initial as Scalar, "bool") as never;
}

/**
 * A private array that may be indexed at run time, zero at the start of the kernel. One that is scratch may hold anything
 * there: clearing what belongs to hundreds of contacts takes as long as a step of few. `isOwn`: whether a world reads an
 * element only after it has written it, and before others run through a write of it that in this world would change it.
 */
export interface LocalArray {
  readonly length: number;
  get(index: Int): Scalar;
  set(index: Int, value: Scalar): void;
}

export function array(name: string, length: number, type: Type = "f32", isScratch = false, isOwn = false): LocalArray {
  const t = current();
  const kinds = { ...(isScratch ? { isScratch } : {}), ...(isOwn ? { isOwn } : {}) };
  const ref: ArrayRef = { kind: "array", id: t.arrays.length, name, type, length, ...kinds };
  t.arrays.push(ref);
  const check = (index: Int) => {
    if (!isNode(index) && !(Number.isInteger(index) && index >= 0 && index < length)) {
      throw new CorralError("trace-index", `${name}[${index}] is outside its ${length} elements.`);
    }
    return index;
  };
  return {
    length,
    // drivers take an access at a runtime index apart by lane, and find no two of them equal
    get: (index) => {
      if (!isNode(index)) return impure("at", type, [check(index)], ref);
      const before = knownElement(ref, index);
      if (before !== undefined) return before as Scalar;
      const value = impure("at", type, [index], ref);
      const { elements } = current().block;
      const known = elements.get(ref) ?? { values: new Map(), written: false };
      known.values.set(index, value);
      elements.set(ref, known);
      return value;
    },
    set: (index, value) => {
      assertType(name, type, value);
      assertVisible([index, value]);
      const { block } = current();
      block.statements.push({ kind: "put", target: ref, index: check(index), value });
      block.elements.set(ref, { values: new Map(isNode(index) ? [[index, value]] : []), written: true });
    },
  };
}

/** Constant data: an index known at trace time gives a number, one known at run time a read of a table. */
export function table(name: string, values: ArrayLike<number>, type: "f32" | "i32" = "f32"): (index: Int) => Scalar {
  // the table of the last trace that read it: hulls have many numbers, and are read at many places
  let known: { trace: Trace; of: TableRef | number } | undefined;
  return (index) => {
    if (!isNode(index)) {
      const value = values[index];
      if (value === undefined) {
        throw new CorralError("trace-index", `${name}[${index}] is outside its ${values.length} elements.`);
      }
      return value;
    }
    const t = current();
    if (known?.trace !== t) {
      // one value throughout needs no table
      let from = 1;
      while (from < values.length && values[from] === values[0]) from++;
      const of = from >= values.length ? values[0] : t.table(type, name, values);
      known = { trace: t, of };
    }
    return typeof known.of === "number" ? known.of : pure("table", type, [index], known.of);
  };
}

/** A number the host may change between dispatches. */
export function param(name: string, type: "f32" | "i32" | "u32" = "f32"): TraceNode {
  return pure("param", type, [], current().param(name, type));
}

export type Four = readonly [Scalar, Scalar, Scalar, Scalar];

/** The index of this invocation's world within its shard (i32). */
export const world = (): TraceNode => pure("world", "i32", []);

/** Reads four consecutive values of a buffer; `index` counts in fours. */
export function load4(
  name: string,
  index: Int,
  type: "f32" | "u32" = "f32",
  access: "read" | "read_write" = "read_write",
): Four {
  const ref = current().buffer(name, access);
  const four = impure("load4", type, [index], ref);
  return [0, 1, 2, 3].map((c) => pure("component", type, [four, c])) as unknown as Four;
}

/** Writes four consecutive values of a buffer; `index` counts in fours. */
export function store4(name: string, index: Int, values: Four, type: "f32" | "u32" = "f32"): void {
  const target = current().buffer(name, "read_write");
  values.forEach((v) => assertType(name, type, v));
  assertVisible([index, ...values]);
  current().block.statements.push({ kind: "store", target, index, values, type });
}

/** Marks the start of a pipeline stage in the emitted code. */
export function stage<T>(name: string, fn: () => T): T {
  markStage(name);
  return fn();
}

/** The same for all that follows. */
export function markStage(name: string): void {
  current().block.statements.push({ kind: "stage", name });
}
