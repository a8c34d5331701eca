// random programs with control flow, and two meanings of each: plain JavaScript on numbers, and the tracer.
//
// Every value is an integer in [-32, 32) again after each operation, so all arithmetic is exact in float32 and every
// back end must give the same bits.
import fc from "fast-check";
import {
  array,
  breakIf,
  each,
  flag,
  load4,
  loop,
  store4,
  table,
  variable,
  when,
  world,
} from "../../src/trace/control.ts";
import {
  abs,
  add,
  and,
  eq,
  floor,
  ge,
  gt,
  le,
  lt,
  max,
  min,
  mul,
  ne,
  neg,
  not,
  or,
  select,
  sub,
  toF32,
  toI32,
  type Bool,
  type Int,
  type Scalar,
} from "../../src/trace/scalar.ts";

export const INPUTS = 4;
const VARS = 3;
const LENGTH = 4;
/** Fours of the buffer `memory`, for each world. */
export const MEMORY = 2;
export const OUTPUTS = VARS + LENGTH + MEMORY + 2;
const TABLE = [3, -7, 0, 12, 12, -1, 5];

type Compare = "lt" | "le" | "gt" | "ge" | "eq" | "ne";
type Binary = "add" | "sub" | "mul" | "min" | "max";

export type Expr =
  | { e: "const"; c: number }
  | { e: "input" | "var" | "shared"; k: number }
  | { e: "count" }
  | { e: "index"; k: number }
  | { e: "at" | "table" | "load"; index: Expr }
  | { e: "binary"; op: Binary; a: Expr; b: Expr }
  | { e: "unary"; op: "neg" | "abs"; a: Expr }
  | { e: "select"; cond: Cond; a: Expr; b: Expr };

export type Cond =
  | { c: "compare"; op: Compare; a: Expr; b: Expr }
  | { c: "and"; a: Cond; b: Cond }
  | { c: "or"; a: Cond; b: Cond }
  | { c: "not"; a: Cond }
  | { c: "flag" };

export type Stmt =
  | { s: "share"; value: Expr }
  | { s: "declare"; value: Expr }
  | { s: "set"; k: number; value: Expr }
  | { s: "count"; value: Expr }
  | { s: "flag"; value: Cond }
  | { s: "put"; index: Expr; value: Expr }
  | { s: "store"; index: Expr; value: Expr }
  | { s: "when"; cond: Cond; then: Stmt[]; otherwise: Stmt[] }
  | { s: "each"; n: number; body: Stmt[] }
  | { s: "loop"; start: Expr | null; n: Expr; body: Stmt[]; leave: Cond | null };

/** Programs of up to `depth` nested blocks. */
export function programs(depth = 3): fc.Arbitrary<Stmt[]> {
  const { expr, cond } = fc.letrec<{ expr: Expr; cond: Cond }>((tie) => ({
    expr: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      { arbitrary: fc.record({ e: fc.constant("const" as const), c: fc.integer({ min: -9, max: 9 }) }), weight: 2 },
      {
        arbitrary: fc.record({
          e: fc.constantFrom("input" as const, "var" as const, "shared" as const, "index" as const),
          k: fc.nat(7),
        }),
        weight: 6,
      },
      fc.record({ e: fc.constant("count" as const) }),
      fc.record({ e: fc.constantFrom("at" as const, "table" as const, "load" as const), index: tie("expr") }),
      {
        arbitrary: fc.record({
          e: fc.constant("binary" as const),
          op: fc.constantFrom<Binary>("add", "sub", "mul", "min", "max"),
          a: tie("expr"),
          b: tie("expr"),
        }),
        weight: 4,
      },
      fc.record({
        e: fc.constant("unary" as const),
        op: fc.constantFrom("neg" as const, "abs" as const),
        a: tie("expr"),
      }),
      fc.record({ e: fc.constant("select" as const), cond: tie("cond"), a: tie("expr"), b: tie("expr") }),
    ),
    cond: fc.oneof(
      { maxDepth: 2, withCrossShrink: true },
      fc.record({
        c: fc.constant("compare" as const),
        op: fc.constantFrom<Compare>("lt", "le", "gt", "ge", "eq", "ne"),
        a: tie("expr"),
        b: tie("expr"),
      }),
      fc.record({ c: fc.constant("and" as const), a: tie("cond"), b: tie("cond") }),
      fc.record({ c: fc.constant("or" as const), a: tie("cond"), b: tie("cond") }),
      fc.record({ c: fc.constant("not" as const), a: tie("cond") }),
      fc.record({ c: fc.constant("flag" as const) }),
    ),
  }));

  const simple: fc.Arbitrary<Stmt> = fc.oneof(
    fc.record({ s: fc.constant("share" as const), value: expr }),
    fc.record({ s: fc.constant("declare" as const), value: expr }),
    { arbitrary: fc.record({ s: fc.constant("set" as const), k: fc.nat(7), value: expr }), weight: 4 },
    fc.record({ s: fc.constant("count" as const), value: expr }),
    fc.record({ s: fc.constant("flag" as const), value: cond }),
    fc.record({ s: fc.constant("put" as const), index: expr, value: expr }),
    fc.record({ s: fc.constant("store" as const), index: expr, value: expr }),
  );
  const body = (level: number): fc.Arbitrary<Stmt[]> => {
    if (level === 0) return fc.array(simple, { maxLength: 3 });
    const inner = body(level - 1);
    const nested: fc.Arbitrary<Stmt> = fc.oneof(
      fc.record({ s: fc.constant("when" as const), cond, then: inner, otherwise: inner }),
      fc.record({ s: fc.constant("each" as const), n: fc.nat(3), body: inner }),
      fc.record({
        s: fc.constant("loop" as const),
        start: fc.option(expr),
        n: expr,
        body: inner,
        leave: fc.option(cond),
      }),
    );
    return fc.array(fc.oneof({ arbitrary: simple, weight: 3 }, { arbitrary: nested, weight: 2 }), { maxLength: 5 });
  };
  return body(depth);
}

