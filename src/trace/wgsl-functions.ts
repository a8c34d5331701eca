// back end: traced functions as WGSL functions, for kernels that are written by hand; of numbers, or of four at a time
import { param, store4 } from "./control.ts";
import { trace } from "./graph.ts";
import type { Type } from "./operations.ts";
import type { TraceNode } from "./nodes.ts";
import { isComputed, OPERATIONS, type Computed } from "./operations.ts";
import { emitBody, type Dialect } from "./text.ts";
import { readOfFunction, toLiteral } from "./wgsl.ts";
import type { Scalar } from "./scalar.ts";

export interface FunctionRequest {
  readonly name: string;
  /** What stands above it, a line each. */
  readonly doc: readonly string[];
  /** Names and types of its arguments; of several numbers, where they are one vector in WGSL. */
  readonly args: readonly (readonly [name: string, type: "f32" | "u32", count?: number])[];
  readonly result: "f32" | "u32";
  /** Of all arguments one after another; one result, or the components of a vector. */
  readonly fn: (...args: Scalar[]) => Scalar | readonly Scalar[];
  /** Four numbers at a time: arguments and result are vec4s. */
  readonly wide?: boolean;
}

const VECTOR = "xyzw";

/** Operations that name a type, of four numbers at a time. */
const WIDE: Partial<Readonly<Record<Computed, (x: string) => string>>> = {
  f32: (x) => `vec4<f32>(${x})`,
  i32: (x) => `vec4<i32>(${x})`,
  u32: (x) => `vec4<u32>(${x})`,
  bitcast_f32: (x) => `bitcast<vec4<f32>>(${x})`,
  bitcast_u32: (x) => `bitcast<vec4<u32>>(${x})`,
};

function expressionOf(node: TraceNode, arg: (i: number) => string, isWide: boolean): string {
  if (!isComputed(node.op)) return readOfFunction(node);
  const wide = isWide ? WIDE[node.op] : undefined;
  return wide ? wide(arg(0)) : OPERATIONS[node.op].wgsl(arg(0), arg(1), arg(2));
}

/** Emits a function. It may not loop, branch or read memory. */
export function wgslFunction({ name, doc, args, result, fn, wide: isWide = false }: FunctionRequest): string {
  let count = 1;
  const made = trace(() => {
    const given = args.flatMap(([arg, type, n = 1]) =>
      Array.from({ length: n }, (_, i) => param(n > 1 ? `${arg}.${VECTOR[i]}` : arg, type)),
    );
    const values = fn(...given);
    const all = Array.isArray(values) ? (values as readonly Scalar[]) : [values as Scalar];
    count = all.length;
    store4("result", 0, [all[0], all[1] ?? 0, all[2] ?? 0, all[3] ?? 0], result);
  });
  const typed = (type: Type) => (isWide ? `vec4<${type}>` : type);
  const literal = (value: number | boolean, type: Type) =>
    isWide ? `${typed(type)}(${toLiteral(value, type)})` : toLiteral(value, type);
  const dialect: Dialect = {
    vectors: true,
    literal,
    expression: (node, arg) => expressionOf(node, arg, isWide),
    constant: (constant, _node, expression) => `let ${constant} = ${expression};`,
    loop: unsupported,
    set: unsupported,
    put: unsupported,
    store: (_statement, _index, values) => [
      `return ${count > 1 ? `vec${count}<${result}>(${values.slice(0, count).join(", ")})` : values[0]};`,
    ],
  };
  const { lines } = emitBody(made, dialect);
  const returns = count > 1 ? `vec${count}<${result}>` : typed(result);
  const list = args.map(([arg, type, n = 1]) => `${arg}: ${n > 1 ? `vec${n}<${type}>` : typed(type)}`).join(", ");
  return [...doc.map((line) => `/// ${line}`), `fn ${name}(${list}) -> ${returns} {`, ...lines, "}", ""].join("\n");
}

function unsupported(): never {
  throw new Error("a WGSL function is an expression: no loops, no memory");
}
