// back end: a trace as a WGSL compute kernel, one invocation a world
import { oneLine } from "../core/show.ts";
import type { Trace } from "./graph.ts";
import type { ArrayRef, TraceNode, TableRef, VarRef } from "./nodes.ts";
import { analyse, type Liveness } from "./liveness.ts";
import { isComputed, OPERATIONS, type Read, type Type } from "./operations.ts";
import { CELLS } from "./pieces.ts";
import {
  indexedAtRunTime,
  MERGED,
  privateMemory,
  tiledBuffer,
  type PrivateMemory,
  type Tiled,
} from "./private-memory.ts";
import { inMemory } from "./in-memory.ts";
import { readAgain } from "./kept-reads.ts";
import { nestingOf } from "./nesting.ts";
import { spilled } from "./spill.ts";
import { arrayName, emitBody, unnamed, varName, type Dialect } from "./text.ts";

/**
 * Values and variables that live at once in a text. Of 286 and 294 AMD's compiler needed more than the 255 registers of a
 * lane, of 278 and 263 it needed 234 and 239 (docs/decisions/0090).
 */
const MOST_IN_TEXT = 280;
/** Bounds of `mostLive`. */
export const LEAST_LIVE = 16;
export const MOST_LIVE = 2 ** 16;

/** Largest f32; a literal above it is an error, even one that would round to it. */
const MAX = 3.4028234663852886e38;

/** A float literal: the shortest decimal that reads back as the same f32. */
export function f32Literal(x: number): string {
  const rounded = Math.fround(x);
  const f = Number.isFinite(rounded) ? rounded : rounded > 0 ? MAX : -MAX;
  // values below the smallest normal number are flushed by some adapters: flush them on all
  if (Math.abs(f) < 1.1754943508222875e-38) return "0.0";
  for (let p = 1; p <= 9; p++) {
    const s = f.toPrecision(p);
    if (Math.fround(Number(s)) !== f || Math.abs(Number(s)) > MAX) continue;
    const short = String(Number(s));
    return /[.e]/.test(short) ? short : `${short}.0`;
  }
  return String(f);
}

/** A literal of a type. */
export function toLiteral(value: number | boolean, type: Type): string {
  if (typeof value === "boolean") return String(value);
  if (type === "f32") return value < 0 ? `(${f32Literal(value)})` : f32Literal(value);
  if (type === "u32") return `${value >>> 0}u`;
  return value < 0 ? `(${value})` : String(value);
}

/** Tables that fit into the 64 KiB that every adapter allows are uniforms: drivers gather without branches for each lane. */
const UNIFORM_WORDS = 16384;

/** Names of the buffers that hold the tables of a kernel. */
export const TABLES = { f32: "tables_f", i32: "tables_i" } as const;

function tableRead(ref: TableRef, index: string, isUniform: boolean): string {
  const at = ref.offset ? `${index} + ${ref.offset}` : index;
  const place = isUniform ? `[(${at}) >> 2u][(${at}) & 3]` : `[${at}]`;
  return `bitcast<${ref.type}>(${TABLES[ref.type]}${place})`;
}

/** Where a kernel's constants are bound, and where its private arrays are. */
interface Places {
  readonly tables: Readonly<Record<"f32" | "i32", "uniform" | "read">>;
  readonly memory: PrivateMemory;
  readonly tiled: Tiled | undefined;
}

const sourceName = (node: TraceNode): string => (node.source as { name: string }).name;

/** How each read is written. */
const READ: Readonly<Record<Read, (node: TraceNode, arg: (i: number) => string, places: Places) => string>> = {
  load: (node) => varName(node.source as VarRef),
  at: (node, arg, { memory }) => memory.read(node.source as ArrayRef, arg(0)),
  table: (node, arg, { tables }) => {
    const ref = node.source as TableRef;
    return tableRead(ref, arg(0), tables[ref.type] === "uniform");
  },
  param: (node) => `U.${sourceName(node)}`,
  load4: (node, arg, { tiled }) => {
    const name = sourceName(node);
    const read = name === tiled?.buffer ? tiled.four(arg(0)) : `${name}[${arg(0)}]`;
    return node.type === "f32" ? `bitcast<vec4<f32>>(${read})` : read;
  },
  component: (node, arg) => `${arg(0)}.${"xyzw"[node.args[1] as number]}`,
  world: () => "world",
  index: unnamed,
};

