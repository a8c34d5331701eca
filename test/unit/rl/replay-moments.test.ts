// the moments by which what learns from a replay normalises observations: of every row that was collected, wherever the replay lies; what they refuse
import { expect, test } from "vitest";
import "../../../envs/index.ts";
import { makeVec } from "../../../src/env/index.ts";
import { Dqn, Sac, SacDiscrete, type SacOptions } from "../../../src/rl/index.ts";
import { NORM } from "../../../src/rl/tables/device-tables.ts";
import { learnerBounds } from "../../support/tolerances.ts";

const [WORLDS, UPDATES, COLLECTED] = [5, 7, 3];
const [OBSERVATIONS, COLUMNS] = [11, 16];
const OPTIONS = {
  seed: 4,
  hidden: [8],
  batchSize: 8,
  collectSteps: COLLECTED,
  learningStarts: 1e6,
  bufferSize: WORLDS * COLLECTED * UPDATES,
  normalizeObservations: true,
} satisfies SacOptions;

const make = () => makeVec("Hopper-v5", { numEnvs: WORLDS, seed: 3, device: "wasm", maxEpisodeSteps: 9 });

/** What some updates that learn nothing leave. */
async function collected(options: SacOptions = {}) {
  await using env = await make();
  await using sac = await Sac.create(env, { ...OPTIONS, ...options });
  for (let i = 0; i < UPDATES; i++) await sac.iterate();
  const { learner } = await sac.snapshot();
  return { learner, policy: await sac.policy() };
}

test("the moments are those of all rows, and the policy takes them with it", async () => {
  const { learner, policy } = await collected();
  const norm = new Float32Array(learner.norm.buffer);
  const row = (i: number) => norm.subarray(i * COLUMNS, i * COLUMNS + OBSERVATIONS);
  const seen = new Float32Array(learner.replay_obs.buffer);
  const count = WORLDS * COLLECTED * UPDATES;
  expect(seen.length).toBe(12 * count);
  for (let i = 0; i < OBSERVATIONS; i++) {
    const column = Array.from({ length: count }, (_, s) => seen[12 * s + i]);
    const mean = column.reduce((sum, x) => sum + x, 0) / count;
    const variance = column.reduce((sum, x) => sum + (x - mean) ** 2, 0) / count;
    const bound = learnerBounds.advantages.value * (1 + Math.sqrt(variance));
    expect(Math.abs(row(NORM.mean)[i] - mean)).toBeLessThan(bound);
    expect(Math.abs(row(NORM.inverse_std)[i] * Math.sqrt(variance + 1e-8) - 1)).toBeLessThan(bound);
  }
  expect(norm[NORM.count * COLUMNS]).toBe(count);
  expect(policy.normalizer).toMatchObject({ mean: row(NORM.mean), inverseStd: row(NORM.inverse_std), clip: Infinity });
});

test.each([
  ["DQN", Dqn],
  ["SAC of discrete actions", SacDiscrete],
])("%s has moments of all rows too, and refuses snapshots without", async (_, Learner) => {
  await using env = await makeVec("CartPole", { numEnvs: WORLDS, seed: 3, device: "wasm" });
  const options = { ...OPTIONS, bufferSize: 1000 };
  const make = (normalizeObservations: boolean) => Learner.create(env, { ...options, normalizeObservations });
  await using learner = await make(true);
  for (let i = 0; i < UPDATES; i++) await learner.iterate();
  const snapshot = await learner.snapshot();
  const { mean, inverseStd } = (await learner.policy()).normalizer;
  const [rows, width] = [200, 4];
  const seen = new Float32Array(snapshot.learner.replay_obs.buffer);
  for (let i = 0; i < width; i++) {
    const column = Array.from({ length: WORLDS }, (_, world) =>
      Array.from({ length: COLLECTED * UPDATES }, (_, t) => seen[width * (world * rows + t) + i]),
    ).flat();
    const middle = column.reduce((sum, x) => sum + x, 0) / column.length;
    const variance = column.reduce((sum, x) => sum + (x - middle) ** 2, 0) / column.length;
    expect(Math.abs(mean[i] - middle)).toBeLessThan(learnerBounds.advantages.value);
    expect(Math.abs(inverseStd[i] * Math.sqrt(variance + 1e-8) - 1)).toBeLessThan(learnerBounds.advantages.value);
  }
  await using plain = await make(false);
  await expect(plain.adopt(snapshot)).rejects.toThrow("normalizeObservations: true");
  await using other = await make(true);
  await other.adopt(snapshot);
  expect((await other.policy()).normalizer).toEqual((await learner.policy()).normalizer);
});

