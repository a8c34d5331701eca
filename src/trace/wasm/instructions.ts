// the column of WebAssembly in the table of operations: how each is computed of vectors of four worlds, or of two in float64
import { operandType, type Operand, type TraceNode } from "../nodes.ts";
import { exactOnly, type Computed, type Type } from "../operations.ts";
import type { Bits, Code } from "./code.ts";
import type { FloatName, IntegerName, Op32Name, SimdName } from "./opcodes.ts";

/** A condition that is pushed as it is or as its opposite, whichever takes fewer instructions. */
export interface Test {
  readonly isOpposite: boolean;
  push(): void;
}

/** What an instruction is emitted with. Truth is a mask: all bits of a lane, or none. */
interface Operands {
  readonly code: Code;
  readonly node: TraceNode;
  /** Pushes an operand as a vector. */
  push(i: number): void;
  /** Pushes one number in all lanes. */
  splat(value: number, type: Type): void;
  splatBits(bits: Bits): void;
  /** Pushes an operand as an integer if it is the same in all lanes. */
  isUniform(i: number): boolean;
  pushScalar(i: number): void;
  test(i: number): Test;
  /** The operand, if it is written where it is used and nowhere else. */
  written(i: number): TraceNode | undefined;
}

/** One instruction, by the type of the operands; or several. */
type Vectors = Partial<Record<Type, SimdName | Float>> | ((o: Operands) => void);

/** An instruction on floats of the lanes' size. */
type Float = `float.${FloatName}`;
const floats = (name: FloatName): Vectors => ({ f32: `float.${name}` });
const words = (name: SimdName): Vectors => ({ u32: name });
const masks = (name: SimdName): Vectors => ({ bool: name });

/** The same instruction of floats, signed and unsigned integers. */
const numbers = (float: FloatName, signed: IntegerName, unsigned = signed) => ({
  f32: `float.${float}` as const,
  i32: `i32x4.${signed}` as const,
  u32: `i32x4.${unsigned}` as const,
});
const compared = (name: "lt" | "le" | "gt" | "ge"): Vectors => numbers(name, `${name}_s`, `${name}_u`);

function host(): never {
  throw exactOnly("WebAssembly");
}

/** Computes lane by lane what vectors have no instruction for. */
function byLanes({ code, push }: Operands, lane: (x: () => void, y: () => void) => void): void {
  const [x, y, out] = [code.local("vector"), code.local("vector"), code.local("vector")];
  push(0);
  code.set(x);
  push(1);
  code.set(y).get(x).set(out);
  for (const k of code.lanes) {
    code.get(out);
    lane(
      () => code.get(x).extract(k),
      () => code.get(y).extract(k),
    );
    code.replace(k).set(out);
  }
  code.get(out).release(x, y, out);
  if (code.isWide) code.swizzle([0, 0, 2, 2]);
}

/** 1 << n, as the float that has n for its exponent: its opposite, since 2^31 has no signed integer. */
function powerOfTwo({ code, push, splat }: Operands): void {
  push(1);
  splat(31, "i32");
  code.simd("v128.and").int(23).simd("i32x4.shl");
  splat(-0x40800000, "i32");
  code.simd("i32x4.add").simd("i32x4.trunc_sat_f32x4_s").simd("i32x4.neg");
}

/** Of two lanes all words are shifted by what each asks for. */
function shiftLanes({ code, push }: Operands, name: SimdName): void {
  const [x, by] = [code.local("vector"), code.local("vector")];
  push(0);
  code.set(x);
  push(1);
  code.set(by);
  for (const k of code.lanes) code.get(x).get(by).extract(k).simd(name);
  code.shuffle([0, 1, 6, 7]).release(x, by);
}

const shift =
  (vector: SimdName, scalar: Op32Name) =>
  (o: Operands): void => {
    if (!o.isUniform(1)) {
      if (scalar === "i32.shl" && o.node.args[0] === 1) return powerOfTwo(o);
      if (o.code.isWide) return shiftLanes(o, vector);
      return byLanes(o, (x, y) => {
        x();
        y();
        o.code.op(scalar);
      });
    }
    o.push(0);
    o.pushScalar(1);
    o.code.simd(vector);
  };

/** x / y; of integers as `Code.quotient` has it. */
function quotient(o: Operands): void {
  const { code, node } = o;
  if (node.type === "f32") {
    o.push(0);
    o.push(1);
    code.float("div");
    return;
  }
  const [a, b] = [code.local("scalar"), code.local("scalar")];
  byLanes(o, (x, y) => {
    x();
    code.set(a);
    y();
    code.set(b);
    code.quotient(a, b, node.type === "i32");
  });
  code.release(a, b);
}

const isZero = (a: Operand): boolean => Object.is(a, 0) || a === false;

