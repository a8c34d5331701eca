// PPO, SAC and collectors in environments that step in the user's own JavaScript: no physics, no device
import { describe, expect, test } from "vitest";
import { makeJsVec, type JsVec } from "../../../src/env/js-env.ts";
import { Box, Discrete } from "../../../src/env/space/spaces.ts";
import { Ppo } from "../../../src/rl/ppo.ts";
import { learnerEnvOf } from "../../../src/rl/device/js-vec.ts";
import { Sac } from "../../../src/rl/sac.ts";
import { Overlapped } from "../../../src/runs/overlapped.ts";
import { corridor, slide } from "../../support/maze.ts";

const MODULES = [new URL("../../support/maze.ts", import.meta.url).href];
const PPO = { seed: 3, hidden: [16], rolloutSteps: 32, minibatches: 4, epochs: 4, learningRate: 0.01 };
/** At best 0.85; who does not look at the goal has less than 0. */
const GOOD = 0.5;

test("PPO learns a corridor, and evaluates in other worlds", async () => {
  await using ppo = await Ppo.create(makeJsVec(corridor, { numEnvs: 16, seed: 1 }), PPO);
  while (ppo.envSteps < 16 * 32 * 20) await ppo.iterate();
  const { meanReturn, episodes } = await ppo.evaluate(makeJsVec("Corridor", { numEnvs: 8 }), { seed: 5 });
  expect(episodes).toBe(8);
  expect(meanReturn).toBeGreaterThan(GOOD);
});

test("SAC takes one with continuous actions, and goes on from a snapshot to the same bits", async () => {
  const make = () =>
    Sac.create(makeJsVec(slide, { numEnvs: 4, seed: 1 }), {
      seed: 2,
      hidden: [8],
      bufferSize: 1000,
      batchSize: 16,
      learningStarts: 16,
      collectSteps: 4,
      gradientSteps: 2,
    });
  await using once = await make();
  for (let i = 0; i < 10; i++) await once.iterate();
  const middle = await once.snapshot();
  for (let i = 0; i < 10; i++) await once.iterate();
  await using again = await make();
  await again.restore(middle);
  for (let i = 0; i < 10; i++) await again.iterate();
  expect(again.envSteps).toBe(320);
  expect(await again.parameters()).toEqual(await once.parameters());
});

test("threads collect in one while PPO learns, the same for any count of them", async () => {
  const learnt = async (threads: number) => {
    const ppo = await Ppo.create(makeJsVec(corridor, { numEnvs: 6 }), { ...PPO, rolloutSteps: 8, minibatches: 1 });
    await using both = await Overlapped.create(ppo, { threads, modules: MODULES });
    for (let i = 0; i < 3; i++) await both.iterate();
    expect(both.envSteps).toBe(144);
    return both.parameters();
  };
  expect(await learnt(2)).toEqual(await learnt(1));
});

/** Two worlds of three numbers; the first ends each third step. */
class Counting implements JsVec {
  readonly id = "Counting";
  readonly numEnvs = 2;
  readonly singleObservationSpace = new Box({ low: -Infinity, high: Infinity, shape: [3] });
  readonly singleActionSpace = new Discrete(2, 5);
  t = 0;
  seen: number[][] = [];
  change: object = {};
  reset() {
    this.t = 0;
    return { observations: [0, 0, 0, 0, 0, 0] };
  }
  step(actions: Float32Array | Int32Array) {
    this.t++;
    this.seen.push([...actions]);
    const ends = this.t % 4 === 3;
    const step = {
      observations: Float64Array.of(this.t, 0, 0, this.t, 0, 0),
      rewards: [this.t, 1],
      terminated: [ends, false],
      truncated: Uint8Array.of(0, 0),
    };
    return { ...step, ...this.change };
  }
}

describe("an object with Gymnasium's vector contract", () => {
  test("is stepped with its actions; returns and lengths of its episodes are counted", async () => {
    const own = new Counting();
    const env = learnerEnvOf(own);
    expect(learnerEnvOf(own)).toBe(env);
    await env.reset();
    const steps = [];
    for (let t = 0; t < 7; t++) {
      const { infos, rewards } = await env.step(Int32Array.of(5, 6));
      steps.push([...rewards, infos.episode?.r[0] ?? 0, infos.episode?.l[0] ?? 0]);
    }
    const quiet = (reward: number) => [reward, 1, 0, 0];
    // the fourth step starts an episode: its reward is none
    expect(steps).toEqual([quiet(1), quiet(2), [3, 1, 6, 3], quiet(0), quiet(5), quiet(6), [7, 1, 18, 3]]);
    expect(own.seen[0]).toEqual([5, 6]);
  });

  test("learns with its own smallest action", async () => {
    const own = new Counting();
    await using ppo = await Ppo.create(own, { ...PPO, rolloutSteps: 8, minibatches: 1 });
    const { episodes } = await ppo.iterate();
    expect(episodes).toBe(2);
    expect(own.seen.flat().every((action) => action === 5 || action === 6)).toBe(true);
    await expect(ppo.snapshot()).rejects.toThrow(/\[bad-snapshot\] Counting has no save\(\) and load\(saved\)/);
  });

  test.each([
    [{ observations: [1, 2] }, "returned observations of 2 numbers; return [2, 3]"],
    [{ observations: [[1, 2, 3], [4]] }, "returned observations of 2 rows, row 1 of 1 numbers; return [2, 3]"],
    [{ observations: [0, 0, 0, 0, NaN, 0] }, "returned observation 1 of world 1 as NaN"],
    [{ rewards: [1] }, "returned 1 rewards for 2 worlds"],
    [{ rewards: [1, Infinity] }, "returned the reward Infinity in world 1"],
    [{ terminated: [true, true] }, "ended the episode of world 0 in the step that starts it"],
  ])("refuses a step with %o", async (change, text) => {
    const own = new Counting();
    const env = learnerEnvOf(own);
    await env.reset();
    own.change = change;
    const two = async () => {
      await env.step([5, 5]);
      await env.step([5, 5]);
    };
    const error = await two().then(String, (why: Error) => why.message);
    expect(error).toMatch(/^\[bad-env\] Counting /);
    expect(error).toContain(text);
  });
});
