import { describe, expect, test } from "vitest";
import { RandomStream, streams } from "../../../src/core/rng.ts";
import { type Box, Discrete, type Task, type VecOptions } from "../../../src/env/index.ts";
import { info, make, message, still } from "../../support/rover-env.ts";

describe("what is done to terms", () => {
  test("noise, then clip, then scale, then weight", async () => {
    await using env = await make({
      reward: {
        a: { value: "3.0", clip: [0, 2], scale: 5, weight: -0.5 },
        b: { value: "action[0] > 0 ? 1 : 0", weight: 4 },
      },
      observe: { a: { value: "vec2(3, -3)", clip: [-2, 2], scale: [1, 10] }, b: "1 > 0" },
    });
    await env.reset();
    const { observations, rewards } = await env.step([1, 0, 0, 0]);
    expect([...observations]).toEqual([2, -20, 1, 2, -20, 1]);
    expect([...rewards]).toEqual([-5 + 4, -5]);
  });

  test("sums of an episode come by name", async () => {
    await using env = await make(
      { reward: { one: 1, action: "action[0]" }, maxEpisodeSteps: 3 },
      { autoreset: "same-step" },
    );
    await env.reset();
    for (let t = 1; t <= 2; t++) {
      await env.step([t, 0, 0, 0]);
      expect(env.infos.episode).toBeUndefined();
    }
    const { infos } = await env.step([3, 0, 1, 0]);
    expect([...infos.episode!.terms.one]).toEqual([3, 3]);
    expect([...infos.episode!.terms.action]).toEqual([6, 1]);
    expect([...infos.episode!.r]).toEqual([9, 4]);
    await env.step([0, 0, 0, 0]);
    await env.step([0, 0, 0, 0]);
    expect([...(await env.step([5, 0, 0, 0])).infos.episode!.terms.action]).toEqual([5, 0]);
  });

  test("noise is that of (seed, world, episode, step), whatever the batch", async () => {
    const task = {
      observe: { a: { value: "0.0", noise: 0.5 }, b: { value: "vec2(0)", noise: { uniform: [-1, 3] as const } } },
    };
    const run = async (options: Partial<VecOptions>) => {
      await using env = await make(task, { autoreset: "same-step", maxEpisodeSteps: 2, ...options });
      const seen: number[][] = [[...(await env.reset({ seed: 5 })).observations]];
      for (let t = 0; t < 3; t++) seen.push([...(await env.step(still(env))).observations]);
      return seen;
    };
    const both = await run({});
    const second = await run({ numEnvs: 1, worldIds: [1] });
    expect(both.map((row) => row.slice(3))).toEqual(second);
    expect(new Set(both.flat()).size).toBe(both.flat().length);

    // the first step of world 1: block 256, two words for the normal, then a block for the others
    const stream = new RandomStream(5, 1, 0, streams.observationNoise);
    expect(second[1][0]).toBeCloseTo(0.5 * stream.normal(4 * 256), 10);
    expect(second[1][1]).toBeCloseTo(-1 + 4 * stream.uniform(4 * 257), 10);
  });

  test.each(["next-step", "same-step", "disabled"] as const)(
    "history holds the last values, newest first: %s",
    async (autoreset) => {
      await using env = await make(
        {
          observe: { step: { value: "episode_length + 10 * episode", history: 3 }, now: "episode_length" },
          maxEpisodeSteps: 4,
        },
        { autoreset },
      );
      const rows = [[...(await env.reset()).observations].slice(0, 4)];
      for (let t = 0; t < 4; t++) rows.push([...(await env.step(still(env))).observations].slice(0, 4));
      const ended = [4, 3, 2, 4];
      const restarted = [10, 10, 10, 0];
      expect(rows.slice(0, 4)).toEqual([
        [0, 0, 0, 0],
        [1, 0, 0, 1],
        [2, 1, 0, 2],
        [3, 2, 1, 3],
      ]);
      expect(rows[4]).toEqual(autoreset === "same-step" ? restarted : ended);
      if (autoreset === "same-step") expect([...env.infos.final_obs!.values].slice(0, 4)).toEqual(ended);
      if (autoreset === "next-step")
        expect([...(await env.step(still(env))).observations].slice(0, 4)).toEqual(restarted);
    },
  );
});

