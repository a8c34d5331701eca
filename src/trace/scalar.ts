// arithmetic on scalars that are numbers (folded, float64) or nodes of the current trace
import { CorralError } from "../core/errors.ts";
import { pure } from "./graph.ts";
import type { Type } from "./operations.ts";
import { TraceNode, type Operand } from "./nodes.ts";
import { helpers, OPERATIONS, type Computed } from "./operations.ts";

/** A float: a number known at trace time, or a value of the traced program (f32 in a kernel). */
export type Scalar = number | TraceNode;
/** An integer index or count (i32), or flags (u32). */
export type Int = number | TraceNode;
export type Bool = boolean | TraceNode;

export const isNode = (x: unknown): x is TraceNode => x instanceof TraceNode;

/** The common type of two operands: numbers take that of the node beside them. */
function typeOf(a: Operand, b: Operand = 0): Type {
  const type = a instanceof TraceNode ? a.type : b instanceof TraceNode ? b.type : "f32";
  if (b instanceof TraceNode && b.type !== type) {
    throw new CorralError(
      "trace-type",
      `an operation mixes ${type} and ${b.type}. Convert one with toF32, toI32 or toU32.`,
    );
  }
  return type;
}

/** What folding gives, if a kernel can hold it. */
export function finite(x: number, op: string): number {
  if (!Number.isFinite(x)) {
    throw new CorralError(
      "trace-non-finite",
      `folding ${op} gives ${x}, which no kernel can hold. Check the model's numbers.`,
    );
  }
  return x;
}

/** Orders the operands of a commutative operation so that equal expressions meet. */
function ordered(a: Operand, b: Operand): [Operand, Operand] {
  if (!(a instanceof TraceNode)) return [b, a];
  if (b instanceof TraceNode && b.id < a.id) return [b, a];
  return [a, b];
}

export function add(a: Scalar, b: Scalar): Scalar {
  if (!isNode(a) && !isNode(b)) return finite(a + b, "add");
  if (a === 0) return b;
  if (b === 0) return a;
  if (isNode(b) && b.op === "neg") return sub(a, b.args[0] as Scalar);
  if (isNode(a) && a.op === "neg") return sub(b, a.args[0] as Scalar);
  if (typeof b === "number" && b < 0 && typeOf(a) === "f32") return pure("sub", "f32", [a, -b]);
  if (typeof a === "number" && a < 0 && typeOf(b) === "f32") return pure("sub", "f32", [b, -a]);
  return pure("add", typeOf(a, b), ordered(a, b));
}

export function sub(a: Scalar, b: Scalar): Scalar {
  if (!isNode(a) && !isNode(b)) return finite(a - b, "sub");
  if (b === 0) return a;
  if (a === 0) return neg(b);
  if (a === b) return 0;
  if (isNode(b) && b.op === "neg") return add(a, b.args[0] as Scalar);
  return pure("sub", typeOf(a, b), [a, b]);
}

export function mul(a: Scalar, b: Scalar): Scalar {
  if (!isNode(a) && !isNode(b)) return finite(a * b, "mul");
  if (a === 0 || b === 0) return 0;
  if (a === 1) return b;
  if (b === 1) return a;
  if (a === -1) return neg(b);
  if (b === -1) return neg(a);
  // signs move outwards, where additions absorb them
  if (isNode(a) && a.op === "neg") return neg(mul(a.args[0] as Scalar, b));
  if (isNode(b) && b.op === "neg") return neg(mul(a, b.args[0] as Scalar));
  return pure("mul", typeOf(a, b), ordered(a, b));
}

/** a / b. The quotient of integer nodes is truncated; for integers that may be numbers use `idiv`. */
export function div(a: Scalar, b: Scalar): Scalar {
  if (!isNode(a) && !isNode(b)) return finite(a / b, "div");
  if (b === 0) throw new CorralError("trace-non-finite", "division by the constant 0 in a kernel.");
  if (a === 0) return 0;
  if (b === 1) return a;
  // outside these bounds the reciprocal is no normal float32
  const scaled = typeof b === "number" && typeOf(a) === "f32" && Math.abs(b) > 1e-38 && Math.abs(b) < 8e37;
  if (scaled) return mul(a, 1 / b);
  return pure("div", typeOf(a, b), [a, b]);
}

/** The quotient of two integers, truncated whether they are numbers or nodes. */
export function idiv(a: Int, b: Int): Int {
  return isNode(a) || isNode(b) ? div(a, b) : Math.trunc(finite(a / b, "idiv"));
}

export function neg(a: Scalar): Scalar {
  if (!isNode(a)) return a === 0 ? 0 : -a;
  if (a.op === "neg") return a.args[0] as Scalar;
  if (a.op === "sub" && a.type === "f32") return sub(a.args[1] as Scalar, a.args[0] as Scalar);
  return pure("neg", a.type, [a]);
}

/** Sum of products, in order. */
export function dotn(a: readonly Scalar[], b: readonly Scalar[]): Scalar {
  let s: Scalar = 0;
  for (let i = 0; i < a.length; i++) s = add(s, mul(a[i], b[i]));
  return s;
}

