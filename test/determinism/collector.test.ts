// SAC on the device learns from threads of the CPU, one update behind: the same bits for any count of threads
import { expect, test } from "vitest";
import "../../envs/index.ts";
import { invertedPendulum } from "../../envs/inverted_pendulum/task.ts";
import { Box, defineTask, makeVec, type Task } from "../../src/env/index.ts";
import { act } from "../../src/rl/device/act.ts";
import { Flag } from "../../src/rl/tables/device-tables.ts";
import { HostActor } from "../../src/rl/networks/host-actor.ts";
import { Sac } from "../../src/rl/index.ts";
import { setUniforms } from "../../src/rl/sac/batch.ts";
import { sacShape } from "../../src/rl/sac/arenas.ts";
import { sacConfig } from "../../src/rl/sac/config.ts";
import { SacLearner } from "../../src/rl/sac/learner.ts";
import { seedKey } from "../../src/core/rng.ts";
import { Collector } from "../../src/runs/collector.ts";
import { learnerBounds } from "../support/tolerances.ts";
import { envShape } from "../../src/rl/device/env-shape.ts";
import { holdDevice } from "../support/hold-device.ts";

holdDevice();

const OPTIONS = { seed: 4, hidden: [12], batchSize: 16, bufferSize: 400, learningStarts: 100, gradientSteps: 3 };

async function learnt(threads: number): Promise<Float32Array> {
  await using env = await makeVec("InvertedPendulum-v5", { numEnvs: 6, seed: 4 });
  await using sac = await Sac.create(env, { ...OPTIONS, storage: "host" });
  await using collector = await Collector.create(env.id, { ...sac.collecting, steps: 10, threads });
  collector.start(await sac.parameters(), { random: sac.explores });
  let told = 0;
  for (let i = 0; i < 12; i++) {
    const batch = await collector.take();
    collector.start(await sac.parameters(), { random: sac.explores });
    const metrics = await sac.iterateFrom(batch);
    expect(sac.envSteps).toBe(60 * (i + 1));
    expect(metrics.minibatches).toBe(sac.explores ? 0 : 3);
    told += metrics.episodes;
  }
  expect(told).toBeGreaterThan(0);
  await expect(sac.iterateFrom({ ...(await collector.take()), numEnvs: 5 })).rejects.toMatchObject({
    code: "bad-peer",
  });
  return sac.parameters();
}

test("SAC and a collector", async () => {
  const params = await learnt(2);
  expect(params.every(Number.isFinite)).toBe(true);
  expect(await learnt(1)).toEqual(params);

  await using env = await makeVec("InvertedPendulum-v5", { numEnvs: 6 });
  await using sac = await Sac.create(env, OPTIONS);
  const rows = { steps: 1, numEnvs: 6, episodes: { count: 0, returns: 0, lengths: 0 } };
  const none = new Float32Array(48);
  const refused = sac.iterateFrom({ ...rows, observations: none, actions: none, rewards: none, flags: none });
  await expect(refused).rejects.toMatchObject({ code: "needs-host-replay" });
});

test("the policy of the CPU draws what the kernel draws", async () => {
  const space = () => new Box({ low: -2, high: [1, 2, 3, 4, 5, 6], shape: [6] });
  const task = defineTask({ ...invertedPendulum, id: "SixActions", actionSpace: space, control: () => [0] });
  await using env = await makeVec(task as Task, { numEnvs: 5, seed: 2 });
  const config = sacConfig({ hidden: [16, 8], bufferSize: 40, batchSize: 16 });
  await using learner = await SacLearner.create(env.gpu!.device, sacShape(envShape(env), config));
  learner.initialize(env, 2, 1);
  setUniforms(learner, config, 2);
  const { nets } = learner.shape;
  const params = await learner.read("params", new Float32Array(4 * nets.params4));
  // further from 0 than a policy starts
  const { w, b, k, n } = nets.policy.at(-1)!;
  for (let i = 4 * w; i < 4 * w + k * n; i++) params[i] *= 30;
  for (let i = 0; i < 12; i++) params[4 * b + i] = 0.3 * (i - 6);
  learner.write("params", params);
  const bound = await learner.bindEnv(env);
  const { observations } = await env.reset();
  const { low, high } = env.singleActionSpace as unknown as { low: number[]; high: number[] };
  const spec = { layers: nets.policy, actions: 6, low: [...low], high: [...high], minLogStd: -5, maxLogStd: 2 };
  const actor = new HostActor(spec, params, seedKey(2));
  const [squashed, sent] = [new Float32Array(6), new Float32Array(6)];
  for (const random of [false, true]) {
    await act(learner, bound, { t: 0, draw: 7, flags: Flag.keep | (random ? Flag.random : 0) });
    const found = await learner.read("replay_actions", new Float32Array(5 * 8 * 8));
    for (let world = 0; world < 5; world++) {
      actor.act(observations.subarray(world * 4, (world + 1) * 4), world, 7, random, squashed, sent);
      for (let i = 0; i < 6; i++) {
        const bound = learnerBounds.squash.value;
        expect(Math.abs(found[world * 8 * 8 + i] - squashed[i])).toBeLessThan(bound);
        expect(sent[i]).toBeCloseTo(low[i] + ((high[i] - low[i]) * (1 + squashed[i])) / 2, 5);
      }
    }
  }
});
