// every buffer, mapping, submission and pipeline of a whole life, of a simulation and of an environment, is made to fail,
// one at a time: an error with a code, nothing held, nothing hangs, and another simulation on the same device goes on
// unchanged.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type GpuDevice, openDevice } from "../../src/gpu/device.ts";
import type { Budget } from "../../src/memory/budget.ts";
import { createBudget } from "../../src/memory/device-budget.ts";
import { type FaultPlan, type FaultPoint, type Faults, injectFaults } from "../../src/memory/faults.ts";
import { antLives, Bystander, codeOf, inTime, quickLives, wholeLife } from "../support/lives.ts";
import { loadTestModel } from "../support/mjcf.ts";
import { watchDevice, type WatchedDevice } from "../support/watch-device.ts";

const full = process.env.CORRAL_FULL !== undefined;
const ADAPTER = "embedded";

/** What a fault may lead to. Memory is asked for twice and a drain submits twice: such a fault does no harm. */
const ALLOWED = {
  buffer: ["allocation-refused"],
  mapping: ["readback-failed", "snapshot-failed"],
  submit: ["work-refused", "readback-failed", "snapshot-failed", "none"],
};

describe.each(full ? [...quickLives, ...antLives] : quickLives)(
  "faults in the life of $name",
  ({ name, model, live }) => {
    let gpu: GpuDevice;
    let budget: Budget;
    let watch: WatchedDevice;
    let faults: Faults;
    let bystander: Bystander;
    let points: Record<FaultPoint, number>;
    let wanted: string;

    beforeAll(async () => {
      gpu = await openDevice({ adapter: ADAPTER });
      watch = watchDevice(gpu);
      budget = await createBudget(gpu);
      bystander = await Bystander.create(await loadTestModel(model), gpu);

      // the first life compiles; the second one is counted
      wanted = await live(gpu);
      faults = injectFaults(gpu);
      expect(await live(gpu)).toBe(wanted);
      points = { ...faults.counts };
    });
    afterAll(async () => {
      faults.remove();
      await bystander.close();
      budget.assertEmpty();
      expect(watch.liveBytes()).toBe(0);
      expect(gpu.uncaptured).toEqual([]);
      gpu.close();
    });

    /** Lives with one fault; the error's code, or "none" if it did no harm. */
    async function liveWith(plan: FaultPlan): Promise<string> {
      const what = `${plan.point} ${plan.at} (${plan.kind ?? "default"})`;
      faults.arm(plan);
      const life = live(gpu).then((end) => (end === wanted ? "none" : "other bits"), codeOf);
      const code = await inTime(what, life);
      expect(faults.fired, what).toBeGreaterThan(0);
      faults.arm();
      expect([what, budget.live, watch.liveBytes()]).toEqual([what, bystander.bytes, bystander.bytes]);
      await bystander.assertUnchanged();
      return code;
    }

    test("a life has its points", () => {
      console.log(`${name}: ${JSON.stringify(points)}`);
      for (const point of ["buffer", "mapping", "submit", "await"] as const) expect(points[point]).toBeGreaterThan(3);

      // compiled before
      expect(points.pipeline).toBe(0);
    });

    test.each(["buffer", "mapping", "submit"] as const)("each %s that fails", async (point) => {
      const codes = new Map<string, number>();
      const kinds = point === "buffer" ? (["out-of-memory", "validation", "internal"] as const) : [undefined];

      for (const kind of kinds) {
        for (let at = 1; at <= points[point]; at++) {
          const times = kind === "out-of-memory" ? Infinity : 1;
          const code = await liveWith({ point, at, times, ...(kind ? { kind } : {}) });
          codes.set(code, (codes.get(code) ?? 0) + 1);
        }
      }

      console.log(`${name}: ${point} ${JSON.stringify([...codes])}`);
      expect([...codes.keys()].filter((code) => !ALLOWED[point].includes(code))).toEqual([]);
    });

    test("a driver that is out of memory once is asked again", async () => {
      for (let at = 1; at <= points.buffer; at++) {
        expect([at, await liveWith({ point: "buffer", at, kind: "out-of-memory" })]).toEqual([at, "none"]);
      }
    });
  },
);

test("a pipeline that fails leaves nothing, and is tried again by the next", async () => {
  const model = await loadTestModel("envs/inverted_pendulum");
  using gpu = await openDevice({ adapter: ADAPTER });
  const budget = await createBudget(gpu);
  const watch = watchDevice(gpu);
  const faults = injectFaults(gpu, { point: "pipeline", at: 1 });
  await expect(wholeLife(model, gpu)).rejects.toThrowError(
    "[pipeline] pipeline 'inverted pendulum.step' (main) was refused",
  );
  expect([faults.fired, budget.live, watch.liveBytes()]).toEqual([1, 0, 0]);
  faults.remove();
  await wholeLife(model, gpu);
  expect([budget.live, watch.liveBytes(), gpu.uncaptured.length]).toEqual([0, 0, 0]);
});
