// inertias of a world's own in models with equality constraints, tendons, muscles and fluids, against MuJoCo's
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { randomPlan } from "../../src/env/task/randomise.ts";
import { Box, defineTask, makeVec, type Randomisation, type Task, type VecOptions } from "../../src/env/index.ts";
import { createOracle } from "../../src/model/oracle.ts";
import { envBounds } from "../support/tolerances.ts";

const WEIGHTS: Readonly<Record<string, Randomisation>> = {
  mass: { field: ["body_mass", "body_inertia"], scale: [0.5, 2] },
  rotor: { field: "dof_armature", of: "*", set: [0.01, 0.05] },
};
const xml = (name: string) => readFileSync(new URL(`../models/${name}.xml`, import.meta.url), "utf8");

/** A model by itself, thrown a little, its actuators driven. */
const task = (model: string): Task =>
  defineTask({
    id: "Randomised",
    model,
    frameSkip: 1,
    maxEpisodeSteps: 1000,
    actionSpace: () => new Box({ low: -1, high: 1, shape: [1] }),
    control: ({ model: { nu }, action }) => Array.from({ length: nu }, () => action[0]),
    observe: { qpos: "qpos" },
    reward: {},
    randomise: WEIGHTS,
    reset: (s) => ({ qvel: s.random.normals(s.model.nv).map(() => 0.3) }),
  });

const cases: [string, string, Partial<VecOptions>][] = [
  ["equality", xml("equality"), {}],
  ["equality, rolled", xml("equality"), { unroll: false }],
  ["tendons_fixed", xml("tendons_fixed"), { integrator: "RK4" }],
  [
    "tendons_spatial, also inside of a cylinder",
    xml("tendons_spatial").replace('<spatial name="inner">', '<spatial name="inner" limited="true" range="0.1 1.5">'),
    {},
  ],
  ["muscles", xml("actuators_more"), {}],
  ["fluid_box", xml("fluid_box"), {}],
  ["fluid_ellipsoid", xml("fluid_ellipsoid"), {}],
];

test.each(cases)("%s", async (_, model, options) => {
  const [worlds, steps] = [2, 40];
  const made = task(model);
  await using env = await makeVec(made, { numEnvs: worlds, device: "cpu-f64", recorder: false, ...options });
  await env.reset({ seed: 4 });
  const drawn = await env.getState(Object.keys(WEIGHTS));
  const actions = (t: number) => Float32Array.of(Math.sin(t / 3), Math.sin(t / 3));
  const start = await env.getState(["qpos", "qvel"]);
  for (let t = 0; t < steps; t++) await env.step(actions(t));
  const end = await env.getState(["qpos", "qvel"]);

  for (let world = 0; world < worlds; world++) {
    using oracle = await createOracle(env.model);
    const { mujoco, model: mj, data } = oracle;
    for (const { name, groups } of randomPlan(made, env.model).drawn) {
      const entries = groups.flat();
      entries.forEach(({ field, index }, i) => {
        (mj as unknown as Record<string, Float64Array>)[field][index] = drawn[name][world * entries.length + i];
      });
    }
    mujoco.mj_setConst(mj, data);
    mujoco.mj_resetData(mj, data);
    const own = (values: Float64Array) =>
      values.subarray((values.length / worlds) * world).slice(0, values.length / worlds);
    oracle.write("qpos", own(start.qpos));
    oracle.write("qvel", own(start.qvel));
    for (let t = 0; t < steps; t++) {
      oracle.write("ctrl", new Float64Array(env.model.nu).fill(actions(t)[0]));
      mujoco.mj_step(mj, data);
    }
    for (const name of ["qpos", "qvel"] as const) {
      const got = own(end[name]);
      oracle.read(name).forEach((x, i) => {
        const off = Math.abs(got[i] - x) / (1 + Math.abs(x));
        expect(off, `${name}[${i}] of world ${world}`).toBeLessThanOrEqual(envBounds.randomised.value);
      });
    }
  }
});
