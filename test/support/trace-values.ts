// random straight-line programs over all types, on numbers of every kind: NaN, infinities, denormals, -0
import fc from "fast-check";
import type { Trace } from "../../src/trace/graph.ts";
import { operandType, TraceNode, type Operand } from "../../src/trace/nodes.ts";
import { isComputed, meaningOf, type Op, type Type } from "../../src/trace/operations.ts";
import * as t from "../../src/trace/scalar.ts";

export const VALUE_INPUTS = 4;
/** Values of each type that a program gives back: floats as bits, i32 and truth as u32. */
const KEPT = 4;
export const VALUE_OUTPUTS = 4 * KEPT;

const EDGES = [
  0,
  -0,
  1,
  -1,
  0.5,
  -0.5,
  1.5,
  2.5,
  -2.5,
  2 ** -126,
  2 ** -127,
  2 ** -149,
  -(2 ** -149),
  2 ** 24,
  2 ** 31,
  -(2 ** 31),
  2 ** 32,
  2 ** 127,
  34028234663852886e22,
  -34028234663852886e22,
  1e-30,
  88.7,
  -87.4,
  Infinity,
  -Infinity,
  NaN,
].map(Math.fround);

/** A float32 of any kind, edges often. */
export const anyFloat: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(...EDGES),
  fc.float({ noDefaultInfinity: false }),
  fc.integer({ min: -64, max: 64 }),
);
export const valueInputs = fc.array(anyFloat, { minLength: VALUE_INPUTS, maxLength: VALUE_INPUTS });

type Pools = { f: t.Scalar[]; i: t.Int[]; u: t.Int[]; b: t.Bool[] };
type Kind = keyof Pools;
type Make = (pick: <K extends Kind>(kind: K) => Pools[K][number]) => Operand;

const f2 =
  (fn: (a: t.Scalar, b: t.Scalar) => Operand): Make =>
  (pick) =>
    fn(pick("f"), pick("f"));
const i2 =
  (fn: (a: t.Int, b: t.Int) => Operand): Make =>
  (pick) =>
    fn(pick("i"), pick("i"));
const u2 =
  (fn: (a: t.Int, b: t.Int) => Operand): Make =>
  (pick) =>
    fn(pick("u"), pick("u"));
const b2 =
  (fn: (a: t.Bool, b: t.Bool) => Operand): Make =>
  (pick) =>
    fn(pick("b"), pick("b"));

/** The bits of a float; NaN has many, which mean nothing. */
const bitsOf = (x: t.Scalar): t.Int => {
  const bits = t.bitcastU32(x);
  return t.select(t.gt(t.band(bits, 0x7fffffff), 0x7f800000), 0x7fc00000, bits, "u32");
};

const STEPS: readonly (readonly [Kind, Make])[] = [
  ...[t.add, t.sub, t.mul, t.div, t.min, t.max].flatMap((fn) => [["f", f2(fn)] as const, ["i", i2(fn)] as const]),
  ...[t.neg, t.abs, t.sqrt, t.floor, t.round, t.sign].map((fn) => ["f", (pick) => fn(pick("f"))] as [Kind, Make]),
  ...[t.neg, t.abs].map((fn) => ["i", (pick) => fn(pick("i"))] as [Kind, Make]),
  ...[t.min, t.max].map((fn) => ["u", u2(fn)] as [Kind, Make]),
  ["u", (pick) => t.abs(pick("u"))],
  ...[t.band, t.bor, t.bxor, t.shl, t.shr, t.uadd, t.umul].map((fn) => ["u", u2(fn)] as [Kind, Make]),
  ...[t.lt, t.le, t.gt, t.ge, t.eq, t.ne].flatMap((fn) =>
    [f2(fn), i2(fn), u2(fn)].map((make) => ["b", make] as [Kind, Make]),
  ),
  ...[t.eq, t.ne].map((fn) => ["b", b2(fn as never)] as [Kind, Make]),
  ...[t.and, t.or].map((fn) => ["b", b2(fn)] as [Kind, Make]),
  ["b", (pick) => t.not(pick("b"))],
  ["f", (pick) => t.select(pick("b"), pick("f"), pick("f"), "f32")],
  ["i", (pick) => t.select(pick("b"), pick("i"), pick("i"), "i32")],
  ["u", (pick) => t.select(pick("b"), pick("u"), pick("u"), "u32")],
  ["f", (pick) => t.toF32(pick("i"))],
  ["f", (pick) => t.toF32(pick("u"))],
  ["i", (pick) => t.toI32(pick("f"))],
  ["u", (pick) => t.toU32(pick("f"))],
  ["i", (pick) => t.toI32(pick("u"))],
  ["u", (pick) => t.toU32(pick("i"))],
  ["i", (pick) => t.firstTrailingBit(pick("u"))],
  ["f", (pick) => t.bitcastF32(pick("u"))],
  ["u", (pick) => bitsOf(pick("f"))],
];

