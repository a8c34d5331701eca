// what a task says of actuators, against MuJoCo whose controls, ranges and biases a loop in float64 writes before each step
import { describe, expect, test } from "vitest";
import { actuatorNumbers, makeVec, type Scene, type VecOptions } from "../../src/index.ts";
import { loadModel } from "../../src/model/model.ts";
import { createOracle } from "../../src/model/oracle.ts";
import { DRIVES, drives, HISTORY, SCALE, TENSORS } from "../support/drives.ts";
import { envBounds } from "../support/tolerances.ts";

/** The same with ranges of forces where the task has them. */
const LIMITED = DRIVES.replace('kv="1"', 'kv="1" forcerange="-1 1"').replace(
  'gear=".5"',
  'gear=".5" forcerange="-1 1"',
);

const ACTIVATION = {
  softsign: (x: number) => x / (1 + Math.abs(x)),
  elu: (x: number) => (x > 0 ? x : Math.exp(x) - 1),
  tanh: Math.tanh,
};
type Activation = keyof typeof ACTIVATION;

function outputOf(activation: Activation, inputs: readonly number[]): number {
  const layer = (x: readonly number[], weight: Float32Array, bias: ArrayLike<number>) =>
    Array.from(bias, (b, o) => x.reduce((sum, v, i) => sum + weight[o * x.length + i] * v, b));
  const first = layer(inputs, TENSORS["0.weight"].data, TENSORS["0.bias"].data).map(ACTIVATION[activation]);
  const second = layer(first, TENSORS["2.weight"].data, TENSORS["2.bias"].data).map(ACTIVATION[activation]);
  return layer(second, TENSORS["10.weight"].data, [0])[0];
}

const told = (activation: Activation) =>
  drives(activation, {
    info: () =>
      Object.fromEntries(
        (["delay", "lag", "bias", "backlash", "peak", "knee", "noLoad"] as const).flatMap((name) =>
          ["hip", "knee", "rail", "wheel"].map((one) => [
            `${name} of ${one}`,
            (s: Scene) => actuatorNumbers(name, one)(s)[0],
          ]),
        ),
      ),
  });

const ACTUATORS = ["hip", "knee", "rail", "wheel"];
const GEAR = [1, -2, 3, 0.5];
type Numbers = Record<string, number>;

const deadZone = (x: number, half: number) => x - Math.max(-half, Math.min(half, x));

