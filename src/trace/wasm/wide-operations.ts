// how each operation is computed of one world's numbers: floats in float64, integers and truth in words of 32 bits
import { operandType, type TraceNode } from "../nodes.ts";
import { exactOnly, type Computed, type Type } from "../operations.ts";
import type { Code } from "./code.ts";
import type { Op32Name } from "./opcodes.ts";

interface Operands {
  readonly code: Code;
  readonly node: TraceNode;
  push(i: number): void;
}

/** Instructions by the type of the operands; or a function that emits them. */
type How = Partial<Record<Type, readonly Op32Name[]>> | ((o: Operands) => void);

const numbers = (float: Op32Name, signed: Op32Name, unsigned = signed): How => ({
  f32: [float],
  i32: [signed],
  u32: [unsigned],
  bool: [signed],
});
const compared = (name: "lt" | "le" | "gt" | "ge"): How => numbers(`f64.${name}`, `i32.${name}_s`, `i32.${name}_u`);

function host(): never {
  throw exactOnly("WebAssembly");
}

/** Gives operands locals, runs `then` with them, and gives them back. */
function inLocals({ code, node, push }: Operands, then: (...locals: number[]) => void): void {
  const kinds = node.args.map((_, i) => (operandType(node, i) === "f32" ? "double" : "scalar"));
  const locals = kinds.map((kind, i) => {
    push(i);
    const local = code.local(kind);
    code.set(local);
    return local;
  });
  then(...locals);
  code.release(...locals);
}

/** The lesser or the greater of integers: WebAssembly has none. */
const extreme =
  (name: "min" | "max"): How =>
  (o) => {
    const { code, node } = o;
    if (node.type === "f32") {
      o.push(0);
      o.push(1);
      code.op(`f64.${name}`);
      return;
    }
    const sign = node.type === "i32" ? "s" : "u";
    inLocals(o, (x, y) =>
      code
        .get(x)
        .get(y)
        .get(x)
        .get(y)
        .op(name === "min" ? `i32.lt_${sign}` : `i32.gt_${sign}`, "select"),
    );
  };

/** x / y; of integers as `Code.quotient` has it. */
function quotient(o: Operands): void {
  const { code, node } = o;
  if (node.type === "f32") {
    o.push(0);
    o.push(1);
    code.op("f64.div");
    return;
  }
  inLocals(o, (x, y) => code.quotient(x, y, node.type === "i32"));
}

function negated(o: Operands): void {
  const { code, node } = o;
  if (node.type !== "f32") code.int(0);
  o.push(0);
  code.op(node.type === "f32" ? "f64.neg" : "i32.sub");
}

function absolute(o: Operands): void {
  const { code, node } = o;
  if (node.type !== "i32") {
    o.push(0);
    if (node.type === "f32") code.op("f64.abs");
    return;
  }
  inLocals(o, (x) => code.int(0).get(x).op("i32.sub").get(x).get(x).int(0).op("i32.lt_s", "select"));
}

/** 1, -1, or the number itself: a zero or NaN. */
function sign(o: Operands): void {
  const { code } = o;
  inLocals(o, (x) => {
    code.double(1).double(-1).get(x);
    code.get(x).double(0).op("f64.lt", "select");
    code.get(x).double(0).op("f64.gt", "select");
  });
}

function select({ code, push }: Operands): void {
  push(1);
  push(2);
  push(0);
  code.op("select");
}

function lowestBit(o: Operands): void {
  const { code } = o;
  inLocals(o, (x) => code.int(-1).get(x).op("i32.ctz").get(x).op("i32.eqz", "select"));
}

const same = ({ push }: Operands): void => push(0);

const WIDE: Readonly<Record<Computed, How>> = {
  add: numbers("f64.add", "i32.add"),
  sub: numbers("f64.sub", "i32.sub"),
  mul: numbers("f64.mul", "i32.mul"),
  div: quotient,
  neg: negated,
  abs: absolute,
  sqrt: { f32: ["f64.sqrt"] },
  floor: { f32: ["f64.floor"] },
  round: { f32: ["f64.nearest"] },
  sign,
  min: extreme("min"),
  max: extreme("max"),

  lt: compared("lt"),
  le: compared("le"),
  gt: compared("gt"),
  ge: compared("ge"),
  eq: numbers("f64.eq", "i32.eq"),
  ne: numbers("f64.ne", "i32.ne"),
  and: { bool: ["i32.and"] },
  or: { bool: ["i32.or"] },
  not: { bool: ["i32.eqz"] },
  select,

  band: { u32: ["i32.and"] },
  bor: { u32: ["i32.or"] },
  bxor: { u32: ["i32.xor"] },
  shl: { u32: ["i32.shl"] },
  shr: { u32: ["i32.shr_u"] },
  uadd: { u32: ["i32.add"] },
  umul: { u32: ["i32.mul"] },
  ctz: lowestBit,

  f32: { f32: [], i32: ["f64.convert_i32_s"], u32: ["f64.convert_i32_u"], bool: ["f64.convert_i32_u"] },
  i32: { f32: ["i32.trunc_sat_f64_s"], i32: [], u32: [], bool: [] },
  u32: { f32: ["i32.trunc_sat_f64_u"], i32: [], u32: [], bool: [] },
  bitcast_u32: { f32: ["f32.demote_f64", "i32.reinterpret_f32"] },
  bitcast_f32: { u32: ["f32.reinterpret_i32", "f64.promote_f32"] },
  hide: same,

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

/** Emits an operation of one world. Throws trace-exact. */
export function emitWide(op: Computed, o: Operands): void {
  const how = WIDE[op];
  if (typeof how === "function") return how(o);
  const from = operandType(o.node, 0);
  const names = how[from];
  if (names === undefined) throw new Error(`no instruction for ${op} of ${from}`);
  for (const i of o.node.args.keys()) o.push(i);
  o.code.op(...names);
}