/** Names in scope: values shared and variables declared so far, and the indices of the loops around. */
interface Scope<T, V> {
  shared: T[];
  vars: V[];
  indices: T[];
}
const inner = <T, V>(s: Scope<T, V>, index?: T): Scope<T, V> => ({
  shared: [...s.shared],
  vars: [...s.vars],
  indices: index === undefined ? s.indices : [...s.indices, index],
});
const pick = <T>(list: T[], k: number): T => list[k % list.length];

const wrapNumber = (x: number): number => x + 32 - 64 * Math.floor((x + 32) / 64) - 32;

/** The plain meaning: what the variables, the array and the first values of memory hold at the end. */
export function runPlain(body: Stmt[], inputs: readonly number[]): number[] {
  const list = Array.from({ length: LENGTH }, () => 0);
  const memory = Array.from({ length: MEMORY * 4 }, () => 0);
  let count = 0;
  let flagged = false;
  const at = (e: Expr, s: Scope<number, { x: number }>, n: number) => ((number(e, s) % n) + n) % n;

  const number = (e: Expr, s: Scope<number, { x: number }>): number => {
    switch (e.e) {
      case "const":
        return e.c;
      case "input":
        return pick([...inputs], e.k);
      case "var":
        return pick(s.vars, e.k).x;
      case "shared":
        return s.shared.length ? pick(s.shared, e.k) : 1;
      case "index":
        return s.indices.length ? pick(s.indices, e.k) : 2;
      case "count":
        return count;
      case "at":
        return list[at(e.index, s, LENGTH)];
      case "table":
        return TABLE[at(e.index, s, TABLE.length)];
      case "load":
        return memory[at(e.index, s, MEMORY) * 4];
      case "unary": {
        const a = number(e.a, s);
        return wrapNumber(e.op === "neg" ? -a : Math.abs(a));
      }
      case "select":
        return truth(e.cond, s) ? number(e.a, s) : number(e.b, s);
      case "binary": {
        const [a, b] = [number(e.a, s), number(e.b, s)];
        const value = { add: a + b, sub: a - b, mul: a * b, min: Math.min(a, b), max: Math.max(a, b) }[e.op];
        return wrapNumber(value);
      }
    }
  };
  const truth = (c: Cond, s: Scope<number, { x: number }>): boolean => {
    if (c.c === "flag") return flagged;
    if (c.c === "not") return !truth(c.a, s);
    if (c.c === "and") return truth(c.a, s) && truth(c.b, s);
    if (c.c === "or") return truth(c.a, s) || truth(c.b, s);
    const [a, b] = [number(c.a, s), number(c.b, s)];
    return { lt: a < b, le: a <= b, gt: a > b, ge: a >= b, eq: a === b, ne: a !== b }[c.op];
  };
  const run = (stmts: Stmt[], s: Scope<number, { x: number }>): void => {
    for (const t of stmts) {
      if (t.s === "share") s.shared.push(number(t.value, s));
      else if (t.s === "declare") s.vars.push({ x: number(t.value, s) });
      else if (t.s === "set") pick(s.vars, t.k).x = number(t.value, s);
      else if (t.s === "count") count = wrapNumber(count + number(t.value, s));
      else if (t.s === "flag") flagged = truth(t.value, s);
      else if (t.s === "put") list[at(t.index, s, LENGTH)] = number(t.value, s);
      else if (t.s === "store") {
        const k = at(t.index, s, MEMORY);
        memory.fill(number(t.value, s), 4 * k, 4 * k + 4);
      } else if (t.s === "when") run(truth(t.cond, s) ? t.then : t.otherwise, inner(s));
      else if (t.s === "each") for (let i = 0; i < t.n; i++) run(t.body, inner(s, i));
      else {
        const n = ((number(t.n, s) % 4) + 4) % 4;
        const start = t.start ? ((number(t.start, s) % 4) + 4) % 4 : 0;
        for (let i = start; i < n; i++) {
          const scope = inner(s, i);
          if (t.leave && truth(t.leave, scope)) break;
          run(t.body, scope);
        }
      }
    }
  };
  const vars = Array.from({ length: VARS }, () => ({ x: 0 }));
  run(body, { shared: [], vars: [...vars], indices: [] });
  const stored = Array.from({ length: MEMORY }, (_, k) => memory[4 * k]);
  return [...vars.map((v) => v.x), ...list, ...stored, count, Number(flagged)].map((x) => x + 0);
}

