// actions are drawn from the distribution that the policy names, with the log probabilities of that distribution
import { afterAll, beforeAll, expect, test } from "vitest";
import "../../../envs/index.ts";
import { invertedPendulum } from "../../../envs/inverted_pendulum/task.ts";
import { defineTask, Discrete, makeVec, MultiDiscrete, type Task } from "../../../src/env/index.ts";
import { createBuffer, type GpuDevice, openDevice, Readback } from "../../../src/gpu/index.ts";
import { act } from "../../../src/rl/device/act.ts";
import { learnerShape } from "../../../src/rl/ppo/arenas.ts";
import { Flag, SAMPLE } from "../../../src/rl/tables/device-tables.ts";
import { ppoConfig, type PpoConfig } from "../../../src/rl/ppo/config.ts";
import { Learner } from "../../../src/rl/ppo/learner.ts";
import { learnerBounds } from "../../support/tolerances.ts";
import { envShape } from "../../../src/rl/device/env-shape.ts";
import { holdDevice } from "../../support/hold-device.ts";

holdDevice();

const WORLDS = 2048;
const DRAWS = 16;

let gpu: GpuDevice;
let staging: GPUBuffer[];
beforeAll(async () => {
  gpu = await openDevice();
  staging = [await createBuffer(gpu, "sent", WORLDS * 16, Readback.usage)];
});
afterAll(() => gpu.close());

/** Actions and log probabilities of a policy without weights, whose outputs are `biases`. */
async function drawn(
  of: string | Task,
  biases: readonly number[],
  logStd: number,
  flags = 0,
  given: Partial<PpoConfig> = {},
) {
  await using env = await makeVec(of as Task, { numEnvs: WORLDS, device: gpu });
  const config = ppoConfig({ rolloutSteps: DRAWS, hidden: [], ...given });
  const shape = learnerShape(envShape(env), config);
  await using learner = await Learner.create(gpu, shape, config);
  learner.initialize(env, 1, logStd);
  const { nets } = shape;
  const params = new Float32Array(4 * nets.params4);
  const last = nets.head?.blocks ?? [nets.policy[0]];
  last.forEach(({ b, outputs }, i) => params.set(biases.slice(i * last[0].n, i * last[0].n + outputs), 4 * b));
  params.fill(logStd, 4 * nets.logStd.at, 4 * nets.logStd.at + nets.logStd.count);
  learner.write("params", params);
  learner.uniforms.set({ worlds: WORLDS, steps: DRAWS, samples: shape.samples, obs4: shape.obs4, k4: shape.k4 });
  learner.uniforms.set({ seed: [12, 34], clip_obs: 10, log_std_min: -5, log_std_max: 2 });
  const bound = await learner.bindEnv(env);
  await env.reset();
  for (let t = 0; t < DRAWS; t++) await act(learner, bound, { t, draw: t, flags: flags | Flag.keep });
  const actions = await learner.read("rollout_actions", new Float32Array(shape.samples * 4 * shape.actions4));
  const samples = await learner.read("samples", new Float32Array(shape.samples * SAMPLE.size));
  const words = new Uint32Array(actions.buffer);
  const stride = 4 * shape.actions4;
  const sent = new Float32Array(WORLDS * 4);
  await new Readback(gpu, staging).read(env.gpu!.actions.shards[0].buffer, 0, sent.byteLength, sent);
  const rows = Array.from({ length: shape.samples }, (_, s) => ({
    word: words[s * stride],
    second: words[s * stride + 1],
    number: actions[s * stride],
    logProb: samples[s * SAMPLE.size],
  }));
  // what the environment got of the last draw
  return Object.assign(rows, { sent: Array.from({ length: WORLDS }, (_, w) => sent[4 * w]) });
}

test("categorical: shares of alternatives", async () => {
  const logits = [0.3, -0.8];
  const total = logits.reduce((sum, l) => sum + Math.exp(l), 0);
  const rows = await drawn("CartPole", logits, 0);
  logits.forEach((logit, a) => {
    const p = Math.exp(logit) / total;
    const share = rows.filter(({ word }) => word === a).length / rows.length;
    // five standard errors
    expect(Math.abs(share - p)).toBeLessThan(5 * Math.sqrt((p * (1 - p)) / rows.length));
  });
  for (const { word, logProb } of rows) {
    expect(Math.abs(logProb - (logits[word] - Math.log(total)))).toBeLessThan(learnerBounds.logProb.value);
  }
  const likely = await drawn("CartPole", logits, 0, Flag.deterministic);
  expect(new Set(likely.map(({ word }) => word))).toEqual(new Set([0]));
});

