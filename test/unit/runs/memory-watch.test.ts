import { expect, test } from "vitest";
import "../../../envs/index.ts";
import { MemoryWatch } from "../../../src/runs/memory-watch.ts";
import { TrainingRun } from "../../../src/runs/train.ts";
import { TINY } from "../../support/runs.ts";
import { holdDevice } from "../../support/hold-device.ts";

holdDevice();

const MiB = 2 ** 20;

/** A watch of memory that goes from value to value, one a look. */
function watching(...values: readonly number[]): MemoryWatch {
  let [looks, now] = [0, 0];
  const available = () => ({ bytes: values[Math.min(looks++, values.length - 1)] * MiB, source: "available memory" });
  return new MemoryWatch(available, () => (now += 1500));
}

test("says once that memory is short, and once that it is back", () => {
  const watch = watching(4096, 255, 100, 400, 511, 512, 300);
  const seen = Array.from({ length: 7 }, () => [watch.look(), watch.isLow] as const);
  expect(seen.map(([, low]) => low)).toEqual([false, true, true, true, true, false, false]);
  expect(seen.map(([said]) => said !== undefined)).toEqual([false, true, false, false, false, true, false]);
  expect(seen[1][0]).toContain(
    "255 MiB of memory left (available memory): no copies on the host until there are 512 MiB",
  );
});

test("looks at most once a second", () => {
  let looks = 0;
  const watch = new MemoryWatch(
    () => ({ bytes: 1000 * MiB + looks++, source: "" }),
    () => 5,
  );
  for (let i = 0; i < 10; i++) watch.look();
  expect(looks).toBe(1);
});

test("a run whose memory runs short says so, and takes no copies until it is back", async () => {
  const copies = async (memory: MemoryWatch) => {
    await using run = await TrainingRun.create("CartPole", { ...TINY, checkpointEvery: 0 }, memory);
    let [count, events] = [0, [] as string[]];
    const snapshot = run.algorithm.snapshot.bind(run.algorithm);
    run.algorithm.snapshot = () => (count++, snapshot());
    const { warnings } = await run.train({ onEvent: ({ event }) => events.push(event) });
    return { count, events, warnings: warnings.length };
  };
  // 12 updates, a copy after every second one, and one at the end
  expect(await copies(watching(4096))).toEqual({ count: 6, events: [], warnings: 0 });
  const short = await copies(watching(4096, 4096, 4096, 4096, 100));
  expect(short).toEqual({ count: 3, events: ["low-memory"], warnings: 1 });
});
