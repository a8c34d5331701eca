// advantages, returns and normalisers against plain float64; Adam against its paper
import { afterAll, describe, expect, test } from "vitest";
import { Flag, SAMPLE, WORLD } from "../../../src/rl/tables/device-tables.ts";
import { RolloutUpload, type CollectedRollout } from "../../../src/rl/ppo/rollout-upload.ts";
import { metricsOf } from "../../../src/rl/device/metrics.ts";
import { countClipped, estimateAdvantages, observeMoments, trainMinibatch } from "../../../src/rl/ppo/update.ts";
import { makeCase, closeSharedDevice, STEPS, WORLDS, type LearnerCase } from "../../support/learner-case.ts";
import { learnerBounds } from "../../support/tolerances.ts";

const CASE: LearnerCase = {
  name: "Gaussian",
  env: { head: "gaussian", observations: 11, actions: 3, alternatives: [] },
  config: { hidden: [9], gamma: 0.97, gaeLambda: 0.9, clipRewards: 1.2 },
};
const [TERMINATED, TRUNCATED, SKIPPED] = [1, 2, 4];
const BOUND = learnerBounds.advantages.value;

afterAll(closeSharedDevice);

/** What happened in a world: one end of each kind somewhere, each followed by the step that resets. */
function story(world: number): number[] {
  const flags = Array<number>(STEPS).fill(0);
  const ends = [TERMINATED, TRUNCATED, TERMINATED | TRUNCATED];
  if (world > 0) flags[(world * 2) % STEPS] = ends[world % 3];
  if (world > 3) flags[(world * 2 + 4) % STEPS] = ends[(world + 1) % 3];
  return flags.map((f, t) => (t > 0 && flags[t - 1] !== 0 ? SKIPPED : f));
}

/** The same rollout as a collector hands it over: step after step. */
function rowsOf(records: Float32Array, worlds: Float32Array): CollectedRollout {
  const { observations, actions } = CASE.env;
  const column = (at: number) =>
    Float32Array.from({ length: STEPS * WORLDS }, (_, i) => {
      const [t, w] = [Math.floor(i / WORLDS), i % WORLDS];
      return records[(w * STEPS + t) * SAMPLE.size + at];
    });
  const [logProbs, values] = [column(0), column(1)];
  const actorOutputs = Float32Array.from({ length: 2 * (STEPS + 1) * WORLDS }, (_, i) => {
    const row = i >> 1;
    if (row >= STEPS * WORLDS) return worlds[(row - STEPS * WORLDS) * WORLD.size + WORLD.at("last_value")];
    return (i % 2 === 0 ? logProbs : values)[row];
  });
  return {
    steps: STEPS,
    numEnvs: WORLDS,
    observations: new Float32Array((STEPS + 1) * WORLDS * observations),
    actions: new Float32Array(STEPS * WORLDS * actions),
    rewards: column(2),
    flags: column(3),
    actorOutputs,
    episodes: { count: 0, returns: 0, lengths: 0 },
  };
}

