// same seed, same bits: parameters after twenty updates, and what the policy does for one world alone and among thousands
import { createHash } from "node:crypto";
import { expect, test, vi } from "vitest";
import "../../envs/index.ts";
import { invertedPendulum } from "../../envs/inverted_pendulum/task.ts";
import { RandomStream, streams } from "../../src/core/rng.ts";
import { defineTask, Discrete, makeVec, type Task } from "../../src/env/index.ts";
import { createBuffer, Readback } from "../../src/gpu/index.ts";
import { act, collect } from "../../src/rl/device/act.ts";
import { learnerShape } from "../../src/rl/ppo/arenas.ts";
import { Flag, SAMPLE } from "../../src/rl/tables/device-tables.ts";
import { ppoConfig } from "../../src/rl/ppo/config.ts";
import { Learner } from "../../src/rl/ppo/learner.ts";
import { Ppo } from "../../src/rl/ppo.ts";
import { envShape } from "../../src/rl/device/env-shape.ts";
import { holdDevice } from "../support/hold-device.ts";

holdDevice();

const UPDATES = 20;

async function trained(id: string, seed: number, updates = UPDATES): Promise<string> {
  await using env = await makeVec(id, { numEnvs: 24, seed });
  await using ppo = await Ppo.create(env, { seed, rolloutSteps: 8, minibatches: 3, epochs: 2, hidden: [16, 16] });
  for (let i = 0; i < updates; i++) await ppo.iterate();
  const params = await ppo.parameters();
  expect(params.every(Number.isFinite)).toBe(true);
  return createHash("sha256").update(new Uint8Array(params.buffer)).digest("hex");
}

test.each(["CartPole", "InvertedPendulum-v5"])("%s: %i updates".replace("%i", String(UPDATES)), async (id) => {
  expect(await trained(id, 3)).toBe(await trained(id, 3));
  expect(await trained(id, 4, 2)).not.toBe(await trained(id, 3, 2));
});

test("the shards of the environments change nothing", async () => {
  const params = async (shards: number) => {
    await using env = await makeVec("InvertedPendulum-v5", { numEnvs: 44, seed: 2, shards });
    expect(env.plan.shards.length).toBe(shards);
    await using ppo = await Ppo.create(env, { seed: 2, rolloutSteps: 8, minibatches: 3, epochs: 2, hidden: [16] });
    for (let i = 0; i < 5; i++) await ppo.iterate();
    return ppo.parameters();
  };
  expect(await params(3)).toEqual(await params(1));
});

test("a run that goes on from a snapshot elsewhere is the uninterrupted run", async () => {
  const options = { seed: 6, rolloutSteps: 8, minibatches: 2, epochs: 2, hidden: [12], totalSteps: 20_000 };
  const make = async () => {
    const env = await makeVec("InvertedPendulum-v5", { numEnvs: 20, seed: 6 });
    return { env, ppo: await Ppo.create(env, options) };
  };
  const first = await make();
  for (let i = 0; i < 6; i++) await first.ppo.iterate();
  const saved = await first.ppo.snapshot();
  const told = [];
  for (let i = 0; i < 6; i++) told.push(await first.ppo.iterate());
  const wanted = await first.ppo.parameters();
  await first.ppo.close();
  await first.env.close();

  const second = await make();
  await second.ppo.iterate();
  await second.ppo.restore(saved);
  expect(second.ppo.iteration).toBe(6);
  for (const metrics of told) expect(await second.ppo.iterate()).toEqual(metrics);
  expect(await second.ppo.parameters()).toEqual(wanted);

  const spoilt = { ...saved, learner: { ...saved.learner, params: new Uint32Array(8) } };
  await expect(second.ppo.restore(spoilt)).rejects.toMatchObject({ code: "bad-snapshot" });
  await second.ppo.close();
  await second.env.close();
});

test("a rollout is one submission, or a few if it has more steps than slots for uniforms", async () => {
  const submissions = async (rolloutSteps: number, shards: number) => {
    await using env = await makeVec("CartPole", { numEnvs: 24, seed: 2, shards });
    await using ppo = await Ppo.create(env, { seed: 2, rolloutSteps, hidden: [8] });
    await ppo.collect();
    const submit = vi.spyOn(env.gpu!.device.device.queue, "submit");
    try {
      await ppo.collect();
      return submit.mock.calls.length;
    } finally {
      submit.mockRestore();
    }
  };
  expect(await submissions(32, 1)).toBe(1);
  expect(await submissions(32, 3)).toBe(1);
  expect(await submissions(200, 1)).toBe(2);
});

const STEPS = 6;
const WORLD_ID = 8197;
const HIDDEN = [24, 24];

