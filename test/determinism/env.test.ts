// a world's bits depend on its seed, its id and its actions alone: not on the run, the batch, the shard, what is read back,
// or a snapshot between. Ant, on the default adapter; 1,000 steps, and 4,096 worlds, with `test:full`.
import { createHash, type Hash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Autoreset, makeVec, type NamedOptions, type VectorEnv } from "../../src/env/index.ts";
import "../../envs/index.ts";
import { isFull } from "../support/sweep.ts";

const STEPS = isFull ? 1000 : 120;
const SHORT = 60;
/** More than one workgroup of each kind of kernel. */
const MANY = isFull ? 4096 : 320;
/** Where a snapshot is taken. */
const MIDDLE = 0.4 * STEPS;
/** So that each world starts over now and then. */
const LIMIT = 0.3 * STEPS;
/** Worlds that are watched, by id. */
const WATCHED = [0, 7, 8, 17, 40, 63];

/** Actions of a step: those of a world depend on its id and the step. A period, since drawing them takes longer than stepping. */
const PERIOD = 37;
function actionsOf(env: VectorEnv): Float32Array[] {
  const { worldIds } = env;
  return Array.from({ length: PERIOD }, (_, draw) => env.actionSpace.sample(11, { draw, worldIds }) as Float32Array);
}

interface Run {
  /** Hashes of every observation, reward and flag of each watched world. */
  readonly results: Readonly<Record<number, string>>;
  /** Hashes of the whole state at the end. */
  readonly states: Readonly<Record<number, string>>;
  /** Episodes that ended, as a check that resets are among the steps. */
  readonly ended: number;
}

const STATE = ["qpos", "qvel", "qacc_warmstart", "time", "position", "episode", "episode_length", "episode_return"];

async function stateHashes(env: VectorEnv, watched: readonly number[]): Promise<Record<number, string>> {
  const worlds = watched.map((id) => env.worldIds.indexOf(id));
  const state = await env.getState(STATE, worlds);
  return Object.fromEntries(
    watched.map((id, i) => {
      const hash = createHash("sha256");
      for (const values of Object.values(state)) {
        const width = values.length / watched.length;
        hash.update(Float32Array.from(values.subarray(i * width, (i + 1) * width)));
      }
      return [id, hash.digest("hex")];
    }),
  );
}

/** Watches worlds through steps `from` to `to`. */
class Watch {
  readonly hashes: Map<number, Hash>;
  ended = 0;
  readonly #env: VectorEnv;

  constructor(env: VectorEnv, watched: readonly number[]) {
    this.#env = env;
    this.hashes = new Map(watched.map((id) => [id, createHash("sha256")]));
  }

  look(): void {
    const env = this.#env;
    const nobs = env.singleObservationSpace.size;
    for (const [id, hash] of this.hashes) {
      const w = env.worldIds.indexOf(id);
      hash.update(env.observations.subarray(w * nobs, (w + 1) * nobs));
      hash.update(env.rewards.subarray(w, w + 1));
      hash.update(Uint8Array.of(env.terminated[w], env.truncated[w]));
      this.ended += env.terminated[w] | env.truncated[w];
    }
  }

  digests(): Record<number, string> {
    return Object.fromEntries([...this.hashes].map(([id, hash]) => [id, hash.copy().digest("hex")]));
  }
}

async function run(options: NamedOptions, watched: readonly number[], steps: number): Promise<Run> {
  await using env = await makeVec("Ant-v5", { seed: 5, maxEpisodeSteps: LIMIT, ...options });
  const actions = actionsOf(env);
  const watch = new Watch(env, watched);
  await env.reset();
  watch.look();
  for (let t = 0; t < steps; t++) {
    await env.step(actions[t % PERIOD]);
    watch.look();
  }
  return { results: watch.digests(), states: await stateHashes(env, watched), ended: watch.ended };
}

const pick = <T>(of: Readonly<Record<number, T>>, ids: readonly number[]) =>
  Object.fromEntries(ids.map((id) => [id, of[id]]));

