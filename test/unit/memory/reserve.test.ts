import { describe, expect, test } from "vitest";
import { DeviceLostError } from "../../../src/core/errors.ts";
import { Budget } from "../../../src/memory/budget.ts";
import { AllocationRefusedError, BudgetExceededError, LimitExceededError } from "../../../src/memory/errors.ts";
import { planBatch } from "../../../src/memory/plan.ts";
import type { ArenaRequest } from "../../../src/memory/request.ts";
import { defaultLimits } from "../../../src/memory/request.ts";
import { reserve } from "../../../src/memory/reserve.ts";
import { fakeGpu } from "../../support/fake-gpu.ts";

const arenas: ArenaRequest[] = [
  { name: "model", access: "read", fields: [{ name: "body_mass", group: "model", type: "f32", shared: 64 }] },
  { name: "state", access: "read_write", fields: [{ name: "qpos", group: "state", type: "f32", perWorld: 4 }] },
  { name: "contact", access: "read_write", fields: [] },
  {
    name: "readback",
    access: "staging",
    copies: 2,
    fields: [{ name: "qpos", group: "state", type: "f32", perWorld: 4 }],
  },
];
const request = { name: "ant", numEnvs: 64, arenas, minShards: 2 };
const plan = planBatch(request);

describe("a reservation", () => {
  test("makes what was planned, to the byte", async () => {
    const fake = fakeGpu();
    const budget = new Budget({ limit: "1MiB" });
    const reservation = await reserve(fake.gpu, plan, budget);

    expect(fake.made).toEqual(plan.buffers.map(({ label, size, usage }) => ({ label, size, usage })));
    expect(fake.liveBytes()).toBe(plan.totalBytes);
    expect([reservation.bytes, budget.live]).toEqual([plan.totalBytes, plan.totalBytes]);

    await reservation.close();
    expect([fake.liveBytes(), fake.heldBytes(), reservation.bytes]).toEqual([0, 0, 0]);
    budget.assertEmpty();
  });

  test("finds buffers by arena, shard and copy", async () => {
    await using reservation = await reserve(fakeGpu().gpu, plan, new Budget({ limit: "1MiB" }));
    expect(reservation.buffer("state", 1).label).toBe("ant.state[1]");
    expect(reservation.buffer("model", 0)).toBe(reservation.buffer("model", 1));
    expect(reservation.buffer("readback", 1, 1).label).toBe("ant.readback[1]#1");
    expect(reservation.buffers("readback").map((buffer) => buffer.label)).toEqual([
      "ant.readback[0]#0",
      "ant.readback[0]#1",
      "ant.readback[1]#0",
      "ant.readback[1]#1",
    ]);
    expect(reservation.buffers("contact")).toEqual([]);
    expect(() => reservation.buffer("states")).toThrowErrorMatchingInlineSnapshot(
      `[CorralError: [unknown-arena] ant has no arena states. Its arenas are model, state, contact, readback.]`,
    );
    expect(() => reservation.buffer("state", 2)).toThrowErrorMatchingInlineSnapshot(
      `[CorralError: [no-buffer] arena state of ant has no buffer for shard 2, copy 0: it has 2 buffers. Pass a shard below 2 and a copy below 1.]`,
    );
    expect(() => reservation.buffer("model", 2)).toThrowError("[no-buffer]");
    expect(() => reservation.buffer("contact")).toThrowError("[no-buffer]");
    expect(() => reservation.buffer("readback", 0, 2)).toThrowError("[no-buffer]");
  });

  test("closes once", async () => {
    const fake = fakeGpu();
    const budget = new Budget({ limit: "1MiB" });
    const reservation = await reserve(fake.gpu, plan, budget);
    const closing = reservation.close();
    expect(reservation.close()).toBe(closing);
    await closing;
    expect(budget.live).toBe(0);
    expect(() => reservation.buffer("state")).toThrowErrorMatchingInlineSnapshot(
      `[CorralError: [reservation-closed] ant is closed; its buffers are gone. Make another one.]`,
    );
  });

  test("over budget makes no buffer", async () => {
    const fake = fakeGpu();
    const budget = new Budget({ limit: plan.totalBytes - 1 });
    await expect(reserve(fake.gpu, plan, budget)).rejects.toThrowError(BudgetExceededError);
    expect(fake.made).toEqual([]);
    budget.assertEmpty();
  });

  test("over a limit makes no buffer", async () => {
    const fake = fakeGpu();
    const limits = { ...defaultLimits, maxStorageBufferBindingSize: 100 };
    await expect(
      reserve(fake.gpu, planBatch({ ...request, limits }), new Budget({ limit: "1MiB" })),
    ).rejects.toThrowError(LimitExceededError);
    expect(fake.made).toEqual([]);
  });

  test("refused by the driver is rolled back and names the buffer", async () => {
    const fake = fakeGpu(plan.totalBytes - 16);
    const budget = new Budget({ limit: "1MiB" });
    const bystander = await reserve(fake.gpu, planBatch({ ...request, numEnvs: 16 }), budget, "bystander");
    const before = fake.liveBytes();

    const refused = reserve(fake.gpu, plan, budget);
    await expect(refused).rejects.toThrowError(AllocationRefusedError);
    await expect(refused).rejects.toThrowErrorMatchingInlineSnapshot(
      `[AllocationRefusedError: [allocation-refused] the driver refused buffer ant.readback[0]#1 of 512 B (gpu-out-of-memory: 512 bytes do not fit). 1.75 KiB of this plan's 3.25 KiB were made and are given back; others hold 1.00 KiB. Take fewer worlds than 64, or close another holder; a smaller budget refuses before the driver does.]`,
    );
    expect([fake.liveBytes(), fake.heldBytes(), budget.live]).toEqual([before, before, bystander.bytes]);
    await bystander.close();
    budget.assertEmpty();
  });

  test("leaves a driver what it needs to work, or is refused", async () => {
    const fake = fakeGpu(Infinity, 2 ** 25);
    const budget = new Budget({ limit: "1MiB" });
    await expect(reserve(fake.gpu, plan, budget)).rejects.toThrowErrorMatchingInlineSnapshot(
      `[AllocationRefusedError: [allocation-refused] the driver has no 64.0 MiB left beside ant, which it needs to work (gpu-out-of-memory: 67108864 bytes do not fit). 3.25 KiB of this plan's 3.25 KiB were made and are given back; others hold 0 B. Take fewer worlds than 64, or close another holder; a smaller budget refuses before the driver does.]`,
    );
    expect([fake.liveBytes(), fake.heldBytes(), budget.live]).toEqual([0, 0, 0]);
  });

  test("waits for memory that is being given back", async () => {
    // room for one at a time, and the driver gives back late
    const fake = fakeGpu(plan.totalBytes);
    const budget = new Budget({ limit: plan.totalBytes });
    const first = await reserve(fake.gpu, plan, budget);
    void first.close();
    const second = await reserve(fake.gpu, plan, budget);
    await second.close();
    expect(fake.heldBytes()).toBe(0);
  });

  test("tries once more near the limit", async () => {
    // somebody outside of the budget destroyed a buffer, and nobody submitted since
    const fake = fakeGpu(plan.totalBytes);
    fake.gpu.device.createBuffer({ size: 1024, usage: 1 }).destroy();
    const reservation = await reserve(fake.gpu, plan, new Budget({ limit: "1MiB" }));
    expect(fake.liveBytes()).toBe(plan.totalBytes);
    await reservation.close();
  });

  test("on a lost device holds nothing, before and after", async () => {
    const fake = fakeGpu();
    const budget = new Budget({ limit: "1MiB" });
    const reservation = await reserve(fake.gpu, plan, budget);
    fake.lose();
    await fake.gpu.lost;
    await expect(reserve(fake.gpu, plan, budget)).rejects.toThrowError(DeviceLostError);
    await reservation.close();
    budget.assertEmpty();
  });
});
