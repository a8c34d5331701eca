/** Policies that remember: planned, the same bits after a snapshot, evaluated beside, refused by exports. */
import { afterAll, beforeAll, expect, test } from "vitest";
import "../../envs/index.ts";
import { makeVec, type VectorEnv } from "../../src/env/index.ts";
import { exportPolicy } from "../../src/export/index.ts";
import { type GpuDevice, openDevice } from "../../src/gpu/index.ts";
import { Ppo, planPpo } from "../../src/rl/index.ts";

const OPTIONS = {
  seed: 3,
  rolloutSteps: 8,
  minibatches: 2,
  epochs: 2,
  hidden: [8],
  recurrent: "gru",
  recurrentSize: 8,
  recurrentSteps: 4,
} as const;

let gpu: GpuDevice;
beforeAll(async () => {
  gpu = await openDevice();
});
afterAll(() => gpu.close());

const make = (numEnvs = 16): Promise<VectorEnv> => makeVec("CartPole", { numEnvs, seed: 3, device: gpu });

test("history is planned: states of worlds, and one of each sequence", async () => {
  await using env = await make();
  const bytesOf = (options: object) =>
    Object.fromEntries(planPpo(env, { ...OPTIONS, ...options }).fields.map(({ name, bytes }) => [name, bytes]));
  // policy's and value's, 8 numbers each
  expect(bytesOf({})).toMatchObject({ hidden: 16 * 16 * 4, eval_hidden: 16 * 16 * 4, rollout_hidden: 16 * 2 * 16 * 4 });
  expect(bytesOf({ recurrentSteps: 2 }).rollout_hidden).toBe(16 * 4 * 16 * 4);
  expect(bytesOf({ recurrent: "none" })).not.toHaveProperty("hidden");
});

test("a snapshot goes on with the same bits, and an evaluation changes nothing", async () => {
  await using env = await make();
  await using others = await make(5);
  await using ppo = await Ppo.create(env, OPTIONS);
  for (let i = 0; i < 3; i++) await ppo.iterate();
  const saved = await ppo.snapshot();
  const first = await ppo.evaluate(others);
  for (let i = 0; i < 3; i++) await ppo.iterate();
  const wanted = await ppo.parameters();
  expect(wanted.every(Number.isFinite)).toBe(true);

  await using second = await make();
  await using again = await Ppo.create(second, OPTIONS);
  await again.iterate();
  await again.restore(saved);
  expect(await again.evaluate(others)).toEqual(first);
  for (let i = 0; i < 3; i++) await again.iterate();
  expect(await again.parameters()).toEqual(wanted);
});

test("what cannot be is refused", async () => {
  await using env = await make(4);
  const codeOf = (options: object) =>
    Ppo.create(env, { ...OPTIONS, ...options }).then(
      (ppo) => ppo.close(),
      (error: { code: string }) => error.code,
    );
  expect(await codeOf({ recurrentSize: 12 })).toBe("bad-option");
  expect(await codeOf({ recurrentSteps: 3 })).toBe("bad-option");
  expect(await codeOf({ recurrent: "lstm" })).toBe("bad-option");
  await using ppo = await Ppo.create(env, OPTIONS);
  await expect(exportPolicy(ppo, { format: "onnx", to: "never.onnx" })).rejects.toMatchObject({
    code: "unsupported-export",
  });
});
