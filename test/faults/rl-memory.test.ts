// the learner's memory: planned to the byte, in one budget with its environments, refused without harm, given back
import { expect, test } from "vitest";
import "../../envs/index.ts";
import { makeVec, type VectorEnv } from "../../src/env/index.ts";
import { Ppo, planPpo } from "../../src/rl/index.ts";
import { assertPlanned, assertRefusedOverBudget, pendulums } from "../support/learner-memory.ts";
import { watchDevice } from "../support/watch-device.ts";

const OPTIONS = { rolloutSteps: 8, minibatches: 2, epochs: 2, hidden: [16] };

const made = pendulums();

test("the plan is what is made, nothing is made after that, and all of it comes back", async () => {
  const { gpu, env } = made;
  const planned = planPpo(env, OPTIONS);
  expect(planned.fields.map(({ name }) => name)).toContain("rollout_obs");
  await assertPlanned(gpu, planned, () => Ppo.create(env, OPTIONS));
});

test("over budget it is refused by its fields, and the environments notice nothing", async () => {
  const { gpu, env } = made;
  await assertRefusedOverBudget(gpu, env, () => Ppo.create(env, { ...OPTIONS, rolloutSteps: 4096 }), {
    room: 100_000,
    says: ["InvertedPendulum-v5.ppo", "fewer rolloutSteps"],
    arena: "rollout_obs",
  });
});

test("one call at a time, none after close, and close after the call in flight", async () => {
  const { env } = made;
  const ppo = await Ppo.create(env, OPTIONS);
  const running = ppo.iterate();
  await expect((async () => ppo.iterate())()).rejects.toMatchObject({ code: "call-in-flight" });
  const closing = ppo.close();
  expect((await running).minibatches).toBe(4);
  await closing;
  await expect((async () => ppo.parameters())()).rejects.toMatchObject({ code: "closed" });
});

test("what cannot be trained is refused before anything is made", async () => {
  const { gpu, env } = made;
  const watch = watchDevice(gpu);
  const codeOf = (env: VectorEnv, options: object) =>
    Ppo.create(env, options).then(
      (ppo) => ppo.close(),
      (error: { code: string }) => error.code,
    );
  expect(await codeOf(env, { hiden: [3] })).toBe("unknown-option");
  expect(await codeOf(env, { hidden: [3.5] })).toBe("bad-option");
  expect(await codeOf(env, { gamma: NaN })).toBe("bad-option");
  expect(await codeOf(env, { seed: -1 })).toBe("bad-seed");
  expect(await codeOf(env, { totalSteps: 0 })).toBe("bad-option");
  expect(await codeOf(env, { minLogStd: 1, maxLogStd: 0 })).toBe("bad-option");
  expect(watch.made.createBuffer).toBe(0);
  watch.remove();

  await using onCpu = await makeVec("InvertedPendulum-v5", { numEnvs: 2, device: "cpu" });
  expect(await codeOf(onCpu, {})).toBe("gpu-required");
  await using sameStep = await makeVec("InvertedPendulum-v5", { numEnvs: 2, device: gpu, autoreset: "same-step" });
  expect(await codeOf(sameStep, {})).toBe("needs-next-step");

  await using cart = await makeVec("CartPole", { numEnvs: 2, device: gpu });
  expect(await codeOf(cart, { squash: true })).toBe("unsupported-space");

  await using ppo = await Ppo.create(env, OPTIONS);
  await using other = await makeVec("CartPole", { numEnvs: 2, device: gpu });
  await expect(ppo.evaluate(other)).rejects.toMatchObject({ code: "bad-peer" });
});

test("a diverging run stops with its last good parameters, and says so each time", async () => {
  const { env } = made;
  await using ppo = await Ppo.create(env, { ...OPTIONS, learningRate: 1e30, schedule: "constant" });
  let failure: unknown;
  let before = await ppo.parameters();
  for (let i = 0; i < 5 && failure === undefined; i++) {
    before = new Float32Array(await ppo.parameters());
    failure = await ppo
      .iterate()
      .catch((error: unknown) => error)
      .then((end) => (end instanceof Error ? end : undefined));
  }
  expect(failure).toMatchObject({ code: "non-finite-update" });
  expect((await ppo.parameters()).every(Number.isFinite)).toBe(true);
  expect(before.every(Number.isFinite)).toBe(true);
  await expect(ppo.iterate()).rejects.toMatchObject({ code: "non-finite-update" });
});
