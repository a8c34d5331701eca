// the part of emission that WGSL and JavaScript share: names, inlining, blocks
import { oneLine } from "../core/show.ts";
import type { Trace } from "./graph.ts";
import type { Op, Type } from "./operations.ts";
import { Block, operandType, TraceNode, type ArrayRef, type Operand, type Statement, type VarRef } from "./nodes.ts";
import { analyse, type Liveness } from "./liveness.ts";

/** How one language writes each construct. */
export interface Dialect {
  /** Whether a component of a load is a value (WGSL), or itself the read of the buffer (JavaScript). */
  readonly vectors: boolean;
  literal(value: number | boolean, type: Type): string;
  expression(node: TraceNode, arg: (i: number) => string): string;
  constant(name: string, node: TraceNode, expression: string): string;
  /** Lines around the body of a loop over [start, bound). */
  loop(index: string, start: string, bound: string, kind: LoopKind): { head: string[]; tail: string[] };
  /** The storage of the `count`-th named value; undefined for a local of its own. */
  place?(count: number, node: TraceNode): string | undefined;
  set(target: VarRef, value: string): string;
  put(target: ArrayRef, index: string, value: string): string;
  store(s: Extract<Statement, { kind: "store" }>, index: string, values: string[]): string[];
}

/** What is known of a loop: its body runs at least once (`nonempty`), and is so short (`light`) that running it with no lane active costs next to nothing. */
export type LoopKind = "any" | "nonempty" | "light";

const INDENT = "  ";

/** A body of at most this many statements is light. */
const LIGHT = 64;

/** Statements of a block that run even with no lane active: branches, and what follows a `break`, are then skipped. */
function weight(block: Block, live: Liveness): number {
  let sum = 0;
  for (const s of block.statements) {
    if (s.kind === "stage" || !live.isLive(s)) continue;
    if (s.kind === "break") break;
    sum += s.kind === "loop" ? 1 + weight(s.block, live) : 1;
    if (sum > LIGHT) break;
  }
  return sum;
}

/** Expressions deeper than this get a name of their own: compilers recurse over nesting. */
const MAX_DEPTH = 5;

const ALWAYS_INLINE: ReadonlySet<Op> = new Set<Op>(["param", "hide"]);
const ORDERED: ReadonlySet<Op> = new Set<Op>(["load", "at", "load4"]);

export interface Emitted {
  lines: string[];
  live: Liveness;
  /** Whether a value has no name, and is written where it is used. */
  isInlined(node: TraceNode): boolean;
}

/** Emits the live statements of a trace's root block as lines of text; values in `named` have names whatever they are. */
export function emitBody(
  trace: Trace,
  dialect: Dialect,
  live: Liveness = analyse(trace),
  named: ReadonlySet<TraceNode> = new Set(),
): Emitted {
  const body = new Body(trace, dialect, live, named);
  body.block(trace.root, INDENT);
  return { lines: body.lines, live, isInlined: (node) => body.isInlined(node) };
}

class Body {
  readonly lines: string[] = [];
  readonly #dialect: Dialect;
  readonly #live: Liveness;
  /** Names of values, by node id. */
  readonly #names: (string | undefined)[];
  /** Values that are written where they are used, by node id, and how deep their expressions nest. */
  readonly #inlined: ({ readonly text: string; readonly depth: number } | undefined)[];
  readonly #named: ReadonlySet<TraceNode>;
  readonly #taken: Set<string>;
  #placed = 0;

  constructor(trace: Trace, dialect: Dialect, live: Liveness, named: ReadonlySet<TraceNode>) {
    this.#dialect = dialect;
    this.#live = live;
    this.#named = named;
    this.#names = Array.from({ length: trace.nodes });
    this.#inlined = Array.from({ length: trace.nodes });
    const globals = [...trace.buffers, ...trace.params].map(({ name }) => name);
    this.#taken = new Set([...trace.vars.map(varName), ...trace.arrays.map(arrayName), ...globals]);
  }

  isInlined(node: TraceNode): boolean {
    return this.#inlined[node.id] !== undefined;
  }

