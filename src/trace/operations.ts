// what each operation of one or two numbers computes, as drivers do where WGSL leaves it open
import type { Type } from "./graph.ts";

type Operation = (x: number, y: number) => number;

const word = new DataView(new ArrayBuffer(4));

function bitsOf(x: number): number {
  word.setFloat32(0, x);
  return word.getUint32(0);
}

function floatOf(x: number): number {
  word.setUint32(0, x);
  return word.getFloat32(0);
}

function roundEven(x: number): number {
  const r = Math.round(x);
  return Math.abs(x % 1) === 0.5 && r % 2 !== 0 ? r - 1 : r;
}

const saturated = (low: number, high: number) => (x: number) =>
  Number.isNaN(x) ? 0 : Math.max(low, Math.min(Math.trunc(x), high));

const LOGIC: Record<string, Operation> = {
  lt: (x, y) => Number(x < y),
  le: (x, y) => Number(x <= y),
  gt: (x, y) => Number(x > y),
  ge: (x, y) => Number(x >= y),
  eq: (x, y) => Number(x === y),
  ne: (x, y) => Number(x !== y),
  and: (x, y) => Number(x !== 0 && y !== 0),
  or: (x, y) => Number(x !== 0 || y !== 0),
  not: (x) => Number(x === 0),
  band: (x, y) => (x & y) >>> 0,
  bor: (x, y) => (x | y) >>> 0,
  bxor: (x, y) => (x ^ y) >>> 0,
  shl: (x, y) => (x << y) >>> 0,
  shr: (x, y) => x >>> y,
  uadd: (x, y) => (x + y) >>> 0,
  umul: (x, y) => Math.imul(x, y) >>> 0,
  ctz: (x) => 31 - Math.clz32(x & -x),
  bitcast_u32: bitsOf,
  bitcast_f32: floatOf,
  hide: (x) => x,
  abs: Math.abs,
  floor: Math.floor,
  sign: Math.sign,
  round: roundEven,
  neg: (x) => -x,
  // both software drivers return the operand that is a number
  min: (x, y) => (Number.isNaN(x) ? y : Number.isNaN(y) ? x : Math.min(x, y)),
  max: (x, y) => (Number.isNaN(x) ? y : Number.isNaN(y) ? x : Math.max(x, y)),
};

/** The function of an operation of a type on operands of type `from`. `round` rounds floats to their precision. */
export function operation(op: string, type: Type, from: Type, round: (x: number) => number): Operation {
  const wrap: Operation | ((x: number) => number) =
    type === "i32" ? (x: number) => x | 0 : type === "u32" ? (x: number) => x >>> 0 : round;
  switch (op) {
    case "add":
      return (x, y) => wrap(x + y, 0);
    case "sub":
      return (x, y) => wrap(x - y, 0);
    case "mul":
      if (type === "f32") return (x, y) => round(x * y);
      return (x, y) => wrap(Math.imul(x, y), 0);
    case "div":
      return (x, y) => wrap(x / y, 0);
    case "sqrt":
      return (x) => round(Math.sqrt(x));
    case "f32":
      return (x) => round(x);
    case "i32":
      return from === "f32" ? saturated(-2147483648, 2147483647) : (x) => x | 0;
    case "u32":
      return from === "f32" ? saturated(0, 4294967295) : (x) => x >>> 0;
  }
  const known = LOGIC[op];
  if (!known) throw new Error(`no meaning for ${op}`);
  return known;
}
