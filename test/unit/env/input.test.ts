// what environments refuse, in which words, and that nothing has changed then
import { show } from "../../../src/core/show.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { list, makeVec, planVec, register, type VectorEnv } from "../../../src/env/index.ts";
import { countdown } from "../../support/countdown.ts";
import { SHIPPED } from "../../support/shipped.ts";

const message = async (run: () => unknown): Promise<string> => {
  try {
    await run();
  } catch (error) {
    return (error as Error).message;
  }
  return "nothing was thrown";
};

describe("makeVec", () => {
  const make = (id: unknown, options: object = {}) =>
    message(() => makeVec(id as string, { numEnvs: 2, device: "cpu", ...options }));

  test("knows its environments, and the nearest names of others", async () => {
    expect(list()).toEqual(expect.arrayContaining(SHIPPED as string[]));
    expect(list()).toEqual([...list()].sort());
    expect(await make("Ant-v4")).toBe('[unknown-env] no environment is called "Ant-v4"; nearest: Ant-v5.');
    expect(await make("CartPole-v1")).toBe('[unknown-env] no environment is called "CartPole-v1"; nearest: CartPole.');
    expect(await make("Humanoid")).toBe(
      '[unknown-env] no environment is called "Humanoid"; nearest: Humanoid-v5, HumanoidStandup-v5, dm-humanoid-run.',
    );
    expect(await make("Fetch")).toMatch(
      /^\[unknown-env\] no environment is called "Fetch"; there are: Ant-v5, ArmLift, ArmPlace, ArmReach, /,
    );
    expect(await make("robots/arm.xml")).toMatch(
      /^\[unknown-env\] robots\/arm\.xml is a model, .* --robot robots\/arm\.xml /,
    );
    expect(await make(3)).toMatch(/^\[unknown-env\] the environment is 3; pass the id of one, or a task/);
  });

  test("refuses another task of a known id", () => {
    expect(() => register(countdown([], "Ant-v5"))).toThrow(
      "[duplicate-env] an environment Ant-v5 is registered already. Give this one another id.",
    );
  });

  test.each([
    [{ numEnvs: 0 }, "[bad-num-envs] numEnvs is 0; pass an integer from 1 to 4294967296."],
    [{ numEnvs: -3 }, "[bad-num-envs] numEnvs is -3; pass an integer from 1 to 4294967296."],
    [{ numEnvs: 1.5 }, "[bad-num-envs] numEnvs is 1.5; pass an integer from 1 to 4294967296."],
    [{ numEnvs: "4" }, '[bad-num-envs] numEnvs is "4"; pass an integer from 1 to 4294967296.'],
    [{ numEnvs: undefined }, "[bad-num-envs] numEnvs is undefined; it is the number of worlds: pass at least 1."],
    [
      { seed: -1 },
      "[bad-seed] seed is -1; a seed is an integer from 0 to 2^53 - 1 or a bigint from 0 to 2^64 - 1. Pass such as seed: 0.",
    ],
    [
      { seed: 0.5 },
      "[bad-seed] seed is 0.5; a seed is an integer from 0 to 2^53 - 1 or a bigint from 0 to 2^64 - 1. Pass such as seed: 0.",
    ],
    [{ autoreset: "always" }, '[bad-option] autoreset is "always"; pass "next-step" or "same-step" or "disabled".'],
    [{ frameSkip: 0 }, "[bad-option] frameSkip is 0; pass an integer from 1 to 1000000."],
    [{ maxEpisodeSteps: 2.5 }, "[bad-option] maxEpisodeSteps is 2.5; pass an integer from 1 to 16777216, or Infinity."],
    [
      { worldIds: [1] },
      "[bad-world-ids] worldIds has 1 ids; there are 2 worlds. Pass 2 different whole numbers from 0 to 4294967295.",
    ],
    [
      { worldIds: [1, 1] },
      "[bad-world-ids] worldIds has 1 twice. Pass 2 different whole numbers from 0 to 4294967295.",
    ],
    [{ worldIds: [1, -1] }, "[bad-world-ids] worldIds has -1. Pass 2 different whole numbers from 0 to 4294967295."],
    [{ onNonFinite: "warn" }, '[bad-option] onNonFinite is "warn"; pass "terminate" or "throw" or "ignore".'],
    [{ finite: { reward: NaN } }, "[bad-option] finite.reward is NaN; pass a finite number of float32."],
    [
      { device: "tpu" },
      '[bad-option] device is "tpu"; pass an open device, "auto", "gpu", "wasm", "cpu" or "cpu-f64".',
    ],
    [{ timestep: -0.1 }, "[bad-option] timestep is -0.1; pass a finite number above 0."],
    [{ nenvs: 3 }, '[unknown-option] Hopper-v5 has no option "nenvs"; nearest: numEnvs.'],
    [
      { ctrl_cost_wieght: 1 },
      '[unknown-option] Hopper-v5 has no option "ctrl_cost_wieght"; nearest: ctrl_cost_weight.',
    ],
    [{ ctrl_cost_weight: "1" }, '[bad-option] ctrl_cost_weight is "1"; pass a finite number.'],
    [
      { healthy_z_range: [2, 1] },
      "[bad-option] healthy_z_range is [2,1]; pass [low, high] with low <= high; an end may be infinite.",
    ],
    [{ recorder: { keep: 0 } }, "[bad-option] recorder.keep is 0; pass an integer from 1 to 256."],
    [{ recorder: { kep: 2 } }, '[unknown-option] recorder has no option "kep"; nearest: keep.'],
    [{ recorder: { worlds: [2] } }, '[bad-option] recorder.worlds is [2]; pass "all" or a list of worlds from 0 to 1.'],
    [
      { monitor: { worlds: [] } },
      "[bad-option] monitor.worlds is []; pass a list of 1 to 64 different worlds from 0 to 1.",
    ],
    [{ monitor: { worlds: [0], threshold: 0 } }, "[bad-option] monitor.threshold is 0; pass a number above 0."],
    [{ monitor: 3 }, "[bad-option] monitor is 3; pass an object of worlds, everySteps, threshold."],
    [{ terminate_when_unhealthy: 1 }, "[bad-option] terminate_when_unhealthy is 1; pass true or false."],
  ])("refuses %j", async (options, text) => {
    expect(await make("Hopper-v5", options)).toBe(text);
  });

  test("refuses bodies that Ant has not", async () => {
    expect(await make("Ant-v5", { main_body: "torsoo" })).toBe(
      '[unknown-name] the model has no body named "torsoo"; nearest: torso.',
    );
    expect(await make("Ant-v5", { main_body: 14 })).toBe(
      "[bad-option] main_body is 14; the model has bodies 0 to 13. Pass one of these, or a name.",
    );
  });

  test("takes options with underscores or in camel case", async () => {
    const plan = await planVec("Ant-v5", {
      num_envs: 3,
      numEnvs: 3,
      frame_skip: 2,
      ctrlCostWeight: 1,
      includeCfrcExtInObservation: false,
    } as never);
    expect(plan.numEnvs).toBe(3);
    expect(plan.fields.find((f) => f.name === "obs")!.perWorld).toBe(28);
  });
});

