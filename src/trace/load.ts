// programs from plain data. Whoever wrote a program may be a stranger, and code is made of it: every name, number, type
// and operation is checked here, against the tracer's own table, before a back end sees any of it.
import { CorralError } from "../core/errors.ts";
import {
  boolean,
  identifier,
  integer,
  list,
  Mismatch,
  object,
  oneOf,
  optional,
  pathText,
  real,
  text,
  tuple,
  type Kind,
  type Path,
} from "../core/schema.ts";
import { Trace } from "./graph.ts";
import type { Type } from "./operations.ts";
import {
  Block,
  TraceNode,
  type ArrayRef,
  type BufferRef,
  type Operand,
  type Source,
  type Statement,
  type VarRef,
} from "./nodes.ts";
import { isComputed, isOp, READS, rowOf, type Op, type Read } from "./operations.ts";
import type { StoredOperand, StoredSource, StoredStatement, StoredTrace } from "./store.ts";

/** Statements of a program: those of the largest models are a tenth of it. */
const MOST_STATEMENTS = 2 ** 23;
/** Elements of all private arrays of a program. */
const MOST_ELEMENTS = 2 ** 22;
/** Blocks within blocks, a `break` being one: back ends recurse over them. */
const DEEPEST = 256;
/** Ids are given in order; what has no effect has left gaps. */
const mostIds = (statements: number): number => 65_536 + 64 * statements;

const TYPES = ["f32", "i32", "u32", "bool"] as const;
const type: Kind<Type> = oneOf(...TYPES);
/** Names for people: those of fields, terms, stages. Back ends make identifiers of them. */
const label = text();
const count = (max: number) => integer(0, max);

/** All of a program but what it does. */
const HEAD = {
  unroll: boolean,
  exact: boolean,
  wide: optional(boolean),
  vars: list(tuple(label, type, count(MOST_STATEMENTS))),
  arrays: list(tuple(label, type, count(MOST_ELEMENTS))),
  tables: list(tuple(oneOf("f32", "i32"), label, list(real(-Infinity, Infinity, false)))),
  buffers: list(tuple(identifier, oneOf("read", "read_write")), { max: 64 }),
  params: list(tuple(identifier, oneOf("f32", "i32", "u32")), { max: 1024 }),
};

const programKind: Kind<StoredTrace> = object<StoredTrace>({
  ...HEAD,
  body: { want: "a list of statements", read: (value, path) => asList(value, path) as readonly StoredStatement[] },
});

function asList(value: unknown, path: Path): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new Mismatch(path, value, "a list");
}

const refused = (why: string): CorralError =>
  new CorralError("bad-trace", `a stored program is none: ${why}. Take it from where it was written.`);

/**
 * The trace of plain data: emits the same code, to the bit.
 * @throws CorralError bad-trace for anything that `storeTrace` does not write
 */
export function loadTrace(stored: unknown): Trace {
  try {
    return new Loader(programKind.read(stored, [])).trace;
  } catch (error) {
    if (error instanceof Mismatch) throw refused(error.message);
    // nested deeper than this process can follow
    if (error instanceof RangeError) throw refused(error.message);
    throw error;
  }
}

class Loader {
  readonly trace: Trace;
  readonly #vars: readonly VarRef[];
  readonly #nodes = new Map<number, TraceNode>();
  readonly #blocks: Block[] = [];
  #statements = 0;
  readonly #mostIds: number;

