/** Real refusals: a process with a bounded address space allocates until something says no. */
import { execFile, execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { softwareAdapters } from "../support/software-adapters.ts";

const adapters = await softwareAdapters();
const run = promisify(execFile);
const program = fileURLToPath(new URL("../support/fill-memory.ts", import.meta.url));
const STEP = 64 * 2 ** 20;

async function fill(adapter: string, refuser: string) {
  const { stdout } = await run(process.execPath, ["--import", "tsx", program, adapter, refuser]);
  return JSON.parse(stdout.trim().split("\n").at(-1)!);
}

function hasPrlimit(): boolean {
  try {
    execFileSync("prlimit", ["--version"]);
    return true;
  } catch {
    console.log("skipped: bounding a process needs prlimit (util-linux)");
    return false;
  }
}

describe.runIf(hasPrlimit())("a process with a bounded address space", { timeout: 60_000 }, () => {
  test.each(adapters)("on the %s adapter is stopped by the budget, and never dies", async (adapter) => {
    const { filled, again, growth, live, limit, source } = await fill(adapter, "budget");
    expect(source).toMatch(/ulimit -v/);
    expect(filled).toEqual({ count: Math.floor(limit / STEP), code: "budget-exceeded" });
    expect(filled.count).toBeGreaterThan(4);
    expect(again).toEqual(filled);
    expect(live).toBe(0);
    expect(growth).toBeLessThan(STEP);
  });

  // lavapipe never refuses
  test("on the embedded adapter takes the driver's refusal and goes on", async () => {
    const { filled, again, growth, live } = await fill("embedded", "driver");
    expect(filled.code).toBe("allocation-refused");
    expect(filled.count).toBeGreaterThan(8);
    expect(again.code).toBe("allocation-refused");
    expect(Math.abs(again.count - filled.count)).toBeLessThanOrEqual(1);
    expect(live).toBe(0);
    expect(growth).toBeLessThan(STEP);
  });
});
