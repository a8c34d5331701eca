// other moments of a run: forks, worlds alone, steps gone back to
import { expect, describe, test } from "vitest";
import { makeVec, type VectorEnv, type VecOptions } from "../../src/env/index.ts";
import "../../envs/index.ts";
import { codeOf } from "../support/lives.ts";
import { holdDevice } from "../support/hold-device.ts";

holdDevice();

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
  await expect(env.fork("3" as never).catch(codeOf)).resolves.toBe("bad-world");
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
