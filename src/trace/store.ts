// traces as plain data and back: a program that another process can run, or take apart
import { CorralError } from "../core/errors.ts";
import {
  Block,
  TraceNode,
  Trace,
  type ArrayRef,
  type Operand,
  type Source,
  type Statement,
  type Type,
  type VarRef,
} from "./graph.ts";
import { analyse } from "./live.ts";
import { isOp } from "./operations.ts";

/** A number, a truth value, or the id of a node in brackets. */
type StoredOperand = number | boolean | readonly [number];
type StoredSource = readonly ["var" | "array" | "table" | "buffer" | "param", number];
type StoredStatement =
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
    exact: trace.exact,
    vars: trace.vars.map((v) => [v.name, v.type, blocks.get(v.block) ?? 0]),
    arrays: trace.arrays.map((a) => [a.name, a.type, a.length]),
    tables: trace.tables.map((t) => [t.type, t.name, t.values]),
    buffers: trace.buffers.map((b) => [b.name, b.access]),
    params: trace.params.map((p) => [p.name, p.type]),
    body,
  };
}

/**
 * The trace of plain data: emits the same code, to the bit.
 * @throws CorralError bad-trace
 */
export function loadTrace(stored: StoredTrace): Trace {
  const trace = new Trace({ unroll: stored.unroll, exact: stored.exact });
  for (const [name, type] of stored.params) trace.param(name, type);
  for (const [name, access] of stored.buffers) trace.buffer(name, access);
  for (const [type, name, values] of stored.tables) trace.table(type, name, values);
  const arrays = stored.arrays.map(([name, type, length], id): ArrayRef => ({ kind: "array", id, name, type, length }));
  trace.arrays.push(...arrays);
  const vars = stored.vars.map(([name, type], id): VarRef => ({ kind: "var", id, name, type, block: trace.root }));
  trace.vars.push(...vars);

  const nodes = new Map<number, TraceNode>();
  const operand = (a: StoredOperand): Operand => (Array.isArray(a) ? there(nodes.get(a[0] as number)) : (a as Operand));
  const lists = { var: vars, array: arrays, table: trace.tables, buffer: trace.buffers, param: trace.params };
  const blocks: Block[] = [];

  const fill = (into: Block, list: readonly StoredStatement[]): Block => {
    blocks.push(into);
    for (const s of list) into.statements.push(statement(s, into));
    return into;
  };
  const nested = (parent: Block, isLoop: boolean, list: readonly StoredStatement[]) =>
    fill(new Block(parent, isLoop), list);
  const statement = (s: StoredStatement, into: Block): Statement => {
    switch (s[0]) {
      case "let": {
        const [, id, op, type, args, source, name] = s;
        if (!isOp(op)) throw new CorralError("bad-trace", `a stored program has an operation "${op}", which is none.`);
        const from = source === 0 ? undefined : there(lists[source[0]][source[1]]);
        const node = new TraceNode(id, op, type, args.map(operand), into, from);
        if (name !== 0) node.name = name;
        nodes.set(id, node);
        trace.nodes = Math.max(trace.nodes, id + 1);
        return { kind: "let", node };
      }
      case "set":
        return { kind: "set", target: there(vars[s[1]]), value: operand(s[2]) };
      case "put":
        return { kind: "put", target: there(arrays[s[1]]), index: operand(s[2]), value: operand(s[3]) };
      case "store":
        return {
          kind: "store",
          target: there(trace.buffers[s[1]]),
          index: operand(s[2]),
          values: s[3].map(operand),
          type: s[4],
        };
      case "when": {
        const cond = operand(s[1]) as TraceNode;
        return { kind: "when", cond, then: nested(into, false, s[2]), otherwise: nested(into, false, s[3]) };
      }
      case "loop": {
        const [, id, start, bound, body, label] = s;
        const block = new Block(into, true);
        const [from, to] = [operand(start), operand(bound)];
        const index = new TraceNode(id, "index", "i32", [], block);
        nodes.set(id, index);
        trace.nodes = Math.max(trace.nodes, id + 1);
        return { kind: "loop", index, start: from, bound: to, block: fill(block, body), label };
      }
      case "break":
        return { kind: "break", cond: operand(s[1]) };
      case "stage":
        return { kind: "stage", name: s[1] };
    }
  };
  fill(trace.root, stored.body);
  vars.forEach((v, i) => Object.assign(v, { block: blocks[stored.vars[i][2]] ?? trace.root }));
  return trace;
}

function there<T>(found: T | undefined): T {
  if (found !== undefined) return found;
  throw new CorralError("bad-trace", "a stored program names something that it does not hold.");
}
