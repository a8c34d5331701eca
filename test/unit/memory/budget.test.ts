import { describe, expect, test } from "vitest";
import { Budget, type PressureEvent } from "../../../src/memory/budget.ts";
import { createBudget } from "../../../src/memory/device-budget.ts";
import { BudgetExceededError } from "../../../src/memory/errors.ts";
import { reportMetrics, reportText } from "../../../src/memory/report.ts";
import { planTable } from "../../../src/memory/table.ts";
import { planBatch } from "../../../src/memory/plan.ts";
import { hostBudget, makeVec } from "../../../src/index.ts";
import { fakeGpu } from "../../support/fake-gpu.ts";

/** A plan of exactly `bytes` bytes, a multiple of 16. */
function planOf(bytes: number, name = "replay") {
  const fields = [
    { name: "rows", group: "replay", type: "f32", shared: bytes / 4, remedy: "a smaller capacity" },
  ] as const;
  return planBatch({ name, numEnvs: 1, arenas: [{ name: "replay", access: "read_write", fields }] });
}

describe("a budget", () => {
  test("knows who holds what", async () => {
    const budget = new Budget({ limit: "1KiB", source: "a test" });
    const first = await budget.reserve(planOf(256), "ant");
    const second = await budget.reserve(planOf(512), "replay");
    const third = await budget.reserve(planOf(128), "ant");
    second.release();
    second.release();

    expect(budget.report()).toEqual({
      limit: 1024,
      source: "a test",
      live: 384,
      highWater: 896,
      free: 640,
      refused: 0,
      holders: [
        { holder: "ant", live: 384, highWater: 384, reservations: 2 },
        { holder: "replay", live: 0, highWater: 512, reservations: 0 },
      ],
    });

    expect(() => budget.assertEmpty()).toThrowErrorMatchingInlineSnapshot(
      `[CorralError: [leak] 384 B are still held by ant. Close each with close() or await using.]`,
    );
    first.release();
    third.release();
    budget.assertEmpty();
  });

  test("refuses what does not fit, and nothing changes", async () => {
    const budget = new Budget({ limit: 1000, source: "a test" });
    await budget.reserve(planOf(512), "ant");
    const before = budget.report();
    await expect(budget.reserve(planOf(512), "replay")).rejects.toThrowErrorMatchingInlineSnapshot(
      `[BudgetExceededError: [budget-exceeded] replay needs 512 B, 488 B of the budget of 1000 B from a test are free (512 B are held). Largest fields: replay.rows 512 B. Remedies: a smaller capacity; close ant, which holds 512 B; a larger budget.]`,
    );
    await expect(budget.reserve(planOf(512), "replay")).rejects.toThrowError(BudgetExceededError);
    expect(budget.report()).toEqual({ ...before, refused: 2 });
    await budget.reserve(planOf(480), "replay");
  });

  test("counts a batch against what is free when it is reserved", async () => {
    const budget = new Budget({ limit: 8192 });
    const fields = [{ name: "qpos", group: "state", type: "f32", perWorld: 4 }] as const;
    const batch = planBatch({
      name: "ant",
      numEnvs: 500,
      arenas: [{ name: "state", access: "read_write", fields }],
      budget,
    });
    expect(batch.largestNumEnvs).toBe(512);
    await budget.reserve(planOf(4096), "replay");

    try {
      await budget.reserve(batch, "ant");
      expect.unreachable();
    } catch (error) {
      expect((error as BudgetExceededError).plan.largestNumEnvs).toBe(256);
      expect((error as BudgetExceededError).remedies).toContain("close replay, which holds 4.00 KiB");
    }
  });

  test("changes its limit, but not below what is held", async () => {
    const budget = new Budget({ limit: "50%", available: 2048 });
    expect(budget.limit).toBe(1024);
    const hold = await budget.reserve(planOf(512), "ant");
    expect(() => budget.change({ limit: 256 })).toThrowErrorMatchingInlineSnapshot(
      `[CorralError: [budget-below-live] the new limit is 256 B, but 512 B are held by ant. Close some of these first.]`,
    );
    expect(() => budget.change({ limit: 4096 })).toThrowErrorMatchingInlineSnapshot(
      `[CorralError: [budget-too-large] budget is 4.00 KiB, but only 2.00 KiB are there. Pass at most that.]`,
    );
    expect(() => budget.change({ limit: 768, warnAt: 2 })).toThrowError("[bad-watermark]");
    expect(budget.limit).toBe(1024);
    budget.change({ limit: 768, source: "a flag" });
    expect([budget.limit, budget.free, budget.source]).toEqual([768, 256, "a flag"]);
    hold.release();
  });

  test.each(["2 gigs", -1, Number.NaN, 0.5, "-3GiB"])("limit %s is refused", (limit) => {
    expect(() => new Budget({ limit })).toThrowError("[bad-bytes] budget is ");
  });

  test.each([0, 1, -0.5, Number.NaN])("watermark %s is refused", (warnAt) => {
    expect(() => new Budget({ limit: 1, warnAt })).toThrowError("[bad-watermark] warnAt is ");
  });
});

