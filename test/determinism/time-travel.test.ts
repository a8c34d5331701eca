/** Other moments of a run: forks, worlds alone, steps gone back to; and what the recorder changes: nothing. */
import { createHash } from "node:crypto";
import { expect, describe, test } from "vitest";
import fc from "fast-check";
import { makeVec, type VectorEnv, type VecOptions } from "../../src/env/index.ts";
import "../../envs/index.ts";
import { codeOf } from "../support/lives.ts";

const N = 12;
const make = (options: Partial<VecOptions> = {}) =>
  makeVec("Hopper-v5", { numEnvs: N, seed: 4, maxEpisodeSteps: 25, device: "cpu", ...options });
const actionsAt = (env: VectorEnv, t: number) => env.actionSpace.sample(3, { draw: t, worldIds: env.worldIds });
const rowsOf = (env: VectorEnv, ids: readonly number[]) => {
  const size = env.singleObservationSpace.size;
  return ids.map((id) => {
    const w = env.worldIds.indexOf(id);
    return [
      ...env.observations.subarray(w * size, (w + 1) * size),
      env.rewards[w],
      env.terminated[w],
      env.truncated[w],
    ];
  });
};

async function run(env: VectorEnv, from: number, to: number, each?: (t: number) => void): Promise<void> {
  for (let t = from; t < to; t++) {
    await env.step(actionsAt(env, t));
    each?.(t);
  }
}

describe.each(["cpu", undefined] as const)("on device %s", (device) => {
  const on = device ? { device } : { device: undefined };

  test("a world alone and the first of many copies go on bit for bit; the others start other episodes", async () => {
    await using env = await make(on);
    await env.reset();
    await run(env, 0, 15);
    await using alone = await env.extract(7);
    await using fork = await env.fork([7, 3], 3);
    expect(alone.worldIds).toEqual([7]);
    expect(fork.worldIds).toEqual([7, 2 ** 31, 2 ** 31 + 1, 3, 2 ** 31 + 2, 2 ** 31 + 3]);
    expect(rowsOf(alone, [7])).toEqual(rowsOf(env, [7]));
    const episodes = new Set<string>();
    for (let t = 15; t < 45; t++) {
      for (const e of [env, alone, fork]) await e.step(actionsAt(e, t));
      expect(rowsOf(alone, [7])).toEqual(rowsOf(env, [7]));
      expect(rowsOf(fork, [7, 3])).toEqual(rowsOf(env, [7, 3]));
    }
    for (const id of fork.worldIds) episodes.add(JSON.stringify(rowsOf(fork, [id])));
    expect(episodes.size).toBe(6);
  });

  test("a recorded step is gone back to, and the way from there is the same", async () => {
    await using env = await make({ ...on, autoreset: "same-step", recorder: { everySteps: 4, keep: 3 } });
    await env.reset();
    const seen: unknown[] = [];
    const look = () => seen.push(rowsOf(env, env.worldIds));
    await run(env, 0, 22, look);
    // recorded: the segments that begin at 12, 16 and 20
    for (const step of [22, 15, 13]) {
      await env.seek(step);
      expect(env.steps).toBe(step);
      expect(rowsOf(env, env.worldIds)).toEqual(seen[step - 1]);
    }
    await expect(env.seek(12).catch(codeOf)).resolves.toBe("not-recorded");
    await expect(env.seek(14).catch(codeOf)).resolves.toBe("not-recorded");
    for (let t = 13; t < 22; t++) {
      await env.step(actionsAt(env, t));
      expect(rowsOf(env, env.worldIds)).toEqual(seen[t]);
    }
    await env.seek(17);
    expect(rowsOf(env, env.worldIds)).toEqual(seen[16]);
  });
});

test("where nothing is recorded there is no way back", async () => {
  await using env = await make({ recorder: false });
  await env.reset();
  await run(env, 0, 3);
  await expect(env.seek(2).catch(codeOf)).resolves.toBe("not-recorded");
  await expect(env.fork([99]).catch(codeOf)).resolves.toBe("bad-world");
  await expect(env.fork([3, 3]).catch(codeOf)).resolves.toBe("bad-world");
  await expect(env.fork([3], 0).catch(codeOf)).resolves.toBe("bad-option");
});

test("a fork has the recorder of what it came from, unless another is asked for", async () => {
  const arenas = (env: VectorEnv) => env.plan.arenas.map(({ name }) => name);
  await using none = await make({ recorder: false });
  await none.reset();
  await using still = await none.extract(3);
  await using own = await none.fork([3], 2, { recorder: { everySteps: 2 } });
  expect([arenas(still), arenas(own)].map((names) => names.includes("record_state"))).toEqual([false, true]);

  await using some = await make({ recorder: { worlds: [3], everySteps: 5 } });
  await some.reset();
  await run(some, 0, 3);
  await using like = await some.extract(7);
  await run(like, 3, 8);
  // five steps to a copy, as asked of the first
  await like.seek(4);
  expect(like.steps).toBe(4);
  expect(arenas(like)).not.toContain("record_places");
  await using without = await some.extract(7, { recorder: false });
  expect(arenas(without)).not.toContain("record_state");
});

test("bits do not depend on the recorder, the batch, the shards, what is read, or calls that look", async () => {
  const STEPS = 30;
  const watched = [5, 40, 63];
  const schedule = fc.record({
    recorder: fc.constantFrom(true, false, { everySteps: 3, keep: 2 }, { worlds: [0, 2], everySteps: 5 }),
    shards: fc.integer({ min: 1, max: 2 }),
    more: fc.uniqueArray(fc.integer({ min: 100, max: 999 }), { minLength: 6, maxLength: 20 }),
    unread: fc.array(fc.boolean(), { minLength: STEPS, maxLength: STEPS }),
    travel: fc.array(fc.constantFrom("nothing", "snapshot", "seek", "health"), { minLength: STEPS, maxLength: STEPS }),
  });
  const hashOf = async (env: VectorEnv) => {
    const worlds = watched.map((id) => env.worldIds.indexOf(id));
    const state = await env.getState(["qpos", "qvel", "qacc_warmstart", "time", "episode", "episode_return"], worlds);
    return Object.values(state)
      .reduce((hash, values) => hash.update(values), createHash("sha256"))
      .digest("hex");
  };
  await using plain = await make({ numEnvs: 3, worldIds: watched, recorder: false });
  await plain.reset();
  await run(plain, 0, STEPS);
  const wanted = await hashOf(plain);

  await fc.assert(
    fc.asyncProperty(schedule, async ({ recorder, shards, more, unread, travel }) => {
      const worldIds = [...more.slice(3), ...watched, ...more.slice(0, 3)];
      await using env = await make({ numEnvs: worldIds.length, worldIds, recorder, shards });
      await env.reset();
      for (let t = 0; t < STEPS; t++) {
        if (unread[t]) await env.step(actionsAt(env, t), { readback: false });
        else await env.step(actionsAt(env, t));
        if (travel[t] === "snapshot") await env.restore(await env.snapshot());
        if (travel[t] === "health") env.health();
        if (travel[t] === "seek") await env.seek(env.steps).catch(codeOf);
      }
      expect(await hashOf(env)).toBe(wanted);
    }),
    { numRuns: process.env.CORRAL_FULL === "1" ? 100 : 10 },
  );
});
