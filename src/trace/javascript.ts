// back end: a trace as a JavaScript function, in float64 or in float32
import { TraceNode, type Operand, type TableRef, type Trace, type Type } from "./graph.ts";
import { exactOnly, hostMath } from "./math.ts";
import { arrayName, emitBody, varName, type Dialect } from "./text.ts";
import { FIXED_PARAMS } from "./wgsl.ts";

export type Precision = "f64" | "f32";

const FLOAT_INFIX: Record<string, string> = { add: "+", sub: "-", mul: "*", div: "/" };
const COMPARE: Record<string, string> = {
  lt: "<",
  le: "<=",
  gt: ">",
  ge: ">=",
  eq: "===",
  ne: "!==",
  and: "&&",
  or: "||",
};
const BITS: Record<string, string> = { band: "&", bor: "|", bxor: "^", shl: "<<", shr: ">>>", uadd: "+" };

function literal(value: number | boolean, type: Type): string {
  if (typeof value === "boolean") return String(value);
  if (type === "u32") return String(value >>> 0);
  return value < 0 || Object.is(value, -0) ? `(${value})` : String(value);
}

const isFloat = (a: Operand): boolean => a instanceof TraceNode && a.type === "f32";

/** A name or a number as it is, anything else in parentheses. */
const operand = (e: string): string => (/^\w+$/.test(e) ? e : `(${e})`);

function makeDialect(precision: Precision): Dialect {
  const round = (e: string) => (precision === "f32" ? `fround(${e})` : e);
  return {
    vectors: false,
    literal: (value, type) =>
      literal(precision === "f32" && type === "f32" && typeof value === "number" ? Math.fround(value) : value, type),
    expression(node: TraceNode, arg) {
      const { op, type } = node;
      // the host's numbers are float64
      const roundFloat = (e: string) => (type === "f32" ? round(e) : e);
      if (op.startsWith("math_")) {
        if (precision === "f32") throw exactOnly("float32 JavaScript");
        return `M.${op.slice(5)}(${node.args.map((_, i) => arg(i)).join(", ")})`;
      }
      if (op in FLOAT_INFIX) {
        if (op === "mul" && type === "i32") return `Math.imul(${arg(0)}, ${arg(1)})`;
        if (op === "mul" && type === "u32") return `(Math.imul(${arg(0)}, ${arg(1)}) >>> 0)`;
        if (type === "i32") return `((${arg(0)} ${FLOAT_INFIX[op]} ${arg(1)}) | 0)`;
        const e = `(${arg(0)} ${FLOAT_INFIX[op]} ${arg(1)})`;
        return type === "u32" ? `(${e} >>> 0)` : round(e);
      }
      if (op in COMPARE) return `(${arg(0)} ${COMPARE[op]} ${arg(1)})`;
      if (op in BITS) return `((${arg(0)} ${BITS[op]} ${arg(1)}) >>> 0)`;
      switch (op) {
        case "umul":
          return `(Math.imul(${arg(0)}, ${arg(1)}) >>> 0)`;
        case "abs":
        case "floor":
        case "sign":
          return `Math.${op}(${arg(0)})`;
        case "min":
        case "max":
          return `Math.${op}(${arg(0)}, ${arg(1)})`;
        case "sqrt":
          return round(`Math.sqrt(${arg(0)})`);
        case "round":
          return `roundEven(${arg(0)})`;
        case "f32":
          return round(`Number(${arg(0)})`);
        case "i32":
          return isFloat(node.args[0]) ? `toI32(${arg(0)})` : `(${arg(0)} | 0)`;
        case "u32":
          return isFloat(node.args[0]) ? `toU32(${arg(0)})` : `(${arg(0)} >>> 0)`;
        case "bitcast_u32":
          return `bitsOf(${arg(0)})`;
        case "bitcast_f32":
          return `floatOf(${arg(0)})`;
        case "neg":
          return `(-${arg(0)})`;
        case "not":
          return `(!${arg(0)})`;
        case "select":
          return `(${arg(0)} ? ${arg(1)} : ${arg(2)})`;
        case "ctz":
          return `(31 - Math.clz32(${arg(0)} & -${arg(0)}))`;
        case "hide":
          return arg(0);
        case "world":
          return "world";
        case "param":
          return roundFloat(`P[${(node.source as { slot: number }).slot + FIXED_PARAMS.length}]`);
        case "table": {
          const ref = node.source as TableRef;
          return `T_${ref.type}[${arg(0)} + ${ref.offset}]`;
        }
        case "at":
          return `${arrayName(node.source as never)}[${arg(0)}]`;
        case "load":
          return varName(node.source as never);
        case "load4":
          // components read the buffer; this is the index of the first
          return `(${arg(0)} * 4)`;
        case "component": {
          const { name } = (node.args[0] as TraceNode).source as { name: string };
          return roundFloat(`B_${name}[${arg(0)} + ${node.args[1] as number}]`);
        }
        default:
          throw new Error(`no JavaScript for ${op}`);
      }
    },
    constant: (name, _node, expression) => `const ${name} = ${expression};`,
    loop: (i, start, bound) => ({
      head: [`for (let ${i} = ${start}; ${i} < ${operand(bound)}; ${i}++) {`],
      tail: ["}"],
    }),
    set: (name, value) => `${name} = ${value};`,
    put: (name, index, value) => `${name}[${index}] = ${value};`,
    store: (s, index, values) => values.map((v, c) => `B_${s.target.name}[(${index}) * 4 + ${c}] = ${v};`),
  };
}

