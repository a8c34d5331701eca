// back end: a trace as a JavaScript function, in float64 or in float32
import { CorralError } from "../core/errors.ts";
import { show } from "../core/show.ts";
import type { Trace } from "./graph.ts";
import {
  operandType,
  type ArrayRef,
  type BufferRef,
  type ParamRef,
  type TableRef,
  type TraceNode,
  type VarRef,
} from "./nodes.ts";
import { hostMath } from "./host-math.ts";
import { exactOnly, helpers, isComputed, isRounded, rowOf, type Op, type Read, type Type } from "./operations.ts";
import { arrayName, emitBody, unnamed, varName, type Dialect } from "./text.ts";
import { FIXED_PARAMS } from "./wgsl.ts";

export type Precision = "f64" | "f32";

const badTrace = (what: string, found: unknown): CorralError =>
  new CorralError("bad-trace", `${what} of a program is ${show(found)}, of which no code is made.`);

/** A name that goes into the code as it is; anything but a name would be run. */
const named = (name: string): string => {
  if (/^[A-Za-z_]\w*$/.test(name)) return name;
  throw badTrace("a name", name);
};

/** A whole number that goes into the code as it is. */
const whole = (value: unknown): number => {
  if (Number.isSafeInteger(value)) return value as number;
  throw badTrace("a number", value);
};

function literal(value: number | boolean, type: Type): string {
  if (typeof value === "boolean") return String(value);
  if (typeof value !== "number") throw badTrace("a constant", value);
  if (type === "u32") return String(value >>> 0);
  if (Object.is(value, -0)) return "(-0)";
  return value < 0 ? `(${value})` : String(value);
}

/** A name or a number as it is, anything else in parentheses. */
const operand = (e: string): string => (/^\w+$/.test(e) ? e : `(${e})`);

/** Local variables of a kernel: their frame has to fit onto a thread's stack, 984 KiB by default. What is more is in arrays. */
const MOST_LOCALS = 40_000;

const variable = (v: VarRef): string => (v.id < MOST_LOCALS / 2 ? varName(v) : `W[${v.id}]`);

/** How each read is written. */
const READ: Readonly<Record<Read, (node: TraceNode, arg: (i: number) => string) => string>> = {
  load: (node) => variable(node.source as VarRef),
  at: (node, arg) => `${arrayName(node.source as ArrayRef)}[${arg(0)}]`,
  table: (node, arg) => {
    const { type, offset } = node.source as TableRef;
    return `T_${named(type)}[${arg(0)} + ${whole(offset)}]`;
  },
  param: (node) => `P[${whole((node.source as ParamRef).slot + FIXED_PARAMS.length)}]`,
  // components read the buffer; this is the index of the first
  load4: (_, arg) => `(${arg(0)} * 4)`,
  component: (node, arg) => {
    const { name } = (node.args[0] as TraceNode).source as BufferRef;
    return `B_${named(name)}[${arg(0)} + ${whole(node.args[1])}]`;
  },
  world: () => "world",
  index: unnamed,
};

/** Reads of what the host wrote, in float64. */
const HOSTS: ReadonlySet<Op> = new Set<Op>(["param", "component"]);

