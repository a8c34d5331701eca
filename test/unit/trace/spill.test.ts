// values that are put aside: how many live at once, which go, and that what is computed stays the same
import { expect, test } from "vitest";
import { array, load4, loop, markStage, store4, table, variable, type Four } from "../../../src/trace/control.ts";
import { trace, type Trace } from "../../../src/trace/graph.ts";
import { analyse } from "../../../src/trace/liveness.ts";
import { placesOf } from "../../../src/trace/places.ts";
import { add, gt, mul, select, sub, toF32, toI32, type Scalar } from "../../../src/trace/scalar.ts";
import { cutTrace } from "../../../src/trace/pieces.ts";
import { readAgain, rereadsOf } from "../../../src/trace/kept-reads.ts";
import { spilled } from "../../../src/trace/spill.ts";
import { toJavaScript } from "../../../src/trace/javascript.ts";
import { MOST_LIVE, toWgsl } from "../../../src/trace/wgsl.ts";

const FOURS = 10;
const TURNS = 3;

/** Numbers that live across a loop, which uses some of them, variables that it carries, and an array that no loop indexes. */
const program = (): Trace =>
  trace(() => {
    const values = Array.from({ length: FOURS }, (_, i) => load4("state", i)).flat();
    const sums = values.slice(0, 8).map((x, i) => variable(`sum_${i}`, mul(x, 2)));
    const kept = array("kept", 4);
    for (let i = 0; i < 4; i++) kept.set(i, sub(values[i], values[i + 4]));
    const most = variable("most", 0);
    loop(TURNS, (turn) => {
      sums.forEach((sum, i) => sum.set(add(mul(sum.get(), 0.5), mul(values[i], toF32(turn)))));
      const last = sums[7].get();
      most.set(select(gt(last, most.get()), last, most.get()));
      sums[7].set(sub(most.get(), kept.get(2)));
    });
    const out: Scalar[] = values.map((x, i) => add(x, i < 8 ? sums[i].get() : kept.get(i % 4)));
    for (let i = 0; i < FOURS; i++) store4("state", i, out.slice(4 * i, 4 * i + 4) as unknown as Four);
  });

function mostLive(made: Trace): number {
  const places = placesOf(made, analyse(made));
  const counts = new Int32Array(places.length + 2);
  for (const place of places.accesses.keys())
    for (const { start, end } of places.spans(place)) for (let at = start; at <= end; at++) counts[at]++;
  return Math.max(...counts);
}

function run(made: Trace): Float64Array {
  const state = Float64Array.from({ length: 4 * FOURS }, (_, i) => Math.sin(i + 1));
  toJavaScript(made, "f64", { buffers: { state }, params: new Float64Array(2) }).run(0);
  return state;
}

const never = () => false;

test("no more live at once than may, as far as that can be", () => {
  const whole = program();
  expect(mostLive(whole)).toBeGreaterThan(4 * FOURS);
  for (const most of [40, 24]) {
    const made = spilled(whole, most, never);
    expect(mostLive(made)).toBeLessThanOrEqual(most);
    expect(run(made)).toEqual(run(whole));
  }
});

test("a program that has no more is as it was", () => {
  const whole = program();
  expect(spilled(whole, 4 * mostLive(whole), never)).toBe(whole);
});

test("what constants index of an array in a buffer is read at an index that no compiler knows", () => {
  const ofMany = trace(() => {
    const crossing = array("crossing", 8);
    for (let i = 0; i < 8; i++) crossing.set(i, load4("state", i)[0]);
    markStage("solver");
    const values = Array.from({ length: FOURS }, (_, i) => load4("state", i)).flat();
    const sum = variable("sum", 0);
    loop(TURNS, () => {
      for (let i = 0; i < 8; i++) sum.set(add(sum.get(), crossing.get(i)));
    });
    values.forEach((x) => sum.set(add(sum.get(), x)));
    store4("state", 0, [sum.get(), 0, 0, 0]);
  });
  const [, solver] = cutTrace(ofMany, new Set(["solver"]), 8)!.pieces;
  const form = { workgroupSize: 64, privateArrays: "merged" } as const;
  const inLoop = (mostLive: number) => {
    const { code } = toWgsl(solver.trace, { ...form, mostLive });
    return /for \([\s\S]*?\n {2}\}/.exec(code)![0];
  };
  const plain = inLoop(MOST_LIVE);
  const hidden = inLoop(16);
  // a read of a known place each, that could be made before the loop
  expect(plain.match(/cells\[\(world/g)).toHaveLength(8);
  expect(hidden).not.toContain("cells[(world");
  // by one index, which is another in each turn as far as compilers see
  const [base] = /t_\d+(?= = .*U\.zero\) \* \(i_\d+ \+ \d+\))/.exec(hidden)!;
  expect(hidden.match(new RegExp(`cells\\[(\\(${base} \\+ \\d+\\)|${base})\\]`, "g"))).not.toHaveLength(0);
});

test("what a loop uses stays where it is while others can go", () => {
  const made = spilled(program(), 40, never);
  const { statements } = made.root;
  const body = statements.find((s) => s.kind === "loop")!;
  const puts = (all: typeof statements) => all.filter((s) => s.kind === "put" && s.target.name === "spilled").length;
  expect(puts(statements)).toBeGreaterThan(0);
  expect(puts(body.block.statements)).toBe(0);
});

test("what compilers would keep of private memory between two reads is read again", () => {
  const ELEMENTS = 8;
  const BETWEEN = 40;
  const whole = trace(() => {
    const all = array("all", ELEMENTS);
    const sum = variable("sum", 0);
    loop(ELEMENTS, (i) => all.set(i, toF32(mul(i, i))));
    loop(TURNS, (turn) => {
      for (let i = 0; i < ELEMENTS; i++) sum.set(add(sum.get(), all.get(i)));
      for (let k = 0; k < BETWEEN; k++) sum.set(mul(add(sum.get(), toF32(turn)), 0.5));
      for (let i = 0; i < ELEMENTS; i++) sum.set(sub(sum.get(), mul(all.get(i), 3)));
    });
    store4("state", 0, [sum.get(), 0, 0, 0]);
  });
  expect(rereadsOf(whole, analyse(whole))).toMatchObject({ most: ELEMENTS, far: { size: ELEMENTS } });
  expect(readAgain(whole, ELEMENTS)).toBe(whole);
  const made = readAgain(whole, ELEMENTS - 1);
  expect(rereadsOf(made, analyse(made)).most).toBe(0);
  expect(run(made)).toEqual(run(whole));
});

test("a table that nothing reads leaves the others where they were", () => {
  const whole = trace(() => {
    const index = load4("state", 0, "u32")[0];
    // read by what nothing needs, and so by no statement that lives
    table("unread", [7, 8, 9])(toI32(index));
    const values = Array.from({ length: FOURS }, (_, i) => load4("state", i)).flat();
    const sum = variable("sum", table("read", [1, 2, 3, 4])(toI32(index)));
    loop(TURNS, () => values.forEach((x) => sum.set(add(sum.get(), x))));
    store4("state", 0, [sum.get(), ...(values.slice(1, 4) as [Scalar, Scalar, Scalar])]);
  });
  const places = (made: Trace) => made.tables.map(({ name, offset }) => [name, offset]);
  const made = spilled(whole, 16, never);
  expect(made).not.toBe(whole);
  expect(places(made)).toEqual(places(whole));
});
