// the cases of Gymnasium's own tests of vector environments (tests/vector), each theirs and ours: `vector_cases.json`
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { defineTask, Discrete, makeVec, type Autoreset, type Task, type VectorEnv } from "../../src/env/index.ts";
import "../../envs/index.ts";
import { expectedInfos, plainInfos, rows, type Call } from "../support/recorded-calls.ts";

interface Case {
  readonly test: string;
  readonly env: "Counter" | "Echo" | "Infos" | "CartPole-v1";
  readonly autoreset_mode?: string;
  readonly calls?: readonly Call[];
  readonly outcomes?: Readonly<Record<string, boolean | "taken" | "refused">>;
}
const { cases } = JSON.parse(
  readFileSync(new URL("../fixtures/gymnasium/vector_cases.json", import.meta.url), "utf8"),
) as { cases: Case[] };

const bare = {
  model: `<mujoco><worldbody><body><joint type="slide"/><geom size="1"/></body></worldbody></mujoco>`,
  frameSkip: 1,
  maxEpisodeSteps: Infinity,
  actionSpace: () => new Discrete(5),
  control: () => [],
};
/** Twins of the environments in tools/reference/record_vector_cases.py. */
const twins: Readonly<Record<string, Task>> = {
  // counts its steps and ends at `most`; the reward is the action
  Counter: defineTask({
    ...bare,
    id: "Counter",
    params: { most: 3 },
    observe: { count: "episode_length" },
    reward: { action: "action[0]" },
    terminated: { most: "episode_length == param.most" },
  }),
  // observes its action, which ends the episode from 3 on
  Echo: defineTask({
    ...bare,
    id: "Echo",
    observe: { action: "action[0] < 3 ? action[0] : 0" },
    reward: { none: 0 },
    terminated: { high: "action[0] >= 3" },
    info: { action: "action[0]" },
    resetInfo: { reset: 1 },
  }),
  // ends with each step
  Infos: defineTask({
    ...bare,
    id: "Infos",
    params: { a: 0, c: 0 },
    observe: { nothing: 0 },
    reward: { none: 0 },
    terminated: { always: "true" },
    info: { c: "param.c" },
    resetInfo: { a: "param.a" },
  }),
};
const PARAMS: Readonly<Record<string, Record<string, number[]>>> = {
  Counter: { most: [2, 3, 3] },
  Infos: { a: [1, 2], c: [3, 4] },
};

const INFOS: Readonly<Record<string, string[]>> = { Counter: [], Echo: ["action", "reset"], Infos: ["a", "c"] };

