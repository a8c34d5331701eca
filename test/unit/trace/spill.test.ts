// values that are put aside: how many live at once, which go, and that what is computed stays the same
import { expect, test } from "vitest";
import { array, load4, loop, store4, variable, type Four } from "../../../src/trace/control.ts";
import { trace, type Trace } from "../../../src/trace/graph.ts";
import { analyse } from "../../../src/trace/liveness.ts";
import { placesOf } from "../../../src/trace/places.ts";
import { add, gt, mul, select, sub, toF32, type Scalar } from "../../../src/trace/scalar.ts";
import { spilled } from "../../../src/trace/spill.ts";
import { toJavaScript } from "../../../src/trace/javascript.ts";

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

test("what a loop uses stays where it is while others can go", () => {
  const made = spilled(program(), 40, never);
  const { statements } = made.root;
  const body = statements.find((s) => s.kind === "loop")!;
  const puts = (all: typeof statements) => all.filter((s) => s.kind === "put" && s.target.name === "spilled").length;
  expect(puts(statements)).toBeGreaterThan(0);
  expect(puts(body.block.statements)).toBe(0);
});