describe("advantages and returns", () => {
  test.each([
    { scaled: true, collected: false },
    { scaled: false, collected: false },
    { scaled: true, collected: true },
  ])("%o", async ({ scaled, collected }) => {
    const { learner, config } = await makeCase(CASE, 21);
    await using _ = learner;
    const records = await learner.read("samples", new Float32Array(WORLDS * STEPS * SAMPLE.size));
    const worlds = await learner.read("worlds", new Float32Array(WORLDS * WORLD.size));
    for (let w = 0; w < WORLDS; w++) {
      story(w).forEach((f, t) => (records[(w * STEPS + t) * SAMPLE.size + SAMPLE.at("flags")] = f));
      worlds[w * WORLD.size + WORLD.at("discounted_return")] = 0.1 * w;
      worlds[w * WORLD.size + WORLD.at("last_value")] = 0.5 - 0.2 * w;
    }
    learner.write("worlds", new Float32Array(worlds));
    if (collected) new RolloutUpload(learner).send(rowsOf(records, worlds));
    else learner.write("samples", new Float32Array(records));
    const flags = (scaled ? Flag.scaleReward : 0) | (collected ? Flag.collected : 0);
    // what the worlds' last values were has no say then
    if (collected)
      learner.write(
        "worlds",
        worlds.map((x, i) => (i % WORLD.size === WORLD.at("last_value") ? 77 : x)),
      );
    estimateAdvantages(learner, flags | Flag.normalizeAdvantage);
    const found = await learner.read("samples", new Float32Array(records.length));
    const state = await learner.readState();

    // the deviation of discounted returns, over all worlds and steps that count
    const discounted: number[] = [];
    for (let w = 0; w < WORLDS; w++) {
      let g = Math.fround(0.1 * w);
      story(w).forEach((flags, t) => {
        if (flags === SKIPPED) return;
        g = config.gamma * g + records[(w * STEPS + t) * SAMPLE.size + SAMPLE.at("reward")];
        discounted.push(g);
        if (flags !== 0) g = 0;
      });
    }
    const factor = scaled ? 1 / Math.sqrt(variance(discounted) + 1e-8) : 1;
    expect(state[11]).toBeCloseTo(factor, 5);

    const advantages: number[] = [];
    let clipped = 0;
    for (let w = 0; w < WORLDS; w++) {
      let next = 0;
      for (let t = STEPS - 1; t >= 0; t--) {
        const at = (w * STEPS + t) * SAMPLE.size;
        const [value, raw, flags] = [records[at + 1], records[at + 2] * factor, records[at + 3]];
        if (flags === SKIPPED) {
          next = 0;
          continue;
        }
        const reward = Math.min(config.clipRewards, Math.max(-config.clipRewards, raw));
        if (reward !== raw) clipped++;
        const after =
          t === STEPS - 1
            ? worlds[w * WORLD.size + WORLD.at("last_value")]
            : records[at + SAMPLE.size + SAMPLE.at("value")];
        const delta = reward + (flags & TERMINATED ? 0 : config.gamma * after) - value;
        next = delta + (flags === 0 ? config.gamma * config.gaeLambda * next : 0);
        advantages.push(next);
        expect(Math.abs(found[at + 4] - next)).toBeLessThan(BOUND);
        expect(Math.abs(found[at + 5] - (next + value))).toBeLessThan(BOUND);
      }
    }
    expect(state[12]).toBeCloseTo(mean(advantages), 5);
    expect(state[13]).toBeCloseTo(1 / (Math.sqrt(variance(advantages)) + 1e-8), 4);
    const { samples, rewardsClipped } = metricsOf(state);
    expect([samples, rewardsClipped]).toEqual([advantages.length, clipped]);
  });
});

/** Rollouts with rewards of these, if others are small; what the normaliser is after each, and what is told. */
async function scales(rollouts: readonly (readonly number[])[]) {
  const { learner } = await makeCase(CASE, 26);
  await using _ = learner;
  const records = await learner.read("samples", new Float32Array(WORLDS * STEPS * SAMPLE.size));
  const found: { scale: number; leftOut: number }[] = [];
  for (const huge of rollouts) {
    const now = records.slice();
    for (let i = 0; i < WORLDS * STEPS; i++) {
      now[i * SAMPLE.size + SAMPLE.at("reward")] = huge[i] ?? Math.sin(i);
      now[i * SAMPLE.size + SAMPLE.at("flags")] = 0;
    }
    learner.write("samples", now);
    estimateAdvantages(learner, Flag.scaleReward);
    const { rewardScale, rewardsLeftOut } = metricsOf(await learner.readState());
    found.push({ scale: rewardScale, leftOut: rewardsLeftOut });
  }
  return found;
}

describe("huge rewards and the normaliser", () => {
  test.each([1e18, -1e18, 1e38, Infinity])("one of %s is left out, and reported", async (reward) => {
    const none = await scales([[0], [0], []]);
    const first = await scales([[reward], [0], []]);
    const later = await scales([[0], [reward], []]);
    expect(first.map(({ leftOut }) => leftOut)).toEqual([1, 0, 0]);
    expect(later.map(({ leftOut }) => leftOut)).toEqual([0, 1, 0]);
    expect(none.map(({ leftOut }) => leftOut)).toEqual([0, 0, 0]);
    // as if it had been nothing
    expect([first, later].map((rows) => rows.map(({ scale }) => scale))).toEqual(
      [none, none].map((rows) => rows.map(({ scale }) => scale)),
    );
  });

  test("all of them set the scale; where their squares overflow it stays, and all are told", async () => {
    const all = (reward: number) => Array.from({ length: WORLDS * STEPS }, (_, i) => reward * Math.sin(i));
    const [{ scale: usual }] = await scales([[]]);
    const [{ scale, leftOut }] = await scales([all(1e8)]);
    expect(leftOut).toBe(0);
    expect(scale / (1e8 * usual)).toBeCloseTo(1, 4);
    const [, over, after] = await scales([[], all(1e25), []]);
    expect(over).toEqual({ scale: usual, leftOut: WORLDS * STEPS });
    expect(after.leftOut).toBe(0);
    expect(after.scale / usual).toBeGreaterThan(0.5);
    expect(after.scale / usual).toBeLessThan(2);
  });
});