/** A kernel on the CPU: runs one world of a shard. Buffers hold plain numbers, integers included. */
export interface JsKernel {
  run(world: number): void;
  source: string;
}

export interface JsBindings {
  buffers: Record<string, Float64Array>;
  /** Uniform slots: `num_worlds`, `zero`, then the trace's parameters in order. */
  params: Float64Array;
}

const word = new DataView(new ArrayBuffer(4));
const helpers = {
  bitsOf(x: number): number {
    word.setFloat32(0, x);
    return word.getUint32(0);
  },
  floatOf(x: number): number {
    word.setUint32(0, x);
    return word.getFloat32(0);
  },
  // out of range they saturate, as in WGSL
  toI32: (x: number): number => Math.max(-2147483648, Math.min(Math.trunc(x), 2147483647)) | 0,
  toU32: (x: number): number => Math.max(0, Math.min(Math.trunc(x), 4294967295)) >>> 0,
  roundEven(x: number): number {
    const r = Math.round(x);
    return Math.abs(x % 1) === 0.5 && r % 2 !== 0 ? r - 1 : r;
  },
};

/** Compiles a trace to JavaScript over the given buffers. */
export function toJavaScript(trace: Trace, precision: Precision, bindings: JsBindings): JsKernel {
  const { lines, live } = emitBody(trace, makeDialect(precision));
  const arrays = trace.arrays.filter((a) => live.liveArrays.has(a.id));
  const values = (type: "f32" | "i32") => {
    const list = trace.tables.filter((t) => t.type === type).flatMap((t) => t.values);
    return precision === "f32" && type === "f32" ? list.map(Math.fround) : list;
  };
  const source = [
    '"use strict";',
    "const { fround } = Math;",
    ...trace.buffers.map((b) => `const B_${b.name} = B.${b.name};`),
    ...arrays.map((a) => `const ${arrayName(a)} = new Float64Array(${a.length});`),
    "return function kernel(world) {",
    ...arrays.map((a) => `  ${arrayName(a)}.fill(0);`),
    ...trace.vars
      .filter((v) => live.liveVars.has(v))
      .map((v) => `  let ${varName(v)} = ${v.type === "bool" ? "false" : "0"};`),
    ...lines,
    "};",
  ].join("\n");
  // the source is made of names and numbers of the trace alone
  // oxlint-disable-next-line typescript/no-implied-eval
  const make = new Function("M", "B", "P", "T_f32", "T_i32", ...Object.keys(helpers), source);
  const run = make(
    hostMath,
    bindings.buffers,
    bindings.params,
    Float64Array.from(values("f32")),
    Int32Array.from(values("i32")),
    ...Object.values(helpers),
  ) as (world: number) => void;
  return { run, source };
}
