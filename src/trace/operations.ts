// every operation of the traced program: types, meaning on numbers, cost, and how each language writes it. Back ends and
// the interpreter look it up here.
//
// Floats mean what IEEE 754 says, rounded to the precision of the program. NaN: arithmetic passes it on, `min` and `max`
// too (as JavaScript and WebAssembly do), comparisons with it are false but for `ne`, conversions to integers give 0; its
// sign and payload mean nothing. -0 is less than 0 for `min` and `max`, and equal to it for comparisons. WGSL leaves its
// drivers free to flush denormals, to contract a b + c, to lose a NaN or an infinity, and to return either operand of
// `min` and `max` if one is NaN or both are zeros: there, and only there, a GPU may differ.
import { CorralError } from "../core/errors.ts";
import { hostMath, type HostFunction } from "./host-math.ts";

export type Type = "f32" | "i32" | "u32" | "bool";

/** Values of a world are numbers here: integers are whole, and truth is 1 or 0. */
type Meaning = (x: number, y: number, z: number) => number;
type TextOf = (x: string, y: string, z: string) => string;

interface Operation {
  /** What it takes; "same" is one type for all of them. */
  readonly operands: readonly (Type | "same")[];
  /** What it gives; "same" is the type of those operands. */
  readonly result: Type | "same";
  readonly meaning: Meaning;
  readonly javascript: TextOf;
  /** The integer version, where it differs. */
  readonly integers?: { readonly meaning: Meaning; readonly javascript: TextOf };
  /** Result types whose JavaScript value must still be rounded (f32) or wrapped (i32, u32). */
  readonly rounds: "all" | "integers" | "none";
  readonly wgsl: TextOf;
  /** Arithmetic operations that it counts as. */
  readonly cost: 0 | 1;
}

const word = new DataView(new ArrayBuffer(4));

/** Functions that JavaScript kernels call. */
export const helpers = {
  bitsOf(x: number): number {
    word.setFloat32(0, x);
    return word.getUint32(0);
  },
  floatOf(x: number): number {
    word.setUint32(0, x);
    return word.getFloat32(0);
  },
  // out of range they saturate, and NaN is 0
  toI32: (x: number): number => Math.max(-2147483648, Math.min(Math.trunc(x), 2147483647)) | 0,
  toU32: (x: number): number => Math.max(0, Math.min(Math.trunc(x), 4294967295)) >>> 0,
  roundEven(x: number): number {
    const r = Math.round(x);
    return Math.abs(x % 1) === 0.5 && r % 2 !== 0 ? r - 1 : r;
  },
  // as WGSL has it, a quotient by zero is the dividend
  quotient: (x: number, y: number): number => (y === 0 ? x : x / y),
};
const { bitsOf, floatOf, toI32, toU32, roundEven, quotient } = helpers;

const infix =
  (sign: string): TextOf =>
  (x, y) =>
    `(${x} ${sign} ${y})`;
const call =
  (name: string, arity: 1 | 2): TextOf =>
  (x, y) =>
    arity === 1 ? `${name}(${x})` : `${name}(${x}, ${y})`;

const arithmetic = (sign: string, meaning: Meaning): Operation => ({
  operands: ["same", "same"],
  result: "same",
  meaning,
  javascript: infix(sign),
  rounds: "all",
  wgsl: infix(sign),
  cost: 1,
});

/** A unary function whose result needs no rounding. */
const unrounded = (name: string, meaning: Meaning, javascript = `Math.${name}`): Operation => ({
  operands: ["same"],
  result: "same",
  meaning,
  javascript: call(javascript, 1),
  rounds: "none",
  wgsl: call(name, 1),
  cost: 1,
});

const extreme = (name: "min" | "max"): Operation => ({
  // operations of three operands make all meanings take three numbers
  ...unrounded(name, (x, y) => Math[name](x, y)),
  operands: ["same", "same"],
  javascript: call(`Math.${name}`, 2),
  wgsl: call(name, 2),
});

const comparison = (sign: string, meaning: (x: number, y: number) => boolean, javascript = sign): Operation => ({
  operands: ["same", "same"],
  result: "bool",
  meaning: (x, y) => Number(meaning(x, y)),
  javascript: infix(javascript),
  rounds: "none",
  wgsl: infix(sign),
  cost: 1,
});