test("they are the same of a ring that goes round, and of rows on the host", async () => {
  const { norm } = (await collected()).learner;
  // of 8 rows a world, three at a time: the newest lie across the end of the ring
  expect((await collected({ bufferSize: 8 * WORLDS })).learner.norm).toEqual(norm);
  expect((await collected({ storage: "host" })).learner.norm).toEqual(norm);
});

test("snapshots without them, and threads that collect, are refused by name", async () => {
  await using env = await make();
  await using sac = await Sac.create(env, OPTIONS);
  await using plain = await Sac.create(env, { ...OPTIONS, normalizeObservations: false });
  const [snapshot, other] = [await sac.snapshot(), await plain.snapshot()];
  for (const [learner, given] of [
    [plain, snapshot],
    [sac, other],
  ] as const) {
    await expect(learner.adopt(given)).rejects.toMatchObject({ code: "bad-snapshot" });
    await expect(learner.restore(given)).rejects.toMatchObject({ code: "bad-snapshot" });
  }
  await expect(plain.adopt(snapshot)).rejects.toThrow("normalizeObservations: true");
  const short = { ...snapshot, learner: { ...snapshot.learner, norm: snapshot.learner.norm.slice(1) } };
  await expect(sac.adopt(short)).rejects.toMatchObject({ code: "bad-snapshot", details: { arena: "norm" } });
  // what is refused has changed nothing, worlds neither
  await plain.iterate();
  const before = await plain.snapshot();
  await expect(plain.restore(snapshot)).rejects.toThrow("normalizeObservations: true");
  await expect(sac.restore(other)).rejects.toThrow("normalizeObservations: false");
  expect((await plain.snapshot()).env).toEqual(before.env);
  expect(() => sac.collecting).toThrow(expect.objectContaining({ code: "unsupported-collector" }));
});

test("snapshots whose arrays lie in a larger buffer are taken from where they lie", async () => {
  await using env = await make();
  await using sac = await Sac.create(env, OPTIONS);
  for (let i = 0; i < 2; i++) await sac.iterate();
  const snapshot = await sac.snapshot();
  const moved = (words: Uint32Array) => {
    const room = new Uint32Array(words.length + 3);
    room.set(words, 3);
    return room.subarray(3);
  };
  const learner = Object.fromEntries(Object.entries(snapshot.learner).map(([name, words]) => [name, moved(words)]));
  await using other = await Sac.create(env, OPTIONS);
  await other.adopt({ ...snapshot, learner });
  expect((await other.snapshot()).learner.norm).toEqual(snapshot.learner.norm);
  expect(other.named({ ...snapshot, learner })).toEqual(sac.named(snapshot));
});

test("moments of more rows than float32 counts go on moving", async () => {
  await using env = await make();
  await using sac = await Sac.create(env, OPTIONS);
  const snapshot = await sac.snapshot();
  const words = snapshot.learner.norm.slice();
  const norm = new Float32Array(words.buffer);
  const wide = 1e6;
  norm.fill(wide, NORM.variance * COLUMNS, NORM.variance * COLUMNS + OBSERVATIONS);
  norm.fill(2 ** 40, NORM.count * COLUMNS, (NORM.count + 1) * COLUMNS);
  await sac.restore({ ...snapshot, learner: { ...snapshot.learner, norm: words } });
  for (let i = 0; i < UPDATES; i++) await sac.iterate();
  const { learner } = await sac.snapshot();
  const variance = new Float32Array(learner.norm.buffer)[NORM.variance * COLUMNS];
  expect(variance).toBeLessThan(wide);
});
