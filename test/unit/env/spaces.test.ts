import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { CorralError } from "../../../src/core/errors.ts";
import { BatchedSpace } from "../../../src/env/space/batched-space.ts";
import type { HostValues } from "../../../src/env/space/host-values.ts";
import { Box, Discrete, MultiDiscrete } from "../../../src/env/space/spaces.ts";

const box = new Box({ low: -1, high: 1, shape: [3] });

function refusal(action: () => unknown): CorralError {
  try {
    action();
  } catch (error) {
    if (error instanceof CorralError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

/** What a batch of four worlds says to some actions; also checks that nothing was written. */
function refuseActions(space: Box | Discrete | MultiDiscrete, actions: unknown): string {
  const batch = new BatchedSpace(space, 4);
  const out = space.dtype === "float32" ? new Float32Array(batch.size).fill(42) : new Int32Array(batch.size).fill(42);
  const error = refusal(() => batch.write(actions as HostValues, out));
  expect(error.code).toBe("bad-action");
  expect(out.every((x) => x === 42)).toBe(true);
  expect(batch.contains(actions)).toBe(false);
  return error.message;
}

describe("Box", () => {
  it("takes its shape from the bounds, or spreads a bound over the shape", () => {
    expect(new Box({ low: [-1, -2], high: 4 }).shape).toEqual([2]);
    expect(new Box({ low: [-1, -2], high: 4 }).high).toEqual(Float32Array.of(4, 4));
    expect(new Box({ low: 0, high: 1 }).shape).toEqual([1]);
    expect(new Box({ low: 0, high: 1, shape: [2, 3] }).size).toBe(6);
  });

  it("has a readable name", () => {
    expect(String(box)).toBe("Box(-1, 1, [3], float32)");
    expect(String(new BatchedSpace(box, 4))).toBe("4 × Box(-1, 1, [3], float32)");
  });

  it.each([
    [-1 as never, "[bad-space] Box got -1. Pass { low, high, shape }, such as { low: -1, high: 1, shape: [3] }."],
    [{} as never, "[bad-space] Box has low undefined. Pass a number, or one for each entry."],
    [{ low: 1, high: -1 }, "[bad-space] Box entry 0 has low 1 above high -1. Swap them."],
    [
      { low: Number.NaN, high: 1 },
      "[bad-space] Box entry 0 has low NaN. Pass a number, or an infinity that leaves room.",
    ],
    [
      { low: 0, high: -Infinity },
      "[bad-space] Box entry 0 has high -Infinity. Pass a number, or an infinity that leaves room.",
    ],
    [{ low: [0, 0], high: [1, 1, 1] }, "[bad-space] Box has 2 entries and 3 values of high. Pass one number or 2."],
    [
      { low: 0, high: 1, shape: [0] },
      "[bad-space] shape is [0]; every axis has a positive length. Pass such a shape, [1] for one number.",
    ],
    [
      { low: [], high: [] },
      "[bad-space] shape is [0]; every axis has a positive length. Pass such a shape, [1] for one number.",
    ],
  ])("refuses %o", (options, message) => {
    expect(refusal(() => new Box(options)).message).toBe(message);
  });

  it("contains what is inside of its bounds, bounds included", () => {
    expect(box.contains(Float32Array.of(-1, 0, 1))).toBe(true);
    expect(box.contains([0, 0.5, 1])).toBe(true);
    expect(box.contains(Float32Array.of(-1, 0, 1.1))).toBe(false);
    expect(box.contains(Float32Array.of(0, 0))).toBe(false);
    expect(box.contains(Int32Array.of(0, 0, 0))).toBe(false);
    expect(box.contains([0, 0, Number.NaN])).toBe(false);
    expect(box.contains("abc")).toBe(false);
  });

  it("samples every kind of interval inside of it", () => {
    const mixed = new Box({
      low: [-2, -Infinity, 3, -Infinity],
      high: [5, -1, Infinity, Infinity],
    });
    const batch = new BatchedSpace(mixed, 5000);
    const samples = batch.sample(7);
    expect(batch.contains(samples)).toBe(true);

    const mean = (entry: number) => samples.reduce((sum, x, i) => (i % 4 === entry ? sum + x : sum), 0) / 5000;
    // uniform, from above, from below, normal: means 1.5, -2, 4, 0 with standard errors of 0.03 at most
    [1.5, -2, 4, 0].forEach((expected, entry) => expect(Math.abs(mean(entry) - expected)).toBeLessThan(0.15));
  });

  it("samples float32 over the whole range without overflow", () => {
    const wide = new Box({ low: -3.4e38, high: 3.4e38, shape: [100] });
    expect(wide.contains(wide.sample(0))).toBe(true);
  });
});

describe("Discrete and MultiDiscrete", () => {
  it("contain their integers and nothing else", () => {
    const discrete = new Discrete(3, -1);
    expect([-2, -1, 0, 1, 2, 0.5, Number.NaN].map((x) => discrete.contains(x))).toEqual([
      false,
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
    expect(discrete.contains(Int32Array.of(1))).toBe(true);
    expect(discrete.contains(Float32Array.of(1))).toBe(false);
    expect(discrete.contains("1")).toBe(false);

    const multi = new MultiDiscrete([2, 27_000]);
    expect(multi.contains([1, 26_999])).toBe(true);
    expect(multi.contains([2, 0])).toBe(false);
    expect(multi.contains([0])).toBe(false);
  });

  it("sample every value about equally often", () => {
    const counts = new Map<number, number>();
    for (const x of new BatchedSpace(new Discrete(5, 10), 5000).sample(3)) counts.set(x, (counts.get(x) ?? 0) + 1);
    expect([...counts.keys()].toSorted((a, b) => a - b)).toEqual([10, 11, 12, 13, 14]);
    for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(150);
  });

  it.each([0, -3, 2.5, Number.NaN, 2 ** 31 + 1])("refuse %d values", (n) => {
    expect(refusal(() => new Discrete(n)).code).toBe("bad-space");
    expect(refusal(() => new MultiDiscrete([2, n])).code).toBe("bad-space");
  });

  it("refuse to be empty or to leave 32 bits", () => {
    expect(refusal(() => new MultiDiscrete([])).code).toBe("bad-space");
    expect(refusal(() => new Discrete(2, 2 ** 31 - 1)).code).toBe("bad-space");
    expect(new Discrete(2, 2 ** 31 - 2).contains(2 ** 31 - 1)).toBe(true);
  });

  it("have readable names", () => {
    expect([new Discrete(4), new Discrete(4, 1), new MultiDiscrete([2, 3])].map(String)).toEqual([
      "Discrete(4)",
      "Discrete(4, start 1)",
      "MultiDiscrete([2, 3])",
    ]);
  });
});

describe("a batch", () => {
  it("has a first axis of worlds", () => {
    const batch = new BatchedSpace(new Box({ low: 0, high: 1, shape: [2, 3] }), 5);
    expect([batch.shape, batch.size, batch.dtype]).toEqual([[5, 2, 3], 30, "float32"]);
    expect(new BatchedSpace(new Discrete(2), 5).shape).toEqual([5]);
  });

  it.each([0, -1, 1.5, Number.NaN])("refuses %d worlds", (numEnvs) => {
    expect(refusal(() => new BatchedSpace(box, numEnvs)).code).toBe("bad-space");
  });

  it("copies good actions, flat or one array a world", () => {
    const batch = new BatchedSpace(box, 2);
    const expected = Float32Array.of(1, 2, 3, 4, 5, 6);
    for (const actions of [
      expected,
      Float64Array.from(expected),
      [1, 2, 3, 4, 5, 6],
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
      [Float32Array.of(1, 2, 3), [4, 5, 6]],
    ]) {
      expect(batch.write(actions, new Float32Array(6))).toEqual(expected);
      expect(() => batch.check(actions)).not.toThrow();
    }
    const ids = new BatchedSpace(new Discrete(4), 3);
    for (const actions of [Int32Array.of(0, 3, 1), Uint8Array.of(0, 3, 1), [0, 3, 1]]) {
      expect(ids.write(actions, new Int32Array(3))).toEqual(Int32Array.of(0, 3, 1));
    }
    expect(ids.contains(ids.sample(0))).toBe(true);
  });

  it("takes actions outside of a Box, which the physics clamps", () => {
    const batch = new BatchedSpace(box, 1);
    expect(batch.write([5, -5, 0], new Float32Array(3))).toEqual(Float32Array.of(5, -5, 0));
    expect(batch.contains([5, -5, 0])).toBe(false);
  });

  const zeros = new Float32Array(12);
  const broken = (value: number) => zeros.map((x, i) => (i === 7 ? value : x));

  it.each<[string, unknown, string]>([
    [
      "NaN",
      broken(Number.NaN),
      "world 2, entry 1 of the action is NaN; it must be a finite float32. Pass such a value; no world was stepped.",
    ],
    [
      "infinity",
      broken(-Infinity),
      "world 2, entry 1 of the action is -Infinity; it must be a finite float32. Pass such a value; no world was stepped.",
    ],
    [
      "overflow",
      Float64Array.from(zeros).fill(1e39, 3, 4),
      "world 1, entry 0 of the action is 1e+39; it must be a finite float32. Pass such a value; no world was stepped.",
    ],
    [
      "length",
      new Float32Array(11),
      "actions have 11 values; Box(-1, 1, [3], float32) takes float32 values of shape [4, 3]. Pass a Float32Array of 12 values.",
    ],
    [
      "rows",
      [[0, 0, 0]],
      "actions have 1 row; Box(-1, 1, [3], float32) takes float32 values of shape [4, 3]. Pass a Float32Array of 12 values.",
    ],
    [
      "row length",
      [
        [0, 0, 0],
        [0, 0],
        [0, 0, 0],
        [0, 0, 0],
      ],
      "the action of world 1 has 2 entries; Box(-1, 1, [3], float32) takes float32 values of shape [4, 3]. Pass a Float32Array of 12 values.",
    ],
    [
      "integers",
      new Int32Array(12),
      "actions are of type Int32Array; Box(-1, 1, [3], float32) takes float32 values of shape [4, 3]. Pass a Float32Array of 12 values.",
    ],
    [
      "nothing",
      undefined,
      "actions are undefined; Box(-1, 1, [3], float32) takes float32 values of shape [4, 3]. Pass a Float32Array of 12 values.",
    ],
  ])("refuses actions of a Box with a bad %s", (_, actions, message) => {
    expect(refuseActions(box, actions)).toBe(`[bad-action] ${message}`);
  });

  it.each<[string, unknown]>([
    ["null", null],
    ["a number", 3],
    ["a string", "000000000000"],
    ["an object", { length: 12 }],
    ["a buffer", new ArrayBuffer(48)],
    ["a view", new DataView(new ArrayBuffer(48))],
    ["big integers", new BigInt64Array(12)],
    ["strings", Array.from({ length: 12 }, () => "0")],
    ["undefined entries", Array.from({ length: 12 })],
    ["strings in rows", Array.from({ length: 4 }, () => ["0", "0", "0"])],
    ["a row that is no array", [[0, 0, 0], null, [0, 0, 0], [0, 0, 0]]],
    ["rows that are strings", [[0, 0, 0], "000", [0, 0, 0], [0, 0, 0]]],
  ])("refuses %s", (_, actions) => {
    expect(refuseActions(box, actions)).toMatch(/^\[bad-action\] /);
  });

  it("refuses ids that are no integer of the space", () => {
    const message = (id: string) =>
      `[bad-action] world 3, entry 0 of the action is ${id}; it must be an integer from 0 to 4. Pass such a value; no world was stepped.`;
    expect(refuseActions(new Discrete(5), Int32Array.of(0, 1, 2, 5))).toBe(message("5"));
    expect(refuseActions(new Discrete(5), [0, 1, 2, -1])).toBe(message("-1"));
    expect(refuseActions(new Discrete(5), [0, 1, 2, 0.5])).toBe(message("0.5"));
    expect(refuseActions(new Discrete(5), [0, 1, 2, Number.NaN])).toBe(message("NaN"));
    expect(refuseActions(new Discrete(5), new Float32Array(4))).toContain("actions are of type Float32Array");
    expect(refuseActions(new MultiDiscrete([2, 3]), [0, 0, 1, 2, 0, 3, 0, 0])).toContain(
      "world 2, entry 1 of the action is 3; it must be an integer from 0 to 2.",
    );
  });

  it("names the world, the entry and the value in the details", () => {
    const batch = new BatchedSpace(box, 4);
    expect(refusal(() => batch.check(broken(Infinity))).details).toEqual({
      world: 2,
      index: 1,
      value: Infinity,
    });
  });

  it("finds any single bad value", () => {
    fc.assert(
      fc.property(fc.nat(11), fc.constantFrom(Number.NaN, Infinity, -Infinity), (at, value) => {
        const error = refusal(() => new BatchedSpace(box, 4).check(zeros.map((x, i) => (i === at ? value : x))));
        expect(error.details).toEqual({ world: Math.floor(at / 3), index: at % 3, value });
      }),
    );
  });
});

describe("sampling", () => {
  const spaces = [box, new Discrete(1000), new MultiDiscrete([5, 27_000])];

  it.each(spaces)("$kind depends on seed, world id and draw alone", (space) => {
    const many = new BatchedSpace<Box | Discrete | MultiDiscrete>(space, 64);
    const one = new BatchedSpace<Box | Discrete | MultiDiscrete>(space, 1);
    const all = many.sample(11, { draw: 3 });
    expect(many.sample(11, { draw: 3 })).toEqual(all);
    expect(one.sample(11, { draw: 3, worldIds: [17] })).toEqual(all.slice(17 * space.size, 18 * space.size));
    expect(space.sample(11, { draw: 3 })).toEqual(all.slice(0, space.size));
    expect(many.sample(12, { draw: 3 })).not.toEqual(all);
    expect(many.sample(11, { draw: 4 })).not.toEqual(all);
  });

  it("writes to a given array, and refuses bad seeds and ids", () => {
    const batch = new BatchedSpace(box, 2);
    const out = new Float32Array(6);
    expect(batch.sample(1, {}, out)).toBe(out);
    expect(out).toEqual(batch.sample(1));
    expect(refusal(() => batch.sample(-1)).code).toBe("bad-seed");
    expect(refusal(() => batch.sample(1, { draw: -1 })).code).toBe("bad-counter");
    expect(refusal(() => batch.sample(1, { worldIds: [1] })).code).toBe("bad-space");
  });
});
