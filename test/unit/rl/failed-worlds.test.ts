// worlds that fail while a learner steps them leave bundles, though no step of theirs is read
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { replay } from "../../../src/crash/replay.ts";
import { defineTask, makeVec } from "../../../src/env/index.ts";
import { Ppo, Sac } from "../../../src/rl/index.ts";
import { readBundle } from "../../../src/record/read-bundle.ts";

const directory = mkdtempSync(join(tmpdir(), "corral-failed-worlds-"));
afterAll(() => rmSync(directory, { recursive: true }));

// a world that was pushed far enough has no reward
const task = defineTask({
  id: "Rootless",
  model: `<mujoco><worldbody><body><joint name="j" type="slide" axis="1 0 0"/><geom size="0.1" mass="1"/></body></worldbody>
    <actuator><motor joint="j" ctrlrange="-1 1" ctrllimited="true"/></actuator></mujoco>`,
  frameSkip: 5,
  maxEpisodeSteps: 100,
  defaults: {},
  observe: { q: "qpos", v: "qvel" },
  reward: { root: "sqrt(0.001 - qpos(joint.j))" },
  terminated: {},
});

test.each([
  ["PPO", Ppo, { rolloutSteps: 16, minibatches: 2 }],
  ["SAC", Sac, { collectSteps: 16, gradientSteps: 1, batchSize: 16, bufferSize: 1600, learningStarts: 1e6 }],
] as const)("%s", async (name, Learner, config) => {
  await using env = await makeVec(task, { numEnvs: 16, seed: 1, device: "wasm", threads: 1, recorder: { directory } });
  await using learner = await Learner.create(env, { seed: 1, hidden: [8], ...config });
  let bad = 0;
  for (let i = 0; i < 8 && bad === 0; i++) bad = (await learner.iterate()).badSteps;
  expect(bad).toBeGreaterThan(0);
  const { failures, bundles, byTerm } = env.health();
  expect([failures, bundles.length, Object.keys(byTerm)], name).toEqual([bad, 1, ["root"]]);
  expect((await replay(readBundle(bundles[0]))).identical).toBe(true);
});

test("an update that is stopped leaves a bundle of them too", async () => {
  const large = defineTask({ ...task, id: "Stopped", observe: { q: "1e36 * qpos" } });
  await using env = await makeVec(large, { numEnvs: 16, device: "wasm", threads: 1, recorder: { directory } });
  const config = { rolloutSteps: 32, minibatches: 2, normalizeObservations: false, learningRate: 1e30 };
  await using ppo = await Ppo.create(env, { seed: 1, hidden: [8], ...config });
  await expect(ppo.iterate()).rejects.toMatchObject({ code: "non-finite-update" });
  const { failures, bundles } = env.health();
  expect([failures > 0, bundles.length]).toEqual([true, 1]);
});
