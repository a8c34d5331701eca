// samples of the replay against a plain list of transitions, on the device and on the host; how they are spread
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import "../../../envs/index.ts";
import { seedKey } from "../../../src/core/rng.ts";
import { makeVec } from "../../../src/env/index.ts";
import { type GpuDevice, openDevice } from "../../../src/gpu/index.ts";
import { act, store } from "../../../src/rl/device/act.ts";
import { Flag } from "../../../src/rl/tables/device-tables.ts";
import { HostRows } from "../../../src/rl/replay/host-rows.ts";
import { startsOf } from "../../../src/rl/replay/row-store.ts";
import { setUniforms } from "../../../src/rl/sac/batch.ts";
import { sacShape } from "../../../src/rl/sac/arenas.ts";
import { sacConfig } from "../../../src/rl/sac/config.ts";
import { SacLearner } from "../../../src/rl/sac/learner.ts";
import { Sampler } from "../../../src/rl/replay/sampler.ts";
import { envShape } from "../../../src/rl/device/env-shape.ts";
import { holdDevice } from "../../support/hold-device.ts";

holdDevice();

const WORLDS = 6;
const STEPS = 60;
const CAPACITY = 25;
const BATCH = 128;
const SEED = 11;
const GAMMA = 0.9;
const DRAWS = 16;

let gpu: GpuDevice;
beforeAll(async () => {
  gpu = await openDevice();
});
afterAll(() => gpu.close());

/** What a plain replay keeps, with the number of the step. */
interface Transition {
  readonly t: number;
  readonly world: number;
  readonly obs: string;
  readonly action: number;
  readonly reward: number;
  readonly next: readonly number[];
  readonly terminated: boolean;
  readonly over: boolean;
}

/** Fills a ring by a policy that has learnt nothing, and beside it a plain list, as Gymnasium's next-step users keep. */
async function filled(nSteps: number) {
  const env = await makeVec("InvertedPendulum-v5", { numEnvs: WORLDS, seed: SEED, device: gpu, maxEpisodeSteps: 9 });
  const config = sacConfig({ hidden: [8], batchSize: BATCH, bufferSize: CAPACITY * WORLDS, nSteps, gamma: GAMMA });
  const learner = await SacLearner.create(gpu, sacShape(envShape(env), config));
  const { shape } = learner;
  learner.initialize(env, SEED, 1);
  setUniforms(learner, config, SEED);
  const bound = await learner.bindEnv(env);
  const rows = { id: "replay", worlds: WORLDS, capacity: CAPACITY, observations: 4, actions: 1 };
  const host = await HostRows.create(rows);

  const list: Transition[] = [];
  let obs = [...(await env.reset()).observations];
  let over = Array<boolean>(WORLDS).fill(false);
  const actions = new Float32Array(WORLDS * CAPACITY * 4);
  for (let t = 0; t < STEPS; t++) {
    await act(learner, bound, { t: t % CAPACITY, draw: t, flags: Flag.keep | (t < 40 ? Flag.random : 0) });
    const { observations, rewards, terminated, truncated } = await env.step(env.gpu!.actions);
    await store(learner, bound, { t: t % CAPACITY, flags: Flag.firstStep });
    await learner.read("replay_actions", actions);
    for (let world = 0; world < WORLDS; world++) {
      const from = obs.slice(4 * world, 4 * world + 4);
      const to = [...observations.subarray(4 * world, 4 * world + 4)];
      const action = actions[(world * CAPACITY + (t % CAPACITY)) * 4];
      const ended = terminated[world] + truncated[world] > 0;
      const flags = over[world] ? 4 : terminated[world] + 2 * truncated[world];
      host.write(world, Float32Array.from([...from, action, rewards[world], flags]));
      if (!over[world]) {
        list.push({
          t,
          world,
          obs: from.join(),
          action,
          reward: rewards[world],
          next: to,
          terminated: terminated[world] === 1,
          over: ended,
        });
      }
      over = over.with(world, ended);
    }
    host.advance(1);
    obs = [...observations];
  }
  expect(list.some(({ terminated }) => terminated)).toBe(true);
  expect(list.some((one) => one.over && !one.terminated)).toBe(true);
  const starts = startsOf(STEPS - CAPACITY, STEPS, nSteps);
  learner.uniforms.set({ ring_first: starts.first % CAPACITY, ring_starts: starts.count });
  const close = async () => {
    host.close();
    await learner.close();
    await env.close();
  };
  const sample = async (draw: number) => {
    learner.submit("sample", { rows: BATCH, draw }, (pass) => learner.run(pass, "sample", BATCH * shape.row4));
    return learner.read("batch", new Float32Array(BATCH * 4 * shape.row4));
  };
  const sampler = new Sampler({
    worlds: WORLDS,
    batch: BATCH,
    observations: 4,
    actions: 1,
    rowFloats: 4 * shape.row4,
    obsFloats: 4,
    actionFloats: 4,
    nSteps,
    gamma: GAMMA,
    key: seedKey(SEED),
  });
  return { list, host, sampler, sample, starts, close };
}

describe.each([1, 3])("returns of %i steps", (nSteps) => {
  test("samples are transitions of a plain replay; the host draws the same", async () => {
    const { list, host, sampler, sample, starts, close } = await filled(nSteps);
    const byObs = new Map(list.map((one) => [`${one.world}/${one.obs}`, one]));
    const at = new Map(list.map((one) => [`${one.world}/${one.t}`, one]));
    const found = new Map(
      Array.from({ length: WORLDS }, (_, w) => list.filter((x) => x.world === w))
        .flat()
        .map((x) => [x, 0]),
    );
    const into = new Float32Array(BATCH * 16);
    for (let draw = 0; draw < DRAWS; draw++) {
      const batch = await sample(draw);
      for (let row = 0; row < BATCH; row++) {
        const values = batch.subarray(row * 16, row * 16 + 16);
        const obs = [...values.subarray(0, 4)].join();
        const start = Array.from({ length: WORLDS }, (_, w) => byObs.get(`${w}/${obs}`)).find((one) => one)!;
        // in the ring, and followed by enough
        expect(start.t).toBeGreaterThanOrEqual(STEPS - CAPACITY);
        expect(start.t).toBeLessThan(STEPS - nSteps);
        found.set(start, found.get(start)! + 1);

        let [total, power, last] = [0, 1, start];
        for (let k = 0; k < nSteps; k++) {
          last = at.get(`${start.world}/${start.t + k}`)!;
          total += power * last.reward;
          power *= GAMMA;
          if (last.over) break;
        }
        expect([...values.subarray(4, 8)]).toEqual(last.next);
        expect(values[8]).toBe(start.action);
        expect(values[12]).toBeCloseTo(total, 5);
        expect(values[13]).toBeCloseTo(last.terminated ? 0 : power, 5);
        expect(values[14]).toBe(1);
      }
      sampler.fill(draw, host, starts, into);
      if (nSteps === 1) expect(into).toEqual(batch);
      else into.forEach((x, i) => expect(Math.abs(x - batch[i])).toBeLessThan(1e-6));
    }

    // chi-squared: each start as often as the others; five standard deviations of the sum
    const counts = [...found].filter(([{ t }]) => t >= STEPS - CAPACITY && t < STEPS - nSteps).map(([, n]) => n);
    const mean = (DRAWS * BATCH) / counts.length;
    const chi = counts.reduce((sum, n) => sum + (n - mean) ** 2 / mean, 0);
    const free = counts.length - 1;
    expect(Math.abs(chi - free)).toBeLessThan(5 * Math.sqrt(2 * free));
    await close();
  });
});