test.each(["next-step", "same-step", "disabled"] as const)(
  "delays are of control steps, drawn by each episode, and the first value until they are over: %s",
  async (autoreset) => {
    const value = "10 + episode_length + 100 * episode";
    const observe = {
      now: { value, history: 2 },
      late: { value, delay: 2, history: 2 },
      drawn: { value, delay: [0, 3] as const },
    };
    const worlds = 32;
    await using env = await make({ observe, maxEpisodeSteps: 6 }, { autoreset, numEnvs: worlds });
    const rowsOf = (observations: ArrayLike<number>) =>
      Array.from({ length: worlds }, (_, w) => Array.from(observations).slice(5 * w, 5 * w + 5));
    const episode = [rowsOf((await env.reset({ seed: 3 })).observations)];
    for (let t = 0; t < 5; t++) episode.push(rowsOf((await env.step(still(env))).observations));
    const at = (t: number) => 10 + Math.max(0, t);
    const lags = episode[5].map((row) => row[0] - row[4]);
    expect(new Set(lags)).toEqual(new Set([0, 1, 2, 3]));
    episode.forEach((rows, t) =>
      rows.forEach((row, w) => expect(row).toEqual([at(t), at(t - 1), at(t - 2), at(t - 3), at(t - lags[w])])),
    );

    // the next episode begins with its own first value, late by another draw
    if (autoreset === "disabled") await env.step(still(env)).then(() => env.reset({ options: {} }));
    else for (let t = 0; t < (autoreset === "same-step" ? 1 : 2); t++) await env.step(still(env));
    expect(rowsOf(env.observations)[0]).toEqual([110, 110, 110, 110, 110]);
    for (let t = 0; t < 4; t++) await env.step(still(env));
    const next = rowsOf(env.observations).map((row) => row[0] - row[4]);
    expect(new Set(next)).toEqual(new Set([0, 1, 2, 3]));
    expect(next).not.toEqual(lags);
  },
);

describe("options of a batch", () => {
  test("observations are normalised by what the world has seen, and clipped", async () => {
    await using env = await make(
      { observe: { step: "episode_length * (world + 1)" }, maxEpisodeSteps: 3 },
      { autoreset: "same-step", observation: { normalize: true, clip: [-1.2, 1.2], history: 2 } },
    );
    const values: number[] = [];
    const expected = () => {
      const mean = values.reduce((a, b) => a + b, 0) / values.length;
      const variance = values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length;
      return Math.min(1.2, Math.max(-1.2, (values.at(-1)! - mean) / Math.sqrt(variance + 1e-8)));
    };
    for (const seed of [1, 1]) {
      values.length = 0;
      values.push(0);
      const { observations } = await env.reset({ seed });
      expect(observations[2]).toBeCloseTo(expected(), 9);
      for (const next of [2, 4]) {
        values.push(next);
        const before = expected();
        expect((await env.step(still(env))).observations[2]).toBeCloseTo(before, 9);
      }
      // the last of an episode counts, and the first of the next
      values.push(6);
      const last = expected();
      values.push(0);
      await env.step(still(env));
      expect(env.infos.final_obs!.values[2]).toBeCloseTo(last, 9);
    }
  });

  test("actions wait, are held, clipped and scaled", async () => {
    const control = { info: { left: "ctrl(actuator.left)", right: "ctrl(actuator.right)" } };
    const controls = async (action: VecOptions["action"], given: readonly number[]) => {
      await using env = await make(control, { numEnvs: 1, action });
      await env.reset();
      const out: number[] = [];
      for (const x of given) {
        await env.step([x, 0]);
        out.push(info(env, "left"));
      }
      return out;
    };
    expect(await controls({ delay: 2 }, [1, 2, 3, 4, 5])).toEqual([1, 1, 1, 2, 3]);
    expect(await controls({ hold: 2 }, [1, 2, 3, 4, 5])).toEqual([1, 1, 3, 3, 5]);
    expect(await controls({ delay: 1, hold: 2 }, [1, 2, 3, 4, 5])).toEqual([1, 1, 2, 2, 4]);
    expect(await controls({ clip: [-1, 1], scale: 0.5, offset: 2 }, [4, -4, 0.5])).toEqual([2.5, 1.5, 2.25]);

    await using env = await make(control, { numEnvs: 1, action: { scale: "ctrlrange" } });
    const { low, high } = env.singleActionSpace as Box;
    expect([...low, ...high]).toEqual([-1, -1, 1, 1]);
    await env.reset();
    await env.step([0.5, 0.5]);
    expect([info(env, "left"), info(env, "right")]).toEqual([0.5, 1]);
  });

  test("discrete actions wait and are held too", async () => {
    const task = {
      actionSpace: () => new Discrete(5),
      control: "vec2(action[0], 0)",
      info: { left: "ctrl(actuator.left)" },
    };
    await using env = await make(task, { numEnvs: 1, action: { delay: 1 } });
    await env.reset();
    const out: number[] = [];
    for (const x of [4, 3, 2]) {
      await env.step(Int32Array.of(x));
      out.push(info(env, "left"));
    }
    expect(out).toEqual([4, 4, 3]);
  });

  test("rewards are clipped, their terms are not", async () => {
    await using env = await make({ reward: { a: "action[0]", b: 1 } }, { reward: { clip: [-2, 2] } });
    await env.reset();
    const { rewards } = await env.step([5, 0, -9, 0]);
    expect([...rewards]).toEqual([2, -2]);
    expect(info(env, "a")).toBe(5);
  });

  test.each<[Partial<VecOptions>, string]>([
    [{ action: { delay: -1 } }, "[bad-option] action.delay is -1; pass an integer from 0 to 1000."],
    [{ action: { hold: 0 } }, "[bad-option] action.hold is 0; pass an integer from 1 to 1000."],
    [{ action: { scale: [1, 2, 3] } }, "[bad-option] action.scale is [1,2,3]; pass a finite number, or 2 of them."],
    [{ action: { dealy: 1 } as never }, '[unknown-option] action has no option "dealy"; nearest: delay.'],
    [{ action: { clip: [1, 0] } }, "[bad-option] action.clip is [1,0]; pass [low, high], finite, low <= high."],
    [
      { observation: { histroy: 2 } as never },
      '[unknown-option] observation has no option "histroy"; nearest: history.',
    ],
    [{ observation: { history: 0 } }, "[bad-option] observation.history is 0; pass an integer from 1 to 1000."],
    [{ reward: { clip: [0] as never } }, "[bad-option] reward.clip is [0]; pass [low, high], finite, low <= high."],
    [{ params: { speed: 1 } }, '[unknown-param] the task has no parameter "speed"; there are none.'],
  ])("%j is refused", async (options, text) => {
    expect(await message(() => make({}, options))).toBe(text);
  });
});