const logic = (sign: "&" | "|", meaning: Meaning): Operation => ({
  operands: ["bool", "bool"],
  result: "bool",
  meaning,
  javascript: infix(sign + sign),
  rounds: "none",
  // "&&" and "||" branch, and a branch costs software drivers far more than a comparison (docs/decisions/0013)
  wgsl: infix(sign),
  cost: 1,
});

const bitwise = (sign: string, meaning: Meaning, javascript = infix(sign)): Operation => ({
  operands: ["u32", "u32"],
  result: "u32",
  meaning,
  javascript,
  rounds: "all",
  wgsl: infix(sign),
  cost: 1,
});

const bitcast = (from: Type, to: Type, meaning: Meaning, javascript: string): Operation => ({
  operands: [from],
  result: to,
  meaning,
  javascript: call(javascript, 1),
  rounds: "none",
  wgsl: call(`bitcast<${to}>`, 1),
  cost: 1,
});

/** A conversion of any type. */
const conversion = (to: Type, of: Pick<Operation, "meaning" | "javascript" | "integers" | "rounds">): Operation => ({
  operands: ["same"],
  result: to,
  ...of,
  wgsl: call(to, 1),
  cost: 1,
});

const host = (name: HostFunction, arity: 1 | 2): Operation => ({
  operands: Array<"f32">(arity).fill("f32"),
  result: "f32",
  meaning: hostMath[name],
  javascript: call(`M.${name}`, arity),
  rounds: "none",
  wgsl: () => {
    throw exactOnly("WGSL");
  },
  cost: 1,
});

const ofLanes = (meaning: Meaning, text: string): Operation => ({
  operands: ["i32"],
  result: "i32",
  meaning,
  javascript: () => text,
  rounds: "none",
  wgsl: () => text,
  cost: 0,
});

const imul = { meaning: Math.imul, javascript: call("Math.imul", 2) };

/** What is computed from operands alone. */
export const OPERATIONS = {
  add: arithmetic("+", (x, y) => x + y),
  sub: arithmetic("-", (x, y) => x - y),
  mul: { ...arithmetic("*", (x, y) => x * y), integers: imul },
  div: {
    ...arithmetic("/", (x, y) => x / y),
    integers: { meaning: quotient, javascript: call("quotient", 2) },
  },
  neg: { ...unrounded("neg", (x) => -x), rounds: "integers", javascript: (x) => `(-${x})`, wgsl: (x) => `(-${x})` },
  abs: { ...unrounded("abs", Math.abs), rounds: "integers" },
  sqrt: { ...unrounded("sqrt", Math.sqrt), rounds: "all" },
  floor: unrounded("floor", Math.floor),
  /** To the nearest whole number, ties to even. */
  round: unrounded("round", roundEven, "roundEven"),
  sign: unrounded("sign", Math.sign),
  min: extreme("min"),
  max: extreme("max"),

  lt: comparison("<", (x, y) => x < y),
  le: comparison("<=", (x, y) => x <= y),
  gt: comparison(">", (x, y) => x > y),
  ge: comparison(">=", (x, y) => x >= y),
  eq: comparison("==", (x, y) => x === y, "==="),
  ne: comparison("!=", (x, y) => x !== y, "!=="),
  and: logic("&", (x, y) => x & y),
  or: logic("|", (x, y) => x | y),
  not: { ...logic("&", (x) => 1 - x), operands: ["bool"], javascript: (x) => `(!${x})`, wgsl: (x) => `(!${x})` },
  select: {
    operands: ["bool", "same", "same"],
    result: "same",
    meaning: (c, x, y) => (c ? x : y),
    javascript: (c, x, y) => `(${c} ? ${x} : ${y})`,
    rounds: "none",
    // WGSL's select takes the value for false first
    wgsl: (c, x, y) => `select(${y}, ${x}, ${c})`,
    cost: 1,
  },

  band: bitwise("&", (x, y) => x & y),
  bor: bitwise("|", (x, y) => x | y),
  bxor: bitwise("^", (x, y) => x ^ y),
  shl: bitwise("<<", (x, y) => x << y),
  shr: bitwise(">>", (x, y) => x >>> y, infix(">>>")),
  uadd: bitwise("+", (x, y) => x + y),
  umul: bitwise("*", Math.imul, imul.javascript),
  /** Index of the lowest bit that is set, -1 for 0. */
  ctz: {
    operands: ["u32"],
    result: "i32",
    meaning: (x) => 31 - Math.clz32(x & -x),
    javascript: (x) => `(31 - Math.clz32(${x} & -${x}))`,
    rounds: "none",
    wgsl: (x) => `i32(firstTrailingBit(${x}))`,
    cost: 1,
  },

  f32: conversion("f32", { meaning: (x) => x, javascript: call("Number", 1), rounds: "all" }),
  i32: conversion("i32", {
    meaning: toI32,
    javascript: call("toI32", 1),
    integers: { meaning: (x) => x | 0, javascript: (x) => `(${x} | 0)` },
    rounds: "none",
  }),
  u32: conversion("u32", {
    meaning: toU32,
    javascript: call("toU32", 1),
    integers: { meaning: (x) => x >>> 0, javascript: (x) => `(${x} >>> 0)` },
    rounds: "none",
  }),
  bitcast_u32: bitcast("f32", "u32", bitsOf, "bitsOf"),
  bitcast_f32: bitcast("u32", "f32", floatOf, "floatOf"),
  /** Its operand, made opaque to the driver's compiler by adding a uniform 0. */
  hide: {
    operands: ["i32"],
    result: "i32",
    meaning: (x) => x,
    javascript: (x) => x,
    rounds: "none",
    wgsl: (x) => `(${x} + U.zero)`,
    cost: 0,
  },

  // of worlds that run side by side (lanes.ts); everywhere but in WebAssembly each runs alone
  lanes: ofLanes(() => 1, "1"),
  lane: ofLanes(() => 0, "0"),
  of_lane: { ...ofLanes((x) => x, ""), operands: ["i32", "i32"], javascript: (x) => x, wgsl: (x) => x },

  // of traces recorded with `exact: true`, which float64 JavaScript alone can run
  math_sin: host("sin", 1),
  math_cos: host("cos", 1),
  math_exp: host("exp", 1),
  math_log: host("log", 1),
  math_pow: host("pow", 2),
  math_atan2: host("atan2", 2),
  math_acos: host("acos", 1),
  math_asin: host("asin", 1),
  math_tanh: host("tanh", 1),
} as const satisfies Record<string, Operation> & Record<`math_${HostFunction}`, Operation>;

