// PPO and SAC with a memory learn what one observation does not tell: a cue is shown once, and is to be named at every step
import { expect, test } from "vitest";
import { cartpole } from "../../envs/cartpole/task.ts";
import type { DeviceChoice } from "../../src/batch/devices.ts";
import { Box, defineTask, makeVec, type Scene } from "../../src/env/index.ts";
import { Ppo, Sac } from "../../src/rl/index.ts";
import { abs, eq, gt, mul, select, sub } from "../../src/trace/scalar.ts";
import { holdDevice } from "../support/hold-device.ts";

holdDevice();

const STEPS = 12;

/** 1 if the cart is right of the middle: its start decides, since nothing pushes it. */
const side = ({ d }: Scene) => select(gt(d.qpos.at(0), 0), 1, 0, "f32");

const recall = defineTask({
  ...cartpole,
  id: "Recall",
  maxEpisodeSteps: STEPS,
  control: () => [0],
  observe: (s) => ({ cue: [select(eq(s.length, 0), select(gt(s.d.qpos.at(0), 0), 1, -1, "f32"), 0, "f32")] }),
  reward: (s) => ({ named: select(eq(s.action[0], 1), side(s), select(gt(side(s), 0), 0, 1, "f32"), "f32") }),
  terminated: () => ({}),
});

async function learned(recurrent: "gru" | "lstm" | "none", device: DeviceChoice): Promise<number> {
  await using env = await makeVec(recall, { numEnvs: 64, seed: 1, device });
  await using others = await makeVec(recall, { numEnvs: 64, seed: 2, device });
  await using ppo = await Ppo.create(env, {
    seed: 1,
    rolloutSteps: 32,
    hidden: [8],
    recurrent,
    recurrentSize: 8,
    recurrentSteps: 16,
    epochs: 4,
    minibatches: 2,
    learningRate: 1e-2,
    // each step is worth what it names: later rewards would only be noise
    gamma: 0,
  });
  for (let i = 0; i < 40; i++) await ppo.iterate();
  return (await ppo.evaluate(others)).meanReturn;
}

// what is learnt is not of the driver, which takes half a minute; gradients of both cells are tested apart
const devices: DeviceChoice[] = process.env.CORRAL_FULL ? ["gpu", "wasm"] : ["wasm"];
const cells = process.env.CORRAL_FULL ? (["gru", "lstm"] as const) : (["lstm"] as const);

test.each(devices)("a cue that was shown once, on %s", async (device) => {
  // without a memory the first step is known, and half of the others
  expect(await learned("none", device)).toBeLessThan(0.75 * STEPS);
  for (const cell of cells) expect(await learned(cell, device), cell).toBeGreaterThan(0.9 * STEPS);
});

/** The same with a number for an action: the nearer it is to the cue, the better. */
const point = defineTask({
  ...recall,
  id: "RecallPoint",
  actionSpace: () => new Box({ low: -1, high: 1, shape: [1] }),
  reward: (s: Scene) => ({ near: sub(1, mul(0.5, abs(sub(s.action[0], sub(mul(2, side(s)), 1))))) }),
});

async function pointed(recurrent: "gru" | "lstm" | "none"): Promise<number> {
  await using env = await makeVec(point, { numEnvs: 64, seed: 1, device: "wasm" });
  await using others = await makeVec(point, { numEnvs: 64, seed: 2, device: "wasm" });
  await using sac = await Sac.create(env, {
    seed: 1,
    hidden: [16],
    recurrent,
    recurrentSize: 8,
    recurrentSteps: 16,
    recurrentBurnIn: 0,
    collectSteps: 4,
    gradientSteps: 16,
    batchSize: 256,
    bufferSize: 64 * 200,
    learningStarts: 2000,
    learningRate: 3e-3,
    criticLearningRate: 3e-3,
    initialTemperature: 0.1,
    gamma: 0,
  });
  for (let i = 0; i < 48; i++) await sac.iterate();
  return (await sac.evaluate(others)).meanReturn;
}

test("a cue that was shown once, by SAC", async () => {
  // without a memory nothing is better than the middle, once the cue is gone
  expect(await pointed("none")).toBeLessThan(0.75 * STEPS);
  for (const cell of process.env.CORRAL_FULL ? (["gru", "lstm"] as const) : (["gru"] as const))
    expect(await pointed(cell), cell).toBeGreaterThan(0.9 * STEPS);
});
