// kernels that were emitted before
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { emittedKernel } from "../../../src/batch/wasm/kernel-cache.ts";
import { array, load4, loop, store4, table, when, world } from "../../../src/trace/control.ts";
import { digestOfTrace } from "../../../src/trace/digest.ts";
import { trace } from "../../../src/trace/graph.ts";
import { add, gt, mul, toU32 } from "../../../src/trace/scalar.ts";

const cache = mkdtempSync(join(tmpdir(), "corral-kernels-"));
const folder = `${cache}-kernels`;
afterEach(() => vi.unstubAllEnvs());
afterAll(() => [cache, folder].forEach((path) => rmSync(path, { recursive: true, force: true })));

interface Change {
  readonly factor?: number;
  readonly from?: string;
  readonly turns?: number;
  readonly part?: 0 | 1;
}

/** A program; each change makes another. */
const program = ({ factor = 2, from = "in", turns = 3, part = 0 }: Change = {}) =>
  trace(() => {
    const values = load4(from, world());
    when(gt(values[part], 0), () =>
      loop(turns, () => {
        store4("out", world(), [add(values[0], mul(values[1], factor)), 0, 0, 0]);
      }),
    );
  });

test("the same program has the same digest, any other another", () => {
  const changes: Change[] = [{}, { factor: 0 }, { factor: Number.NaN }, { from: "on" }, { turns: 4 }, { part: 1 }];
  const digests = changes.map((change) => digestOfTrace(program(change)));
  expect(new Set(digests).size).toBe(changes.length);
  expect(changes.map((change) => digestOfTrace(program(change)))).toEqual(digests);
});

test("what an array may hold where it was not written is part of the digest", () => {
  const kinds = [[], [true], [true, true]] as const;
  const digests = kinds.map(([isScratch, isOwn]) =>
    digestOfTrace(trace(() => array("kept", 4, "f32", isScratch, isOwn).set(0, 1))),
  );
  expect(new Set(digests).size).toBe(kinds.length);
});

const programOf = (values: ArrayLike<number>) =>
  trace(() => store4("out", world(), [toU32(table("t", values, "i32")(world())), toU32(0), toU32(0), toU32(0)], "u32"));

test("numbers of tables are part of the digest, as lists and as columns", () => {
  const lists = [[1, 2, 3], [1, 2, 4], Int32Array.of(1, 2, 3), Int32Array.of(1, 2, 4), Float64Array.of(1, 2, 4)];
  const digests = lists.map((values) => digestOfTrace(programOf(values)));
  expect(new Set(digests).size).toBe(lists.length);
  expect(lists.map((values) => digestOfTrace(programOf(values)))).toEqual(digests);
});

test("a kernel whose tables place millions of pairs is kept", () => {
  vi.stubEnv("CORRAL_MODEL_CACHE", join(cache, "pairs"));
  emittedKernel(programOf(Int32Array.from({ length: 5e6 }, (_, k) => k)));
  expect(readdirSync(join(cache, "pairs-kernels")).length).toBe(1);
});

test("what was emitted is read; what was changed in the folder is not", () => {
  vi.stubEnv("CORRAL_MODEL_CACHE", cache);
  const first = emittedKernel(program());
  const [name] = readdirSync(folder);
  const file = join(folder, name);
  expect(emittedKernel(program())).toEqual(first);
  emittedKernel(program({ factor: 3 }));
  expect(readdirSync(folder).length).toBe(2);

  const bytes = readFileSync(file);
  for (const damaged of [
    bytes.subarray(0, 100),
    Buffer.alloc(0),
    Buffer.from(bytes.map((b, i) => (i === bytes.length - 9 ? b ^ 1 : b))),
  ]) {
    writeFileSync(file, damaged);
    expect(emittedKernel(program())).toEqual(first);
    expect(readFileSync(file)).toEqual(bytes);
  }
  vi.stubEnv("CORRAL_MODEL_CACHE", "off");
  expect(emittedKernel(program({ factor: 5 })).module.length).toBeGreaterThan(0);
  expect(readdirSync(folder).length).toBe(2);
});