/** What a function reads: its arguments, which are traced as parameters. */
export function readOfFunction(node: TraceNode): string {
  if (node.op !== "param") throw new Error(`a WGSL function cannot read by ${node.op}`);
  return sourceName(node);
}

const dialectOf = (places: Places): Dialect => ({
  vectors: true,
  literal: toLiteral,
  expression: (node, arg) =>
    isComputed(node.op) ? OPERATIONS[node.op].wgsl(arg(0), arg(1), arg(2)) : READ[node.op](node, arg, places),
  constant: (name, _node, expression) => `let ${name} = ${expression};`,
  loop(i, start, bound, kind) {
    // drivers simplify loops that test first in fewer rounds
    if (kind === "light") return { head: [`for (var ${i} = ${start}; ${i} < ${bound}; ${i}++) {`], tail: ["}"] };
    // software drivers run a loop that tests first once more than needed, with all lanes masked off; testing at the end avoids that
    return {
      head: [kind === "nonempty" ? "{" : `if (${start} < ${bound}) {`, `var ${i} = ${start};`, "loop {"],
      tail: [`continuing { ${i}++; break if ${i} >= ${bound}; }`, "}", "}"],
    };
  },
  set: (target, value) => `${varName(target)} = ${value};`,
  put: (target, index, value) => places.memory.write(target, index, value),
  store: (s, index, values) => {
    const four = values.join(", ");
    const value = s.type === "f32" ? `bitcast<vec4<u32>>(vec4<f32>(${four}))` : `vec4<u32>(${four})`;
    const { name } = s.target;
    return [`${name === places.tiled?.buffer ? places.tiled.four(index) : `${name}[${index}]`} = ${value};`];
  },
});

/** Elements of arrays that are zeroed in one basic block. */
const ZEROED = 512;

/**
 * Declares private arrays. SwiftShader writes their zeros element by element into one basic block, and looks for common
 * subexpressions in time quadratic in its length. A write at an index known at run time ends a block there.
 */
function declared(arrays: readonly ArrayRef[]): string[] {
  const lines: string[] = [];
  const many = arrays.reduce((sum, a) => sum + a.length, 0) > ZEROED;
  let length = 0;
  let longest = arrays[0];
  for (const a of arrays) {
    const type = `array<${a.type}, ${a.length}>`;
    if (length > 0 && length + a.length > ZEROED) {
      lines.push(`  ${arrayName(longest)}[U.zero] = ${toLiteral(longest.type === "bool" ? false : 0, longest.type)};`);
      length = 0;
      longest = a;
    }
    // with an initialiser zeros are written here, without one at the start of the kernel
    lines.push(many ? `  var ${arrayName(a)} = ${type}();` : `  var ${arrayName(a)}: ${type};`);
    length += a.length;
    if (a.length > longest.length) longest = a;
  }
  return lines;
}

/** What variables and private arrays take. */
function bytesOf(trace: Trace, live: Liveness, merged: ReadonlySet<number>): NonNullable<WgslKernel["privateBytes"]> {
  const { apart, length } = privateMemory(
    trace.arrays.filter((a) => live.liveArrays.has(a.id)),
    merged,
  );
  const arrays = [{ name: MERGED, length }, ...apart];
  const { name, length: most } = arrays.reduce((longest, a) => (a.length > longest.length ? a : longest));
  const words = arrays.reduce((sum, a) => sum + a.length, live.liveVars.size);
  return { all: 4 * words, most: 4 * most, largest: name };
}

