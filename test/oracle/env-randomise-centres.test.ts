// centres of mass of a world's own against models that MuJoCo compiles with those centres
import { expect, test } from "vitest";
import { defineTask, makeVec, type VecOptions } from "../../src/env/index.ts";
import { loadModel, type Model } from "../../src/model/model.ts";
import { createOracle } from "../../src/model/oracle.ts";
import { distance } from "../../src/monitor/measure.ts";
import { envBounds } from "../support/tolerances.ts";

/** Half of a robot: a free trunk with a limb, and a crate, with centres of mass if `at` says. */
const xml = (at: Readonly<Record<string, string>>) => `<mujoco model="centres"><option timestep="0.005"/>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body name="trunk" pos="0 0 .3"><freejoint/>
      <inertial pos="${at.trunk}" mass="3" diaginertia=".03 .04 .05"/>
      <geom name="belly" type="capsule" size=".08 .1" euler="0 90 0"/><site name="imu"/>
      <body name="thigh" pos=".1 0 0"><joint name="hip" axis="0 1 0" armature=".01" limited="true" range="-40 40"/>
        <inertial pos="${at.thigh}" mass=".5" diaginertia=".002 .002 .001"/>
        <geom name="shin" type="capsule" size=".03" fromto="0 0 0 0 0 -.2"/></body></body>
    <body name="crate" pos=".5 0 .12"><freejoint/>
      <inertial pos="${at.crate}" mass="1" diaginertia=".01 .01 .02"/>
      <geom name="box" type="box" size=".1 .1 .1"/></body>
  </worldbody>
  <tendon><fixed name="pull" limited="true" range="-.3 .3"><joint joint="hip" coef="1"/></fixed></tendon>
  <equality><connect body1="crate" body2="thigh" anchor="-.1 0 .1" active="false"/></equality>
  <actuator><motor joint="hip" gear="3"/></actuator>
  <sensor><framelinacc objtype="site" objname="imu"/></sensor></mujoco>`;

const NOMINAL = { trunk: "0 0 0", thigh: "0 0 -.1", crate: "1e-4 0 0" };
const BODIES = Object.keys(NOMINAL);

const cases: [string, Partial<VecOptions>][] = [
  ["Euler", {}],
  ["RK4, rolled", { integrator: "RK4", unroll: false }],
  ["implicitfast, elliptic", { integrator: "implicitfast", cone: "elliptic" }],
];

test.each(cases)("%s", async (_, options) => {
  const [worlds, steps] = [2, 40];
  const task = defineTask({
    id: "Centres",
    model: xml(NOMINAL),
    frameSkip: 1,
    maxEpisodeSteps: 1000,
    observe: { qpos: "qpos" },
    reward: { none: 0 },
    randomise: { centre: { field: "body_ipos", add: [-0.04, 0.04] } },
    info: {
      hip: "dof_invweight0(joint.hip)",
      shift: "body_invweight0(body.crate)[0]",
      turn: "body_invweight0(body.crate)[1]",
    },
    reset: (s) => ({ qvel: s.random.normals(s.model.nv) }),
  });
  await using env = await makeVec(task, { numEnvs: worlds, device: "cpu-f64", recorder: false, ...options });
  await env.reset({ seed: 4 });
  const { centre, qpos, qvel } = await env.getState(["centre", "qpos", "qvel"]);
  const action = (t: number) => Float32Array.of(Math.sin(t / 3), Math.sin(t / 3));
  for (let t = 0; t < steps; t++) await env.step(action(t));
  const end = await env.getState(["qpos", "qvel"]);
  const of = (values: Float64Array, world: number) =>
    values.slice(world * (values.length / worlds)).slice(0, values.length / worlds);

  for (let world = 0; world < worlds; world++) {
    const drawn = of(centre, world);
    const at = Object.fromEntries(BODIES.map((body, i) => [body, drawn.slice(3 * i, 3 * i + 3).join(" ")]));
    const compiled = await loadModel(xml(at));
    const { spec } = env as unknown as { spec: { model: Model } };
    using oracle = await createOracle({ ...compiled, opt: spec.model.opt });

    // what MuJoCo's compiler derives
    const got = ["hip", "shift", "turn"].map((name) => env.infos.get(name)!.values[world]);
    const want = [compiled.dof_invweight0[6], ...compiled.body_invweight0.slice(6)];
    got.forEach((x, i) => expect(Math.abs(x - want[i])).toBeLessThanOrEqual(envBounds.derived.value * want[i]));

    oracle.write("qpos", of(qpos, world));
    oracle.write("qvel", of(qvel, world));
    for (let t = 0; t < steps; t++) {
      oracle.write("ctrl", Float64Array.of(action(t)[0]));
      oracle.mujoco.mj_step(oracle.model, oracle.data);
    }
    for (const name of ["qpos", "qvel"] as const)
      expect(distance(of(end[name], world), oracle.read(name)), name).toBeLessThanOrEqual(envBounds.randomised.value);
  }
});

test("the monitor gives MuJoCo a world's own centres", async () => {
  const task = defineTask({
    id: "Centres",
    model: xml(NOMINAL),
    frameSkip: 2,
    maxEpisodeSteps: 1000,
    observe: { qpos: "qpos" },
    reward: { none: 0 },
    randomise: { centre: { field: "body_ipos", add: [-0.04, 0.04] } },
  });
  const monitor = { worlds: [0, 2], everySteps: 1 };
  await using env = await makeVec(task, { numEnvs: 3, device: "cpu-f64", recorder: false, monitor });
  await env.reset({ seed: 4 });
  for (let t = 0; t < 20; t++) await env.step(new Float32Array(3).fill(0.5));
  const { checks, notOk, worst } = env.health().drift!;
  expect([checks, notOk]).toEqual([40, 0]);
  expect(worst!.qvel).toBeLessThan(1e-9);
});
