// the functions of expressions, by their WGSL names where WGSL has them
import { acos, asin, atan, atan2, cos, exp, log, pow, sin, tanh } from "../../../trace/math.ts";
import {
  abs,
  add,
  and,
  clamp,
  div,
  dotn,
  eq,
  floor,
  ge,
  gt,
  isFinite32,
  le,
  lt,
  max,
  min,
  mul,
  neg,
  not,
  or,
  round,
  select,
  sign,
  sqrt,
  square,
  sub,
  sum,
  type Bool,
  type Scalar,
} from "../../../trace/scalar.ts";
import { cross, mulMatTVec, mulMatVec, rotate, type Mat3, type Quat, type Vec3 } from "../../../trace/vector.ts";
import { decided } from "../undecided.ts";
import { keepingNaN, undefinedUnless } from "../finite.ts";
import { inClosed } from "../terms/basics.ts";
import { bool, describeValue, float, vector, type Bools, type Floats, type Value } from "./value.ts";

/** Why arguments do not fit; whoever calls adds the place. */
export class Unfit extends Error {}

/** What a function makes of its arguments; how it is called, for messages. */
export interface ExpressionFunction {
  readonly usage: string;
  readonly apply: (args: readonly Value[]) => Value;
}

const floats = (value: Value): Floats => {
  if (value.kind === "float") return value;
  throw new Unfit(`takes numbers and was given ${describeValue(value)}`);
};

const bools = (value: Value): Bools => {
  if (value.kind === "bool") return value;
  throw new Unfit(`takes truth values and was given ${describeValue(value)}`);
};

const needs = (args: readonly Value[], count: number): void => {
  if (args.length !== count) throw new Unfit(`takes ${count} and was given ${args.length} arguments`);
};

const wide = (value: Value, width: number): readonly Scalar[] => {
  const { items } = floats(value);
  if (items.length === width) return items;
  throw new Unfit(`takes ${width} numbers and was given ${items.length}`);
};

/** Values of one width: a single one goes with each of several. */
function widened(args: readonly Value[]): { width: number; single: boolean } {
  const several = args.filter((a) => !a.single);
  const width = several[0]?.items.length ?? 1;
  const other = several.find((a) => a.items.length !== width);
  if (other) throw new Unfit(`joins ${describeValue(several[0])} with ${describeValue(other)}`);
  return { width, single: several.length === 0 };
}

const entry = <T>(value: { readonly items: readonly T[] }, i: number): T =>
  value.items[value.items.length === 1 ? 0 : i];

/** Applies a function of scalars entry by entry. */
function mapped(args: readonly Value[], f: (...x: Scalar[]) => Scalar): Floats {
  const all = args.map(floats);
  const { width, single } = widened(all);
  const items = Array.from({ length: width }, (_, i) => f(...all.map((a) => entry(a, i))));
  return { kind: "float", items, single };
}

/** Compares entry by entry. */
const compared = (args: readonly Value[], f: (a: Scalar, b: Scalar) => Bool): Bools => paired(args.map(floats), f);

/** Joins truth values entry by entry. */
const joined = (args: readonly Value[], f: (a: Bool, b: Bool) => Bool): Bools => paired(args.map(bools), f);

function paired<T>(args: readonly (Value & { readonly items: readonly T[] })[], f: (a: T, b: T) => Bool): Bools {
  const { width, single } = widened(args);
  const items = Array.from({ length: width }, (_, i) => f(entry(args[0], i), entry(args[1], i)));
  return { kind: "bool", items, single };
}

/** `yes` if `cond` holds, else `no`, entry by entry. */
export function chosen(cond: Value, yes: Value, no: Value): Value {
  if (cond.kind !== "bool") throw new Unfit(`takes a condition and was given ${describeValue(cond)}`);
  if (yes.kind !== no.kind) throw new Unfit(`chooses between ${describeValue(yes)} and ${describeValue(no)}`);
  const { width, single } = widened([cond, yes, no]);
  const pick = (i: number) => {
    const [c, a, b] = [entry(cond, i), entry<Scalar | Bool>(yes, i), entry<Scalar | Bool>(no, i)];
    if (yes.kind === "float") return decided(c, select(c, a as Scalar, b as Scalar, "f32"));
    return or(and(c, a as Bool), and(not(c), b as Bool));
  };
  const items = Array.from({ length: width }, (_, i) => pick(i));
  return { kind: yes.kind, items, single } as Value;
}

const one = (name: string, f: (x: Scalar) => Scalar): [string, ExpressionFunction] => [
  name,
  {
    usage: `${name}(x)`,
    apply: (args) => {
      needs(args, 1);
      return mapped(args, f);
    },
  },
];

const two = (name: string, usage: string, f: (x: Scalar, y: Scalar) => Scalar): [string, ExpressionFunction] => [
  name,
  {
    usage,
    apply: (args) => {
      needs(args, 2);
      return mapped(args, f);
    },
  },
];

