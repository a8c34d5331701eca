// EnvPool's rates beside ours: of the fastest batch of each, by the clock and for the same processor time
import { expect, test } from "vitest";
import { besideEnvpool, overview, type Bench } from "../../../src/bench/report.ts";

const row = (numEnvs: number, envStepsPerSec: number, envStepsPerCpuSecond?: number) => ({
  numEnvs,
  envStepsPerSec,
  ...(envStepsPerCpuSecond === undefined ? {} : { envStepsPerCpuSecond }),
  physicsStepsPerSec: 5 * envStepsPerSec,
  bytesPerEnv: 100,
});
const pool = (envStepsPerSec: number, envStepsPerCpuSecond?: number) => ({
  threads: 2,
  batch: 64,
  ...row(64, envStepsPerSec, envStepsPerCpuSecond),
});
const bench = (rows: object[], envpool?: object): Bench =>
  ({
    name: "Ant-v5",
    rows,
    native: { absent: "" },
    jax: { absent: "" },
    mujoco: { workers1: { physicsStepsPerSec: 100 }, workersN: { physicsStepsPerSec: 200 } },
    ratio: { numEnvs: 64, workersN: 10, perCpuSecond: 12 },
    ...(envpool ? { envpool } : {}),
  }) as unknown as Bench;

test("the fastest of each is compared", () => {
  const made = bench([row(64, 1000, 900), row(128, 4000, 3000)], {
    envpool: "1.2.5",
    rows: [pool(500, 300), pool(200)],
  });
  expect(besideEnvpool(made)).toMatchObject({ ours: { numEnvs: 128 }, ratio: 8, perCpuSecond: 10 });
  const [header, line] = overview([made, bench([row(64, 1000)])]);
  expect(header.slice(-3)).toEqual(["EnvPool, env steps/s", "ratio", "for equal processor time"]);
  expect(line.slice(-3)).toEqual(["500", "8.0 x", "10.0 x"]);
});

test("documents that lack it, or processor time, are read as well", () => {
  const older = bench([row(64, 1000)], { envpool: "1.2.5", rows: [pool(500)] });
  expect(besideEnvpool(older)).toMatchObject({ ratio: 2, perCpuSecond: undefined });
  expect(besideEnvpool(bench([row(64, 1000)], { absent: "not measured" }))).toBeUndefined();
  expect(overview([bench([row(64, 1000)])])[0]).not.toContain("EnvPool, env steps/s");
});