describe("an environment", () => {
  let env: VectorEnv;
  let before: unknown;
  const state = async () => [await env.getState(["qpos", "qvel", "time", "episode"]), [...env.observations]];

  beforeAll(async () => {
    env = await makeVec("Hopper-v5", { numEnvs: 2, device: "cpu" });
  });
  afterAll(() => env.close());

  test("is reset before it steps", async () => {
    expect(await message(() => env.step([0, 0, 0, 0, 0, 0]))).toBe(
      "[needs-reset] Hopper-v5 was not reset yet. Call reset() before step().",
    );
    expect(await message(() => env.reset({ options: { mask: [true, false] } }))).toBe(
      "[needs-reset] Hopper-v5 was not reset yet, so its first reset is of all worlds. Call reset() without a mask.",
    );
    await env.reset();
    before = await state();
  });

  test.each([
    [
      [0, 0, 0],
      "[bad-action] actions have 3 values; Box(-1, 1, [3], float32) takes float32 values of shape [2, 3]. Pass a Float32Array of 6 values.",
    ],
    [
      [0, 0, 0, 0, 0, NaN],
      "[bad-action] world 1, entry 2 of the action is NaN; it must be a finite float32. Pass such a value; no world was stepped.",
    ],
    [
      [0, Infinity, 0, 0, 0, 0],
      "[bad-action] world 0, entry 1 of the action is Infinity; it must be a finite float32. Pass such a value; no world was stepped.",
    ],
    [
      [
        [0, 0, 0],
        [0, 0],
      ],
      "[bad-action] the action of world 1 has 2 entries; Box(-1, 1, [3], float32) takes float32 values of shape [2, 3]. Pass a Float32Array of 6 values.",
    ],
    [
      new Int32Array(6),
      "[bad-action] actions are of type Int32Array; Box(-1, 1, [3], float32) takes float32 values of shape [2, 3]. Pass a Float32Array of 6 values.",
    ],
    [
      undefined,
      "[bad-action] actions are undefined; Box(-1, 1, [3], float32) takes float32 values of shape [2, 3]. Pass a Float32Array of 6 values.",
    ],
  ])("refuses the actions %j", async (actions, text) => {
    expect(await message(() => env.step(actions as never))).toBe(text);
    expect(await state()).toEqual(before);
  });

  test.each([
    [
      { seed: -1 },
      "[bad-seed] seed is -1; a seed is an integer from 0 to 2^53 - 1 or a bigint from 0 to 2^64 - 1. Pass such as seed: 0.",
    ],
    [{ seed: [1] }, "[bad-seed] seed has 1 entries; there are 2 worlds. Pass one seed, or 2."],
    [
      { seed: [1, "2"] },
      '[bad-seed] seed is "2"; a seed is an integer from 0 to 2^53 - 1 or a bigint from 0 to 2^64 - 1. Pass such as seed: 0.',
    ],
    [null, "[bad-option] what reset takes is null; reset takes { seed, options: { mask, params } }."],
    [{ options: [] }, "[bad-option] options is []; reset takes { seed, options: { mask, params } }."],
    [{ options: 3 }, "[bad-option] options is 3; reset takes { seed, options: { mask, params } }."],
    [
      { options: { mask: [true] } },
      "[bad-reset-mask] the reset mask has 1 entries; there are 2 worlds. Pass 2 booleans, at least one of them true.",
    ],
    [
      { seed: { of: 1 } },
      '[bad-seed] seed is {"of":1}; a seed is an integer from 0 to 2^53 - 1 or a bigint from 0 to 2^64 - 1. Pass such as seed: 0.',
    ],
    [
      { options: { mask: "all" } },
      '[bad-reset-mask] the reset mask is "all". Pass 2 booleans, at least one of them true.',
    ],
    [
      { options: { mask: [1, 0] } },
      "[bad-reset-mask] entry 0 of the reset mask is 1. Pass 2 booleans, at least one of them true.",
    ],
    [
      { options: { mask: [false, false] } },
      "[bad-reset-mask] the reset mask marks no world. Pass 2 booleans, at least one of them true.",
    ],
    [
      { options: { low: 1 } },
      '[unknown-option] reset has no option "low". It takes { seed, options: { mask, params } }.',
    ],
  ])("refuses the reset %j", async (options, text) => {
    expect(await message(() => env.reset(options as never))).toBe(text);
    expect(await state()).toEqual(before);
  });

  test("resets without options where they are null, as Gymnasium's are None", async () => {
    await env.reset({ options: null } as never);
    before = await state();
  });

  test.each([
    [{ qpoos: [0] }, '[unknown-field] this environment keeps no "qpoos"; nearest: qpos.'],
    [{ qpos: [0] }, "[bad-shape] qpos has 1 values; 2 worlds of 6 need 12."],
    [{ qvel: [...Array(11).fill(0), NaN] }, "[bad-value] qvel[5] of world 1 is NaN; it must be finite."],
    [
      { qvel: Array(12).fill([1]) },
      "[bad-value] qvel[0] of world 0 is [1]; it must be a number. Pass one flat list, row after row.",
    ],
    [
      { qvel: Array(12).fill(1), episode_length: [0, -1] },
      "[bad-value] episode_length[0] of world 1 is -1; it must be a whole number of 32 bits.",
    ],
  ])("refuses the state %j", async (values, text) => {
    expect(await message(() => env.setState(values as never))).toBe(text);
    expect(await state()).toEqual(before);
  });

  test("refuses worlds that are no list", async () => {
    const text = "[bad-option] worlds is 0; pass a list.";
    expect(await message(() => env.getState(["qpos"], 0 as never))).toBe(text);
    expect(await message(() => env.setState({ qpos: Array(12).fill(0) }, 0 as never))).toBe(text);
    expect(await state()).toEqual(before);
  });

  test("refuses values for a world that is named twice", async () => {
    const text = "[bad-world] worlds has 1 twice. Pass each world once.";
    expect(await message(() => env.setState({ qpos: Array(12).fill(0) }, [1, 1]))).toBe(text);
    expect(await state()).toEqual(before);
  });

  test("refuses a call while another is under way", async () => {
    const actions = new Float32Array(6);
    const step = env.step(actions);
    expect(await message(() => env.step(actions))).toBe(
      "[call-in-flight] cannot step: step has not resolved yet. Await it first.",
    );
    await step;
    await env.step(actions);
  });

  test("refuses snapshots of others", async () => {
    await using other = await makeVec("Hopper-v5", { numEnvs: 3, device: "cpu" });
    await other.reset();
    const snapshot = await other.snapshot();
    expect(await message(() => env.restore(snapshot))).toMatch(
      /^\[bad-snapshot\] the snapshot of Hopper-v5 has 3 worlds; Hopper-v5 has 2\./,
    );
  });

  test("refuses everything once it is closed", async () => {
    const other = await makeVec("CartPole", { numEnvs: 1, device: "cpu" });
    await other.reset();
    await other.close();
    await other.close();
    for (const call of [
      () => other.step([0]),
      () => other.reset(),
      () => other.read(),
      () => other.snapshot(),
      () => other.getState(["qpos"]),
    ]) {
      expect(await message(call)).toMatch(/^\[closed\] cannot .*: CartPole was closed\. Make another one\.$/);
    }
  });
});