export const sum = (terms: readonly Scalar[]): Scalar => terms.reduce<Scalar>(add, 0);
export const square = (a: Scalar): Scalar => mul(a, a);

const unary =
  (op: Computed) =>
  (a: Scalar): Scalar =>
    isNode(a) ? pure(op, a.type, [a]) : finite(fold(op, a), op);

/** What an operation gives of numbers known when it is traced. */
const fold = (op: Computed, a: number, b = 0): number => OPERATIONS[op].meaning(a, b, 0);

export const abs = unary("abs");
export const sqrt = unary("sqrt");
export const floor = unary("floor");
/** Rounds to the nearest integer, ties to even. */
export const round = unary("round");
export const sign = unary("sign");

export function min(a: Scalar, b: Scalar): Scalar {
  if (!isNode(a) && !isNode(b)) return Math.min(a, b);
  return a === b ? a : pure("min", typeOf(a, b), ordered(a, b));
}

export function max(a: Scalar, b: Scalar): Scalar {
  if (!isNode(a) && !isNode(b)) return Math.max(a, b);
  return a === b ? a : pure("max", typeOf(a, b), ordered(a, b));
}

export const clamp = (x: Scalar, low: Scalar, high: Scalar): Scalar => min(max(x, low), high);

const compare =
  (op: Computed) =>
  (a: Scalar, b: Scalar): Bool => {
    if (!isNode(a) && !isNode(b)) return fold(op, a, b) !== 0;
    typeOf(a, b);
    return pure(op, "bool", [a, b]);
  };

export const lt = compare("lt");
export const le = compare("le");
export const gt = compare("gt");
export const ge = compare("ge");
export const eq = compare("eq");
export const ne = compare("ne");

export function and(a: Bool, b: Bool): Bool {
  if (a === false || b === false) return false;
  if (a === true) return b;
  if (b === true || a === b) return a;
  return pure("and", "bool", [a, b]);
}

export function or(a: Bool, b: Bool): Bool {
  if (a === true || b === true) return true;
  if (a === false) return b;
  if (b === false || a === b) return a;
  return pure("or", "bool", [a, b]);
}

export function not(a: Bool): Bool {
  if (!isNode(a)) return !a;
  if (a.op === "not") return a.args[0] as Bool;
  return pure("not", "bool", [a]);
}

/** `ifTrue` if `cond` holds, else `ifFalse`; both are evaluated. `type` matters if both are constants. */
export function select(cond: Bool, ifTrue: Scalar, ifFalse: Scalar, type: Type = typeOf(ifTrue, ifFalse)): Scalar {
  if (!isNode(cond)) return cond ? ifTrue : ifFalse;
  if (ifTrue === ifFalse) return ifTrue;
  return pure("select", type, [cond, ifTrue, ifFalse]);
}

const convert =
  (type: "f32" | "i32" | "u32", ofNumber: (a: number) => number) =>
  (a: Int | Scalar): Int =>
    isNode(a) ? (a.type === type ? a : pure(type, type, [a])) : ofNumber(a);

/** Conversions. Floats are truncated and saturate at run time; integers, and numbers taken as such, wrap. */
export const toF32 = convert("f32", (a) => a);
export const toI32 = convert("i32", Math.trunc);
export const toU32 = convert("u32", (a) => Math.trunc(a) >>> 0);

/** The bit pattern of a float (u32). */
export function bitcastU32(a: Scalar): Int {
  return isNode(a) ? pure("bitcast_u32", "u32", [a]) : helpers.bitsOf(a);
}

/** The float with this bit pattern. */
export function bitcastF32(a: Int): Scalar {
  return isNode(a) ? pure("bitcast_f32", "f32", [a]) : helpers.floatOf(a);
}

const bitwise =
  (op: Computed) =>
  (a: Int, b: Int): Int => {
    if (!isNode(a) && !isNode(b)) return fold(op, a, b) >>> 0;
    const type = typeOf(a, b);
    if (type !== "u32")
      throw new CorralError("trace-type", `${op} takes u32 and was given ${type}. Convert it with toU32.`);
    return pure(op, "u32", [a, b]);
  };

/** Bit operations on u32. */
export const band = bitwise("band");
export const bor = bitwise("bor");
export const bxor = bitwise("bxor");
export const shl = bitwise("shl");
export const shr = bitwise("shr");
/** Sum and product of u32, modulo 2^32. */
export const uadd = bitwise("uadd");
export const umul = bitwise("umul");

/** Index of the lowest set bit of a u32 that is not zero (i32). */
export function firstTrailingBit(a: Int): Int {
  return isNode(a) ? pure("ctz", "i32", [a]) : fold("ctz", a);
}

/** Whether a float is neither infinite nor NaN, by its exponent bits: a compiler may assume NaN away. */
export function isFinite32(a: Scalar): Bool {
  if (!isNode(a)) return Number.isFinite(Math.fround(a));
  return ne(band(bitcastU32(a), 0x7f800000), 0x7f800000);
}
