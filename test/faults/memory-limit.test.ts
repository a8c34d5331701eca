// real refusals: a process with bounded memory makes simulations until something says no, and goes on
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { builtProgram } from "../support/built.ts";
import { makeControlGroup } from "../support/control-group.ts";
import type { RefuseResult } from "../support/refuse-simulations.ts";
import { hasPrlimit } from "../support/prlimit.ts";
import { softwareAdapters } from "../support/software-adapters.ts";
import { memoryGrowth } from "../support/tolerances.ts";

const full = process.env.CORRAL_FULL !== undefined;
const adapters = await softwareAdapters();
const run = promisify(execFile);
const program = fileURLToPath(new URL("../support/refuse-simulations.ts", import.meta.url));

/** `leaks`: a hundred constructions after the refusal, looked at; it takes most of the time. */
async function refuse(leaks: boolean, ...args: string[]): Promise<RefuseResult> {
  // threads that wait for each other in malloc are given heaps of their own, which is no leak
  const env = { ...process.env, MALLOC_ARENA_MAX: "1" };
  // a death of the process rejects
  const { stdout } = await run(process.execPath, ["--expose-gc", await builtProgram(program), String(leaks), ...args], {
    env,
  });
  return JSON.parse(stdout.trim().split("\n").at(-1)!) as RefuseResult;
}

/** Of constructions after the refusal none took memory for good, and nothing else noticed. */
function assertUnharmed({ memory, heap, live, beside, unharmed }: RefuseResult): void {
  expect([live, unharmed]).toEqual([beside, true]);
  if (memory.length === 0) return;
  expect(memory).toHaveLength(20);

  // a leak grows in every construction; Node and compilers take something now and then
  const least = (values: readonly number[]) => Math.min(...values);
  const growth = (values: readonly number[]) => least(values.slice(10)) - least(values.slice(0, 10));
  expect(growth(memory) + growth(heap)).toBeLessThan(memoryGrowth.value * memory[0]);
}

const bounded = hasPrlimit();

describe.runIf(bounded)("a process with a bounded address space", () => {
  test.each(full ? adapters : adapters.slice(0, 1))(
    "on the %s adapter is stopped by the budget, and never dies",
    async (adapter) => {
      const result = await refuse(full, adapter, "budget");
      const { filled, again, limit, source } = result;
      expect(source).toMatch(/^40 % of address space limit \(ulimit -v\)/);
      expect(filled).toMatchObject({ code: "budget-exceeded" });
      expect(filled.count).toBeGreaterThan(3);
      expect(filled.bytes).toBeGreaterThan(0.75 * limit);
      expect(again).toEqual(filled);
      assertUnharmed(result);
    },
  );

  // lavapipe never refuses; what budgets refuse leaves nothing in test/faults/simulation-memory.test.ts
  test("on the embedded adapter takes the driver's refusal and goes on", async () => {
    const result = await refuse(true, "embedded", "driver");
    const { filled, again } = result;
    expect([filled.code, again.code]).toEqual(["allocation-refused", "allocation-refused"]);
    expect(filled.bytes).toBeGreaterThan(0.5 * 2 ** 30);
    // 80 MB: what the driver and Node keep once, in whole simulations
    expect(Math.abs(again.bytes - filled.bytes)).toBeLessThan(82e6);
    assertUnharmed(result);
  });
});

const group = makeControlGroup(2 ** 30);

describe.runIf(group)("a process in a control group with a memory limit", () => {
  test("is stopped by the budget, and never dies", async () => {
    try {
      const result = await refuse(full, adapters[0], "budget", group!.folder);
      expect(result.source).toMatch(/^40 % of control group limit .*corral-test/);
      expect(result.filled).toMatchObject({ code: "budget-exceeded" });
      expect(result.again).toEqual(result.filled);
      assertUnharmed(result);
    } finally {
      group!.remove();
    }
  });
});