test("seeds of worlds may be a typed array, and what draws is refused by its own names", async () => {
  await using env = await makeVec("InvertedPendulum-v5", { numEnvs: 2, device: "cpu" });
  const seen = async (seed: readonly number[] | Uint32Array | BigUint64Array) => [
    ...(await env.reset({ seed })).observations,
  ];
  const wanted = await seen([3, 4]);
  expect(await seen(Uint32Array.of(3, 4))).toEqual(wanted);
  expect(await seen(BigUint64Array.of(3n, 4n))).toEqual(wanted);
  for (const space of [env.actionSpace, env.singleActionSpace]) {
    expect(() => space.sample(1, { draws: 2 } as never)).toThrow(
      '[unknown-option] sample has no option "draws"; nearest: draw.',
    );
    expect(() => space.sample(1, { draw: -1 })).toThrow(
      "[bad-counter] draw is -1; pass an integer from 0 to 4294967295.",
    );
  }
  expect(() => env.actionSpace.sample(1, { worldIds: null as never })).toThrow(
    "[bad-option] worldIds is null; pass one id a world, or leave it out.",
  );
  expect(await message(() => makeVec("Ant-v5", 64 as never))).toBe(
    "[bad-option] options is 64; pass an object, such as { numEnvs: 64 }.",
  );
});

