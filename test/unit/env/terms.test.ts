import { describe, expect, test } from "vitest";
import type { CorralError } from "../../../src/core/errors.ts";
import { RandomStream, streams } from "../../../src/core/rng.ts";
import {
  accelerationCost,
  actionRateCost,
  airTime,
  angularVelocity,
  type Box,
  command,
  contactForce,
  controlCost,
  Discrete,
  heading,
  height,
  inContact,
  jointLimitCost,
  jointLimits,
  linearVelocity,
  makeVec,
  notFinite,
  outside,
  position,
  powerCost,
  projectedGravity,
  push,
  ramp,
  startAround,
  tilt,
  timeOut,
  torqueCost,
  touchdown,
  tracking,
  upright,
  velocityCost,
  velocityLimit,
  type Task,
  type VecOptions,
  type VectorEnv,
} from "../../../src/env/index.ts";
import { rover } from "../../support/rover.ts";

const DOUBLE = { device: "cpu-f64" } as const;

const make = (task: Partial<Task<object>>, options: Partial<VecOptions> = {}): Promise<VectorEnv> =>
  makeVec(rover(task), { numEnvs: 2, ...DOUBLE, ...options });

async function message(run: () => Promise<unknown>): Promise<string> {
  try {
    await run();
  } catch (error) {
    return (error as CorralError).message;
  }
  return "nothing was refused";
}

const still = (env: VectorEnv) => new Float32Array(env.actionSpace.size);
const info = (env: VectorEnv, name: string, world = 0) => env.infos.get(name)!.values[world];

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