test.each([undefined, null, {}, "8GiB", Promise.resolve({})])(
  "what is no report and no plan, %j, is refused",
  (what) => {
    for (const told of [reportText, reportMetrics, planTable])
      expect(() => told(what as never)).toThrow(expect.objectContaining({ code: "bad-option" }));
    const report = new Budget({ limit: "1KiB", source: "a test" }).report();
    if (typeof what !== "object" || what === null) return;
    expect(() => reportMetrics(report, [] as never)).toThrow(expect.objectContaining({ code: "bad-option" }));
  },
);

test("a report is told to people and to Prometheus", async () => {
  const budget = new Budget({ limit: "64MiB", source: 'a "test"' });
  await budget.reserve(planOf(2 ** 20), "ant");
  await budget.reserve(planOf(2 ** 24), "replay \\ ring");
  (await budget.reserve(planOf(2 ** 22), "ppo")).release();
  await budget.reserve(planOf(2 ** 27), "ant").catch(() => {});

  expect(reportText(budget.report())).toMatchInlineSnapshot(`
    "holder             live  high water  reservations
    replay \\ ring  16.0 MiB    16.0 MiB             1
    ant            1.00 MiB    1.00 MiB             1
    ppo                 0 B    4.00 MiB             0
    all            17.0 MiB    21.0 MiB
    limit 64.0 MiB from a "test", 47.0 MiB free, 1 refusal"
  `);
  expect(reportMetrics(budget.report(), { device: "llvmpipe" })).toMatchInlineSnapshot(`
    "# HELP corral_memory_limit_bytes Bytes that all holders of the device may have.
    # TYPE corral_memory_limit_bytes gauge
    corral_memory_limit_bytes{device="llvmpipe",source="a \\"test\\""} 67108864
    # HELP corral_memory_live_bytes Bytes that are held.
    # TYPE corral_memory_live_bytes gauge
    corral_memory_live_bytes{device="llvmpipe"} 17825792
    # HELP corral_memory_high_water_bytes Most bytes that were held at once.
    # TYPE corral_memory_high_water_bytes gauge
    corral_memory_high_water_bytes{device="llvmpipe"} 22020096
    # HELP corral_memory_holder_live_bytes Bytes of one holder.
    # TYPE corral_memory_holder_live_bytes gauge
    corral_memory_holder_live_bytes{device="llvmpipe",holder="ant"} 1048576
    corral_memory_holder_live_bytes{device="llvmpipe",holder="replay \\\\ ring"} 16777216
    corral_memory_holder_live_bytes{device="llvmpipe",holder="ppo"} 0
    # HELP corral_memory_holder_high_water_bytes Most bytes of one holder at once.
    # TYPE corral_memory_holder_high_water_bytes gauge
    corral_memory_holder_high_water_bytes{device="llvmpipe",holder="ant"} 1048576
    corral_memory_holder_high_water_bytes{device="llvmpipe",holder="replay \\\\ ring"} 16777216
    corral_memory_holder_high_water_bytes{device="llvmpipe",holder="ppo"} 4194304
    # HELP corral_memory_holder_reservations Reservations of one holder.
    # TYPE corral_memory_holder_reservations gauge
    corral_memory_holder_reservations{device="llvmpipe",holder="ant"} 1
    corral_memory_holder_reservations{device="llvmpipe",holder="replay \\\\ ring"} 1
    corral_memory_holder_reservations{device="llvmpipe",holder="ppo"} 0
    # HELP corral_memory_refusals_total Requests that did not fit the budget.
    # TYPE corral_memory_refusals_total counter
    corral_memory_refusals_total{device="llvmpipe"} 1
    "
  `);
});

