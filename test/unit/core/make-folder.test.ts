import { existsSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { makeFolder } from "../../../src/core/make-folder.ts";

const folder = mkdtempSync(join(tmpdir(), "corral-make-folder-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("makeFolder", () => {
  test("makes those above, and leaves one that is there", () => {
    const path = join(folder, "a", "b", "c");
    makeFolder(path);
    makeFolder(path);
    expect(statSync(path).isDirectory()).toBe(true);
  });

  test("throws what the file system throws", () => {
    const file = join(folder, "file");
    writeFileSync(file, "");
    symlinkSync(join(folder, "nowhere"), join(folder, "dangling"));
    expect(() => makeFolder(file)).toThrow("EEXIST");
    expect(() => makeFolder(join(file, "below"))).toThrow("ENOTDIR");
    expect(() => makeFolder(join(folder, "dangling"))).toThrow("EEXIST");
    expect(() => makeFolder("")).toThrow("ENOENT");
  });

  // with `recursive`, Node makes this call again and again
  test.runIf(existsSync("/proc/self"))("returns where a file system denies a folder by ENOENT", () => {
    expect(() => makeFolder("/proc/corral/below")).toThrow("ENOENT");
  });
});