export type ValueProgram = readonly { readonly step: number; readonly picks: readonly number[] }[];
export const valuePrograms: fc.Arbitrary<ValueProgram> = fc.array(
  fc.record({ step: fc.nat(STEPS.length - 1), picks: fc.array(fc.nat(99), { minLength: 3, maxLength: 3 }) }),
  { minLength: 1, maxLength: 40 },
);

/** Traces a program; what it computed last of each type. */
export function traceValues(program: ValueProgram, inputs: readonly t.Scalar[]): t.Scalar[] {
  const pools: Pools = {
    f: [...inputs],
    i: [t.toI32(inputs[0])],
    u: [bitsOf(inputs[1]), t.toU32(inputs[2])],
    b: [t.lt(inputs[0], inputs[1])],
  };
  for (const { step, picks } of program) {
    let at = 0;
    const [kind, make] = STEPS[step];
    const made = make((from) => {
      const pool = pools[from];
      return pool[picks[at++ % picks.length] % pool.length];
    });
    if (t.isNode(made)) (pools[kind] as Operand[]).push(made);
  }
  const last = <T>(list: readonly T[]): T[] =>
    Array.from({ length: KEPT }, (_, k) => list[Math.max(0, list.length - 1 - k)]);
  return [
    ...last(pools.f).map(bitsOf),
    ...last(pools.i).map((x) => t.toU32(x)),
    ...last(pools.u),
    ...last(pools.b).map((x) => t.select(x, 1, 0, "u32")),
  ];
}

const isFree = (x: number): boolean => !Number.isFinite(x) || (x !== 0 && Math.abs(x) < 2 ** -126);
/** Operations that WGSL lets a driver compute less exactly, and those that it lets it fuse and reassociate. */
const INEXACT: ReadonlySet<Op> = new Set<Op>(["div", "sqrt"]);
const FUSED: ReadonlySet<Op> = new Set<Op>(["add", "sub", "mul"]);

interface Stored {
  readonly value: number;
  /** Whether a driver may give something else. */
  readonly free: boolean;
}
/** `sum`: a float that arithmetic made, which more of it may be fused with. */
type Known = Stored & { readonly sum: boolean };

/**
 * What a straight-line program of world 0 stores by the table of operations, in float32 or as a wide trace; `free` where WGSL lets a driver
 * give something else: a NaN, an infinity or a denormal was on the way, the sign of a zero decides, sums and products
 * follow one another (fused, reassociated), a float was divided or rooted, or does not fit the integer that it becomes,
 * or an integer the float.
 */
export function byTable(trace: Trace, inputs: readonly number[]): Stored[] {
  const round = trace.wide ? (x: number) => x : Math.fround;
  const known = new Map<TraceNode, Known>();
  const of = (a: Operand, type: Type): Known => {
    if (a instanceof TraceNode) return known.get(a)!;
    const value = type === "f32" ? round(Number(a)) : type === "u32" ? Number(a) >>> 0 : Number(a);
    return { value, free: isFree(value), sum: false };
  };
  const stored: Stored[] = [];
  for (const s of trace.root.statements) {
    if (s.kind === "store") stored.push(...s.values.map((v) => of(v, s.type)));
    if (s.kind !== "let") continue;
    const { op, args, type } = s.node;
    if (op === "component" || op === "world") {
      const value = op === "world" ? 0 : inputs[args[1] as number];
      known.set(s.node, { value, free: isFree(value), sum: false });
    }
    if (!isComputed(op)) continue;
    const given = args.map((a, i) => of(a, operandType(s.node, i)));
    const from = operandType(s.node, 0);
    const [x, y, z] = given.map((g) => g.value);
    const value = meaningOf(op, type, from, round)(x, y, z);
    const chosen = op === "select" ? [given[0], x ? given[1] : given[2]] : given;
    const isFloat = type === "f32" && from === "f32";
    const sums = chosen.some((g) => g.sum);
    const free =
      chosen.some((g) => g.free) ||
      (type === "f32" && isFree(value)) ||
      (isFloat && (INEXACT.has(op) || (FUSED.has(op) && sums))) ||
      (op === "bitcast_u32" && x === 0) ||
      // a driver may take either neighbour
      (op === "f32" && value !== x) ||
      // the largest floats below 2^31 and 2^32
      (from === "f32" && op === "i32" && Math.abs(x) > 2147483520) ||
      (from === "f32" && op === "u32" && (x > 4294967040 || x <= -1));
    known.set(s.node, { value, free, sum: type === "f32" && (sums || FUSED.has(op)) });
  }
  return stored;
}