describe.each(["cpu", undefined] as const)("on device %s", (device) => {
  const place = device ? { device } : {};

  test.each(cases.filter((c) => c.calls).map((c): [string, Case] => [`${c.test}, ${c.env}, ${c.autoreset_mode}`, c]))(
    "%s",
    async (_, { env: twin, autoreset_mode, calls }) => {
      const numEnvs = calls![0].observations.data.length;
      const autoreset = autoreset_mode!.toLowerCase().replace("_", "-") as Autoreset;
      await using env = await makeVec(twins[twin], { numEnvs, autoreset, ...place });
      expect(env.autoreset).toBe(autoreset);
      for (const [k, call] of calls!.entries()) {
        const at = `call ${k} (${call.call})`;
        const options = {
          ...(call.reset_mask ? { mask: call.reset_mask } : {}),
          ...(k === 0 && PARAMS[twin] ? { params: PARAMS[twin] } : {}),
        };
        const result = call.call === "reset" ? await env.reset({ options }) : await env.step(call.actions as number[]);
        expect([...result.observations], at).toEqual(call.observations.data.flat());
        // statistics of episodes are a wrapper's there
        const { episode: _, _episode, ...ours } = plainInfos(result.infos, INFOS[twin]);
        const theirs = expectedInfos(call.infos);
        if (Array.isArray(theirs.final_obs))
          theirs.final_obs = theirs.final_obs.map((x: unknown) => (x === null ? null : [x].flat()));
        expect(ours, at).toEqual(theirs);
        if (call.call === "reset") continue;
        expect([...result.rewards], at).toEqual(call.rewards.data);
        expect([...result.terminated].map(Boolean), at).toEqual(call.terminated.data);
        expect([...result.truncated].map(Boolean), at).toEqual(call.truncated.data);
      }
    },
  );

  const cartpoles = (numEnvs = 3, autoreset: Autoreset = "disabled") =>
    makeVec("CartPole", { numEnvs, autoreset, ...place });
  const outcome = (call: () => Promise<unknown>) =>
    call().then(
      () => "taken",
      () => "refused",
    );
  const outcomes: Readonly<Record<string, () => Promise<Record<string, boolean | string>>>> = {
    async test_partial_reset() {
      await using env = await cartpoles();
      const start = rows((await env.reset({ seed: [0, 1, 2] })).observations, 4);
      for (let t = 0; t < 3; t++) await env.step([1, 1, 1]);
      const stepped = rows(env.observations, 4);
      const after = rows(
        (await env.reset({ seed: [0, 1, 0], options: { mask: [true, true, false] } })).observations,
        4,
      );
      return {
        "worlds of the mask start as their seeds say": same(after.slice(0, 2), start.slice(0, 2)),
        "the other world stays where it is": same(after[2], stepped[2]),
      };
    },
    async test_partial_reset_failure() {
      await using env = await cartpoles();
      const masks: Record<string, unknown> = {
        all: [true, true, true],
        "too short": [true],
        "too long": [true, true, false, false],
        "in a list of its own": [[true, true, true]],
        "of none": [false, false, false],
        "of whole numbers": [1, 1, 0],
        "of floats": [1.5, 1, 0],
        "of some": [true, false, true],
      };
      const found: Record<string, string> = {};
      for (const [name, mask] of Object.entries(masks))
        found[name] = await outcome(() => env.reset({ options: { mask: mask as boolean[] } }));
      return found;
    },
    async test_action_count_compatibility() {
      await using env = await cartpoles(4);
      await env.reset();
      const step = (actions: unknown) => outcome(() => env.step(actions as number[]));
      return {
        "one for each world": await step([0, 1, 0, 1]),
        "too few": await step([0, 1, 0]),
        "too many": await step([0, 1, 0, 1, 0]),
        "a number": await step(0),
      };
    },
    async test_random_seeding_basics() {
      await using env = await cartpoles(4);
      const start = async (seed?: number) => [...(await env.reset(seed === undefined ? {} : { seed })).observations];
      const [first, second, again] = [await start(42), await start(), await start(42)];
      return {
        "worlds start differently": new Set(rows(first, 4).map(String)).size === 4,
        "a reset without a seed goes on": !same(first, second),
        "the same seed starts the same": same(first, again),
        "and then goes on the same": same(await start(), second),
        "another seed starts otherwise": !same(await start(43), first),
      };
    },
    async test_sync_vector_determinism() {
      const run = async (): Promise<unknown[]> => {
        await using env = await cartpoles(3, "next-step");
        const all: unknown[] = [...(await env.reset({ seed: 123 })).observations];
        for (let t = 0; t < 100; t++) {
          const { observations, rewards, terminated, truncated } = await env.step(
            env.actionSpace.sample(0, { draw: t }),
          );
          all.push(...observations, ...rewards, ...terminated, ...truncated);
        }
        return all;
      };
      return { "two batches of one seed are equal": same(await run(), await run()) };
    },
    async test_step_out_of_order_async_vector_env() {
      const env: VectorEnv = await cartpoles();
      await env.reset();
      const step = env.step([1, 1, 1]);
      const during = [await outcome(() => env.step([1, 1, 1])), await outcome(() => env.reset())];
      await step;
      const after = await outcome(() => env.step([1, 1, 1]));
      await env.close();
      return {
        "a step while one is under way": during[0],
        "a reset while a step is under way": during[1],
        "a step after it": after,
        "a step after close": await outcome(() => env.step([1, 1, 1])),
      };
    },
  };
  const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

  test.each(cases.filter((c) => c.outcomes).map((c): [string, Case] => [c.test, c]))("%s", async (name, theirs) => {
    expect(await outcomes[name]()).toEqual(theirs.outcomes);
  });
});
