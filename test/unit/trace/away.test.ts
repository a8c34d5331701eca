// arrays that a lane has no room for: which go, where they lie, and that the others stay
import { expect, test } from "vitest";
import { cutTrace } from "../../../src/trace/pieces.ts";
import { array, load4, markStage, store4 } from "../../../src/trace/control.ts";
import { arraysBeyond, foursAway, moveAway } from "../../../src/trace/away.ts";
import { trace, type Trace } from "../../../src/trace/graph.ts";
import { add, toF32, toI32 } from "../../../src/trace/scalar.ts";
import { toWgsl } from "../../../src/trace/wgsl.ts";

const ROOM = { bytes: 256 };

/** Three arrays that an index known at run time reaches, of 200, 61 and 40 words, the second of them scratch. */
const program = (mark = false): Trace =>
  trace(() => {
    const at = toI32(load4("state", 0, "u32")[0]);
    const arrays = [array("large", 200), array("middle", 61, "f32", true), array("small", 40)];
    const touched = arrays.map((a, i) => {
      a.set(add(at, i + 1), toF32(at));
      return a.get(at);
    });
    if (mark) markStage("solver");
    const again = array("of_the_solver", 100);
    again.set(at, 1);
    store4("state", 0, [...touched, again.get(add(at, 1))] as never);
  });

const REGION = { buffer: "cells", tile: 8, stride: 90, first: 2 } as const;

test("the largest go until the rest fits", () => {
  const names = (bytes: number) => arraysBeyond(program(), { bytes }).away.map(({ name }) => name);
  expect(names(4 * 401)).toEqual([]);
  expect(names(4 * 400)).toEqual(["large"]);
  expect(names(ROOM.bytes)).toEqual(["large", "of_the_solver", "middle"]);
  expect(foursAway(arraysBeyond(program(), ROOM).away)).toBe(50 + 25 + 16);
});

test("where accesses take room, those with the fewest for their bytes go, and none that gains nothing", () => {
  const often = trace(() => {
    const at = toI32(load4("state", 0, "u32")[0]);
    const [busy, idle] = [array("busy", 200), array("idle", 100)];
    for (let i = 0; i < 60; i++) busy.set(add(at, i), toF32(at));
    idle.set(at, 1);
    store4("state", 0, [busy.get(at), idle.get(add(at, 1)), 0, 0] as never);
  });
  const beyond = (bytes: number, perAccess?: number) => {
    const { away, lacking } = arraysBeyond(often, { bytes, perAccess });
    return [away.map(({ name }) => name), lacking];
  };
  expect(beyond(800)).toEqual([["busy"], 0]);
  expect(beyond(900, 8)).toEqual([["idle"], 0]);
  // 61 accesses of 8 bytes beside 800, and 2 beside 400
  expect(beyond(504, 8)).toEqual([["idle", "busy"], 0]);
  expect(beyond(503, 8)).toEqual([["idle", "busy"], 1]);
  expect(beyond(0, 16)).toEqual([["idle"], 832]);
});

test("what goes is read and written in the buffer, and cleared unless it is scratch", () => {
  const whole = program();
  const { away } = arraysBeyond(whole, ROOM);
  const { code, privateBytes } = toWgsl(moveAway(whole, away, REGION), { workgroupSize: 64, privateArrays: "merged" });
  expect(code).toContain("var private_memory: array<u32, 40>;");
  expect(privateBytes!.all).toBe(4 * 40);
  for (const first of [2, 2 + 50, 2 + 75]) expect(code).toContain(`/ 4 + ${first}) * 8]`);
  // the loops that clear the two that are not scratch
  expect(code.match(/\bfor \(/g)).toHaveLength(2);
  expect(moveAway(whole, [], REGION)).toBe(whole);
});

test("pieces have theirs in one place, behind what passes between them", () => {
  const marks = new Set(["solver"]);
  const bare = cutTrace(program(true), marks, 8)!;
  const { fours, pieces } = cutTrace(program(true), marks, 8, ROOM)!;
  expect(fours).toBe(bare.fours + 50 + 16);
  const beyond = pieces.map((piece) => arraysBeyond(piece.trace, ROOM).away);
  expect(beyond).toEqual([[], []]);
  const firsts = pieces.map(({ trace: made }) =>
    made.arrays.flatMap(({ kept }) => (kept ? [kept.first] : [])).sort((a, b) => a - b),
  );
  for (const [first] of firsts) expect(first).toBe(bare.fours);
});

test("what pieces pass in loops takes room too, and arrays that go for it have their place", () => {
  const passing = trace(
    () => {
      const at = toI32(load4("state", 0, "u32")[0]);
      const values = Array.from({ length: 40 }, (_, i) => load4("state", add(at, i))[0]);
      markStage("solver");
      const own = array("of_the_solver", 100);
      own.set(at, 1);
      store4("state", 0, [values.reduce(add, own.get(add(at, 1))), 0, 0, 0]);
    },
    { unroll: false },
  );
  const cut = (bytes: number) => cutTrace(passing, new Set(["solver"]), 8, { bytes, perAccess: 8 }, true);
  // ten fours of values, and the array; the other piece has no room for values alone
  expect(cut(560)!.fours).toBe(cut(1 << 20)!.fours + 25);
  for (const { trace: made } of cut(560)!.pieces)
    for (const { kept, length } of made.arrays)
      if (kept) expect(kept.first + Math.ceil(length / 4)).toBeLessThanOrEqual(kept.stride);
  expect(cut(40)).toBeUndefined();
});
