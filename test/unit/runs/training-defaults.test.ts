// a task's own defaults of training runs
import { expect, test } from "vitest";
import { defineTask, register, type TrainingDefaults } from "../../../src/env/index.ts";
import { runDefaults } from "../../../src/runs/defaults.ts";
import { settle } from "../../../src/runs/settings.ts";

const task = (id: string, ppo?: TrainingDefaults) =>
  register(
    defineTask({
      id,
      model: "<mujoco/>",
      frameSkip: 1,
      maxEpisodeSteps: 10,
      ...(ppo ? { training: { ppo } } : {}),
      observe: { t: "1" },
      reward: { r: "1" },
    }),
  );

test("are those of corral train, and what is given comes before them", () => {
  task("Own", { numEnvs: 12, steps: 3000, config: { gamma: 0.9 }, evalEvery: 5 });
  expect(runDefaults("Own").config).toEqual({ gamma: 0.9 });
  expect(settle("Own", {})).toMatchObject({
    numEnvs: 12,
    steps: 3000,
    evalEnvs: 12,
    evalEvery: 5,
    checkpointEvery: 20,
  });
  expect(settle("Own", { numEnvs: 40, evalEvery: 7 })).toMatchObject({
    numEnvs: 40,
    steps: 3000,
    evalEnvs: 32,
    evalEvery: 7,
  });
  expect(settle("Own", { algo: "sac" })).toMatchObject({ numEnvs: 16, checkpointEvery: 2000 });
  expect(() => settle("Own", { numEnvs: 0 })).toThrow("[bad-option] numEnvs is 0; pass an integer of at least 1.");
});

test("a task without any has those that suit most", () => {
  task("Plain");
  expect(settle("Plain", {})).toMatchObject({ numEnvs: 64, steps: 1_000_000, evalEvery: 8, snapshotEvery: 10 });
});
