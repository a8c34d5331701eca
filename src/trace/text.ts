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
  place?(count: number): string | undefined;
  set(target: VarRef, value: string): string;
  put(target: ArrayRef, index: string, value: string): string;
  store(s: Extract<Statement, { kind: "store" }>, index: string, values: string[]): string[];
}

/** What is known of a loop: its body runs at least once (`nonempty`), and is so short (`light`) that running it with no lane active costs next to nothing. */
export type LoopKind = "any" | "nonempty" | "light";

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
}

/** Emits the live statements of a trace's root block as lines of text. */
export function emitBody(trace: Trace, dialect: Dialect, live: Liveness = analyse(trace)): Emitted {
  const indent = "  ";
  // by node id
  const names = Array.from<string | undefined>({ length: trace.nodes });
  const inlined = Array.from<{ text: string; depth: number } | undefined>({ length: trace.nodes });
  const taken = new Set([...trace.vars.map(varName), ...trace.arrays.map(arrayName)]);
  for (const { name } of [...trace.buffers, ...trace.params]) taken.add(name);
  const lines: string[] = [];

  let placed = 0;
  const nameOf = (node: TraceNode): string => {
    // the counter of a loop is declared if the loop is
    const place = node.op === "index" ? undefined : dialect.place;
    let name = (names[node.id] ??= place?.(placed++));
    if (!name) {
      const base = identifier(node.name ?? "t");
      // no word of either language ends so
      name = NUMBERED.test(base) && !taken.has(base) ? base : `${base}_${node.id}`;
      while (taken.has(name)) name += "x";
      taken.add(name);
      names[node.id] = name;
    }
    return name;
  };
  const write = (a: Operand, type: Type): { text: string; depth: number } => {
    const value = live.resolve(a);
    if (!(value instanceof TraceNode)) return { text: dialect.literal(value, type), depth: 0 };
    return inlined[value.id] ?? { text: nameOf(value), depth: 0 };
  };
  const text = (a: Operand, type: Type) => {
    const t = write(a, type).text;
    return t.startsWith("(") && matching(t) ? t.slice(1, -1) : t;
  };

  const emitBlock = (block: Block, pad: string, from = 0): void => {
    for (let at = from; at < block.statements.length; at++) {
      const s = block.statements[at];
      if (s.kind === "stage") {
        lines.push("", `${pad}// ${oneLine(s.name)}`);
        continue;
      }
      if (!live.isLive(s)) continue;
      switch (s.kind) {
        case "let": {
          const { node } = s;
          if (live.resolve(node) !== node) break;
          let depth = 0;
          const expression = dialect.expression(node, (i) => {
            // rows of the table take three operands, whatever the operation has
            if (i >= node.args.length) return "";
            const arg = write(node.args[i], operandType(node, i));
            depth = Math.max(depth, arg.depth);
            return arg.text;
          });
          const inline =
            node.op === "component"
              ? dialect.vectors
              : ALWAYS_INLINE.has(node.op) ||
                (!ORDERED.has(node.op) && live.userBlock(node) === block && depth < MAX_DEPTH);
          if (inline) inlined[node.id] = { text: expression, depth: depth + 1 };
          else {
            const bare = matching(expression) ? expression.slice(1, -1) : expression;
            lines.push(pad + dialect.constant(nameOf(node), node, bare));
          }
          break;
        }
        case "set":
          if (live.liveVars.has(s.target)) {
            lines.push(pad + dialect.set(s.target, text(s.value, s.target.type)));
          }
          break;
        case "put":
          lines.push(pad + dialect.put(s.target, text(s.index, "i32"), text(s.value, s.target.type)));
          break;
        case "store": {
          const values = s.values.map((v) => text(v, s.type));
          for (const line of dialect.store(s, text(s.index, "i32"), values)) lines.push(pad + line);
          break;
        }
        case "when": {
          lines.push(`${pad}if (${text(s.cond, "bool")}) {`);
          emitBlock(s.then, pad + indent);
          if (s.otherwise.statements.some((o) => live.isLive(o))) {
            lines.push(`${pad}} else {`);
            emitBlock(s.otherwise, pad + indent);
          }
          lines.push(`${pad}}`);
          break;
        }
        case "loop": {
          s.index.name ??= "i";
          const bound = live.resolve(s.bound);
          // a constant bound was compared with a constant start when the loop was traced
          const known = !(s.start instanceof TraceNode);
          const nonempty = known && bound instanceof TraceNode && bound.op === "hide";
          const light = nonempty && weight(s.block, live) <= LIGHT;
          const index = nameOf(s.index);
          const { head, tail } = dialect.loop(
            index,
            text(s.start, "i32"),
            text(s.bound, "i32"),
            light ? "light" : nonempty ? "nonempty" : "any",
          );
          for (const line of head) lines.push(pad + line);
          emitBlock(s.block, pad + indent);
          for (const line of tail) lines.push(pad + line);
          break;
        }
        case "break": {
          const cond = text(s.cond, "bool");
          lines.push(`${pad}if (${cond}) { break; }`);
          // lanes that left are only masked: if all have left, a branch skips what follows
          if (!block.statements.slice(at + 1).some((o) => live.isLive(o))) return;
          lines.push(`${pad}if (!(${cond})) {`);
          emitBlock(block, pad + indent, at + 1);
          lines.push(`${pad}}`);
          return;
        }
      }
    }
  };
  emitBlock(trace.root, indent);
  return { lines, live };
}

/** Whether the first parenthesis of an expression closes at its end. */
function matching(t: string): boolean {
  if (!t.startsWith("(")) return false;
  let depth = 0;
  for (let i = 0; i < t.length; i++) {
    if (t[i] === "(") depth++;
    else if (t[i] === ")" && --depth === 0) return i === t.length - 1;
  }
  return false;
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
