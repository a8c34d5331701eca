// a trace recorded anew, statement by statement: what rewrites traces changes some of it on the way
import { breakIf, loop, when } from "./control.ts";
import { current, impure, pure, trace, type Trace } from "./graph.ts";
import type { Liveness } from "./liveness.ts";
import {
  TraceNode,
  type ArrayRef,
  type Block,
  type Operand,
  type Source,
  type Statement,
  type TableRef,
  type VarRef,
} from "./nodes.ts";
import type { Bool, Int } from "./scalar.ts";

const IMPURE: ReadonlySet<string> = new Set(["load", "at", "load4"]);

/** A trace of the same form, parameters and tables: what reads a table finds it where it was, also behind one that nothing reads. */
export function recordAnew(whole: Trace, build: () => void): Trace {
  const { unroll, exact, wide, params, tables } = whole;
  return trace(
    () => {
      for (const { type, name, values } of tables) current().table(type, name, values, true);
      build();
    },
    { unroll, exact: exact && !wide, wide, params: params.map(({ name, type }) => ({ name, type })) },
  );
}

/** Records what is live of a trace in the current one. Operations and their order are those of the trace. */
export class Retrace {
  protected readonly live: Liveness;
  /** What stands for the values of the trace. */
  protected readonly made = new Map<TraceNode, Operand>();
  readonly #vars = new Map<VarRef, VarRef>();
  readonly #arrays = new Map<ArrayRef, ArrayRef>();
  readonly #tables = new Map<TableRef, TableRef>();

  constructor(live: Liveness) {
    this.live = live;
  }

  protected block({ statements }: Block): void {
    for (const s of statements) this.statement(s);
  }

  protected statement(s: Statement): void {
    if (s.kind === "stage") return this.push(s);
    if (!this.live.isLive(s)) return;
    switch (s.kind) {
      case "let":
        if (this.live.resolve(s.node) === s.node) this.define(s.node);
        return;
      case "set":
        return this.set(s.target, this.operand(s.value));
      case "put":
        return this.put(s.target, this.operand(s.index), this.operand(s.value));
      case "store": {
        const target = current().buffer(s.target.name, s.target.access);
        const [index, values] = [this.operand(s.index), s.values.map((v) => this.operand(v))];
        return this.push({ kind: "store", target, index, values, type: s.type });
      }
      case "when":
        return when(
          this.operand(s.cond) as Bool,
          () => this.block(s.then),
          () => this.block(s.otherwise),
        );
      case "loop":
        return loop(this.operand(s.bound) as Int, (index) => this.turn(s, index as TraceNode), {
          start: this.operand(s.start) as Int,
          label: s.label,
        });
      case "break":
        return breakIf(this.operand(s.cond) as Bool);
    }
  }

  /** The body of a loop. */
  protected turn(s: Extract<Statement, { kind: "loop" }>, index: TraceNode): void {
    this.made.set(s.index, index);
    this.block(s.block);
  }

  protected push(statement: Statement): void {
    current().block.statements.push(statement);
  }

  protected define(node: TraceNode): void {
    this.make(node);
  }

  protected set(target: VarRef, value: Operand): void {
    this.push({ kind: "set", target: this.variable(target), value });
  }

  protected put(target: ArrayRef, index: Operand, value: Operand): void {
    this.push({ kind: "put", target: this.array(target), index, value });
  }

  /** What stands for a value here. */
  protected operand(a: Operand): Operand {
    const value = this.live.resolve(a);
    if (!(value instanceof TraceNode)) return value;
    const made = this.made.get(value);
    if (made !== undefined && !(made instanceof TraceNode && made.block.ended)) return made;
    const found = this.missing(value);
    this.made.set(value, found);
    return found;
  }

  /** A value that was not made, or not where it is seen from here. */
  protected missing(value: TraceNode): Operand {
    return this.make(value);
  }

  protected make(node: TraceNode): Operand {
    const args = node.args.map((a) => this.operand(a));
    const made = (IMPURE.has(node.op) ? impure : pure)(node.op, node.type, args, this.#source(node.source));
    made.name ??= node.name;
    this.made.set(node, made);
    return made;
  }

  #source(source: Source | undefined): Source | undefined {
    if (!source) return undefined;
    switch (source.kind) {
      case "var":
        return this.variable(source);
      case "array":
        return this.array(source);
      case "table":
        return this.#table(source);
      case "buffer":
        return current().buffer(source.name, source.access);
      case "param":
        return current().param(source.name, source.type);
    }
  }

  protected variable(ref: VarRef): VarRef {
    let own = this.#vars.get(ref);
    if (!own) {
      const t = current();
      own = { kind: "var", id: t.vars.length, name: ref.name, type: ref.type, block: t.root };
      t.vars.push(own);
      this.#vars.set(ref, own);
    }
    return own;
  }

  protected array(ref: ArrayRef): ArrayRef {
    let own = this.#arrays.get(ref);
    if (!own) {
      const t = current();
      const { name, type, length, isScratch, isOwn } = ref;
      const kinds = { ...(isScratch ? { isScratch } : {}), ...(isOwn ? { isOwn } : {}) };
      own = { kind: "array", id: t.arrays.length, name, type, length, ...kinds, ...this.place(ref) };
      t.arrays.push(own);
      this.#arrays.set(ref, own);
    }
    return own;
  }

  /** Looked up once: hulls have many numbers, and are read at many places. */
  #table(ref: TableRef): TableRef {
    let own = this.#tables.get(ref);
    if (!own) {
      own = current().table(ref.type, ref.name, ref.values, true);
      this.#tables.set(ref, own);
    }
    return own;
  }

  /** Where an array lies, if not in private memory of its own. */
  protected place({ kept }: ArrayRef): Pick<ArrayRef, "kept"> {
    return kept ? { kept: { ...kept, buffer: current().buffer(kept.buffer.name, kept.buffer.access) } } : {};
  }
}
