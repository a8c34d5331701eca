// a run ends where it is asked to from outside: by a timer, as by a signal
import { expect, test } from "vitest";
import "../../../envs/index.ts";
import { TrainingRun } from "../../../src/runs/train.ts";

test.each(["ppo", "sac"] as const)("%s on WebAssembly lets timers stop it between updates", async (algo) => {
  await using run = await TrainingRun.create("InvertedPendulum-v5", {
    algo,
    numEnvs: 4,
    env: { device: "wasm" },
    steps: 100_000_000,
    evalEvery: 1_000_000,
  });
  setTimeout(() => run.stop(), 50);
  await expect(run.train()).rejects.toMatchObject({ code: "stopped" });
});
