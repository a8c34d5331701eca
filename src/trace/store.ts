// traces as plain data: programs that another process can load (load.ts), run or take apart
import type { Trace } from "./graph.ts";
import type { Type } from "./operations.ts";
import { Block, TraceNode, type Operand, type Source, type Statement } from "./nodes.ts";
import { analyse } from "./liveness.ts";

/** A number, a truth value, or the id of a node in brackets. */
export type StoredOperand = number | boolean | readonly [number];
export type StoredSource = readonly ["var" | "array" | "table" | "buffer" | "param", number];
export type StoredStatement =
  | readonly ["let", number, string, Type, readonly StoredOperand[], StoredSource | 0, string | 0]
  | readonly ["set", number, StoredOperand]
  | readonly ["put", number, StoredOperand, StoredOperand]
  | readonly ["store", number, StoredOperand, readonly StoredOperand[], "f32" | "u32"]
  | readonly ["when", StoredOperand, readonly StoredStatement[], readonly StoredStatement[]]
  | readonly ["loop", number, StoredOperand, StoredOperand, readonly StoredStatement[], string]
  | readonly ["break", StoredOperand]
  | readonly ["stage", string];

/** A trace as plain data, without what has no effect. */
export interface StoredTrace {
  readonly unroll: boolean;
  readonly exact: boolean;
  readonly wide?: boolean;
  /** Name, type, and the block it was declared in, counted in the order of the text. */
  readonly vars: readonly (readonly [string, Type, number])[];
  readonly arrays: readonly (readonly [string, Type, number])[];
  readonly tables: readonly (readonly ["f32" | "i32", string, readonly number[]])[];
  readonly buffers: readonly (readonly [string, "read" | "read_write"])[];
  readonly params: readonly (readonly [string, "f32" | "i32" | "u32"])[];
  readonly body: readonly StoredStatement[];
}

/** A trace as plain data. */
export function storeTrace(trace: Trace): StoredTrace {
  const live = analyse(trace);
  const blocks = new Map<Block, number>();
  const lists = { table: trace.tables, buffer: trace.buffers, param: trace.params };
  const sourceOf = (s: Source | undefined): StoredSource | 0 => {
    if (!s) return 0;
    if (s.kind === "var" || s.kind === "array") return [s.kind, s.id];
    return [s.kind, (lists[s.kind] as Source[]).indexOf(s)];
  };
  const known = new Set<number>();
  const asStored = (a: Operand): StoredOperand => {
    const value = live.resolve(a);
    return value instanceof TraceNode ? [value.id] : value;
  };

  // names of fields stay on variables that were replaced by their values
  const keeps = (s: Statement): boolean => {
    if (s.kind === "stage") return true;
    if (s.kind === "set") {
      const value = live.resolve(s.value);
      return live.isLive(s) || !(value instanceof TraceNode) || known.has(value.id);
    }
    return live.isLive(s);
  };
  const block = (b: Block): StoredStatement[] => {
    blocks.set(b, blocks.size);
    const out: StoredStatement[] = [];
    for (const s of b.statements) if (keeps(s)) out.push(statement(s));
    return out;
  };
  const statement = (s: Statement): StoredStatement => {
    switch (s.kind) {
      case "let": {
        const { id, op, type, args, source, name } = s.node;
        known.add(id);
        return ["let", id, op, type, args.map(asStored), sourceOf(source), name ?? 0];
      }
      case "set":
        return ["set", s.target.id, asStored(s.value)];
      case "put":
        return ["put", s.target.id, asStored(s.index), asStored(s.value)];
      case "store":
        return ["store", trace.buffers.indexOf(s.target), asStored(s.index), s.values.map(asStored), s.type];
      case "when":
        return ["when", asStored(s.cond), block(s.then), block(s.otherwise)];
      case "loop":
        known.add(s.index.id);
        return ["loop", s.index.id, asStored(s.start), asStored(s.bound), block(s.block), s.label];
      case "break":
        return ["break", asStored(s.cond)];
      case "stage":
        return ["stage", s.name];
    }
  };

  const body = block(trace.root);
  return {
    unroll: trace.unroll,
    exact: trace.exact && !trace.wide,
    ...(trace.wide ? { wide: true } : {}),
    vars: trace.vars.map((v) => [v.name, v.type, blocks.get(v.block) ?? 0]),
    arrays: trace.arrays.map((a) => [a.name, a.type, a.length]),
    tables: trace.tables.map((t) => [t.type, t.name, Array.from(t.values)]),
    buffers: trace.buffers.map((b) => [b.name, b.access]),
    params: trace.params.map((p) => [p.name, p.type]),
    body,
  };
}