test("categorical in blocks: the same distribution and the same log probabilities as all at once", async () => {
  const task = defineTask({ ...invertedPendulum, actionSpace: () => new Discrete(21), control: () => [0] }) as Task;
  // large logits in blocks of their own
  const logits = Array.from({ length: 21 }, (_, a) => Math.fround(2 * Math.sin(3 * a) + (a === 17 ? 3 : 0)));
  const total = logits.reduce((sum, l) => sum + Math.exp(l), 0);
  const rows = await drawn(task, logits, 0, 0, { actionBlock: 8 });
  logits.forEach((logit, a) => {
    const p = Math.exp(logit) / total;
    const share = rows.filter(({ word }) => word === a).length / rows.length;
    expect(Math.abs(share - p)).toBeLessThan(5 * Math.sqrt((p * (1 - p)) / rows.length));
  });
  for (const { word, logProb } of rows) {
    expect(Math.abs(logProb - (logits[word] - Math.log(total)))).toBeLessThan(learnerBounds.logProb.value);
  }
  const likely = await drawn(task, logits, 0, Flag.deterministic, { actionBlock: 8 });
  expect(new Set(likely.map(({ word }) => word))).toEqual(new Set([17]));
  const whole = await drawn(task, logits, 0, Flag.deterministic);
  expect(Math.abs(likely[0].logProb - whole[0].logProb)).toBeLessThan(learnerBounds.logProb.value);
});

test("several choices: each by itself, and together in the log probability", async () => {
  const counts = [2, 3];
  const task = defineTask({ ...invertedPendulum, actionSpace: () => new MultiDiscrete(counts), control: () => [0] });
  const logits = [
    [0.5, -0.5],
    [1, 0, -1],
  ];
  const rows = await drawn(task as Task, logits.flat(), 0);
  const shares = logits.map((choice) => {
    const total = choice.reduce((sum, l) => sum + Math.exp(l), 0);
    return choice.map((l) => Math.exp(l) / total);
  });
  for (let a = 0; a < counts[0]; a++) {
    for (let b = 0; b < counts[1]; b++) {
      const p = shares[0][a] * shares[1][b];
      const found = rows.filter(({ word, second }) => word === a && second === b);
      expect(Math.abs(found.length / rows.length - p)).toBeLessThan(5 * Math.sqrt((p * (1 - p)) / rows.length));
      for (const { logProb } of found)
        expect(Math.abs(logProb - Math.log(p))).toBeLessThan(learnerBounds.logProb.value);
    }
  }
});

test("Gaussian: mean, deviation, skew, tails and the shape of the distribution", async () => {
  const [mu, logStd] = [0.7, -0.4];
  const sigma = Math.exp(logStd);
  const rows = await drawn("InvertedPendulum-v5", [mu], logStd);
  const z = rows.map(({ number }) => (number - mu) / sigma);
  const n = z.length;
  const moment = (k: number) => z.reduce((sum, x) => sum + x ** k, 0) / n;
  expect(Math.abs(moment(1))).toBeLessThan(5 / Math.sqrt(n));
  expect(Math.abs(moment(2) - 1)).toBeLessThan(5 * Math.sqrt(2 / n));
  expect(Math.abs(moment(3))).toBeLessThan(5 * Math.sqrt(15 / n));
  expect(Math.abs(moment(4) - 3)).toBeLessThan(5 * Math.sqrt(96 / n));

  // Kolmogorov-Smirnov at one in a million
  const sorted = z.toSorted((a, b) => a - b);
  const furthest = Math.max(...sorted.map((x, i) => Math.abs((i + 0.5) / n - normalCdf(x))));
  expect(furthest).toBeLessThan(2.7 / Math.sqrt(n));
  for (const [i, { logProb }] of rows.entries()) {
    const want = -0.5 * z[i] ** 2 - logStd - 0.5 * Math.log(2 * Math.PI);
    expect(Math.abs(logProb - want)).toBeLessThan(learnerBounds.logProb.value);
  }
  const likely = await drawn("InvertedPendulum-v5", [mu], logStd, Flag.deterministic);
  expect(new Set(likely.map(({ number }) => number))).toEqual(new Set([Math.fround(mu)]));
});

test("actions are clipped to their bounds, or squashed into them", async () => {
  const last = (rows: Awaited<ReturnType<typeof drawn>>) =>
    rows.filter((_, s) => s % DRAWS === DRAWS - 1).map(({ number }) => number);
  const clipped = await drawn("InvertedPendulum-v5", [2], 0.5);
  expect(clipped.sent).toEqual(last(clipped).map((a) => Math.min(3, Math.max(-3, a))));
  expect(clipped.sent.filter((a) => a === 3).length).toBeGreaterThan(0);

  const squashed = await drawn("InvertedPendulum-v5", [2], 0.5, Flag.squash);
  last(squashed).forEach((a, w) => {
    expect(Math.abs(squashed.sent[w] - 3 * Math.tanh(a))).toBeLessThan(learnerBounds.squash.value);
  });
});

/** Abramowitz and Stegun 7.1.26, to 1.5e-7. */
function normalCdf(x: number): number {
  const a = Math.abs(x) / Math.SQRT2;
  const t = 1 / (1 + 0.3275911 * a);
  const tail =
    t *
    (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))) *
    Math.exp(-a * a);
  return x < 0 ? tail / 2 : 1 - tail / 2;
}
