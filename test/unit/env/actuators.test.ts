// what is refused of actuators, and who draws what
import { describe, expect, test } from "vitest";
import {
  actuatorNetwork,
  actuatorNumbers,
  defineTask,
  encoders,
  makeVec,
  servo,
  type ActuatorRealities,
} from "../../../src/index.ts";
import { encodeSafetensors } from "../../../src/io/safetensors.ts";

const MODEL = `<mujoco><worldbody>
  <body><joint name="a" axis="0 1 0"/><geom size=".1"/><body pos=".3 0 0"><joint name="b" axis="0 1 0"/><geom size=".1"/></body></body>
  </worldbody><actuator><position name="left" joint="a" kp="5"/><position name="right" joint="b" kp="5"/><motor name="push" joint="a"/></actuator>
</mujoco>`;

const task = (actuators?: ActuatorRealities) =>
  defineTask({
    id: "Two",
    model: MODEL,
    frameSkip: 2,
    maxEpisodeSteps: 5,
    params: { most: 0.1 },
    ...(actuators ? { actuators } : {}),
    observe: { lag: actuatorNumbers("lag"), delay: actuatorNumbers("delay") },
    reward: { none: 0 },
  });

const net = (tensors: Parameters<typeof encodeSafetensors>[0]) => actuatorNetwork(encodeSafetensors(tensors));
const ones = (...shape: number[]) => ({ shape, data: new Float32Array(shape.reduce((n, k) => n * k, 1)).fill(1) });

describe("actuators are refused", () => {
  const cases: [string, unknown, RegExp][] = [
    ["of no such name", { lift: { delay: 1 } }, /unknown-name.*no actuator named "lift"/],
    ["with unknown options", { left: { lags: 1 } }, /bad-actuators.*no option "lags".*lag/],
    [
      "with a part of a step",
      { left: { delay: 3.5 } },
      /bad-actuators.*delay is 3.5 physics steps; it is a whole number, or a distribution, whose draws are rounded/,
    ],
    [
      "with delays that are too long",
      { left: { delay: [0, 65] } },
      /delay may be 0 to 65 physics steps; it is from 0 to 64/,
    ],
    ["with negative lags", { left: { lag: -1 } }, /lag may be -1 s/],
    ["with play in a motor", { push: { backlash: 0.1 } }, /servos of position/],
    [
      "with knees beyond noLoad",
      { left: { torqueSpeed: { peak: 1, knee: 3, noLoad: [2, 4] } } },
      /noLoad is above knee/,
    ],
    [
      "with a curve below 0",
      { left: { torqueSpeed: { peak: -1, noLoad: 2 } } },
      /\["left"\]\.torqueSpeed\.peak: peak may be -1/,
    ],
    [
      "with numbers beyond float32",
      { left: { bias: [0, 1e39] } },
      /bias may be 0 to 1e\+39 .*; it is a finite float32/,
    ],
    ["with half a curve", { left: { torqueSpeed: { peak: 1 } } }, /torqueSpeed is/],
    ["with other distributions", { left: { lag: [2, 1] } }, /bad-randomise/],
    ["with networks of servos", { left: { network: net({ "0.weight": ones(1, 6) }) } }, /force of a motor/],
  ];
  test.each(cases)("%s", async (_, actuators, message) => {
    await expect(makeVec(task(actuators as ActuatorRealities), { numEnvs: 1, device: "cpu" })).rejects.toThrow(message);
  });

  test("by terms of none of them", async () => {
    const reads = { ...task({}), observe: { read: encoders("lift_*") } };
    await expect(makeVec(reads, { numEnvs: 1, device: "cpu" })).rejects.toThrow(
      /unknown-name.*no actuator that fits "lift_\*"/,
    );
  });

  test("in RK4 with a range that goes with speed", async () => {
    const options = { numEnvs: 1, device: "cpu" } as const;
    const fast = task({ left: { torqueSpeed: { peak: 1, noLoad: 2 } } });
    await expect(makeVec(fast, { ...options, integrator: "RK4" })).rejects.toThrow(/RK4/);
  });

  test("as networks that do not fit", () => {
    expect(() => net({ "0.bias": ones(1) })).toThrow(/no tensors called/);
    expect(() => net({ "0.weight": ones(0, 6), "1.weight": ones(1, 0) })).toThrow(/shape \[0, 6\].*at least 1 of each/);
    expect(() => net({ "0.weight": ones(3, 6), "1.weight": ones(1, 2) })).toThrow(
      /takes 2 numbers; the layer before it gives 3/,
    );
    expect(() => net({ "0.weight": ones(2, 6) })).toThrow(/it gives one force/);
    const bytes = encodeSafetensors({ "0.weight": ones(1, 6) });
    expect(() => actuatorNetwork(bytes, { scale: 2 as never })).toThrow(/scale is 2; it has finite numbers/);
    expect(() => net({ "0.weight": ones(1, 4) })).toThrow(/a history of 3 steps has 6/);
  });
});