const three = (
  name: string,
  usage: string,
  f: (x: Scalar, y: Scalar, z: Scalar) => Scalar,
): [string, ExpressionFunction] => [
  name,
  {
    usage,
    apply: (args) => {
      needs(args, 3);
      return mapped(args, f);
    },
  },
];

/** Of one vector, or of as many scalars. */
const folded = (name: string, f: (x: readonly Scalar[]) => Scalar): [string, ExpressionFunction] => [
  name,
  { usage: `${name}(v)`, apply: (args) => float(f(args.flatMap((a) => floats(a).items))) },
];

const extreme = (name: string, f: (x: Scalar, y: Scalar) => Scalar): [string, ExpressionFunction] => [
  name,
  {
    usage: `${name}(a, b, ...) or ${name}(v)`,
    apply: (args) => {
      if (args.length === 0) throw new Unfit("takes at least one argument");
      if (args.length === 1) return float(floats(args[0]).items.reduce(f));
      return args.map(floats).reduce((a, b) => mapped([a, b], f));
    },
  },
];

const made = (name: string, width: number | undefined): [string, ExpressionFunction] => [
  name,
  {
    usage: `${name}(${width === undefined ? "a, b, ..." : ["x", "y", "z", "w"].slice(0, width).join(", ")})`,
    apply: (args) => {
      const items = args.flatMap((a) => floats(a).items);
      if (width === undefined || items.length === width) return vector(items);
      // vec3(1): the same number three times
      if (items.length === 1) return vector(Array<Scalar>(width).fill(items[0]));
      throw new Unfit(`takes ${width} numbers and was given ${items.length}`);
    },
  },
];

const fixed = (
  name: string,
  usage: string,
  widths: readonly number[],
  f: (...v: (readonly Scalar[])[]) => Scalar | readonly Scalar[],
): [string, ExpressionFunction] => [
  name,
  {
    usage,
    apply: (args) => {
      needs(args, widths.length);
      const result = f(...args.map((a, i) => wide(a, widths[i])));
      return Array.isArray(result) ? vector(result as Scalar[]) : float(result as Scalar);
    },
  },
];

const same = (args: readonly Value[]): (readonly Scalar[])[] => {
  needs(args, 2);
  const [a, b] = args.map((v) => floats(v).items);
  if (a.length !== b.length) throw new Unfit(`joins ${describeValue(args[0])} with ${describeValue(args[1])}`);
  return [a, b];
};

const norm = (v: readonly Scalar[]): Scalar => (v.length === 1 ? abs(v[0]) : sqrt(sum(v.map(square))));
const mean = (v: readonly Scalar[]): Scalar => mul(sum(v), 1 / Math.max(1, v.length));
const ceil = (x: Scalar): Scalar => neg(floor(neg(x)));
const unit = (x: Scalar): Scalar => clamp(x, 0, 1);
const SMALLEST = 1e-12;

const isWhole = (x: Scalar): boolean => typeof x === "number" && Number.isInteger(x);

/** x^y; of a negative x only whole powers are numbers. */
const power = (x: Scalar, y: Scalar): Scalar =>
  keepingNaN(isWhole(y) ? pow : undefinedUnless((a) => ge(a, 0), pow))(x, y);

/** x / |x|; zero for a vector without length. */
const normalized = (v: readonly Scalar[]): Scalar[] => {
  const inverse = div(1, max(norm(v), SMALLEST));
  return v.map((x) => mul(x, inverse));
};

/** Conditions that hold entry by entry, if the range may be infinite. */
const inside: ExpressionFunction = {
  usage: "inside(x, low, high) or inside(x, range)",
  apply: (args) => {
    const [x, ...ends] = args.map(floats);
    const range = ends.flatMap((e) => e.items);
    if (range.length !== 2 || range.some((e) => typeof e !== "number"))
      throw new Unfit("takes a value and two constant ends");
    const [low, high] = range as number[];
    return { kind: "bool", items: x.items.map((v) => inClosed(v, [low, high])), single: x.single };
  },
};