/** How a kernel is written for an adapter: its numbers and their order are the same in every form. */
export interface WgslForm {
  /** Invocations a workgroup. */
  readonly workgroupSize: number;
  /** Private arrays that are indexed at run time as one array, or each its own. Default: each its own. */
  readonly privateArrays?: "separate" | "merged";
  /** Tables whose index differs between lanes as storage, or every table that fits as a uniform. Default: as uniforms. */
  readonly tablesApart?: "uniform" | "storage";
  /** Values that may live at once, by the order of the text: others lie in private memory for their time. Default: any number. */
  readonly mostLive?: number;
  /** Bytes of a lane's private memory beyond which arrays lie in an arena. Default: any number. */
  readonly privateRoom?: number;
  /** Statements beyond which a value of a rolled kernel lies in an array, as all variables then do. Default: none does. */
  readonly longLived?: number;
}

export interface WgslOptions extends WgslForm {
  /** Printed as the first line. */
  title?: string;
}

/** A kernel and what must be bound to it, in binding order after the uniform at binding 0. */
export interface WgslKernel {
  /** Emitted when it is first read, as the tables: a batch on the CPU asks for the rest alone. */
  readonly code: string;
  buffers: { name: string; access: "read" | "read_write" | "uniform" }[];
  /** How it is written, and whether its trace is straight-line code. */
  readonly form: WgslForm & { readonly unroll: boolean };
  /** Uniform slots in order, four bytes each; the first two are `num_worlds` and `zero`. */
  params: { name: string; type: "f32" | "i32" | "u32"; slot: number }[];
  /** Bytes of a lane's private memory: all of it, and its largest array, whose name is `largest`; unknown of a kernel in a bundle. */
  readonly privateBytes?: { readonly all: number; readonly most: number; readonly largest: string };
  /** Contents of the table buffers, in whole fours, or undefined if no table is read. */
  tables: { f32?: Float32Array<ArrayBuffer>; i32?: Int32Array<ArrayBuffer> };
}

/** The first parameters of every kernel: how many worlds its shard has, and a zero that hides loop bounds. */
export const FIXED_PARAMS = ["num_worlds", "zero"] as const;

/** A value that is made when it is first asked for. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** The numbers of tables, each where it lies. */
function filled<T extends Float32Array | Int32Array>(tables: readonly TableRef[], data: T): T {
  for (const t of tables) data.set(t.values, t.offset);
  return data;
}