test("draws are of (seed, world, episode), shared where they are said to be, and follow parameters", async () => {
  const drawn = task({
    "*": { lag: { between: [0, "param.most"], within: [0, 1] } },
    "*t": { delay: [0, 3], shared: true },
  });
  await using env = await makeVec(drawn, { numEnvs: 32, device: "cpu", seed: 1 });
  const rows = async () => {
    const { observations } = await env.reset();
    return Array.from({ length: 32 }, (_, w) => Array.from(observations.slice(6 * w, 6 * w + 6)));
  };
  const first = await rows();
  expect(new Set(first.map(([, , , left]) => left))).toEqual(new Set([0, 1, 2, 3]));
  for (const [a, b, c, left, right, push] of first) {
    expect([left, push]).toEqual([right, 0]);
    expect(new Set([a, b, c]).size).toBe(3);
    for (const lag of [a, b, c]) expect(lag).toBeLessThanOrEqual(0.1);
  }
  expect(await rows()).not.toEqual(first);
  await env.setParams({ most: 0.01 });
  for (const row of await rows()) expect(Math.max(...row.slice(0, 3))).toBeLessThanOrEqual(0.01);
  await using one = await makeVec(drawn, { numEnvs: 1, device: "cpu", seed: 1, worldIds: [7] });
  expect([...(await one.reset()).observations]).toEqual(first[7]);
  // a batch says other things of the same pattern
  await using plain = await makeVec(drawn, { numEnvs: 1, device: "cpu", actuators: { "*": { lag: 0 }, "*t": {} } });
  expect([...(await plain.reset()).observations]).toEqual([0, 0, 0, 0, 0, 0]);
});

test("a network of a motor without a gain is refused", async () => {
  const idle = MODEL.replace('<motor name="push" joint="a"/>', '<general name="push" joint="a" gainprm="0"/>');
  const drawn = { ...task({ push: { network: servo({ stiffness: 5 }) } }), model: idle };
  await expect(makeVec(drawn, { numEnvs: 1, device: "cpu" })).rejects.toThrow("the gain of this one is 0");
});

test("a gain that a world draws scales the force that a network makes", async () => {
  const strengths = [0, 0.5, 1];
  const strong = async (strength: number) => {
    const drawn = defineTask({
      ...task({ push: { network: servo({ stiffness: 5, damping: 0.1 }) } }),
      observe: { force: "qfrc_actuator[0]" },
      randomise: { gain: { field: "actuator_gainprm", of: "push", element: 0, scale: [strength, strength] } },
    });
    await using env = await makeVec(drawn, { numEnvs: 1, device: "cpu", recorder: false, frameSkip: 1 });
    await env.reset();
    const { observations } = await env.step([[0, 0, 0.5]]);
    return observations[0];
  };
  const forces = await Promise.all(strengths.map(strong));
  expect(forces).toEqual(strengths.map((s) => expect.closeTo(2.5 * s, 5)));
});