/** All functions by name. */
export const FUNCTIONS: ReadonlyMap<string, ExpressionFunction> = new Map<string, ExpressionFunction>([
  ...(
    Object.entries({ floor, ceil, round, sign, exp, sin, cos, asin, acos, atan, tanh }) as [
      string,
      (x: Scalar) => Scalar,
    ][]
  ).map(([name, f]) => one(name, keepingNaN(f))),
  one("abs", abs),
  one("sqrt", sqrt),
  one("square", square),
  one(
    "log",
    undefinedUnless((x) => gt(x, 0), log),
  ),
  one("tan", (x) => div(sin(x), cos(x))),
  one("wrap", (x) => sub(x, mul(2 * Math.PI, floor(add(mul(x, 0.5 / Math.PI), 0.5))))),
  one("fract", (x) => sub(x, floor(x))),
  one("saturate", keepingNaN(unit)),
  one("radians", (x) => mul(x, Math.PI / 180)),
  one("degrees", (x) => mul(x, 180 / Math.PI)),
  two("atan2", "atan2(y, x)", keepingNaN(atan2)),
  two("pow", "pow(x, y)", power),
  two(
    "step",
    "step(edge, x)",
    keepingNaN((edge: Scalar, x: Scalar) => select(ge(x, edge), 1, 0, "f32")),
  ),
  three("clamp", "clamp(x, low, high)", keepingNaN(clamp)),
  three("mix", "mix(a, b, t)", (a, b, t) => add(a, mul(sub(b, a), t))),
  three("smoothstep", "smoothstep(low, high, x)", (low, high, x) => {
    const t = keepingNaN(unit)(div(sub(x, low), sub(high, low)));
    return mul(square(t), sub(3, mul(2, t)));
  }),
  extreme("min", keepingNaN(min)),
  extreme("max", keepingNaN(max)),
  folded("sum", sum),
  folded("mean", mean),
  folded("length", norm),
  folded("norm", norm),
  made("vec2", 2),
  made("vec3", 3),
  made("vec4", 4),
  made("vec", undefined),
  fixed("cross", "cross(a, b)", [3, 3], (a, b) => cross(a as unknown as Vec3, b as unknown as Vec3)),
  fixed("rotate", "rotate(quat, v)", [4, 3], (q, v) => rotate(q as unknown as Quat, v as unknown as Vec3)),
  fixed("unrotate", "unrotate(quat, v)", [4, 3], ([w, x, y, z], v) =>
    rotate([w, neg(x), neg(y), neg(z)], v as unknown as Vec3),
  ),
  fixed("to_world", "to_world(mat, v)", [9, 3], (m, v) => mulMatVec(m as unknown as Mat3, v as unknown as Vec3)),
  fixed("to_local", "to_local(mat, v)", [9, 3], (m, v) => mulMatTVec(m as unknown as Mat3, v as unknown as Vec3)),
  ["dot", { usage: "dot(a, b)", apply: (args) => float(dotn(...(same(args) as [Scalar[], Scalar[]]))) }],
  [
    "distance",
    {
      usage: "distance(a, b)",
      apply: (args) => {
        const [a, b] = same(args);
        return float(norm(a.map((x, i) => sub(x, b[i]))));
      },
    },
  ],
  [
    "normalize",
    {
      usage: "normalize(v)",
      apply: (args) => {
        needs(args, 1);
        return vector(normalized(floats(args[0]).items));
      },
    },
  ],
  [
    "select",
    {
      usage: "select(ifFalse, ifTrue, condition), as in WGSL",
      apply: (args) => {
        needs(args, 3);
        return chosen(args[2], args[1], args[0]);
      },
    },
  ],
  ["all", { usage: "all(conditions)", apply: (args) => bool(args.flatMap((a) => bools(a).items).reduce(and, true)) }],
  ["any", { usage: "any(conditions)", apply: (args) => bool(args.flatMap((a) => bools(a).items).reduce(or, false)) }],
  [
    "isfinite",
    {
      usage: "isfinite(v)",
      apply: (args) => bool(args.flatMap((a) => floats(a).items).reduce<Bool>((ok, x) => and(ok, isFinite32(x)), true)),
    },
  ],
  ["inside", inside],
]);

/** The remainder of a truncated quotient: it has the sign of a. */
function remainder(a: Scalar, b: Scalar): Scalar {
  const quotient = div(a, b);
  return sub(a, mul(b, mul(sign(quotient), floor(abs(quotient)))));
}

/** Numbers of one value, or truth values that agree. */
function equal(args: readonly Value[]): Bools {
  if (args[0].kind === "bool") return joined(args, (a, b) => or(and(a, b), and(not(a), not(b))));
  return compared(args, eq);
}

/** Operators of two operands. */
export const OPERATORS: Readonly<Record<string, (args: readonly Value[]) => Value>> = {
  "+": (args) => mapped(args, add),
  "-": (args) => mapped(args, sub),
  "*": (args) => mapped(args, mul),
  "/": (args) => mapped(args, div),
  "%": (args) => mapped(args, remainder),
  "<": (args) => compared(args, lt),
  "<=": (args) => compared(args, le),
  ">": (args) => compared(args, gt),
  ">=": (args) => compared(args, ge),
  "==": (args) => equal(args),
  "!=": (args) => ({ ...equal(args), items: equal(args).items.map(not) }),
  "&&": (args) => joined(args, and),
  "||": (args) => joined(args, or),
};

/** -x or !x. */
export function negated(op: string, value: Value): Value {
  if (op === "-") return mapped([value], neg);
  return { ...bools(value), items: bools(value).items.map(not) };
}
