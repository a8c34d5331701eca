import { mkdtempSync, readdirSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { cacheValue, readCachedValue } from "../../../src/core/cached-values.ts";

const folder = mkdtempSync(join(tmpdir(), "corral-values-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the oldest values go where all of them are too large", () => {
  const limits = { most: 10, mostBytes: 2000, mostInAll: 4000 };
  for (const [i, name] of ["a", "b", "c", "d"].entries()) {
    const file = join(folder, name);
    cacheValue(file, new Uint8Array(1200).fill(i), limits);
    utimesSync(file, i, i);
  }
  cacheValue(join(folder, "e"), new Uint8Array(3000), limits);
  expect(readdirSync(folder).sort()).toEqual(["b", "c", "d"]);
  expect(readCachedValue(join(folder, "c"))).toEqual(new Uint8Array(1200).fill(2));
});