const wrap = (x: Scalar): Scalar => {
  const y = add(x, 32);
  return sub(sub(y, mul(64, floor(mul(y, 1 / 64)))), 32);
};
const modulo = (x: Scalar, n: number): Int => toI32(sub(x, mul(n, floor(add(mul(x, 1 / n), 0.5 / n)))));

interface Cell {
  get(): Scalar;
  set(x: Scalar): void;
}

/** The traced meaning, to be called while a trace is recorded. */
export function runTraced(body: Stmt[], inputs: readonly Scalar[]): Scalar[] {
  const list = array("list", LENGTH);
  const values = table("values", TABLE);
  const base = mul(world(), MEMORY);
  const count = variable("count", 0, "i32");
  const flagged = flag("flagged", false);
  type S = Scope<Scalar, Cell>;

  const value = (e: Expr, s: S): Scalar => {
    switch (e.e) {
      case "const":
        return e.c;
      case "input":
        return pick([...inputs], e.k);
      case "var":
        return pick(s.vars, e.k).get();
      case "shared":
        return s.shared.length ? pick(s.shared, e.k) : 1;
      case "index":
        return s.indices.length ? pick(s.indices, e.k) : 2;
      case "count":
        return toF32(count.get());
      case "at":
        return list.get(modulo(value(e.index, s), LENGTH));
      case "table":
        return values(modulo(value(e.index, s), TABLE.length));
      case "load":
        return load4("memory", add(base, modulo(value(e.index, s), MEMORY)))[0];
      case "unary":
        return wrap({ neg, abs }[e.op](value(e.a, s)));
      case "select": {
        const cond = truth(e.cond, s);
        return select(cond, value(e.a, s), value(e.b, s));
      }
      case "binary": {
        const a = value(e.a, s);
        return wrap({ add, sub, mul, min, max }[e.op](a, value(e.b, s)));
      }
    }
  };
  const truth = (c: Cond, s: S): Bool => {
    if (c.c === "flag") return flagged.get();
    if (c.c === "not") return not(truth(c.a, s));
    if (c.c === "and") return and(truth(c.a, s), truth(c.b, s));
    if (c.c === "or") return or(truth(c.a, s), truth(c.b, s));
    const a = value(c.a, s);
    return { lt, le, gt, ge, eq, ne }[c.op](a, value(c.b, s));
  };
  const run = (stmts: Stmt[], s: S): void => {
    for (const t of stmts) {
      if (t.s === "share") s.shared.push(value(t.value, s));
      else if (t.s === "declare") s.vars.push(variable("local", value(t.value, s)));
      else if (t.s === "set") pick(s.vars, t.k).set(value(t.value, s));
      else if (t.s === "count") count.set(toI32(wrap(add(toF32(count.get()), value(t.value, s)))));
      else if (t.s === "flag") flagged.set(truth(t.value, s));
      else if (t.s === "put") {
        const at = modulo(value(t.index, s), LENGTH);
        list.set(at, value(t.value, s));
      } else if (t.s === "store") {
        const at = add(base, modulo(value(t.index, s), MEMORY));
        const x = value(t.value, s);
        store4("memory", at, [x, x, x, x]);
      } else if (t.s === "when") {
        when(
          truth(t.cond, s),
          () => run(t.then, inner(s)),
          t.otherwise.length ? () => run(t.otherwise, inner(s)) : undefined,
        );
      } else if (t.s === "each") each(t.n, (i) => run(t.body, inner(s, toF32(i))));
      else {
        const n = modulo(value(t.n, s), 4);
        const start = t.start ? modulo(value(t.start, s), 4) : 0;
        const turn = (i: Int) => {
          const scope = inner(s, toF32(i));
          if (t.leave) breakIf(truth(t.leave, scope));
          run(t.body, scope);
        };
        loop(n, turn, { start });
      }
    }
  };
  const vars = Array.from({ length: VARS }, (_, k) => variable(`x_${k}`));
  run(body, { shared: [], vars: [...vars], indices: [] });
  return [
    ...vars.map((v) => v.get()),
    ...Array.from({ length: LENGTH }, (_, k) => list.get(k)),
    ...Array.from({ length: MEMORY }, (_, k) => load4("memory", add(base, k))[0]),
    toF32(count.get()),
    select(flagged.get(), 1, 0),
  ];
}
