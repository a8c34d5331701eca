// threads of a learner on WebAssembly: the same bits, a free event loop, and what is left when one is lost
import { afterEach, expect, test, vi } from "vitest";
import "../../../envs/index.ts";
import { makeVec, type VectorEnv } from "../../../src/env/index.ts";
import { LearnerThreads } from "../../../src/rl/device/wasm-thread.ts";
import { Dqn, planPpo, Ppo, Sac, SacDiscrete } from "../../../src/rl/index.ts";

afterEach(() => vi.restoreAllMocks());

const make = (id: string, threads: number): Promise<VectorEnv> =>
  makeVec(id, { numEnvs: 64, seed: 3, device: "wasm", threads, autoreset: "next-step" });

const PPO = { seed: 3, rolloutSteps: 32, minibatches: 2, epochs: 2, hidden: [64, 64] };
const OFF_POLICY = { seed: 3, hidden: [64, 64], batchSize: 256, bufferSize: 4096, learningStarts: 128 };
const LEARNERS = [
  ["PPO", "CartPole", (env: VectorEnv) => Ppo.create(env, PPO), 3],
  ["PPO with a memory", "CartPole", (env: VectorEnv) => Ppo.create(env, { ...PPO, recurrentSize: 32 }), 2],
  ["SAC", "InvertedPendulum-v5", (env: VectorEnv) => Sac.create(env, OFF_POLICY), 6],
  ["DQN", "CartPole", (env: VectorEnv) => Dqn.create(env, OFF_POLICY), 6],
  ["SAC of discrete actions", "CartPole", (env: VectorEnv) => SacDiscrete.create(env, OFF_POLICY), 6],
] as const;

test.each(LEARNERS)("%s learns to the same bits in 1, 2 and 7 threads", async (_name, id, create, updates) => {
  const submit = vi.spyOn(LearnerThreads.prototype, "submit");
  let wanted: Float32Array | undefined;
  for (const threads of [1, 2, 7]) {
    submit.mockClear();
    await using env = await make(id, threads);
    await using learner = await create(env);
    for (let i = 0; i < updates; i++) await learner.iterate();
    const found = await learner.parameters();
    wanted ??= found;
    expect(found).toEqual(wanted);
    expect(submit.mock.calls.length > 0).toBe(threads > 1);
  }
});

test("the event loop turns while a learner learns", async () => {
  await using env = await make("CartPole", 2);
  await using ppo = await Ppo.create(env, { ...PPO, hidden: [256, 256] });
  await ppo.collect();
  const submit = vi.spyOn(LearnerThreads.prototype, "submit");
  const update = ppo.iterate();
  // turns of the event loop while threads are at work
  let turns = 0;
  let isDone = false;
  const turn = () => {
    if (submit.mock.calls.length > 0) turns++;
    if (!isDone) setImmediate(turn);
  };
  turn();
  await update;
  isDone = true;
  expect(turns).toBeGreaterThan(10);
});

test("a thread that is lost takes its learner with it, and a snapshot goes on", async () => {
  await using env = await make("CartPole", 2);
  const ppo = await Ppo.create(env, PPO);
  await ppo.iterate();
  const saved = await ppo.snapshot();
  const submit = vi.spyOn(LearnerThreads.prototype, "submit");
  // there is no kernel of this number
  submit.mockImplementationOnce(function (this: LearnerThreads, [first]) {
    submit.mockRestore();
    this.submit([{ ...first, kernel: 999 }]);
  });
  await expect(ppo.iterate()).rejects.toMatchObject({ code: "device-lost" });
  await expect(ppo.iterate()).rejects.toThrow(/restore that/);
  await ppo.close();

  const goesOn = async (): Promise<Float32Array> => {
    await using again = await Ppo.create(env, PPO);
    await again.restore(saved);
    await again.iterate();
    return again.parameters();
  };
  expect(await goesOn()).toEqual(await goesOn());
});

test("threads are of the plan, and a small learner has none", async () => {
  await using env = await make("CartPole", 7);
  await using alone = await make("CartPole", 1);
  const threadsOf = (of: VectorEnv, options: object) =>
    planPpo(of, options).fields.find(({ arena, name }) => arena === "wasm" && name === "threads")?.bytes ?? 0;
  expect(threadsOf(env, PPO)).toBe(7 * 2 ** 23);
  expect(threadsOf(alone, PPO)).toBe(0);
  expect(threadsOf(env, { ...PPO, hidden: [8], minibatches: 32 })).toBe(0);
});