  constructor(stored: StoredTrace) {
    const trace = new Trace({ unroll: stored.unroll, exact: stored.exact, wide: stored.wide === true });
    this.trace = trace;
    for (const [name, kind] of stored.params) trace.param(name, kind);
    for (const [name, access] of stored.buffers) trace.buffer(name, access);
    for (const [kind, name, values] of stored.tables) trace.table(kind, name, tableValues(kind, name, values));
    // a name or a table that is there twice would be one, and the others another
    for (const what of ["params", "buffers", "tables"] as const)
      if (trace[what].length !== stored[what].length) throw refused(`one of its ${what} is there twice`);
    const elements = stored.arrays.reduce((sum, [, , length]) => sum + length, 0);
    if (elements > MOST_ELEMENTS)
      throw refused(`its arrays have ${elements} elements, at most ${MOST_ELEMENTS} may be`);
    trace.arrays.push(
      ...stored.arrays.map(([name, kind, length], id): ArrayRef => ({ kind: "array", id, name, type: kind, length })),
    );
    this.#vars = stored.vars.map(([name, kind], id): VarRef => {
      return { kind: "var", id, name, type: kind, block: trace.root };
    });
    for (const ref of this.#vars) trace.vars.push(ref);

    this.#mostIds = mostIds(countStatements(stored.body));
    this.#fill(trace.root, stored.body, 0);
    this.#vars.forEach((ref, i) => {
      const block = this.#blocks[stored.vars[i][2]];
      if (block === undefined) throw refused(`variable ${ref.name} is of a block that is not there`);
      Object.assign(ref, { block });
    });
  }

  #fill(into: Block, statements: readonly StoredStatement[], depth: number): Block {
    if (depth > DEEPEST) throw refused(`its blocks are nested more than ${DEEPEST} deep`);
    this.#blocks.push(into);
    let deep = depth;
    for (const statement of statements) {
      const path = ["body", this.#statements++];
      const made = this.#statement(asList(statement, path) as never, into, path, deep);
      if (made.kind === "break" && ++deep > DEEPEST) throw refused(`its blocks are nested more than ${DEEPEST} deep`);
      into.statements.push(made);
    }
    return into;
  }

  #statement(s: StoredStatement, into: Block, path: Path, depth: number): Statement {
    const isStatement = typeof s[0] === "string" && Object.hasOwn(SIZES, s[0]) && SIZES[s[0]] === s.length;
    if (!isStatement) throw new Mismatch(path, s, "a statement");
    switch (s[0]) {
      case "let":
        return { kind: "let", node: this.#let(s, into, path) };
      case "set": {
        const target = at(this.#vars, s[1], path);
        return { kind: "set", target, value: this.#operand(s[2], target.type, into, path) };
      }
      case "put": {
        const target = at(this.trace.arrays, s[1], path);
        const index = this.#operand(s[2], "i32", into, path);
        return { kind: "put", target, index, value: this.#operand(s[3], target.type, into, path) };
      }
      case "store": {
        const target = at(this.trace.buffers, s[1], path);
        if (target.access !== "read_write") throw refused(`it writes to ${target.name}, which it may read only`);
        const kind = oneOf("f32", "u32").read(s[4], path);
        const values = asList(s[3], path);
        if (values.length !== 4) throw new Mismatch(path, values, "four values");
        const index = this.#operand(s[2], "i32", into, path);
        return {
          kind: "store",
          target,
          index,
          values: values.map((v) => this.#operand(v, kind, into, path)),
          type: kind,
        };
      }
      case "when": {
        const cond = this.#operand(s[1], "bool", into, path);
        if (!(cond instanceof TraceNode)) throw new Mismatch(path, cond, "a condition of the run");
        const branch = (of: unknown) =>
          this.#fill(new Block(into, false), asList(of, path) as readonly StoredStatement[], depth + 1);
        return { kind: "when", cond, then: branch(s[2]), otherwise: branch(s[3]) };
      }
      case "loop": {
        const block = new Block(into, true);
        const start = this.#operand(s[2], "i32", into, path);
        const bound = this.#operand(s[3], "i32", into, path);
        if (!(bound instanceof TraceNode)) throw new Mismatch(path, bound, "a bound of the run");
        const index = this.#node(s[1], "index", "i32", [], block, undefined, path);
        const body = asList(s[4], path) as readonly StoredStatement[];
        return {
          kind: "loop",
          index,
          start,
          bound,
          block: this.#fill(block, body, depth + 1),
          label: label.read(s[5], path),
        };
      }
      case "break": {
        if (!into.isInLoop) throw refused("it leaves a loop where it is in none");
        return { kind: "break", cond: this.#operand(s[1], "bool", into, path) };
      }
      case "stage":
        return { kind: "stage", name: label.read(s[1], path) };
    }
  }

  #let([, id, op, gives, args, source, name]: StoredLet, into: Block, path: Path): TraceNode {
    const kind = type.read(gives, path);
    const given = asList(args, path) as readonly StoredOperand[];
    const from = this.#source(source, path);
    if (typeof op !== "string" || !isOp(op) || op === "index") throw new Mismatch(path, op, "no operation");
    if (op.startsWith("math_") && (!this.trace.exact || this.trace.wide))
      throw refused(`${op} is for programs recorded exactly`);
    const row = isComputed(op) ? rowOf(op) : undefined;
    const gave = row?.result ?? (op === "world" ? "i32" : "same");
    if (gave !== "same" && gave !== kind) throw refused(`${op} gives ${gave}, not ${kind}`);
    const wanted = isComputed(op) ? undefined : SOURCES[op];
    if (from?.kind !== wanted) throw refused(`${op} reads ${from ? `a ${from.kind}` : "nothing"}`);
    if (from !== undefined && "type" in from && from.type !== kind)
      throw refused(`${op} gives ${kind} of ${from.type}`);
    if (op === "load4" && kind !== "f32" && kind !== "u32") throw refused(`${op} gives no ${kind}`);
    const operands = row?.operands ?? READS[op as Read];
    if (given.length !== operands.length)
      throw refused(`${op} has ${given.length} operands in place of ${operands.length}`);
    const made = this.#operands(op, kind, gave === "same", operands, given, into, path);
    const node = this.#node(id, op, kind, made, into, from, path);
    if (name !== 0) node.name = label.read(name, path);
    return node;
  }

  #operands(
    op: Op,
    kind: Type,
    isShared: boolean,
    wanted: readonly (Type | "same")[],
    given: readonly StoredOperand[],
    into: Block,
    path: Path,
  ): Operand[] {
    if (op === "component") {
      const four = this.#operand(given[0], kind, into, path);
      if (!(four instanceof TraceNode) || four.op !== "load4") throw refused("a component is of no four values");
      return [four, integer(0, 3).read(given[1], path)];
    }
    // constants take the type of what they stand beside
    const nodes = given.map((a) => (Array.isArray(a) ? this.#nodes.get(a[0] as number) : undefined));
    const shared = isShared ? kind : nodes.find((n, i) => n && wanted[i] === "same")?.type;
    return given.map((a, i) => {
      const wantedType = wanted[i] === "same" ? shared : wanted[i];
      if (wantedType === undefined) throw refused(`${op} has no operand of the run`);
      const operand = this.#operand(a, wantedType, into, path);
      if (operand instanceof TraceNode && operand.op === "load4") throw refused(`${op} takes four values for one`);
      // each would be written within the one before
      if (op === "hide" && operand instanceof TraceNode && operand.op === "hide")
        throw refused("it hides what is hidden");
      return operand;
    });
  }

  #node(
    id: unknown,
    op: Op,
    kind: Type,
    args: Operand[],
    block: Block,
    from: Source | undefined,
    path: Path,
  ): TraceNode {
    const number = count(this.#mostIds).read(id, path);
    if (this.#nodes.has(number)) throw refused(`it has two values of number ${number}`);
    const node = new TraceNode(number, op, kind, args, block, from);
    this.#nodes.set(number, node);
    this.trace.nodes = Math.max(this.trace.nodes, number + 1);
    return node;
  }

  #operand(stored: unknown, wanted: Type, into: Block, path: Path): Operand {
    if (!Array.isArray(stored)) return CONSTANTS[wanted].read(stored, path);
    const node = stored.length === 1 ? this.#nodes.get(stored[0] as number) : undefined;
    if (node === undefined) throw new Mismatch(path, stored, "a value that is there");
    if (!isWithin(into, node.block)) throw refused(`it uses ${node.op} where that is not known`);
    if (node.type !== wanted) throw refused(`it takes ${node.type} (${node.op}) for ${wanted}`);
    return node;
  }

  #source(stored: StoredSource | 0, path: Path): Source | undefined {
    if (stored === 0) return undefined;
    const [kind, index] = tuple(oneOf("var", "array", "table", "buffer", "param"), integer(0)).read(stored, path);
    const { arrays, tables, buffers, params } = this.trace;
    const lists = {
      var: this.#vars,
      array: arrays,
      table: tables,
      buffer: buffers as readonly BufferRef[],
      param: params,
    };
    return at<Source>(lists[kind], index, path);
  }
}

type StoredLet = Extract<StoredStatement, readonly ["let", ...unknown[]]>;

/** What each read reads. */
const SOURCES: Readonly<Record<Read, Source["kind"] | undefined>> = {
  load: "var",
  at: "array",
  table: "table",
  param: "param",
  load4: "buffer",
  component: undefined,
  world: undefined,
  index: undefined,
};

/** Parts of each statement. */
const SIZES: Readonly<Record<string, number>> = {
  let: 7,
  set: 3,
  put: 4,
  store: 5,
  when: 4,
  loop: 6,
  break: 2,
  stage: 2,
};

/** What constants may be; infinities become the largest float, NaN nothing. */
const CONSTANTS: Readonly<Record<Type, Kind<number | boolean>>> = {
  f32: real(-Infinity, Infinity, false),
  i32: integer(-(2 ** 31), 2 ** 32 - 1),
  u32: integer(-(2 ** 31), 2 ** 32 - 1),
  bool: boolean,
};

function at<T>(items: readonly T[], index: unknown, path: Path): T {
  return items[integer(0, items.length - 1).read(index, path)];
}

function isWithin(inner: Block, outer: Block): boolean {
  for (let block: Block | undefined = inner; block; block = block.parent) if (block === outer) return true;
  return false;
}

function tableValues(kind: "f32" | "i32", name: string, values: readonly number[]): readonly number[] {
  const bad = kind === "i32" ? values.findIndex((x) => x !== (x | 0)) : -1;
  if (bad >= 0) throw refused(`${pathText(["tables", name, bad])} is ${values[bad]}, no integer of 32 bits`);
  return values;
}

/** Statements of all blocks. */
function countStatements(body: readonly unknown[]): number {
  let sum = 0;
  const open: unknown[] = [body];
  while (open.length > 0) {
    const block = open.pop();
    if (!Array.isArray(block)) continue;
    sum += block.length;
    if (sum > MOST_STATEMENTS) throw refused(`it has more than ${MOST_STATEMENTS} statements`);
    for (const s of block) {
      if (!Array.isArray(s)) continue;
      if (s[0] === "when") open.push(s[2], s[3]);
      if (s[0] === "loop") open.push(s[4]);
    }
  }
  return sum;
}