/** Where one choice is zero, the other's bits under the condition. */
function select({ code, node, push, test }: Operands): void {
  const { isOpposite, push: pushTest } = test(0);
  const [yes, no] = isOpposite ? [2, 1] : [1, 2];
  const [hasNo, hasYes] = [!isZero(node.args[no]), !isZero(node.args[yes])];
  if (hasYes || !hasNo) push(yes);
  if (hasNo) push(no);
  pushTest();
  if (!hasNo) code.simd("v128.and");
  else if (!hasYes) code.simd("v128.andnot");
  else code.select();
}

function both({ code, push, test }: Operands): void {
  const opposite = [0, 1].find((i) => test(i).isOpposite);
  if (opposite === undefined) {
    push(0);
    push(1);
    code.simd("v128.and");
    return;
  }
  push(1 - opposite);
  test(opposite).push();
  code.simd("v128.andnot");
}

/**
 * The least or the greatest, NaN of NaN, -0 below 0. Engines take several instructions to see to NaN and zeros; beside a
 * constant that is neither NaN nor -0 the comparison alone does, since it keeps the first operand where it does not hold.
 */
const extreme =
  (name: "min" | "max"): Vectors =>
  ({ code, node, push, splat }) => {
    const at = node.args.findIndex((a) => typeof a === "number");
    const bound = code.isWide ? Number(node.args[at]) : Math.fround(Number(node.args[at]));
    if (node.type !== "f32" || at < 0 || Number.isNaN(bound) || Object.is(bound, -0)) {
      push(0);
      push(1);
      if (node.type === "f32") code.float(name);
      else code.simd(`i32x4.${name}_${node.type === "i32" ? "s" : "u"}`);
      return;
    }
    push(1 - at);
    push(at);
    code.float(`p${name}`);
    if (name === "min" || bound !== 0) return;
    // -0 is kept beside 0, and is 0 when 0 is added
    splat(0, "f32");
    code.float("add");
  };

/** 1, -1, or the number itself: a zero or NaN. */
function sign({ code, push, splat }: Operands): void {
  const x = code.local("vector");
  push(0);
  code.set(x);
  splat(1, "f32");
  splat(-1, "f32");
  code.get(x).get(x);
  splat(0, "f32");
  code.float("lt").select().get(x);
  splat(0, "f32");
  code.float("gt").select().release(x);
}

/** The lowest bit is a power of two: its exponent as a float; -1 for 0. */
function lowestBit({ code, push, splat }: Operands): void {
  const x = code.local("vector");
  push(0);
  code.tee(x).get(x).simd("i32x4.neg").simd("v128.and").tee(x);
  // the highest bit is a negative number of the same exponent
  code.simd("f32x4.convert_i32x4_s").int(23).simd("i32x4.shr_u");
  splat(255, "i32");
  code.simd("v128.and");
  splat(127, "i32");
  code.simd("i32x4.sub");
  splat(-1, "i32");
  code.get(x);
  splat(0, "i32");
  code.simd("i32x4.ne").select().release(x);
}

/** Of floats, bits of the sign are changed by a constant from memory: engines make one with two instructions. */
const signless =
  (name: "neg" | "abs", change: SimdName, bits: number, wideBits: bigint): Vectors =>
  ({ code, node, push, splatBits }) => {
    push(0);
    // a word has no sign
    if (node.type === "u32" && name === "abs") return;
    if (node.type !== "f32") return void code.simd(`i32x4.${name}`);
    splatBits(code.isWide ? wideBits : bits);
    code.simd(change);
  };

/** Truth as 1 or 0, integers as they are, floats by an instruction. */
const integer =
  (sign: "s" | "u") =>
  ({ code, node, push, splat }: Operands): void => {
    const from = operandType(node, 0);
    push(0);
    if (from === "f32" && code.isWide) code.simd(`i32x4.trunc_sat_f64x2_${sign}_zero`).unpacked();
    else if (from === "f32") code.simd(`i32x4.trunc_sat_f32x4_${sign}`);
    if (from !== "bool") return;
    splat(1, "i32");
    code.simd("v128.and");
  };

function float({ code, node, push, splat, isUniform, written }: Operands): void {
  const from = operandType(node, 0);
  push(0);
  if (from === "bool") {
    splat(1, "f32");
    code.simd("v128.and");
  }
  if (from !== "i32" && from !== "u32") return;
  // shifted, it is below 2^31
  const by = written(0)?.op === "shr" ? written(0)!.args[1] : 0;
  const sign = from === "i32" || (typeof by === "number" && (by & 31) > 0) ? "s" : "u";
  if (!code.isWide) return void code.simd(`f32x4.convert_i32x4_${sign}`);
  if (!isUniform(0)) code.packed();
  code.simd(`f64x2.convert_low_i32x4_${sign}`);
}

