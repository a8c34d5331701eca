// networks whose actions have embeddings: what they can say of a state
import { expect, test } from "vitest";
import { actionTable, defineTask, makeVec } from "../../../src/env/index.ts";
import { Dqn, SacDiscrete } from "../../../src/rl/index.ts";

test.each(["dqn", "sac-discrete"] as const)(
  "values of %s by embeddings are as large as the state is worth",
  async (algo) => {
    // every action is worth 1, whatever it is: of features with mean 0 alone values would have the mean 0 too
    const same = defineTask({
      id: "Same",
      model: `<mujoco><worldbody><body><joint name="x" type="slide"/><geom size=".1"/></body></worldbody>
      <actuator><motor joint="x"/></actuator></mujoco>`,
      frameSkip: 1,
      maxEpisodeSteps: 100,
      ...actionTable([[-1], [0], [1]]),
      observe: { speed: "tanh(qvel[0])" },
      reward: { one: 1 },
    });
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
