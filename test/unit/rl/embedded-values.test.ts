// networks whose actions have embeddings: what they can say of a state
import { expect, test } from "vitest";
import { actionTable, defineTask, makeVec } from "../../../src/env/index.ts";
import { Dqn, Ppo, SacDiscrete } from "../../../src/rl/index.ts";
import { dqnConfig } from "../../../src/rl/dqn/config.ts";
import { dqnPolicyOf } from "../../../src/rl/dqn/policy.ts";
import { actionFeatures, withLevel } from "../../../src/rl/networks/action-features.ts";

const slider = (rows: number[][]) =>
  defineTask({
    id: "Same",
    model: `<mujoco><worldbody><body><joint name="x" type="slide"/><geom size=".1"/></body></worldbody>
      <actuator><motor joint="x"/></actuator></mujoco>`,
    frameSkip: 1,
    maxEpisodeSteps: 100,
    ...actionTable(rows),
    observe: { speed: "tanh(qvel[0])" },
    reward: { one: 1 },
  });

test.each(["dqn", "sac-discrete"] as const)(
  "values of %s by embeddings are as large as the state is worth",
  async (algo) => {
    // every action is worth 1, whatever it is: of features with mean 0 alone values would have the mean 0 too
    const same = slider([[-1], [0], [1]]);
    await using env = await makeVec(same, { numEnvs: 8, seed: 1, device: "wasm", recorder: false });
    const options = {
      seed: 1,
      hidden: [8],
      actionEmbedding: 4,
      gamma: 0,
      batchSize: 32,
      bufferSize: 800,
      learningStarts: 32,
    };
    const more = { collectSteps: 4, gradientSteps: 16, learningRate: 0.01 };
    await using learner =
      algo === "dqn"
        ? await Dqn.create(env, { ...options, ...more })
        : await SacDiscrete.create(env, { ...options, ...more, criticLearningRate: 0.01, initialTemperature: 1e-6 });
    for (let i = 0; i < 30; i++) await learner.iterate();
    const { value, targetValue } = await learner.iterate();
    expect(targetValue).toBeCloseTo(1, 5);
    expect(Math.abs(value - 1)).toBeLessThan(0.05);
  },
);

test("actions that all stand for the same have no embeddings", async () => {
  await using env = await makeVec(slider([[0.5], [0.5]]), { numEnvs: 8, device: "wasm" });
  for (const Learner of [Dqn, SacDiscrete, Ppo])
    await expect(Learner.create(env, { actionEmbedding: 4 })).rejects.toThrow(
      "[unsupported-space] actionEmbedding makes embeddings from the controls that actions stand for; those of Same all stand for the same.",
    );
});

test("embeddings from before values had a level are refused, and it is said why", () => {
  const features = actionFeatures([[-1], [0], [1]]);
  const array = (...shape: number[]) => ({ shape, data: new Float32Array(shape.reduce((a, b) => a * b, 1)) });
  const before = {
    "policy.embedding": array(features.count, 4),
    "policy.0.weight": array(4, 1),
    "policy.0.bias": array(4),
    "normalizer.mean": array(1),
    "normalizer.inverse_std": array(1),
  };
  const space = { kind: "discrete", n: 3, start: 0 } as const;
  expect(() => dqnPolicyOf(before, "Same", space, dqnConfig({ hidden: [] }), withLevel(features))).toThrow(
    "[bad-policy] the policy's embeddings are of 2 features of an action, and actions have 3 here. Pass the environment that it was trained in; DQN and SAC of discrete actions have one feature more since 0.2.0 (train such anew).",
  );
});