test("with autoreset disabled a world that is done is reset before the next step", async () => {
  const plans = [
    { terminate_at: 2, truncate_at: null },
    { terminate_at: null, truncate_at: null },
  ];
  await using env = await makeVec(countdown(plans), { numEnvs: 2, autoreset: "disabled", device: "cpu" });
  await env.reset();
  await env.step([0, 0]);
  const { infos } = await env.step([0, 0]);
  expect([infos.endedBy(0), infos.endedBy(1)]).toEqual([["terminate_at"], []]);
  for (const what of ["endedBy", "status", "statusNames"] as const)
    for (const world of [2, -1, 0.5, "0", undefined])
      expect(() => infos[what](world as number), `${what}(${world})`).toThrow(
        `[bad-world] world is ${show(world)}; the batch has worlds 0 to 1. Pass one of these.`,
      );
  expect(await message(() => env.step([0, 0]))).toBe(
    '[needs-reset] the episode of world 0 is over and autoreset is disabled; no world was stepped. Call reset({ options: { mask } }) first, in Python reset(options={"reset_mask": mask}).',
  );
  expect([...(await env.read()).observations]).toEqual([0, 2, 0, 2]);

  // without readback the host cannot know: worlds that are done stand still
  await env.reset();
  expect(await message(() => env.step([0, 0], { readBack: false } as never))).toMatch(
    /^\[unknown-option\] a step has no option "readBack".*readback/,
  );
  expect(await message(() => env.step([0, 0], false as never))).toMatch(/^\[bad-option\] options is false/);
  for (let i = 0; i < 5; i++) await env.step([0, 0], { readback: false });
  const { observations, terminated, rewards } = await env.read();
  expect([...observations]).toEqual([1, 2, 1, 5]);
  expect([...terminated]).toEqual([1, 0]);
  expect([...rewards]).toEqual([0, 15]);
});

test("tasks are checked when their kernels are traced", async () => {
  const task = countdown([{ terminate_at: null, truncate_at: null }]);
  const make = (change: object) =>
    message(() => makeVec({ ...task, ...change } as typeof task, { numEnvs: 1, device: "cpu" }));
  expect(await make({ actionSpace: undefined })).toBe(
    "[bad-task] task Countdown: the model has no actuators; give the task an actionSpace and a control.",
  );
  expect(await make({ observe: () => ({}) })).toBe(
    "[bad-task] task Countdown: its observation is empty; return at least one value.",
  );
  expect(await make({ info: () => ({ count: 0 }) })).toBe(
    "[bad-task] task Countdown: it names count twice; give each its own name.",
  );
  expect(await make({ control: () => [0] })).toBe(
    "[bad-task] task Countdown: it makes 1 controls; the model has 0 actuators.",
  );
  expect(await make({ reset: () => ({ qpos: [], qvel: [0] }) })).toBe(
    "[bad-term] task Countdown, reset: it returns 0 values of qpos; return 1.",
  );
});