/** The physics steps of one world in MuJoCo, with what the task says of its actuators. */
async function reference(
  of: Numbers,
  from: { qpos: Float64Array; qvel: Float64Array },
  controls: number[][],
  activation: Activation,
  options: object,
) {
  const frameSkip = 3;
  using oracle = await createOracle(await loadModel(LIMITED));
  const { mujoco, model, data, read, write } = oracle;
  Object.assign(model.opt, options);
  const arrays = model as unknown as Record<string, Float64Array>;
  write("qpos", from.qpos);
  write("qvel", from.qvel);
  const n = (name: string, i: number) => of[`${name} of ${ACTUATORS[i]}`];
  const clamp = (x: number, low: number, high: number) => Math.max(low, Math.min(high, x));
  // what was wanted in each physics step so far
  const wanted: number[][] = [];
  const followed = [0, 0, 0, 0];
  const seen: { error: number; speed: number }[] = [];
  for (const given of controls) {
    for (let k = 0; k < frameSkip; k++) {
      const [qpos, qvel] = [read("qpos"), read("qvel")];
      wanted.push([clamp(given[0], -1, 1), ...given.slice(1)]);
      const t = wanted.length - 1;
      const ctrl = ACTUATORS.map((_, i) => {
        const u = wanted[Math.max(0, t - n("delay", i))][i];
        if (n("lag", i) === 0) return u;
        if (t === 0) followed[i] = u;
        followed[i] += (1 - Math.exp(-0.002 / n("lag", i))) * (u - followed[i]);
        return followed[i];
      });
      for (const i of [0, 1, 3]) {
        const [peak, knee, noLoad] = ["peak", "knee", "noLoad"].map((name) => n(name, i));
        const speed = Math.sign(GEAR[i]) * qvel[i];
        const most = (v: number) => (peak * clamp((noLoad - v) / (noLoad - knee), 0, 1)) / Math.abs(GEAR[i]);
        const range = i === 1 ? [-3, 4] : [-Infinity, Infinity];
        arrays.actuator_forcerange[2 * i] = Math.max(range[0], -most(-speed));
        arrays.actuator_forcerange[2 * i + 1] = Math.min(range[1], most(speed));
      }
      // the servo of the hip goes by the error that its play leaves, read by its encoder
      const error = deadZone(ctrl[0] - (qpos[0] + n("bias", 0)), n("backlash", 0) / 2);
      arrays.actuator_biasprm[0] = 40 * error - 40 * (ctrl[0] - qpos[0]);
      arrays.actuator_biasprm[10] = -5 * -2 * n("bias", 1);
      seen.unshift({ error: SCALE.error * (ctrl[2] - qpos[2] - n("bias", 2)), speed: SCALE.speed * qvel[2] });
      const past = HISTORY.map((back) => seen[Math.min(back, seen.length - 1)]);
      const output = outputOf(activation, [...past.map((p) => p.error), ...past.map((p) => p.speed)]);
      ctrl[2] = (SCALE.force * output) / GEAR[2];
      write("ctrl", Float64Array.from(ctrl));
      mujoco.mj_step(model, data);
    }
  }
  return { qpos: read("qpos"), qvel: read("qvel") };
}

const controlsAt = (t: number): number[] => [0, 1, 2, 3].map((i) => Math.fround((i + 1) * Math.sin(0.3 * t * (i + 1))));

describe("actuators", () => {
  const cases: [string, Activation, Partial<VecOptions>, number][] = [
    ["implicitfast", "softsign", { device: "cpu-f64" }, envBounds.randomised.value],
    ["Euler, rolled", "elu", { device: "cpu-f64", integrator: "Euler", unroll: false }, envBounds.randomised.value],
    ["float32", "tanh", { device: "wasm" }, envBounds.drawnPath.value],
  ];
  test.each(cases)("%s", async (_, activation, options, bound) => {
    const [worlds, steps] = [2, 20];
    await using env = await makeVec(told(activation), { numEnvs: worlds, recorder: false, seed: 5, ...options });
    await env.reset({ seed: 5 });
    const from = await env.getState(["qpos", "qvel"]);
    const controls = Array.from({ length: steps }, (_, t) => controlsAt(t));
    const numbers: Numbers[] = Array.from({ length: worlds }, () => ({}));
    for (const control of controls) {
      const { infos } = await env.step(Float32Array.from([...control, ...control]));
      for (const name of ACTUATORS.flatMap((one) =>
        ["delay", "lag", "bias", "backlash", "peak", "knee", "noLoad"].map((x) => `${x} of ${one}`),
      ))
        infos.get(name)!.values.forEach((x, world) => (numbers[world][name] = x));
    }
    const end = await env.getState(["qpos", "qvel"]);
    for (let world = 0; world < worlds; world++) {
      const own = (values: Float64Array) => values.slice(4 * world, 4 * world + 4);
      const integrator = options.integrator === "Euler" ? { integrator: 0 } : {};
      const start = { qpos: own(from.qpos), qvel: own(from.qvel) };
      const want = await reference(numbers[world], start, controls, activation, integrator);
      for (const name of ["qpos", "qvel"] as const)
        own(end[name]).forEach((x, i) =>
          expect(Math.abs(x - want[name][i]), `${name}[${i}] of world ${world}`).toBeLessThanOrEqual(
            bound * Math.max(1, Math.abs(want[name][i])),
          ),
        );
    }
    expect(numbers[0]["delay of hip"]).not.toBe(numbers[1]["delay of hip"]);
  });
});
