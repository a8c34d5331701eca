// a training run whose device is lost goes on by itself, once, to the bits of an undisturbed run
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import "../../envs/index.ts";
import { DeviceLostError } from "../../src/core/errors.ts";
import { shareDevice, type DeviceLease } from "../../src/gpu/index.ts";
import { Faults, type FaultPoint } from "../../src/memory/faults.ts";
import { RunFolder } from "../../src/runs/folder.ts";
import { TrainingRun } from "../../src/runs/train.ts";
import type { RunEvent } from "../../src/runs/progress.ts";
import { bitsOf, logOf, TINY, trainInto, UPDATES, wordsOf } from "../support/runs.ts";

const root = mkdtempSync(join(tmpdir(), "corral-loss-"));
const held: DeviceLease[] = [];
afterAll(() => {
  for (const lease of held) lease.release();
  rmSync(root, { recursive: true });
});

/** Loses the device of a run at a call of a point, as a driver would. */
const loseAt = (run: TrainingRun, point: FaultPoint, at: number): Faults =>
  new Faults(run.env.gpu!.device, { point, at, kind: "lost" });

/** Trains with a folder; the device is lost in each of some updates. */
async function disturbed(name: string, losses: ReadonlyMap<number, FaultPoint>, options = TINY) {
  const folder = join(root, name);
  const events: RunEvent[] = [];
  await using run = await TrainingRun.create("CartPole", options);
  const log = RunFolder.create(folder, run);
  const faults: Faults[] = [];
  const arm = (update: number) => {
    const point = losses.get(update);
    if (point) faults.push(loseAt(run, point, 3));
  };
  try {
    arm(1);
    const result = await run.train({
      onProgress: (p) => {
        log.progress(p);
        arm(p.iteration + 1);
      },
      onCheckpoint: (state) => log.checkpoint(state),
      onEvent: (event) => {
        events.push(event);
        log.event(event);
      },
    });
    log.result(result);
  } finally {
    log.close();
    for (const each of faults) each.remove();
    // the device that it went on with has compiled what the next run needs
    held.push(await shareDevice());
  }
  return { folder, events, deviceName: run.env.deviceName };
}

describe("a lost device", () => {
  const whole = join(root, "whole");
  beforeAll(async () => {
    await trainInto(whole, "CartPole");
  });

  test.each<[number, FaultPoint]>([
    [1, "submit"],
    ...(process.env.CORRAL_FULL === "1" ? [[6, "submit"] as [number, FaultPoint]] : []),
    [8, "await"],
  ])("in update %i, at a %s", async (update, point) => {
    const { folder, events } = await disturbed(`lost-${update}`, new Map([[update, point]]));
    // a copy is taken every second update
    const from = Math.floor((update - 1) / 2) * 2;
    expect(events).toMatchObject([
      { event: "device-lost", message: expect.stringContaining(`goes on from update ${from} on `) },
    ]);
    expect(bitsOf(folder)).toEqual(bitsOf(whole));
    expect(wordsOf(folder)).toEqual(wordsOf(whole));
    expect(logOf(folder)).toHaveLength(UPDATES + 2);
  });

  test("the second one ends the run", async () => {
    const twice = disturbed(
      "twice",
      new Map([
        [3, "submit"],
        [7, "submit"],
      ] as const),
    );
    await expect(twice).rejects.toBeInstanceOf(DeviceLostError);
    expect(logOf(join(root, "twice")).map(({ iteration, event }) => event ?? iteration)).toEqual([
      1,
      2,
      "device-lost",
      3,
      4,
      5,
      6,
    ]);
  });

  test("without copies, the first one does", async () => {
    const none = disturbed("none", new Map([[3, "submit"]] as const), { ...TINY, snapshotEvery: 0 });
    await expect(none).rejects.toBeInstanceOf(DeviceLostError);
  });
});