test("the moments of observations over several rollouts", async () => {
  const { learner, shape } = await makeCase(CASE, 22);
  await using _ = learner;
  const { k4, obs4, samples, env } = shape;
  const columns = Array.from({ length: env.observations }, (): number[] => []);
  for (let rollout = 0; rollout < 3; rollout++) {
    const obs = new Float32Array(samples * 4 * obs4);
    for (let s = 0; s < samples; s++) {
      for (let i = 0; i < env.observations; i++) {
        // far from 0, where sums of squares would cancel
        obs[s * 4 * obs4 + i] = 1000 * i + Math.sin(s * (i + 1) + rollout);
        columns[i].push(obs[s * 4 * obs4 + i]);
      }
    }
    learner.write("rollout_obs", obs);
    observeMoments(learner);
  }
  const norm = await learner.read("norm", new Float32Array(16 * k4));
  columns.forEach((column, i) => {
    expect(Math.abs(norm[i] / mean(column) - 1)).toBeLessThan(i === 0 ? 1e-3 : 1e-6);
    const deviation = Math.sqrt(variance(column));
    // observations up to 10,000 are themselves rounded by 5e-4
    expect(Math.abs(norm[4 * k4 + i] * deviation - 1)).toBeLessThan(1e-3);
  });
  for (let i = env.observations; i < 4 * k4; i++) expect([norm[i], norm[4 * k4 + i]]).toEqual([0, 0]);
});

test("extreme observations are counted, and those whose squares overflow leave the normaliser as it was", async () => {
  const { learner, shape } = await makeCase(CASE, 25);
  await using _ = learner;
  const { k4, obs4, samples, env } = shape;
  const obs = new Float32Array(samples * 4 * obs4);
  for (let s = 0; s < samples; s++) {
    for (let i = 0; i < env.observations; i++) obs[s * 4 * obs4 + i] = Math.sin(s + i);
  }
  // the normaliser is of mean 0 and deviation 1, and clips at 10
  for (const s of [0, 7, samples - 1]) obs[s * 4 * obs4 + 1] = s === 7 ? -11 : 1e25;
  obs[3 * 4 * obs4] = 10.5;
  learner.write("rollout_obs", obs);
  countClipped(learner);
  expect(metricsOf(await learner.readState()).observationsClipped).toBe(4);

  observeMoments(learner);
  const norm = await learner.read("norm", new Float32Array(16 * k4));
  expect([norm[1], norm[4 * k4 + 1]]).toEqual([0, 1]);
  expect(norm[0]).not.toBe(0);
  expect(norm.every(Number.isFinite)).toBe(true);
});

test.each([0, 0.3])(
  "Adam with shortened gradients, bounded log deviations and weight decay %s",
  async (weightDecay) => {
    const bounds = { maxGradNorm: 0.1, minLogStd: -0.2, maxLogStd: 0.2 };
    const { learner, shape, config, params } = await makeCase(
      { ...CASE, config: { ...CASE.config, learningRate: 0.05, ...bounds, weightDecay } },
      23,
    );
    await using _ = learner;
    const { params4, logStd } = shape.nets;
    const p = Float64Array.from(params);
    const [m, v] = [new Float64Array(p.length), new Float64Array(p.length)];
    for (let step = 1; step <= 5; step++) {
      const flags = step === 1 ? Flag.firstMinibatch : 0;
      trainMinibatch(learner, { first: 0, rows: shape.samples, keys: [1, 2, 3, 4], flags });
      const grads = await learner.read("grads", new Float32Array(4 * shape.total4));
      const count = grads[4 * params4];
      const g = Array.from(grads.subarray(0, 4 * params4), (x) => x / count);
      const norm = Math.hypot(...g);
      const factor = Math.min(1, config.maxGradNorm / norm);
      g.forEach((x, i) => {
        m[i] = config.beta1 * m[i] + (1 - config.beta1) * x * factor;
        v[i] = config.beta2 * v[i] + (1 - config.beta2) * (x * factor) ** 2;
        const unbiased = m[i] / (1 - config.beta1 ** step);
        const isLogStd = i >= 4 * logStd.at && i < 4 * logStd.at + logStd.count;
        // torch.optim.AdamW: the parameter decays, then Adam moves it
        if (!isLogStd) p[i] *= 1 - config.learningRate * weightDecay;
        p[i] -= (config.learningRate * unbiased) / (Math.sqrt(v[i] / (1 - config.beta2 ** step)) + config.adamEpsilon);
        if (isLogStd) p[i] = Math.min(config.maxLogStd, Math.max(config.minLogStd, p[i]));
      });
      const found = await learner.read("params", new Float32Array(p.length));
      found.forEach((x, i) => expect(Math.abs(x - p[i])).toBeLessThan(learnerBounds.adam.value));
    }
    expect(metricsOf(await learner.readState())).toMatchObject({ minibatches: 5, applied: 5, gradClipped: 1 });
  },
);