function makeDialect(precision: Precision, wide: boolean, counts: boolean): Dialect {
  const held = (e: string) => (precision === "f32" ? `fround(${e})` : e);
  const isNarrow = precision === "f32" && !wide;
  const rounded = (e: string) => (isNarrow ? held(e) : e);
  return {
    vectors: false,
    literal: (value, type) =>
      literal(isNarrow && type === "f32" && typeof value === "number" ? Math.fround(value) : value, type),
    expression(node, arg) {
      const { op, type } = node;
      if (!isComputed(op)) {
        const read = READ[op](node, arg);
        return type === "f32" && HOSTS.has(op) ? held(read) : read;
      }
      if (precision === "f32" && op.startsWith("math_")) throw exactOnly("float32 JavaScript");
      const row = rowOf(op);
      const { javascript } = operandType(node, 0) === "f32" ? row : (row.integers ?? row);
      // truth in an array is 1 or 0
      const isEqual = (op === "eq" || op === "ne") && operandType(node, 0) === "bool";
      const at = (i: number) => (isEqual ? `Number(${arg(i)})` : arg(i));
      const e = javascript(at(0), at(1), arg(2));
      if (!isRounded(row, type)) return e;
      if (type === "i32") return `(${e} | 0)`;
      return type === "u32" ? `(${e} >>> 0)` : rounded(e);
    },
    place: (count) => (count < MOST_LOCALS / 2 ? undefined : `V[${count}]`),
    constant: (name, _node, expression) => `${name.startsWith("V[") ? "" : "const "}${name} = ${expression};`,
    loop: (i, start, bound) => ({
      head: [
        `for (let ${i} = ${start}; ${i} < ${operand(bound)}; ${i}++) {`,
        ...(counts ? ["if ((turns = (turns + 1) & 4095) === 0) onTurns();"] : []),
      ],
      tail: ["}"],
    }),
    set: (target, value) => `${variable(target)} = ${value};`,
    put: (target, index, value) => `${arrayName(target)}[${index}] = ${value};`,
    store: (s, index, values) =>
      values.map(
        (v, c) => `B_${named(s.target.name)}[(${index}) * 4 + ${c}] = ${wide && s.type === "f32" ? held(v) : v};`,
      ),
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
  /** Called every few thousand turns of loops: throws if a program that may never end has run long enough. */
  readonly onTurns?: () => void;
}

/** Compiles a trace to JavaScript over the given buffers. */
export function toJavaScript(trace: Trace, precision: Precision, bindings: JsBindings): JsKernel {
  const { lines, live } = emitBody(trace, makeDialect(precision, trace.wide, bindings.onTurns !== undefined));
  const arrays = trace.arrays.filter((a) => live.liveArrays.has(a.id));
  const values = (type: "f32" | "i32") => {
    const list = trace.tables.filter((t) => t.type === type).flatMap((t) => Array.from(t.values));
    return precision === "f32" && !trace.wide && type === "f32" ? list.map(Math.fround) : list;
  };
  const large = Math.max(trace.nodes, trace.vars.length) >= MOST_LOCALS / 2;
  const source = [
    '"use strict";',
    "const { fround } = Math;",
    "let turns = 0;",
    ...trace.buffers.map(({ name }) => `const B_${named(name)} = B.${name};`),
    // large kernels alone have these
    ...(large
      ? [`const V = new Float64Array(${trace.nodes});`, `const W = new Float64Array(${trace.vars.length});`]
      : []),
    ...arrays.map((a) => `const ${arrayName(a)} = new Float64Array(${whole(a.length)});`),
    // in parentheses it is compiled at once: engines read other functions twice, at first for their syntax alone
    "return (function kernel(world) {",
    ...(large ? ["  W.fill(0);"] : []),
    ...arrays.filter((a) => !a.isScratch).map((a) => `  ${arrayName(a)}.fill(0);`),
    ...trace.vars
      .filter((v) => live.liveVars.has(v) && variable(v) === varName(v))
      .map((v) => `  let ${varName(v)} = ${v.type === "bool" ? "false" : "0"};`),
    ...lines,
    "});",
  ].join("\n");
  // the source is made of checked names and numbers of the trace alone
  // oxlint-disable-next-line typescript/no-implied-eval
  const make = new Function("M", "B", "P", "T_f32", "T_i32", "onTurns", ...Object.keys(helpers), source);
  const run = make(
    hostMath,
    bindings.buffers,
    bindings.params,
    Float64Array.from(values("f32")),
    Int32Array.from(values("i32")),
    bindings.onTurns,
    ...Object.values(helpers),
  ) as (world: number) => void;
  return { run, source };
}