export type Computed = keyof typeof OPERATIONS;

/** Reads of what a kernel declares, with the types of their indices; each back end writes them itself. */
export const READS = {
  /** A variable. */
  load: [],
  /** An element of a private array. */
  at: ["i32"],
  /** An element of a table. */
  table: ["i32"],
  param: [],
  /** Four numbers of a buffer, and one of them. */
  load4: ["i32"],
  component: ["same", "i32"],
  /** The world's place in its shard. */
  world: [],
  /** The counter of a loop. */
  index: [],
} as const satisfies Record<string, readonly (Type | "same")[]>;

export type Read = keyof typeof READS;
export type Op = Computed | Read;

export const isComputed = (op: string): op is Computed => Object.hasOwn(OPERATIONS, op);
export const isOp = (op: string): op is Op => isComputed(op) || Object.hasOwn(READS, op);

/** The row of an operation. */
export const rowOf = (op: Computed): Operation => OPERATIONS[op];

/** The refusal of a back end that has no functions of the host. */
export const exactOnly = (backEnd: string): CorralError =>
  new CorralError(
    "trace-exact",
    `a trace recorded with exact: true calls the host's float64 functions, which ${backEnd} lacks. Record it without exact.`,
  );

/** What an operation that gives `type` computes of operands of type `from`; `round` rounds floats to their precision. */
export function meaningOf(op: Computed, type: Type, from: Type, round: (x: number) => number): Meaning {
  const row = rowOf(op);
  const { meaning } = from === "f32" ? row : (row.integers ?? row);
  if (!isRounded(row, type)) return meaning;
  if (type === "i32") return (x, y, z) => meaning(x, y, z) | 0;
  return type === "u32" ? (x, y, z) => meaning(x, y, z) >>> 0 : (x, y, z) => round(meaning(x, y, z));
}

/** Whether what JavaScript computes of an operation is still to be rounded or wrapped to `type`. */
export const isRounded = ({ rounds }: Operation, type: Type): boolean =>
  rounds === "all" || (rounds === "integers" && type !== "f32");