describe("Ant", () => {
  let holder: VectorEnv;
  let reference: Run;
  let short: Run;
  beforeAll(async () => {
    // keeps the device and its compiled kernels
    holder = await makeVec("CartPole", { numEnvs: 1 });
    reference = await run({ numEnvs: 64 }, WATCHED, STEPS);
    short = await run({ numEnvs: 64 }, WATCHED, SHORT);
  });
  afterAll(() => holder?.close());

  test("falls and starts over now and then, in every world its own way", () => {
    expect(reference.ended).toBeGreaterThan(10);
    expect(new Set(Object.values(reference.results)).size).toBe(WATCHED.length);
  });

  test("the same again", async () => {
    expect(await run({ numEnvs: 64 }, WATCHED, STEPS)).toEqual(reference);
  });

  test("in a batch of one", async () => {
    const alone = await run({ numEnvs: 1, worldIds: [17] }, [17], STEPS);
    expect(alone.results).toEqual(pick(reference.results, [17]));
    expect(alone.states).toEqual(pick(reference.states, [17]));
  });

  test("in another place of a batch of others", async () => {
    const ids = [900, 63, 4000000000, 7, 0, 12, 40, 8, 1, 17];
    const mixed = await run({ numEnvs: ids.length, worldIds: ids }, WATCHED, SHORT);
    expect(mixed).toEqual(short);
  });

  test(`in a batch of ${MANY}`, async () => {
    const many = await run({ numEnvs: MANY }, WATCHED, isFull ? STEPS : SHORT);
    expect(many).toEqual(isFull ? reference : short);
  });

  test("in three shards", async () => {
    const options = { numEnvs: 64, shards: 3 };
    await using env = await makeVec("Ant-v5", options);
    expect(env.plan.shards.map((s) => s.worlds)).toEqual([24, 24, 16]);
    expect(await run(options, WATCHED, STEPS)).toEqual(reference);
  });

  test("without readback", async () => {
    await using env = await makeVec("Ant-v5", { seed: 5, maxEpisodeSteps: LIMIT, numEnvs: 64 });
    await using twin = await makeVec("Ant-v5", { seed: 5, maxEpisodeSteps: LIMIT, numEnvs: 64 });
    const actions = actionsOf(env);
    await env.reset();
    await twin.reset();
    for (let t = 0; t < STEPS; t++) {
      await env.step(actions[t % PERIOD], { readback: false });
      // reading now and then changes nothing
      if (t % 83 === 5) await env.read();
    }
    expect(await stateHashes(env, WATCHED)).toEqual(reference.states);
    for (let t = 0; t < SHORT; t++) {
      if (t % 7 === 0) await twin.step(actions[t % PERIOD]);
      else await twin.step(actions[t % PERIOD], { readback: false });
    }
    expect(await stateHashes(twin, WATCHED)).toEqual(short.states);
  });

  test("across a snapshot, in the same batch, in another one, and in other shards", async () => {
    const options = { seed: 5, maxEpisodeSteps: LIMIT, numEnvs: 64 };
    await using env = await makeVec("Ant-v5", options);
    await using other = await makeVec("Ant-v5", { ...options, seed: 99, shards: 3 });
    const actions = actionsOf(env);
    const watch = new Watch(env, WATCHED);
    await env.reset();
    watch.look();
    for (let t = 0; t < MIDDLE; t++) {
      await env.step(actions[t % PERIOD]);
      watch.look();
    }
    const snapshot = await env.snapshot();
    const seen = [...env.observations];

    // a batch that never was reset goes on from it, and this one comes back to it after going elsewhere
    const others = new Watch(other, WATCHED);
    const result = await other.restore(snapshot);
    expect([...result.observations]).toEqual(seen);
    for (let t = 0; t < 30; t++) await env.step(new Float32Array(env.actionSpace.size));
    await env.restore(snapshot);
    expect([...env.observations]).toEqual(seen);
    for (let t = MIDDLE; t < STEPS; t++) {
      await env.step(actions[t % PERIOD]);
      await other.step(actions[t % PERIOD]);
      watch.look();
      others.look();
    }
    expect(watch.digests()).toEqual(reference.results);
    expect(await stateHashes(env, WATCHED)).toEqual(reference.states);
    expect(await stateHashes(other, WATCHED)).toEqual(reference.states);
  });

  test("in same-step and next-step autoreset the episodes are the same", async () => {
    const starts = async (autoreset: Autoreset) => {
      // the order of resets is of no driver: same-step would be compiled for this alone
      const options = { numEnvs: 8, seed: 5, maxEpisodeSteps: 3, autoreset, device: isFull ? "gpu" : "wasm" } as const;
      await using env = await makeVec("Ant-v5", options);
      const seen: number[][] = [[...(await env.reset()).observations]];
      // next-step spends a call on each reset
      const calls = autoreset === "same-step" ? 3 : 4;
      for (let episode = 0; episode < 3; episode++) {
        for (let t = 0; t < calls; t++) await env.step(new Float32Array(env.actionSpace.size));
        seen.push([...env.observations]);
      }
      return seen;
    };
    expect(await starts("same-step")).toEqual(await starts("next-step"));
  });
});