test.each([
  ["a rate", { learningRate: 3e38 }],
  ["decay", { learningRate: 1e30, weightDecay: 1 }],
])("%s that would write infinity changes no parameter", async (_name, config) => {
  const { learner, shape, params } = await makeCase({ ...CASE, config: { ...CASE.config, ...config } }, 23);
  await using _ = learner;
  // a number that no output depends on: only its decay moves it
  const idle = 4 * shape.nets.policy[0].b + 7;
  params[idle] = 1e20;
  learner.write("params", new Float32Array(params));
  learner.uniforms.set({ learning_rate: config.learningRate });
  const train = (flags: number) =>
    trainMinibatch(learner, { first: 0, rows: shape.samples, keys: [1, 2, 3, 4], flags });
  train(Flag.firstMinibatch);
  expect(metricsOf(await learner.readState())).toMatchObject({ minibatches: 0, halted: "step of Adam" });
  expect(await learner.read("params", new Float32Array(params.length))).toEqual(new Float32Array(params));
  const moments = await learner.read("moments", new Float32Array(8 * shape.nets.params4));
  expect(moments.every((x) => x === 0)).toBe(true);
});

test("an update stops at 1.5 times targetKl", async () => {
  const { learner, shape, params } = await makeCase(CASE, 24);
  await using _ = learner;
  learner.uniforms.set({ target_kl: 1e-6 });
  const flags = Flag.firstMinibatch | Flag.stopAtKl;
  trainMinibatch(learner, { first: 0, rows: shape.samples, keys: [1, 2, 3, 4], flags });
  expect(metricsOf(await learner.readState())).toMatchObject({ minibatches: 1, applied: 0, halted: undefined });
  expect(await learner.read("params", new Float32Array(params.length))).toEqual(params);
});

describe("what is not finite stops the update before it touches a parameter", () => {
  test.each([
    [
      "advantage",
      "samples",
      (values: Float32Array) => (values[SAMPLE.size * 3 + SAMPLE.at("advantage")] = NaN),
      "loss",
    ],
    [
      "return",
      "samples",
      (values: Float32Array) => (values[SAMPLE.size * 9 + SAMPLE.at("value_target")] = Infinity),
      "loss",
    ],
    ["observation", "rollout_obs", (values: Float32Array) => (values[2] = NaN), undefined],
  ] as const)("%s", async (_name, arena, spoil, reason) => {
    const { learner, shape, params } = await makeCase(CASE, 25);
    await using _ = learner;
    const size = arena === "samples" ? WORLDS * STEPS * SAMPLE.size : shape.samples * 4 * shape.obs4;
    const values = await learner.read(arena, new Float32Array(size));
    spoil(values);
    learner.write(arena, new Float32Array(values));
    const batch = { first: 0, rows: shape.samples, keys: [1, 2, 3, 4], flags: Flag.firstMinibatch };
    trainMinibatch(learner, batch);
    const { halted } = metricsOf(await learner.readState());
    const after = await learner.read("params", new Float32Array(params.length));
    expect(halted).toBe(reason);
    expect(after.every(Number.isFinite)).toBe(true);
    if (reason === undefined) return;
    expect(after).toEqual(params);
    // and so does all that follows
    trainMinibatch(learner, { ...batch, flags: 0 });
    expect(await learner.read("params", new Float32Array(params.length))).toEqual(params);
  });

  test("log standard deviation", async () => {
    const { learner, shape, params } = await makeCase(CASE, 26);
    await using _ = learner;
    const spoilt = new Float32Array(params);
    spoilt[4 * shape.nets.logStd.at + 1] = NaN;
    learner.write("params", spoilt);
    trainMinibatch(learner, { first: 0, rows: shape.samples, keys: [1, 2, 3, 4], flags: Flag.firstMinibatch });
    expect(metricsOf(await learner.readState()).halted).toBe("log standard deviation");
    expect(await learner.read("params", new Float32Array(params.length))).toEqual(spoilt);
  });
});

const mean = (of: readonly number[]): number => of.reduce((sum, x) => sum + x, 0) / of.length;
const variance = (of: readonly number[]): number => mean(of.map((x) => (x - mean(of)) ** 2));