/** Observations, log probabilities and values of one world over a few steps under the first policy of a seed. */
async function seen(id: string, numEnvs: number, worldIds: number[] | undefined, at: number): Promise<number[]> {
  await using env = await makeVec(id, { numEnvs, seed: 5, ...(worldIds ? { worldIds } : {}) });
  const config = ppoConfig({ rolloutSteps: STEPS, minibatches: 64, hidden: HIDDEN });
  const shape = learnerShape(envShape(env), config);
  await using learner = await Learner.create(env.gpu!.device, shape, config);
  learner.initialize(env, 5, 0);
  learner.uniforms.set({
    worlds: numEnvs,
    steps: STEPS,
    samples: shape.samples,
    seed: [5, 0],
    obs4: shape.obs4,
    k4: shape.k4,
  });
  learner.uniforms.set({ clip_obs: 10, log_std_min: -5, log_std_max: 2 });
  const bound = await learner.bindEnv(env);
  await env.reset();
  await collect(
    learner,
    bound,
    Array.from({ length: STEPS }, (_, t) => ({ t, draw: t, flags: Flag.keep })),
  );
  const width = STEPS * 4 * shape.obs4;
  const obs = await learner.read("rollout_obs", new Float32Array(width * numEnvs));
  const samples = await learner.read("samples", new Float32Array(STEPS * SAMPLE.size * numEnvs));
  return [
    ...obs.subarray(at * width, (at + 1) * width),
    ...samples.subarray(at * STEPS * SAMPLE.size, (at + 1) * STEPS * SAMPLE.size),
  ];
}

test.each(["CartPole", "InvertedPendulum-v5"])("%s: a world alone is that world among thousands", async (id) => {
  const numEnvs = process.env.CORRAL_FULL ? 65_536 : 8_204;
  const among = await seen(id, numEnvs, undefined, WORLD_ID);
  const alone = await seen(id, 1, [WORLD_ID], 0);
  expect(among.some((x) => x !== 0)).toBe(true);
  expect(among).toEqual(alone);
});

/** What the policy answers to planted observations, in the first rollout step: actions, log probabilities and values. */
async function answers(task: string | Task, observations: readonly (readonly number[])[], worldIds?: number[]) {
  const numEnvs = observations.length;
  const ids = worldIds ? { worldIds } : {};
  await using env = await makeVec(task as Task, { numEnvs, seed: 5, recorder: false, ...ids });
  const config = ppoConfig({ rolloutSteps: 2, minibatches: 2, hidden: [16, 8], actionBlock: 16 });
  const shape = learnerShape(envShape(env), config);
  const { device: gpu, actions } = env.gpu!;
  await using learner = await Learner.create(gpu, shape, config);
  learner.initialize(env, 5, 0);
  learner.uniforms.set({
    worlds: numEnvs,
    steps: 2,
    samples: shape.samples,
    seed: [5, 0],
    obs4: shape.obs4,
    k4: shape.k4,
  });
  learner.uniforms.set({ clip_obs: 10, log_std_min: -5, log_std_max: 2 });
  const bound = await learner.bindEnv(env);
  const view = env.gpu!.observations;
  const rows = new Float32Array((numEnvs * view.stride) / 4);
  observations.forEach((row, w) => rows.set(row, (w * view.stride) / 4));
  gpu.device.queue.writeBuffer(view.shards[0].buffer, view.offset, rows);

  const staging = await createBuffer(gpu, "answers", numEnvs * actions.stride, Readback.usage);
  const told: Uint32Array[] = [];
  for (const [t, flags] of [0, Flag.deterministic].entries()) {
    await act(learner, bound, { t, draw: t, flags: flags | Flag.keep });
    const sent = new Uint32Array((numEnvs * actions.stride) / 4);
    await new Readback(gpu, [staging]).read(actions.shards[0].buffer, actions.offset, sent.byteLength, sent);
    told.push(sent);
  }
  staging.destroy();
  const samples = await learner.read("samples", new Uint32Array(numEnvs * 2 * SAMPLE.size));
  return (w: number) => [
    ...told.map((sent) => sent[(w * actions.stride) / 4]),
    ...[0, 1].flatMap((t) => [...samples.subarray((w * 2 + t) * SAMPLE.size, (w * 2 + t) * SAMPLE.size + 2)]),
  ];
}

const many = defineTask({ ...invertedPendulum, actionSpace: () => new Discrete(37), control: () => [0] });

test.each([
  { name: "Gaussian", task: "InvertedPendulum-v5" },
  { name: "categorical", task: "CartPole" },
  { name: "categorical in blocks", task: many as Task },
])("$name: the same actions for planted inputs, alone and among thousands", async ({ task }) => {
  const random = new RandomStream(9, 0, 0, streams.user);
  const places = process.env.CORRAL_FULL ? [0, 7, 8_191, 8_192, 40_003, 65_535] : [0, 7, 8_191, 8_203];
  const observations = Array.from({ length: places.at(-1)! + 1 }, (_, w) =>
    [0, 1, 2, 3].map((i) => random.normal(4 * w + i)),
  );
  const among = await answers(task, observations);
  const seen = new Set<string>();
  for (const w of places) {
    const alone = await answers(task, [observations[w]], [w]);
    expect(among(w)).toEqual(alone(0));
    seen.add(among(w).join());
  }
  expect(seen.size).toBe(places.length);
});
