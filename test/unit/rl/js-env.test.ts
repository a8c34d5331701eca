// PPO, SAC and collectors in environments that step in the user's own JavaScript: no physics, no device
import { describe, expect, test } from "vitest";
import { defineJsEnv, makeJsVec, type JsEnv, type JsVec } from "../../../src/env/js-env.ts";
import { Box, Discrete } from "../../../src/env/space/spaces.ts";
import { CorralError } from "../../../src/core/errors.ts";
import { dqnConfig } from "../../../src/rl/dqn/config.ts";
import { sacConfig } from "../../../src/rl/sac/config.ts";
import { Ppo } from "../../../src/rl/ppo.ts";
import { learnerEnvOf } from "../../../src/rl/device/js-vec.ts";
import { Sac } from "../../../src/rl/sac.ts";
import { Overlapped } from "../../../src/runs/overlapped.ts";
import { corridor, slide, stuck } from "../../support/maze.ts";

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

test("threads whose worlds never return are ended by the collector's close, and all is closed then", async () => {
  const ppo = await Ppo.create(makeJsVec(stuck, { numEnvs: 2 }), { ...PPO, rolloutSteps: 8, minibatches: 1 });
  const both = await Overlapped.create(ppo, { threads: 1, modules: MODULES });
  const update = both.iterate();
  await Promise.all([
    expect(update).rejects.toMatchObject({ code: "closed" }),
    both.collector.close().then(() => both.close()),
  ]);
  await expect(both.iterate()).rejects.toMatchObject({ code: "closed" });
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

test("worlds may all write their observations into one array", () => {
  const shared = new Float32Array(1);
  const put = (x: number) => shared.fill(x);
  const env: JsEnv = {
    id: "Shared",
    observationSpace: new Box({ low: 0, high: 9, shape: [1] }),
    actionSpace: new Discrete(2),
    makeWorld: (world) => ({
      reset: () => put(world),
      step: () => ({ observation: put(world + 0.5), reward: 0 }),
    }),
  };
  const worlds = makeJsVec(env, { numEnvs: 3 });
  expect(worlds.reset()).toEqual({ observations: [[0], [1], [2]] });
  expect(worlds.step(new Int32Array(3))).toMatchObject({ observations: [[0.5], [1.5], [2.5]] });
});

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
    [
      { observations: [0, 0, 0, 0, NaN, 0] },
      "returned observation 1 of world 1 as NaN; return finite numbers of float32.",
    ],
    [{ observations: "abcdef" }, 'returned observations as "abcdef"'],
    [{ observations: [0, 0, 0, 0, "1", 0] }, 'returned observation 1 of world 1 as "1"'],
    [{ observations: [[1, 2, 3]] }, "returned observations of 1 rows; return [2, 3]"],
    [{ terminated: [0, "no"] }, 'returned "no" as terminated of world 1'],
    [{ rewards: [1] }, "returned 1 rewards for 2 worlds; return one for each."],
    [{ truncated: null }, "returned null truncated for 2 worlds; return one for each."],
    [{ rewards: [1, Infinity] }, "returned the reward Infinity in world 1; return a finite number (of float32)."],
    [{ terminated: [true, true] }, 'the next one resets (autoreset "next-step"); return false there.'],
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

/** A world of two numbers whose calls are replaced. */
const made = (world: object, others: object = {}): JsEnv => ({
  id: "Own",
  observationSpace: new Box({ low: 0, high: 1, shape: [2] }),
  actionSpace: new Discrete(2),
  makeWorld: () => ({ reset: () => [0, 0], step: () => ({ observation: [0, 1], reward: 0 }), ...world }),
  ...others,
});

describe("environments that cannot be", () => {
  // oxlint-disable-next-line typescript/no-explicit-any
  const untyped = (value: unknown) => value as any;

  test.each([
    [{ maxEpisodeSteps: 0 }, "[bad-option] maxEpisodeSteps is 0; pass an integer from 1 to"],
    [{ maxEpisodeSteps: -3 }, "[bad-option] maxEpisodeSteps is -3"],
    [{ maxEpisodeSteps: NaN }, "[bad-option] maxEpisodeSteps is NaN"],
    [{ maxEpisodeSteps: "20" }, '[bad-option] maxEpisodeSteps is "20"'],
    [{ maxEpisodeSteps: 1.5 }, "[bad-option] maxEpisodeSteps is 1.5"],
    [{ maxEpisodeStep: 5 }, '[unknown-option] Own has no option "maxEpisodeStep"; nearest: maxEpisodeSteps'],
    [{ actionSpace: "box" }, '[bad-env] actionSpace of Own is "box"; pass a Box, Discrete'],
    [{ observationSpace: new Discrete(2) }, "[bad-env] observationSpace of Own is a Discrete; pass a Box"],
    [{ id: "" }, "[bad-env] an environment in JavaScript has an id"],
  ])("refuses %o", (others, text) => {
    expect(() => defineJsEnv(made({}, others))).toThrow(text);
    expect(() => makeJsVec(made({}, others), { numEnvs: 1 })).toThrow(text);
  });

  test("options of worlds are checked before any is made", () => {
    const never = made({}, { makeWorld: () => expect.unreachable() });
    const making = (options: unknown) => () => makeJsVec(never, untyped(options));
    expect(making({ numEnvs: 1e9 })).toThrow(
      "[bad-num-envs] numEnvs is 1000000000; pass an integer from 1 to 1048576.",
    );
    expect(making({})).toThrow("[bad-num-envs] numEnvs is undefined");
    expect(making(undefined)).toThrow("[bad-option] options is undefined");
    expect(making({ numEnvs: 2, seeds: 1 })).toThrow('[unknown-option] makeJsVec has no option "seeds"; nearest: seed');
    expect(making({ numEnvs: 2, worldIds: [1, 1] })).toThrow("[bad-world-ids] worldIds has 1 twice");
    expect(() => makeJsVec("Corridr", { numEnvs: 1 })).toThrow("[unknown-env]");
    expect(() => makeJsVec("Corridr", { numEnvs: 1 })).toThrow("nearest: Corridor");
    expect(() => learnerEnvOf(Object.assign(new Counting(), { step: 5 as never }))).toThrow(
      /bad-env.*step.* is 5; pass/,
    );
    expect(() => learnerEnvOf(Object.assign(new Counting(), { worldIds: [7] }))).toThrow(
      "[bad-env] worldIds of Counting is [7]",
    );
    expect(() => learnerEnvOf(Object.assign(new Counting(), { numEnvs: 1e9 }))).toThrow(/bad-env.*numEnvs of Counting/);
    expect(() => learnerEnvOf(Object.assign(new Counting(), { singleActionSpace: "box" }))).toThrow(
      /singleActionSpace/,
    );
  });

  const step = (change: object) => ({ step: () => ({ observation: [0, 1], reward: 0, ...change }) });
  test.each<[string, object, string]>([
    ["undefined", { step: () => undefined }, "step of world 7: it returned undefined; return { observation"],
    ["a promise", { step: async () => ({}) }, "step of world 7: it returned a promise, and worlds step synchronously"],
    ["a rejected promise", { step: () => Promise.reject(new Error("late")) }, "it returned a promise"],
    ["text for a flag", step({ terminated: "no" }), 'step of world 7: terminated is "no"; return true or false'],
    ["a number for a flag", step({ truncated: 1 }), "step of world 7: truncated is 1; return true or false"],
    ["a misspelt flag", step({ terminate: true }), 'a step has no field "terminate"; nearest: terminated'],
    ["a reward that is no number", step({ reward: "1" }), 'step of world 7: reward is "1"'],
    ["an infinite reward", step({ reward: 1e39 }), "step of world 7: reward is 1e+39; return a finite number"],
    ["a row too short", step({ observation: [0] }), "step of world 7: observation has 1 numbers; return 2"],
    ["no row", step({ observation: undefined }), "step of world 7: observation is undefined; return 2 numbers"],
    ["rows in a row", step({ observation: [[0, 1]] }), "observation[0] is [0,1]; return 2 numbers in one flat list"],
    ["NaN", step({ observation: [0, NaN] }), "step of world 7: observation[1] is NaN; return finite numbers"],
    ["text at the start", { reset: () => ["a", "b"] }, 'reset of world 7: observation[0] is "a"; return finite'],
    ["no start", { reset: () => "ab" }, 'reset of world 7: it returned "ab"; return a list of 2 numbers'],
    ["no step", { step: 3 }, "makeWorld of world 7: step of the world is 3; make it a function"],
  ])("refuses %s of a world", (_, world, text) => {
    const run = () => {
      const vec = makeJsVec(made(world), { numEnvs: 1, worldIds: [7] });
      void vec.reset();
      void vec.step(Int32Array.of(0));
    };
    expect(run).toThrow(CorralError);
    expect(run).toThrow("[bad-env] Own, ");
    expect(run).toThrow(text);
  });

  test("what a world throws has its place and cause; ends left out are false", async () => {
    const cause = new TypeError("no lamp");
    const throws = () => {
      throw cause;
    };
    const env = learnerEnvOf(makeJsVec(made({ step: throws }), { numEnvs: 2 }));
    await env.reset();
    const details = { id: "Own", place: "step", world: 0 };
    await expect(env.step([0, 0])).rejects.toMatchObject({ code: "bad-env", details, cause });
    await expect(env.step([0, 0])).rejects.toThrow("Own, step of world 0: it threw no lamp. Mend it");
    const draw = made({
      reset: ({ random }: { random: { integer: (i: number, n: number) => number } }) => [random.integer(7, 0), 0],
    });
    expect(() => makeJsVec(draw, { numEnvs: 1 }).reset()).toThrow(/reset of world 0: it threw \[bad-counter\] n is 0/);
    const own = learnerEnvOf(Object.assign(new Counting(), { step: throws }));
    await own.reset();
    await expect(own.step([5, 5])).rejects.toMatchObject({ code: "bad-env", cause });
    const silent = learnerEnvOf(Object.assign(new Counting(), { step: () => undefined }));
    await silent.reset();
    await expect(silent.step([5, 5])).rejects.toThrow("[bad-env] Counting, step: it returned undefined");
    const open = makeJsVec(made({}), { numEnvs: 1 });
    void open.reset();
    expect(open.step(Int32Array.of(0))).toMatchObject({ terminated: [false], truncated: [false] });
  });
});

test("learners name what takes an environment, and options that contradict each other", async () => {
  await expect(Sac.create(makeJsVec(corridor, { numEnvs: 1 }))).rejects.toThrow(
    "the actions of Corridor are discrete. Train it with SacDiscrete (--algo sac-discrete), DQN or PPO.",
  );
  expect(() => dqnConfig({ bufferSize: 100 })).toThrow("[bad-option] bufferSize is 100; pass at least batchSize, 128");
  expect(() => sacConfig({ bufferSize: 100 })).toThrow("[bad-option] bufferSize is 100; pass at least batchSize, 256");
  expect(() => dqnConfig({ explorationFinal: 0.5, explorationInitial: 0.2 })).toThrow(
    "[bad-option] explorationFinal is 0.5; pass at most explorationInitial, 0.2",
  );
});

describe("what a world saves", () => {
  const made = (id: string, save: () => unknown, load: (saved: unknown) => void = () => {}) =>
    makeJsVec(
      {
        id,
        observationSpace: new Box({ low: 0, high: 1, shape: [1] }),
        actionSpace: new Discrete(2),
        makeWorld: () => ({ reset: () => [0], step: () => ({ observation: [0], reward: 0 }), save, load }),
      },
      { numEnvs: 2 },
    );
  const cycle: Record<string, unknown> = {};
  cycle.cycle = cycle;

  test.each<[string, () => unknown]>([
    ["what it returned is NaN", () => NaN],
    ["what it returned is undefined", () => undefined],
    ["what it returned.at is a Float32Array", () => ({ at: new Float32Array(2) })],
    ["what it returned[1] is undefined", () => [1, undefined]],
    ["what it returned is a Map", () => new Map()],
    ["what it returned is 5n", () => 5n],
    ["some of it lies deeper than 64, or in itself", () => cycle],
  ])("is plain data: %s", async (text, save) => {
    await using ppo = await Ppo.create(made("Saving", save), PPO);
    await expect(ppo.snapshot()).rejects.toThrow(`[bad-env] Saving, save of world 0: ${text}; return plain data`);
  });

  test("or what it throws is told of", async () => {
    const fail = (): never => {
      throw new Error("no room");
    };
    await using ppo = await Ppo.create(made("Saving", fail), PPO);
    await expect(ppo.snapshot()).rejects.toThrow("[bad-env] Saving, save of world 0: it threw no room. Mend it.");
    await using other = await Ppo.create(
      made("Loading", () => ({ at: [1, undefined].slice(0, 1), none: undefined }), fail),
      PPO,
    );
    const snapshot = await other.snapshot();
    await expect(other.restore(snapshot)).rejects.toThrow("[bad-env] Loading, load of world 0: it threw no room.");
  });

  test("its own calls are checked as those of makeVec", () => {
    const vec = made("Own", () => 1);
    expect(() => vec.step(Int32Array.of(0, 0))).toThrow("[needs-reset] Own was not reset yet.");
    expect(() => vec.reset({ sed: 1 } as never)).toThrow('[unknown-option] reset has no option "sed"; nearest: seed.');
    void vec.reset();
    expect(() => vec.step(Int32Array.of(0))).toThrow("[bad-action] actions have 1 value");
    expect(() => vec.step([0, 5] as never)).toThrow("[bad-action] world 1, entry 0 of the action is 5");
    expect(vec.step([0, 1] as never)).toMatchObject({ rewards: [0, 0] });
  });
});
