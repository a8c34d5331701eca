// SAC's memory, replay included: planned to the byte, in one budget with its environments, refused without harm, given back
import { expect, test } from "vitest";
import "../../envs/index.ts";
import { makeVec, type VectorEnv } from "../../src/env/index.ts";
import { planSac, Sac } from "../../src/rl/index.ts";
import { assertPlanned, assertRefusedOverBudget, pendulums } from "../support/learner-memory.ts";
import { watchDevice } from "../support/watch-device.ts";

const OPTIONS = { hidden: [16], batchSize: 32, bufferSize: 400, learningStarts: 0 };

const made = pendulums();

test("the plan is what is made, nothing is made after that, and all of it comes back", async () => {
  const { gpu, env } = made;
  const planned = planSac(env, OPTIONS);
  // 400 rows of one observation (4 numbers), one action (1, padded to 4), reward and flags: nothing twice
  const bytes = Object.fromEntries(planned.fields.map((field) => [field.name, field.bytes]));
  expect([bytes.replay_obs, bytes.replay_actions, bytes.replay_steps]).toEqual([6400, 6400, 3200]);

  await assertPlanned(
    gpu,
    planned,
    () => Sac.create(env, OPTIONS),
    async (sac) => expect((await sac.iterate()).minibatches).toBe(1),
  );
});

test("over budget it is refused by its fields, and the environments notice nothing", async () => {
  const { gpu, env } = made;
  await assertRefusedOverBudget(gpu, env, () => Sac.create(env, { ...OPTIONS, bufferSize: 1_000_000 }), {
    room: 500_000,
    says: ["InvertedPendulum-v5.sac", "a smaller bufferSize"],
    arena: "replay_obs",
  });
});

test("what cannot be trained is refused before anything is made", async () => {
  const { gpu, env } = made;
  const watch = watchDevice(gpu);
  const codeOf = (of: VectorEnv, options: object) =>
    Sac.create(of, options).then(
      (sac) => sac.close(),
      (error: { code: string }) => error.code,
    );
  expect(await codeOf(env, { hiden: [3] })).toBe("unknown-option");
  expect(await codeOf(env, { gamma: NaN })).toBe("bad-option");
  expect(await codeOf(env, { storage: "tape" })).toBe("bad-option");
  expect(await codeOf(env, { seed: -1 })).toBe("bad-seed");
  expect(await codeOf(env, { minLogStd: 1, maxLogStd: 0 })).toBe("bad-option");
  expect(await codeOf(env, { bufferSize: 79, batchSize: 32 })).toBe("bad-option");
  expect(watch.made.createBuffer).toBe(0);
  watch.remove();

  await using cart = await makeVec("CartPole", { numEnvs: 2, device: gpu });
  expect(await codeOf(cart, {})).toBe("unsupported-space");
  await using onCpu = await makeVec("InvertedPendulum-v5", { numEnvs: 2, device: "cpu" });
  expect(await codeOf(onCpu, {})).toBe("gpu-required");
});

test("one call at a time; a diverging run stops with its last good parameters, and says so each time", async () => {
  const { env } = made;
  await using sac = await Sac.create(env, { ...OPTIONS, criticLearningRate: 1e30 });
  const running = sac.iterate();
  await expect((async () => sac.iterate())()).rejects.toMatchObject({ code: "call-in-flight" });
  await running;
  let failure: unknown;
  for (let i = 0; i < 6 && failure === undefined; i++) {
    failure = await sac.iterate().then(
      () => undefined,
      (error: unknown) => error,
    );
  }
  expect(failure).toMatchObject({ code: "non-finite-update" });
  expect((await sac.parameters()).every(Number.isFinite)).toBe(true);
  await expect(sac.iterate()).rejects.toMatchObject({ code: "non-finite-update" });
});
