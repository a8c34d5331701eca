// a task's own defaults of training runs
import { expect, test } from "vitest";
import { defineTask, register, type Scene, type TrainingDefaults, type VectorEnv } from "../../../src/env/index.ts";
import { runDefaults } from "../../../src/runs/defaults.ts";
import { settle } from "../../../src/runs/settings.ts";
import { TrainingRun } from "../../../src/runs/train.ts";

const task = (id: string, ppo?: Partial<TrainingDefaults>) =>
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

test("what a task leaves out is what suits most; a config is its own", () => {
  task("Few", { config: { gamma: 0.9 } });
  expect(settle("Few", {})).toMatchObject({ numEnvs: 64, steps: 1_000_000, evalEvery: 8 });
  expect(runDefaults("Few").config).toEqual({ gamma: 0.9 });
  task("Fewer", { steps: 5 });
  expect(runDefaults("Fewer")).toMatchObject({ numEnvs: 64, steps: 5, config: { learningRate: 5e-4 } });
});

test("wide: thousands of worlds and large batches, beside all else that is the task's", () => {
  task("WideDefaults", { numEnvs: 12, steps: 3000, config: { gamma: 0.9, rolloutSteps: 99 }, evalEvery: 5 });
  expect(settle("WideDefaults", { wide: true })).toMatchObject({
    numEnvs: 4096,
    steps: 60_000,
    evalEnvs: 32,
    evalEvery: 5,
  });
  expect(settle("WideDefaults", { wide: true, numEnvs: 8192, steps: 7 })).toMatchObject({ numEnvs: 8192, steps: 7 });
  expect(runDefaults("WideDefaults", "ppo", true).config).toMatchObject({
    gamma: 0.9,
    rolloutSteps: 8,
    minibatches: 32,
  });
  expect(() => settle("WideDefaults", { algo: "sac", wide: true })).toThrow(
    "[bad-option] wide is true; it has defaults of PPO",
  );
});

test("options of training are those of the worlds that train, and evaluations have the task's", async () => {
  register(
    defineTask({
      id: "Taught",
      model:
        "<mujoco><worldbody><body><joint name='j'/><geom size='1'/></body></worldbody><actuator><motor joint='j' ctrlrange='-1 1'/></actuator></mujoco>",
      frameSkip: 1,
      maxEpisodeSteps: 4,
      defaults: { extra: 0 },
      training: { ppo: { numEnvs: 8, steps: 64, config: { hidden: [8] }, options: { extra: 1 } } },
      observe: { t: "1" },
      reward: { extra: (s: Scene<{ extra: number }>) => s.options.extra },
    }),
  );
  const run = (env: object) => TrainingRun.create("Taught", { env: { device: "wasm", threads: 1, ...env } });
  const rewardsOf = async (env: VectorEnv) => {
    await env.reset({ seed: 1 });
    return (await env.step(env.actionSpace.sample(1))).rewards[0];
  };
  await using own = await run({});
  expect(await rewardsOf(own.env)).toBe(1);
  expect((await own.evaluate()).meanReturn).toBe(0);
  expect(settle("Taught", {})).not.toHaveProperty("options");
  await using given = await run({ extra: 2 });
  expect(await rewardsOf(given.env)).toBe(2);
  expect((await given.evaluate()).meanReturn).toBe(8);
});
