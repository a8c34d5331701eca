// SAC with a memory: sequences out of the ring, planned bytes, the same bits after a snapshot, what is refused
import { expect, test } from "vitest";
import "../../../envs/index.ts";
import { makeVec, type VectorEnv } from "../../../src/env/index.ts";
import { planSac, Sac } from "../../../src/rl/index.ts";
import { sacShape } from "../../../src/rl/sac/arenas.ts";
import { sampleBatch, setUniforms } from "../../../src/rl/sac/batch.ts";
import { sacConfig } from "../../../src/rl/sac/config.ts";
import { SacLearner } from "../../../src/rl/sac/learner.ts";
import { NOTE, StepFlag } from "../../../src/rl/tables/device-tables.ts";
import { ON_WASM } from "../../support/learner-case.ts";

const OPTIONS = {
  seed: 3,
  hidden: [8],
  recurrent: "lstm",
  recurrentSize: 8,
  recurrentSteps: 4,
  recurrentBurnIn: 2,
  batchSize: 32,
  bufferSize: 16 * 64,
  learningStarts: 200,
} as const;

const make = (numEnvs = 16): Promise<VectorEnv> =>
  makeVec("InvertedPendulum-v5", { numEnvs, seed: 3, device: "wasm", maxEpisodeSteps: 9 });

test("sequences are rows one after another; they count from the burn-in on, or from the start of an episode", async () => {
  const [worlds, capacity] = [3, 40];
  const { seed, ...given } = OPTIONS;
  const config = sacConfig({ ...given, bufferSize: worlds * capacity, gamma: 0.5 });
  const facts = { id: "ring", numEnvs: worlds, observations: 1, actions: 1, outputs: 1, head: "gaussian" } as const;
  await using learner = await SacLearner.create(ON_WASM, sacShape({ ...facts, alternatives: [] }, config));
  const { shape } = learner;
  const { lanes, unroll } = shape.cells!;
  setUniforms(learner, config, seed);

  // observations name their rows; the oldest lies at slot 7
  const oldest = 7;
  const skips = (row: number) => row % 11 === 4;
  const ends = (row: number) => row % 11 === 3;
  const [obs, steps] = [new Float32Array(worlds * capacity * 4), new Float32Array(worlds * capacity * 2)];
  for (let row = 0; row < worlds * capacity; row++) {
    obs[4 * row] = row;
    steps.set([row / 2, skips(row) ? StepFlag.skipped : ends(row) ? StepFlag.terminated : 0], 2 * row);
  }
  learner.write("replay_obs", obs);
  learner.write("replay_steps", steps);
  learner.uniforms.set({ ring_first: oldest, ring_starts: capacity - unroll });

  const width = 4 * shape.row4;
  let early = 0;
  for (let draw = 0; draw < 6; draw++) {
    sampleBatch(learner, draw);
    const batch = await learner.read("batch", new Float32Array(shape.batch * width));
    const resets = await learner.read("resets", new Float32Array(shape.batch));
    for (let lane = 0; lane < lanes; lane++) {
      const first = batch[lane * width];
      const base = first - (first % capacity);
      const slot = (age: number) => base + ((oldest + age) % capacity);
      const start = (first - base - oldest + capacity) % capacity;
      expect(start).toBeLessThan(capacity - unroll);
      for (let t = 0; t < unroll; t++) {
        const row = slot(start + t);
        const at = (t * lanes + lane) * width;
        expect(batch[at]).toBe(row);
        expect(batch[at + 4]).toBe(slot(start + t + 1));
        expect(resets[t * lanes + lane]).toBe(skips(row) ? 1 : 0);
        const notes = batch.subarray(at + 12, at + 12 + NOTE.size);
        expect(notes[NOTE.at("n_step_return")]).toBe(row / 2);
        expect(notes[NOTE.at("discount")]).toBe(ends(row) ? 0 : 0.5);
        // rows before this one, the one before the sequence among them
        const before = Array.from({ length: t + 1 }, (_, k) => start + k - 1).filter((age) => age >= 0);
        const knows = t >= config.recurrentBurnIn || before.some((age) => skips(slot(age)));
        expect(notes[NOTE.at("weight")]).toBe(knows && !skips(row) ? 1 : 0);
        if (knows && t < config.recurrentBurnIn) early++;
      }
    }
  }
  expect(early).toBeGreaterThan(0);
});

test("history costs a state for each world: the replay is as long as without", async () => {
  await using env = await make();
  const bytesOf = (options: object) =>
    Object.fromEntries(planSac(env, { ...OPTIONS, ...options }).fields.map(({ name, bytes }) => [name, bytes]));
  const [gru, lstm, none] = [bytesOf({ recurrent: "gru" }), bytesOf({}), bytesOf({ recurrent: "none" })];
  expect(gru).toMatchObject({ hidden: 16 * 8 * 4, eval_hidden: 16 * 8 * 4 });
  expect(lstm).toMatchObject({ hidden: 16 * 16 * 4, eval_hidden: 16 * 16 * 4 });
  expect(none).not.toHaveProperty("hidden");
  for (const ring of ["replay_obs", "replay_actions", "replay_steps"]) expect(lstm[ring]).toBe(none[ring]);
});

test("the same seed gives the same bits, after a snapshot too, and an evaluation changes nothing", async () => {
  await using env = await make();
  await using others = await make(5);
  await using sac = await Sac.create(env, OPTIONS);
  for (let i = 0; i < 20; i++) await sac.iterate();
  const saved = await sac.snapshot();
  const first = await sac.evaluate(others);
  for (let i = 0; i < 10; i++) expect((await sac.iterate()).minibatches).toBe(1);
  const wanted = await sac.parameters();
  expect(wanted.every(Number.isFinite)).toBe(true);

  await using second = await make();
  await using again = await Sac.create(second, OPTIONS);
  for (let i = 0; i < 30; i++) await again.iterate();
  expect(await again.parameters()).toEqual(wanted);
  await again.restore(saved);
  expect(await again.evaluate(others)).toEqual(first);
  for (let i = 0; i < 10; i++) await again.iterate();
  expect(await again.parameters()).toEqual(wanted);
});

test("what does not go with a memory is refused by name", async () => {
  await using env = await make(4);
  const refused = (options: object, code: string, message: string) =>
    expect(() => planSac(env, { ...OPTIONS, ...options })).toThrow(
      expect.objectContaining({ code, message: expect.stringContaining(message) }),
    );
  refused({ recurrentSize: 12 }, "bad-option", "recurrentSize");
  refused({ batchSize: 40 }, "bad-option", "multiple of 32");
  refused({ nSteps: 3 }, "bad-option", "returns are of one step");
  refused({ storage: "host" }, "bad-option", "drawn on the device");
  await using sac = await Sac.create(env, OPTIONS);
  expect(() => sac.collecting).toThrow(expect.objectContaining({ code: "unsupported-collector" }));
});