/** Emits a trace as a WGSL module with the entry point `main`. */
export function toWgsl(trace: Trace, options: WgslOptions): WgslKernel {
  const live = analyse(trace);
  // what no live statement reads is not bound: pipelines with automatic layouts leave it out
  const readTables = (["f32", "i32"] as const).map((type) => {
    const tables = trace.tables.filter((t) => t.type === type);
    return tables.some((t) => live.sources.has(t)) ? tables : [];
  });
  const [floats, ints] = readTables.map(
    (tables) => 4 * Math.ceil(tables.reduce((sum, t) => sum + t.values.length, 0) / 4),
  );
  const buffers: WgslKernel["buffers"] = trace.buffers
    .filter((b) => live.sources.has(b))
    .map(({ name, access }) => ({ name, access }));
  const {
    workgroupSize,
    privateArrays = "separate",
    tablesApart = "uniform",
    mostLive,
    privateRoom,
    longLived,
  } = options;
  const indexed = once(() => indexedAtRunTime(trace, live));
  const accessOf = (type: "f32" | "i32", words: number) => {
    const isApart = () => tablesApart === "storage" && [...indexed().lanesApart].some((table) => table.type === type);
    return words <= UNIFORM_WORDS && !isApart() ? "uniform" : "read";
  };
  const access = { f32: accessOf("f32", floats), i32: accessOf("i32", ints) } as const;
  if (floats) buffers.push({ name: TABLES.f32, access: access.f32 });
  if (ints) buffers.push({ name: TABLES.i32, access: access.i32 });
  const words: Record<string, number> = { [TABLES.f32]: floats, [TABLES.i32]: ints };
  const params = [
    { name: "num_worlds", type: "i32" as const, slot: 0 },
    { name: "zero", type: "i32" as const, slot: 1 },
    ...trace.params.map((p) => ({ name: p.name, type: p.type, slot: p.slot + FIXED_PARAMS.length })),
  ];
  const privateBytes = once(() =>
    bytesOf(trace, live, privateArrays === "merged" ? indexed().arrays : new Set<number>()),
  );
  const tables = once(() => {
    const [f32, i32] = readTables;
    return {
      ...(floats ? { f32: filled(f32, new Float32Array(floats)) } : {}),
      ...(ints ? { i32: filled(i32, new Int32Array(ints)) } : {}),
    };
  });
  const emit = (): string => {
    const body =
      mostLive === undefined
        ? trace
        : readAgain(
            spilled(trace, mostLive, ({ name }) => name === CELLS),
            mostLive,
          );
    const bodyLive = body === trace ? live : analyse(body);
    const merged = privateArrays === "merged" ? indexedAtRunTime(body, bodyLive).arrays : new Set<number>();
    const memory = privateMemory(
      body.arrays.filter((a) => bodyLive.liveArrays.has(a.id)),
      merged,
    );
    // a piece that passes nothing has a place for it, and no buffer
    const tiled = tiledBuffer(body.arrays.filter(({ kept }) => kept && bodyLive.sources.has(kept.buffer)));
    const plain = dialectOf({ tables: access, memory, tiled });
    const kept = inMemory(plain, body, bodyLive, longLived);
    const dialect = kept?.dialect ?? plain;
    let { lines, isInlined } = emitBody(body, dialect, bodyLive);
    if (mostLive !== undefined) {
      const { most, far } = nestingOf(body, bodyLive, isInlined);
      if (most > MOST_IN_TEXT) ({ lines } = emitBody(body, dialect, bodyLive, far));
    }
    const vars = body.vars.filter((v) => bodyLive.liveVars.has(v));
    const variables = kept?.declared ?? vars.map((v) => `  var ${varName(v)}: ${v.type};`);
    return [...head(variables, memory, tiled), ...lines, "}", ""].join("\n");
  };
  const head = (variables: readonly string[], memory: PrivateMemory, tiled: Tiled | undefined) => [
    `// ${oneLine(options.title ?? "kernel")}`,
    "struct Params {",
    ...params.map((p) => `  ${p.name}: ${p.type},`),
    "}",
    "@group(0) @binding(0) var<uniform> U: Params;",
    ...buffers.map((b, k) => {
      if (b.access === "uniform") {
        return `@group(0) @binding(${k + 1}) var<uniform> ${b.name}: array<vec4<u32>, ${words[b.name] / 4}>;`;
      }
      const four = b.name === tiled?.buffer ? `array<vec4<u32>, ${tiled.fours}>` : "vec4<u32>";
      const element = b.name in words ? "u32" : four;
      return `@group(0) @binding(${k + 1}) var<storage, ${b.access}> ${b.name}: array<${element}>;`;
    }),
    "",
    `@compute @workgroup_size(${workgroupSize})`,
    "fn main(@builtin(global_invocation_id) gid: vec3<u32>) {",
    `  let world = i32(gid.x + gid.y * ${65535 * workgroupSize}u);`,
    "  if (world >= U.num_worlds) { return; }",
    ...variables,
    ...(tiled?.declared ?? []),
    ...(memory.length > 0 ? [`  var ${MERGED}: array<u32, ${memory.length}>;`] : []),
    ...declared(memory.apart),
  ];
  const code = once(emit);
  return {
    get code() {
      return code();
    },
    buffers,
    get privateBytes() {
      return privateBytes();
    },
    form: {
      unroll: trace.unroll,
      workgroupSize,
      privateArrays,
      tablesApart,
      ...(mostLive ? { mostLive } : {}),
      ...(privateRoom ? { privateRoom } : {}),
      ...(longLived && !trace.unroll ? { longLived } : {}),
    },
    params,
    get tables() {
      return tables();
    },
  };
}