  block(block: Block, pad: string, from = 0): void {
    const { statements } = block;
    for (let at = from; at < statements.length; at++) {
      const s = statements[at];
      if (s.kind === "stage") this.lines.push("", `${pad}// ${oneLine(s.name)}`);
      else if (!this.#live.isLive(s)) continue;
      else if (s.kind === "break") return this.#break(s, block, at + 1, pad);
      else this.#statement(s, block, pad);
    }
  }

  #statement(s: Exclude<Statement, { kind: "stage" | "break" }>, block: Block, pad: string): void {
    const dialect = this.#dialect;
    switch (s.kind) {
      case "let":
        return this.#let(s.node, block, pad);
      case "set":
        if (this.#live.liveVars.has(s.target))
          this.lines.push(pad + dialect.set(s.target, this.#bare(s.value, s.target.type)));
        return;
      case "put":
        this.lines.push(pad + dialect.put(s.target, this.#bare(s.index, "i32"), this.#bare(s.value, s.target.type)));
        return;
      case "store": {
        const values = s.values.map((v) => this.#bare(v, s.type));
        for (const line of dialect.store(s, this.#bare(s.index, "i32"), values)) this.lines.push(pad + line);
        return;
      }
      case "when":
        this.lines.push(`${pad}if (${this.#bare(s.cond, "bool")}) {`);
        this.block(s.then, pad + INDENT);
        if (s.otherwise.statements.some((o) => this.#live.isLive(o))) {
          this.lines.push(`${pad}} else {`);
          this.block(s.otherwise, pad + INDENT);
        }
        this.lines.push(`${pad}}`);
        return;
      case "loop":
        return this.#loop(s, pad);
    }
  }

  /** A value where it is used, or with a name of its own. */
  #let(node: TraceNode, block: Block, pad: string): void {
    if (this.#live.resolve(node) !== node) return;
    let depth = 0;
    const expression = this.#dialect.expression(node, (i) => {
      // rows of the table take three operands, whatever the operation has
      if (i >= node.args.length) return "";
      const arg = this.#written(node.args[i], operandType(node, i));
      depth = Math.max(depth, arg.depth);
      return arg.text;
    });
    const inline =
      node.op === "component"
        ? this.#dialect.vectors
        : ALWAYS_INLINE.has(node.op) ||
          (!ORDERED.has(node.op) &&
            this.#live.userBlock(node) === block &&
            depth < MAX_DEPTH &&
            !this.#named.has(node));
    if (inline) this.#inlined[node.id] = { text: expression, depth: depth + 1 };
    else this.lines.push(pad + this.#dialect.constant(this.#nameOf(node), node, withoutParentheses(expression)));
  }

  #loop(s: Extract<Statement, { kind: "loop" }>, pad: string): void {
    s.index.name ??= "i";
    const bound = this.#live.resolve(s.bound);
    // a constant bound was compared with a constant start when the loop was traced
    const nonempty = !(s.start instanceof TraceNode) && bound instanceof TraceNode && bound.op === "hide";
    const kind = !nonempty ? "any" : weight(s.block, this.#live) <= LIGHT ? "light" : "nonempty";
    const index = this.#nameOf(s.index);
    const { head, tail } = this.#dialect.loop(index, this.#bare(s.start, "i32"), this.#bare(s.bound, "i32"), kind);
    for (const line of head) this.lines.push(pad + line);
    this.block(s.block, pad + INDENT);
    for (const line of tail) this.lines.push(pad + line);
  }

  /** A `break`, and what follows it in its block, from a statement on. */
  #break({ cond }: Extract<Statement, { kind: "break" }>, block: Block, next: number, pad: string): void {
    const leaves = this.#bare(cond, "bool");
    this.lines.push(`${pad}if (${leaves}) { break; }`);
    // lanes that left are only masked: if all have left, a branch skips what follows
    if (!block.statements.slice(next).some((o) => this.#live.isLive(o))) return;
    this.lines.push(`${pad}if (!(${leaves})) {`);
    this.block(block, pad + INDENT, next);
    this.lines.push(`${pad}}`);
  }

  #written(a: Operand, type: Type): { readonly text: string; readonly depth: number } {
    const value = this.#live.resolve(a);
    if (!(value instanceof TraceNode)) return { text: this.#dialect.literal(value, type), depth: 0 };
    return this.#inlined[value.id] ?? { text: this.#nameOf(value), depth: 0 };
  }

  /** An operand that stands alone. */
  #bare(a: Operand, type: Type): string {
    return withoutParentheses(this.#written(a, type).text);
  }

  #nameOf(node: TraceNode): string {
    // the counter of a loop is declared where the loop is
    const place = node.op === "index" ? undefined : this.#dialect.place;
    let name = (this.#names[node.id] ??= place?.(this.#placed++, node));
    if (!name) {
      const base = identifier(node.name ?? "t");
      // no word of either language ends so
      name = NUMBERED.test(base) && !this.#taken.has(base) ? base : `${base}_${node.id}`;
      while (this.#taken.has(name)) name += "x";
      this.#taken.add(name);
      this.#names[node.id] = name;
    }
    return name;
  }
}

const [OPEN, CLOSE] = ["(", ")"].map((c) => c.charCodeAt(0));

/** An expression without the parentheses around all of it. */
function withoutParentheses(t: string): string {
  if (!t.startsWith("(")) return t;
  let depth = 0;
  for (let i = 0; i < t.length; i++) {
    const c = t.charCodeAt(i);
    if (c === OPEN) depth++;
    else if (c === CLOSE && --depth === 0) return i === t.length - 1 ? t.slice(1, -1) : t;
  }
  return t;
}

/** The counter of a loop has its name when the loop is written. */
export function unnamed(): never {
  throw new Error("the counter of a loop is a name, not an expression");
}

const NUMBERED = /_\d+$/;
/** A name with what no identifier may hold replaced. */
const identifier = (name: string): string => name.replace(/[^A-Za-z0-9_]/g, "_").replace(/^(?=\d)|^_+/, "t_");

export const varName = (v: { id: number; name: string }): string => `v${v.id}_${identifier(v.name)}`;
export const arrayName = (a: { id: number; name: string }): string => `a${a.id}_${identifier(a.name)}`;
