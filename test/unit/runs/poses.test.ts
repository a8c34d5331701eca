import { expect, test } from "vitest";
import "../../../envs/index.ts";
import { makeVec } from "../../../src/env/make.ts";
import { openDevice } from "../../../src/gpu/index.ts";
import { AppliedPolicy } from "../../../src/rl/networks/apply-policy.ts";
import { Ppo, Sac } from "../../../src/rl/index.ts";
import { poses } from "../../../src/runs/poses.ts";
import { seenActions } from "../../support/live-policy.ts";
import { exportBounds } from "../../support/tolerances.ts";
import { holdDevice } from "../../support/hold-device.ts";

holdDevice();

test("a policy acts on the host as it does on the device", async () => {
  const gpu = await openDevice();
  try {
    for (const [id, make] of [
      ["CartPole", (env: never) => Ppo.create(env, { hidden: [8] })],
      ["InvertedPendulum-v5", (env: never) => Ppo.create(env, { hidden: [8, 8] })],
      ["InvertedPendulum-v5", (env: never) => Sac.create(env, { hidden: [8, 8], bufferSize: 64, batchSize: 16 })],
    ] as const) {
      await using env = await makeVec(id, { numEnvs: 2, device: gpu });
      await using other = await makeVec(id, { numEnvs: 2, device: gpu, maxEpisodeSteps: 4 });
      await using learner = await make(env as never);
      const applied = new AppliedPolicy(await learner.policy(), 1);
      for (const { observation, action } of await seenActions(learner, other, 3)) {
        const own = applied.act(observation);
        own.forEach((x, i) => expect(Math.abs(x - action[i]), id).toBeLessThan(exportBounds.action.value));
      }
    }
  } finally {
    gpu.close();
  }
});

test("poses are those of the worlds, at the start and after each control step", async () => {
  await using env = await makeVec("InvertedPendulum-v5", { numEnvs: 2, device: "cpu" });
  const seen: number[][] = [];
  for await (const shown of poses(env, "none", 3, 2)) seen.push(Array.from(shown[1].qpos));
  await env.reset({ seed: 3 });
  const at = async () => [...(await env.getState(["qpos"], [1])).qpos];
  expect(seen[0]).toEqual(await at());
  await env.step(new Float32Array(2));
  expect(seen[1]).toEqual(await at());
  expect(seen).toHaveLength(3);
});