describe("pressure", () => {
  test("is told once on the way up, before the bytes are granted", async () => {
    const events: PressureEvent[] = [];
    const budget = new Budget({ limit: 1000, warnAt: [0.8, 0.5], onPressure: (event) => events.push(event) });
    await budget.reserve(planOf(400), "a");
    const hold = await budget.reserve(planOf(112), "b");
    expect(events).toEqual([{ level: 0.5, limit: 1000, live: 400, requested: 112, holder: "b" }]);
    await budget.reserve(planOf(16), "c");
    expect(events).toHaveLength(1);

    hold.release();
    await budget.reserve(planOf(400), "d");
    expect(events.slice(1).map((event) => event.level)).toEqual([0.5, 0.8]);
  });

  test("can make room before a refusal", async () => {
    const budget = new Budget({ limit: 1000, warnAt: 0.9 });
    const hold = await budget.reserve(planOf(800), "replay");
    const remove = budget.onPressure(({ level }) => void (level === 1 && hold.release()));
    await budget.reserve(planOf(512), "ant");
    expect(budget.live).toBe(512);
    remove();
    await expect(budget.reserve(planOf(512), "ant")).rejects.toThrowError(BudgetExceededError);
  });

  test("waits for room that a listener promises, and for memory on its way back", async () => {
    const budget = new Budget({ limit: 1000 });
    const hold = await budget.reserve(planOf(800), "replay");
    const later = () => new Promise<void>((resolve) => void setTimeout(resolve, 5));
    budget.onPressure(async ({ level }) => {
      if (level < 1) return;
      await later();
      budget.addDrain(later().then(() => hold.release()));
    });
    await budget.reserve(planOf(512), "ant");
    expect(budget.live).toBe(512);
  });

  test("two that ask at once are not given the same bytes", async () => {
    const budget = new Budget({
      limit: 1000,
      onPressure: () => new Promise<void>((resolve) => void setTimeout(resolve, 5)),
    });
    const asked = await Promise.allSettled([budget.reserve(planOf(640), "a"), budget.reserve(planOf(640), "b")]);
    expect(asked.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect([budget.live, budget.report().refused]).toEqual([640, 1]);
  });

  test("a listener that throws leaves everything as it was", async () => {
    const budget = new Budget({
      limit: 1000,
      onPressure: () => {
        throw new Error("stop");
      },
    });
    await expect(budget.reserve(planOf(960), "ant")).rejects.toThrowError("stop");
    expect(budget.live).toBe(0);
    await budget.reserve(planOf(512), "ant");
  });

  test("a listener may reserve", async () => {
    const budget = new Budget({ limit: 2000, warnAt: 0.5 });
    budget.onPressure(async () => void (await budget.reserve(planOf(16), "note")));
    await budget.reserve(planOf(1600), "ant");
    expect(budget.live).toBe(1616);
  });
});

describe("the budget of a device", () => {
  test("is one for all, and says where it came from", async () => {
    const { gpu } = fakeGpu();
    const [first, second] = await Promise.all([createBudget(gpu), createBudget(gpu)]);
    expect(second).toBe(first);
    expect(first.limit).toBeGreaterThan(0);
    expect(first.source).toMatch(/% of /);
    await createBudget(gpu, { limit: "1MiB" });
    expect([first.limit, first.source]).toEqual([2 ** 20, "the option"]);
    expect(await createBudget(fakeGpu().gpu)).not.toBe(first);
  });

  test("is not larger than the machine, and a refused option is not kept", async () => {
    const { gpu } = fakeGpu();
    await expect(createBudget(gpu, { limit: "1000TiB" })).rejects.toThrowError("[budget-too-large]");
    await expect(createBudget(gpu, { limit: "2 gigs" })).rejects.toThrowError("[bad-bytes]");
    expect((await createBudget(gpu, { limit: "1KiB" })).limit).toBe(1024);
    await expect(createBudget(gpu, { limit: "1000TiB" })).rejects.toThrowError("[budget-too-large]");
  });
});

describe("options of a budget that are none", () => {
  test.each([
    [{ limit: 10, Limit: 20 }, '[unknown-option] a budget has no option "Limit"; nearest: limit.'],
    [{ limit: 10, pressure: 1 }, '[unknown-option] a budget has no option "pressure"; nearest: onPressure.'],
    [{ limit: 10, onPressure: 3 }, "[bad-option] onPressure is 3; pass a function of a PressureEvent."],
    [{ limit: 10, warnAt: null }, "[bad-watermark] warnAt is null"],
    [{ limit: 10, warnAt: "0.5" }, "[bad-watermark] warnAt is 0.5"],
    [null, "[bad-option] options of a budget are null"],
  ])("%j", async (options, text) => {
    expect(() => new Budget(options as never)).toThrowError(text);
    const { gpu } = fakeGpu();
    await expect(createBudget(gpu, options as never)).rejects.toThrowError(text);
    const budget = await createBudget(gpu, { limit: 1000 });
    const before = budget.report();
    expect(() => budget.change(options as never)).toThrowError(text);
    expect(budget.report()).toEqual(before);
  });

  test.each([undefined, null, {}, "embedded"])("a device that is %j", async (device) => {
    await expect(createBudget(device as never)).rejects.toThrowError("[bad-option] device is");
  });
});

test("the budget of what runs without an adapter is public, reports what it holds and can be narrowed", async () => {
  const budget = hostBudget();
  const { limit, source, live } = budget.report();
  await using envs = await makeVec("CartPole", { numEnvs: 8, device: "wasm", threads: 1 });
  expect(budget.report().live - live).toBe(envs.plan.totalBytes);
  expect(reportMetrics(budget.report())).toContain('holder="CartPole"');
  budget.change({ limit: budget.report().live + 1024 });
  try {
    const refused = makeVec("CartPole", { numEnvs: 4096, device: "wasm", threads: 1 });
    await expect(refused).rejects.toBeInstanceOf(BudgetExceededError);
  } finally {
    budget.change({ limit, source });
  }
});
