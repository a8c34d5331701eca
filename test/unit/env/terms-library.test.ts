// the terms that come with corral: what each measures, and what it refuses
import { describe, expect, test } from "vitest";
import {
  accelerationCost,
  actionRateCost,
  airTime,
  angularVelocity,
  command,
  contactForce,
  controlCost,
  heading,
  height,
  inContact,
  jointLimitCost,
  jointLimits,
  linearVelocity,
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
  type VectorEnv,
} from "../../../src/env/index.ts";
import { info, make, message, still } from "../../support/rover-env.ts";

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

test("two pushes of one joint come at their own times", async () => {
  // half a step of 0.02 s is not told from none
  const [small, large] = [
    push("root", { every: [0.1, 0.1], velocity: 0.001 }),
    push("root", { every: [0.3, 0.3], velocity: 50 }),
  ];
  await using env = await make({ events: { small, large }, info: { vx: "qvel[0] - before.qvel[0]" } }, { numEnvs: 1 });
  await env.reset({ seed: 1 });
  const hard: number[] = [];
  for (let t = 0; t < 33; t++) {
    await env.step(still(env));
    if (Math.abs(info(env, "vx")) > 0.5) hard.push(t);
  }
  expect(hard).toEqual([15, 31]);
});