describe("the library", () => {
  test("agrees with MuJoCo's sensors and with expressions", async () => {
    await using env = await make(
      {
        frameSkip: 1,
        info: {
          height: height("torso"),
          height_text: "xpos(body.torso).z",
          upright: upright("torso"),
          tilt: tilt("torso"),
          heading: heading("torso"),
          control: controlCost(),
          control_text: "sum(square(action))",
          acceleration: accelerationCost(["hip_left"]),
          acceleration_text: "square(qacc(hip_left))",
          velocity: velocityCost(["hip_left", "hip_right"]),
          velocity_text: 'sum(square(qvel(joint["hip_*"])))',
          torque: torqueCost(),
          torque_text: "sum(square(qfrc_actuator))",
          power: powerCost(),
          power_text: "sum(abs(actuator_force * actuator_velocity))",
          rate: actionRateCost(),
          limit: jointLimitCost({ free: 0 }),
          limit_text: 'sum(abs(qpos(joint["hip_*"])))',
          tracking: tracking(position("torso"), "vec3(0, 0, 0.3)", 0.5),
          tracking_text: "exp(-sum(square(xpos(body.torso) - vec3(0, 0, 0.3))) / 0.25)",
          force: contactForce("left leg"),
          touched: { value: inContact("left leg") },
          ramp: ramp(1, 3, 4),
        },
        observe: {
          linear: linearVelocity("torso"),
          linear_text: "sensor(velocity)",
          angular: angularVelocity("torso"),
          angular_text: "sensor(gyro)",
          world: linearVelocity("torso", { frame: "world" }),
          gravity: projectedGravity("torso"),
          gravity_text: "unrotate(xquat(body.torso), vec3(0, 0, -1))",
        },
        reset: (s) => ({ ...startAround({ qpos: 0.1, qvel: 1 })(s) }),
      },
      { numEnvs: 1 },
    );
    await env.reset({ seed: 2 });
    let touched = 0;
    for (let t = 0; t < 40; t++) {
      const { observations } = await env.step([0.5, Math.sin(t)]);
      for (let k = 0; k < 6; k++)
        expect(observations[(k < 3 ? 0 : 3) + k]).toBeCloseTo(observations[(k < 3 ? 3 : 6) + k], 9);
      for (let k = 15; k < 18; k++) expect(observations[k]).toBeCloseTo(observations[k + 3], 9);
      for (const name of ["height", "control", "acceleration", "velocity", "torque", "power", "limit", "tracking"]) {
        expect(info(env, name), name).toBeCloseTo(info(env, `${name}_text`), 9);
      }
      expect(Math.cos(info(env, "tilt"))).toBeCloseTo(info(env, "upright"), 9);
      expect(info(env, "touched")).toBe(info(env, "force") > 1 ? 1 : 0);
      touched += info(env, "touched");
      if (t > 0) expect(info(env, "rate")).toBeCloseTo((Math.sin(t) - Math.sin(t - 1)) ** 2, 6);
    }
    expect(touched).toBeGreaterThan(0);
    expect(info(env, "ramp")).toBe(1);
  });

  test("time in the air counts from touch to touch", async () => {
    await using env = await make(
      {
        info: { air: airTime("left leg"), landed: touchdown("left leg", 0.1), touched: "sensor(contact_left)" },
        observe: { air: airTime("left leg") },
        reset: startAround({}),
      },
      { numEnvs: 1 },
    );
    expect((await env.reset()).observations[0]).toBe(0);
    let expected = 0;
    let landings = 0;
    for (let t = 0; t < 40; t++) {
      const { observations } = await env.step(still(env));
      const isLanding = info(env, "landed") !== 0;
      if (info(env, "air") === 0) {
        if (isLanding) expect(info(env, "landed")).toBeCloseTo(expected - 0.1, 9);
        landings += Number(isLanding);
        expected = 0;
      } else expected += 0.02;
      expect(info(env, "air")).toBeCloseTo(expected, 9);
      expect(observations[0]).toBeCloseTo(expected, 9);
    }
    expect(landings).toBeGreaterThan(0);
  });

  test("conditions end episodes and say so", async () => {
    const ends = async (terminated: Task<object>["terminated"], action = 1) => {
      await using env = await make(
        { terminated: terminated! },
        { numEnvs: 1, maxEpisodeSteps: 200, autoreset: "disabled" },
      );
      await env.reset();
      for (let t = 1; t <= 200; t++) {
        const step = await env.step([action, action]);
        if (step.terminated[0]) return [t, ...env.infos.endedBy(0)];
        if (step.truncated[0]) return [];
      }
      return [];
    };
    expect(await ends({ late: timeOut(0.5) })).toEqual([25, "late"]);
    expect(await ends({ low: outside("xpos(body.torso).z", 0.349, Infinity), never: notFinite() })).toEqual([
      expect.any(Number),
      "low",
    ]);
    expect(await ends({ fast: velocityLimit(3, ["hip_left"]) })).toEqual([expect.any(Number), "fast"]);
    expect(await ends({ beyond: jointLimits() }, 2)).toEqual([expect.any(Number), "beyond"]);
    expect(await ends({ beyond: jointLimits({ joints: ["hip_left"], margin: 10 }) }, 2)).toEqual([]);
  });

  test("commands change in their time and stay in their ranges", async () => {
    const task: Partial<Task<object>> = {
      params: { reach: 1 },
      observe: {
        command: command(
          [
            ["-param.reach", "param.reach"],
            [5, 6],
          ],
          { every: [0.06, 0.06] },
        ),
      },
      info: {
        reward: (s) =>
          command(
            [
              ["-param.reach", "param.reach"],
              [5, 6],
            ],
            { every: [0.06, 0.06] },
          )(s)[0],
      },
    };
    await using env = await make(task, { numEnvs: 2 });
    await env.setParams({ reach: 0.001 }, [1]);
    let last = [...(await env.reset({ seed: 1 })).observations];
    const changes: number[] = [];
    for (let t = 1; t <= 12; t++) {
      const now = [...(await env.step(still(env))).observations];
      // what is rewarded is what the agent was told
      expect(info(env, "reward")).toBe(last[0]);
      if (now[0] !== last[0]) changes.push(t);
      expect(Math.abs(now[0])).toBeLessThanOrEqual(1);
      expect(Math.abs(now[2])).toBeLessThanOrEqual(0.001);
      expect(now[1]).toBeGreaterThanOrEqual(5);
      last = now;
    }
    expect(changes).toEqual([3, 6, 9, 12]);
  });

  test("pushes come in their time, in some directions, and only in worlds that move", async () => {
    const events = { push: push("root", { every: [0.08, 0.08], velocity: [1, 2, 0, 0, 0, 0] }) };
    await using env = await make({ frameSkip: 1, events }, { numEnvs: 2, integrator: "Euler" });
    await using calm = await make({ frameSkip: 1 }, { numEnvs: 2, integrator: "Euler" });
    await env.reset({ seed: 1 });
    await calm.reset({ seed: 1 });
    for (let t = 1; t <= 8; t++) {
      await env.step(still(env));
      await calm.step(still(calm));
    }
    const velocity = async (e: VectorEnv) => (await e.getState(["qvel"])).qvel;
    expect(await velocity(env)).toEqual(await velocity(calm));
    await env.step(still(env));
    await calm.step(still(calm));
    const [pushed, plain] = [await velocity(env), await velocity(calm)];
    expect(pushed[0]).not.toBe(plain[0]);
    expect(pushed[0]).not.toBe(pushed[8]);
    expect(Math.abs(pushed[0])).toBeLessThan(1.1);
  });

  test("events apply forces", async () => {
    const weight = (2 + 0.3 + 0.3) * 9.81;
    const lift = Array<number>(4 * 6).fill(0);
    lift[6 + 2] = weight;
    await using env = await make(
      { events: { lift: () => ({ xfrc_applied: lift }) }, info: { fall: "qacc(root).z" } },
      { numEnvs: 1 },
    );
    await env.reset();
    await env.step(still(env));
    expect(info(env, "fall")).toBeCloseTo(0, 6);
  });

  test.each<[Partial<Task<object>>, string]>([
    [
      { info: { a: tracking("qpos", "qvel", 1) } },
      "[term-shape] task Rover, info.a: tracking has 9 values and 8 targets; give as many.",
    ],
    [
      { info: { a: tracking("qposs", "qvel", 1) } },
      '[unknown-name] task Rover, info.a, value, line 1, column 1: nothing is named "qposs"; nearest: qpos, qpos0, xpos.\n  qposs\n  ^',
    ],
    [
      { info: { a: height("tosro") } },
      '[unknown-name] task Rover, info.a: the model has no body named "tosro"; nearest: torso.',
    ],
    [
      { events: { wind: () => ({ qvel: [1] }) } },
      "[bad-term] task Rover, events.wind: it gives 1 numbers of qvel; give 8.",
    ],
    [
      { events: { wind: (s) => ({ qvel: s.d.qacc.all() }) } },
      "[bad-term] task Rover, events.wind: it reads qacc, which the physics of the step makes later; read state, or before.qacc(...).",
    ],
  ])("%# is refused", async (task, text) => {
    expect(await message(() => make(task))).toBe(text);
  });
});