describe("parameters of a task", () => {
  const task: Partial<Task<object>> = {
    params: { speed: 2, pair: [1, 2] },
    reward: { speed: "param.speed", pair: "param.pair.y" },
  };

  test("differ between worlds and change between steps", async () => {
    await using env = await make(task, { numEnvs: 3, params: { speed: 7 } });
    await env.reset();
    expect([...(await env.step(still(env))).rewards]).toEqual([9, 9, 9]);
    await env.setParams({ speed: [1, 2, 3], pair: [0, 5] });
    expect([...(await env.step(still(env))).rewards]).toEqual([6, 7, 8]);
    await env.setParams({ pair: [0, 1, 0, 2] }, [2, 0]);
    expect([...(await env.step(still(env))).rewards]).toEqual([3, 7, 4]);
    expect([...env.getParam("speed")]).toEqual([1, 2, 3]);

    // a snapshot has them
    const saved = await env.snapshot();
    await env.setParams({ speed: 0 });
    await env.restore(saved);
    expect([...env.getParam("speed")]).toEqual([1, 2, 3]);
    expect([...(await env.step(still(env))).rewards]).toEqual([3, 7, 4]);
  });

  test("go with a reset of some worlds", async () => {
    await using env = await make(task);
    await env.reset();
    await env.reset({ options: { mask: [false, true], params: { speed: 9 } } });
    expect([...env.getParam("speed")]).toEqual([2, 9]);
  });

  test.each<[object, number[] | undefined, string]>([
    [{ sped: 1 }, undefined, '[unknown-param] the task has no parameter "sped"; nearest: speed.'],
    [{ speed: [1, 2, 3] }, undefined, "[bad-shape] speed has 3 values; pass 1, or 2 worlds of 1: 2."],
    [{ speed: NaN }, undefined, "[bad-value] speed[0] is NaN; it must be finite."],
    [{ speed: "1" }, undefined, '[bad-value] speed[0] is "1"; it must be finite.'],
    [null as never, undefined, "[bad-value] parameters are null; pass values by name: { name: 1 }."],
    [{ speed: 1 }, [5], "[bad-world]"],
    [{ speed: 1 }, "0" as never, '[bad-world] worlds are "0"; pass a list of worlds.'],
  ])("%j is refused", async (values, worlds, text) => {
    await using env = await make(task);
    await env.reset();
    expect((await message(() => env.setParams(values as never, worlds))).startsWith(text)).toBe(true);
    expect([...env.getParam("speed")]).toEqual([2, 2]);
  });

  test("are numbers", async () => {
    expect(await message(() => make({ params: { a: [] } }))).toBe(
      "[bad-task] task Rover: its parameter a is []; give it a finite number, or several.",
    );
  });
});