/** The bits of a number's float32. */
function toBits({ code, push }: Operands): void {
  push(0);
  if (code.isWide) code.simd("f32x4.demote_f64x2_zero").unpacked();
}

function fromBits({ code, push }: Operands): void {
  push(0);
  if (code.isWide) code.packed().simd("f64x2.promote_low_f32x4");
}

/** Where an element of another lane's lies, in elements of one: lanes lie side by side. */
function elementOfLane({ code, push, splat }: Operands): void {
  push(0);
  code.int(Math.log2(code.lanes.length)).simd("i32x4.shl");
  push(1);
  splat(code.lanes.length - 1, "i32");
  code.simd("v128.and").simd("i32x4.add");
}

const same = ({ push }: Operands): void => push(0);

const VECTORS: Readonly<Record<Computed, Vectors>> = {
  add: numbers("add", "add"),
  sub: numbers("sub", "sub"),
  mul: numbers("mul", "mul"),
  div: quotient,
  neg: signless("neg", "v128.xor", -0x80000000, -(2n ** 63n)),
  abs: signless("abs", "v128.and", 0x7fffffff, 2n ** 63n - 1n),
  sqrt: floats("sqrt"),
  floor: floats("floor"),
  round: floats("nearest"),
  sign,
  min: extreme("min"),
  max: extreme("max"),

  lt: compared("lt"),
  le: compared("le"),
  gt: compared("gt"),
  ge: compared("ge"),
  eq: { ...numbers("eq", "eq"), bool: "i32x4.eq" },
  ne: { ...numbers("ne", "ne"), bool: "v128.xor" },
  and: both,
  or: masks("v128.or"),
  not: masks("v128.not"),
  select,

  band: words("v128.and"),
  bor: words("v128.or"),
  bxor: words("v128.xor"),
  shl: shift("i32x4.shl", "i32.shl"),
  shr: shift("i32x4.shr_u", "i32.shr_u"),
  uadd: words("i32x4.add"),
  umul: words("i32x4.mul"),
  ctz: lowestBit,

  f32: float,
  i32: integer("s"),
  u32: integer("u"),
  bitcast_u32: toBits,
  bitcast_f32: fromBits,
  hide: same,
  lanes: ({ code, splat }) => splat(code.lanes.length, "i32"),
  lane: ({ code }) => void code.constant(code.isWide ? [0, 0, 1, 1] : [0, 1, 2, 3]),
  of_lane: elementOfLane,

  math_sin: host,
  math_cos: host,
  math_exp: host,
  math_log: host,
  math_pow: host,
  math_atan2: host,
  math_acos: host,
  math_asin: host,
  math_tanh: host,
};

/** Operations whose operands may change places, NaN of the same bits aside. */
const COMMUTATIVE: ReadonlySet<Computed> = new Set<Computed>(["add", "mul"]);

const isFloat = (name: SimdName | Float): name is Float => name.startsWith("float.");

/** Emits an operation on vectors. */
export function emitVectors(op: Computed, o: Operands): void {
  const how = VECTORS[op];
  if (typeof how === "function") return how(o);
  const name = how[operandType(o.node, 0)];
  if (name === undefined) throw new Error(`no instruction for ${op} of ${operandType(o.node, 0)}`);
  // the second operand may be read from memory
  const isSwapped = COMMUTATIVE.has(op) && typeof o.node.args[0] === "number";
  for (const i of isSwapped ? [1, 0] : o.node.args.keys()) o.push(i);
  if (isFloat(name)) o.code.float(name.slice("float.".length) as FloatName);
  else o.code.simd(name);
}

/** Integers that are the same in all lanes stay outside of vectors: indices, bounds, and what decides on them. */
export const SCALARS: Partial<Record<Computed, (unsigned: boolean) => readonly Op32Name[]>> = {
  add: () => ["i32.add"],
  sub: () => ["i32.sub"],
  mul: () => ["i32.mul"],
  uadd: () => ["i32.add"],
  umul: () => ["i32.mul"],
  band: () => ["i32.and"],
  bor: () => ["i32.or"],
  bxor: () => ["i32.xor"],
  shl: () => ["i32.shl"],
  shr: () => ["i32.shr_u"],
  lt: (unsigned) => [unsigned ? "i32.lt_u" : "i32.lt_s"],
  le: (unsigned) => [unsigned ? "i32.le_u" : "i32.le_s"],
  gt: (unsigned) => [unsigned ? "i32.gt_u" : "i32.gt_s"],
  ge: (unsigned) => [unsigned ? "i32.ge_u" : "i32.ge_s"],
  eq: () => ["i32.eq"],
  ne: () => ["i32.ne"],
  and: () => ["i32.and"],
  or: () => ["i32.or"],
  not: () => ["i32.eqz"],
  // between integers
  i32: () => [],
  u32: () => [],
  hide: () => [],
};
