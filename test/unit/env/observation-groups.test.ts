// observations in groups: one row, that of the policy first; PPO's value function sees the critic's, exports the policy's alone
import { expect, test } from "vitest";
import { invertedPendulum } from "../../../envs/inverted_pendulum/task.ts";
import { makeVec, type Task } from "../../../src/env/index.ts";
import { AppliedPolicy } from "../../../src/rl/networks/apply-policy.ts";
import { Ppo, Sac, type PpoOptions } from "../../../src/rl/index.ts";
import { exportBounds } from "../../support/tolerances.ts";

const flat = { ...invertedPendulum, id: "Flat", observe: { q: "qpos", v: "qvel" } } as Task;
const grouped = {
  ...invertedPendulum,
  id: "Grouped",
  // the order of groups is not that of the row
  observe: {
    critic: { q: "qpos", v: "qvel", mass: "xpos(body.pole).z" },
    policy: { q: { value: "qpos", noise: 0.01, history: 2 } },
    log: () => ({ time: "time" }),
  },
} as Task;
const OPTIONS: PpoOptions = { seed: 3, rolloutSteps: 8, minibatches: 2, epochs: 2, hidden: [8] };
const wasm = (task: Task, numEnvs = 8) => makeVec(task, { numEnvs, seed: 1, device: "wasm" });

test("rows hold the policy's group, then the others", async () => {
  await using env = await wasm(grouped);
  await using plain = await wasm(flat);
  expect(env.observationGroups).toEqual({
    policy: { from: 0, size: 4 },
    critic: { from: 4, size: 5 },
    log: { from: 9, size: 1 },
  });
  expect(plain.observationGroups).toEqual({});
  expect(env.singleObservationSpace.shape).toEqual([10]);
  await Promise.all([env.reset(), plain.reset()]);
  const action = new Float32Array(8).fill(0.3);
  for (let t = 0; t < 5; t++) await Promise.all([env.step(action), plain.step(action)]);
  for (let world = 0; world < 8; world++) {
    const row = [...env.observations.subarray(10 * world, 10 * world + 10)];
    const truth = [...plain.observations.subarray(4 * world, 4 * world + 4)];
    // the critic's is what is true, the policy's what is noisy
    expect(row.slice(4, 8)).toEqual(truth);
    expect(row.slice(0, 2)).not.toEqual(truth.slice(0, 2));
    expect(Math.abs(row[0] - truth[0])).toBeLessThan(0.1);
  }
});

test.each([
  [{ policy: {}, critic: { q: "qpos" } }, "bad-task", /group of observations "policy" is empty/],
  [{ policy: { q: "qpos" }, critic: {} }, "bad-task", /"critic" is empty/],
  [{ policy: { q: "nothing" } }, "unknown-name", /observe\.policy\.q/],
  [{ actor: { q: "qpos" }, critic: { q: "qpos" } }, "bad-term", /observe\.actor: it is a group \(q\).*named policy/],
  [
    { policy: { q: "qpos" }, v: "qvel" },
    "bad-term",
    /observe\.policy: it is a group \(q\).*all are groups \(v is none\)/,
  ],
  [{ policy: { q: { value: "qpos", noise: "0.1" } } }, "bad-term", /noise is "0.1"; it is a standard deviation/],
])("%o is refused", async (observe, code, text) => {
  const made = wasm({ ...grouped, observe } as Task);
  await expect(made).rejects.toMatchObject({ code, message: expect.stringMatching(text) as string });
});

test("PPO: each network sees its group, and the policy leaves with its own alone", async () => {
  await using env = await wasm(grouped);
  await using ppo = await Ppo.create(env, OPTIONS);
  for (let i = 0; i < 3; i++) await ppo.iterate();

  const policy = await ppo.policy();
  expect(policy.observations).toBe(4);
  expect(policy.layers[0].inputs).toBe(4);
  expect(policy.named["value.0.weight"].shape).toEqual([8, 5]);
  expect(policy.named["normalizer.mean"].shape).toEqual([4]);
  const applied = new AppliedPolicy(policy, 4);
  await using others = await wasm(grouped, 4);
  let most = 0;
  await ppo.evaluate(others, {
    onStep: ({ observations, actions }) => {
      const wanted = applied.act(observations);
      wanted.forEach((x, i) => (most = Math.max(most, Math.abs(x - actions[i]))));
    },
  });
  expect(most).toBeLessThan(exportBounds.action.value * 3);
});

test("without a critic's group the value function sees the policy's", async () => {
  const observe = { policy: { q: "qpos" }, log: { time: "time" } };
  await using env = await wasm({ ...grouped, observe });
  await using ppo = await Ppo.create(env, OPTIONS);
  await ppo.iterate();
  const { named } = await ppo.policy();
  expect(named["value.0.weight"].shape).toEqual([8, 2]);
});

test("same bits after a snapshot", async () => {
  const run = async (from?: Awaited<ReturnType<Ppo["snapshot"]>>) => {
    await using env = await wasm(grouped);
    await using ppo = await Ppo.create(env, OPTIONS);
    if (from) await ppo.restore(from);
    else await ppo.iterate();
    const saved = await ppo.snapshot();
    await ppo.iterate();
    return { saved, after: await ppo.parameters() };
  };
  const first = await run();
  expect((await run(first.saved)).after).toEqual(first.after);
});

test("SAC: critics see their group, the policy its own, in threads that collect too", async () => {
  await using env = await wasm(grouped);
  await using sac = await Sac.create(env, { bufferSize: 1000, hidden: [8], learningStarts: 8, batchSize: 16 });
  for (let i = 0; i < 5; i++) await sac.iterate();
  const policy = await sac.policy();
  expect(policy.observations).toBe(4);
  const applied = new AppliedPolicy(policy, 4);
  await using others = await wasm(grouped, 4);
  let most = 0;
  await sac.evaluate(others, {
    onStep: ({ observations, actions }) => {
      const wanted = applied.act(observations);
      wanted.forEach((x, i) => (most = Math.max(most, Math.abs(x - actions[i]))));
    },
  });
  expect(most).toBeLessThan(exportBounds.action.value * 3);
  expect(sac.collecting.actor.layers[0].inputs).toBe(4);
});

test("threads that collect for PPO refuse groups by name", async () => {
  await using env = await wasm(grouped);
  await using ppo = await Ppo.create(env, OPTIONS);
  expect(() => ppo.collecting).toThrow(/observations in groups/);
});

test("a teacher that both groups would suit is shown the policy's, and that is said", async () => {
  const observe = { policy: { q: "qpos", v: { value: "qvel", noise: 1 } }, critic: { q: "qpos", v: "qvel" } };
  await using envs = await wasm({ ...grouped, id: "Twins", observe });
  await using student = await Ppo.create(envs, OPTIONS);
  const warned = new Promise((resolve) => process.once("warning", resolve));
  await student.imitate(await student.policy());
  expect(await warned).toMatchObject({
    code: "corral-teacher-sees",
    message: expect.stringContaining("sees 4 numbers, as many as Twins shows its policy and as its critic") as string,
  });
});
