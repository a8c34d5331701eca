// DQN: same seed, same bits, wherever the replay lies and however worlds are sharded; a run that goes on from a snapshot is
// the uninterrupted run
import { expect, test } from "vitest";
import "../../envs/index.ts";
import { RandomStream } from "../../src/core/rng.ts";
import { Box, Discrete, makeVec } from "../../src/env/index.ts";
import { makeJsVec, type JsEnv } from "../../src/env/js-env.ts";
import { Dqn } from "../../src/rl/index.ts";
import { AppliedPolicy } from "../../src/rl/networks/apply-policy.ts";

const OPTIONS = {
  hidden: [16],
  batchSize: 32,
  bufferSize: 480,
  learningStarts: 100,
  explorationSteps: 1000,
  collectSteps: 2,
  gradientSteps: 2,
  nSteps: 3,
};

const make = async (seed: number, options: object = {}, env: object = {}) => {
  const worlds = await makeVec("CartPole", { numEnvs: 20, seed, device: "wasm", ...env });
  return { worlds, dqn: await Dqn.create(worlds, { seed, ...OPTIONS, ...options }) };
};

async function trained(seed: number, options: object = {}, env: object = {}): Promise<Float32Array> {
  const { worlds, dqn } = await make(seed, options, env);
  // far enough for the ring to go round
  for (let i = 0; i < 40; i++) await dqn.iterate();
  const params = await dqn.parameters();
  await dqn.close();
  await worlds.close();
  expect(params.every(Number.isFinite)).toBe(true);
  return params;
}

test("40 updates", async () => {
  const first = await trained(3);
  expect(await trained(3)).toEqual(first);
  expect(await trained(4)).not.toEqual(first);
  expect(await trained(3, {}, { shards: 2, threads: 2 })).toEqual(first);
  // rows on the host draw the same transitions; sums of a return are rounded otherwise there
  expect(await trained(3, { nSteps: 1, storage: "host" })).toEqual(await trained(3, { nSteps: 1 }));
});

test("a run that goes on from a snapshot elsewhere is the uninterrupted run", async () => {
  const first = await make(6);
  for (let i = 0; i < 16; i++) await first.dqn.iterate();
  const saved = await first.dqn.snapshot();
  const told = [];
  for (let i = 0; i < 6; i++) told.push(await first.dqn.iterate());
  const wanted = await first.dqn.parameters();
  await first.dqn.close();
  await first.worlds.close();

  const second = await make(6);
  await second.dqn.iterate();
  await second.dqn.restore(saved);
  for (const metrics of told) expect(await second.dqn.iterate()).toEqual(metrics);
  expect(await second.dqn.parameters()).toEqual(wanted);
  await second.dqn.close();
  await second.worlds.close();
});

test("worlds that are evaluated take the actions of the policy that is left", async () => {
  // twenty steps of observations that are drawn, and 21 actions from 2 on
  const noise: JsEnv = {
    id: "Noise",
    observationSpace: new Box({ low: -Infinity, high: Infinity, shape: [3] }),
    actionSpace: new Discrete(21, 2),
    makeWorld() {
      let [t, draws] = [0, new RandomStream(0, 0, 0, 0)];
      const seen = () => [0, 1, 2].map((i) => 3 * draws.normal(4 * t + i));
      return {
        reset({ random }) {
          [t, draws] = [0, random];
          return seen();
        },
        step: () => ({ observation: seen(), reward: 0, terminated: ++t === 20 }),
      };
    },
  };
  const sizes = { hidden: [8], actionBlock: 8, bufferSize: 64, batchSize: 64 };
  await using dqn = await Dqn.create(makeJsVec(noise, { numEnvs: 8 }), sizes);
  const applied = new AppliedPolicy(await dqn.policy(), 8);
  const taken = new Set<number>();
  await dqn.evaluate(makeJsVec(noise, { numEnvs: 8 }), {
    seed: 2,
    onStep({ observations, actions }) {
      expect([...actions]).toEqual([...applied.act(observations)]);
      for (const action of actions) taken.add(action);
    },
  });
  expect(taken.size).toBeGreaterThan(3);
  expect(Math.min(...taken)).toBeGreaterThanOrEqual(2);
});
