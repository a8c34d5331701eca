// places, shapes, ranges and default poses of a world's own, against MuJoCo's model with those numbers
import { expect, test } from "vitest";
import { randomPlan } from "../../src/env/task/randomise.ts";
import { Box, defineTask, makeVec, type Randomisation, type Task, type VecOptions } from "../../src/env/index.ts";
import { withChanges } from "../../src/model/changes.ts";
import { createOracle } from "../../src/model/oracle.ts";
import { envBounds } from "../support/tolerances.ts";

const MODEL = `<mujoco model="places"><option timestep="0.002"/>
  <worldbody><geom name="floor" type="plane" size="3 3 0.1"/>
    <body name="base" pos="0 0 0.5"><joint name="lift" type="slide" axis="0 0 1" range="-0.3 0.3" damping="2"/><geom type="box" size="0.1 0.1 0.05" mass="1"/>
      <site name="s0" pos="0.1 0 0.05"/>
      <body name="arm" pos="0.15 0 0" euler="0 10 0"><joint name="turn" axis="0 1 0" stiffness="2" damping="0.1"/>
        <geom name="rod" type="capsule" size="0.03" fromto="0 0 0 0.3 0 0"/><geom name="tip" size="0.05" pos="0.32 0 0"/><site name="s1" pos="0.3 0 0.03"/></body></body>
    <body name="cube" pos="0.8 0 0.06"><freejoint/><geom name="cube" type="box" size="0.06 0.06 0.06"/></body>
    <body name="post" pos="0.8 0.3 0"><geom name="post" type="sphere" size="0.1"/></body></worldbody>
  <contact><pair name="grip" geom1="cube" geom2="floor" friction="0.6 0.6 0.01 0.001 0.001" condim="4"/></contact>
  <tendon><spatial name="string" stiffness="20" damping="1" range="0.05 0.4" limited="true" frictionloss="0.2" springlength="0.25"><site site="s0"/><site site="s1"/></spatial>
    <fixed name="slack"><joint joint="lift" coef="1"/><joint joint="turn" coef="-0.5"/></fixed></tendon>
  <equality><joint joint1="lift" joint2="turn" polycoef="0 0.05 0 0 0"/><tendon tendon1="string" active="false"/></equality>
  <actuator><motor joint="turn" gear="5" forcerange="-0.4 0.4"/><position joint="lift" kp="100"/></actuator></mujoco>`;

/** Pairs of a kind beyond what straight-line kernels test in line, and rays that loop over geoms. */
const CROWD = `<mujoco model="crowd"><option timestep="0.002" ccd_tolerance="1e-12" ccd_iterations="200"/>
  <worldbody><geom name="floor" type="plane" size="3 3 0.1"/>
    ${[0, 1, 2]
      .map(
        (k) => `<body name="b${k}" pos="${0.2 * k} 0 0.055"><freejoint/>
      <geom name="box${k}" type="box" size="0.06 0.05 0.055" mass="0.5"/><site name="s${k}" pos="0.08 0 0" euler="0 90 0"/></body>
      <body name="c${k}" pos="${0.2 * k} 0.12 0.066"><freejoint/>
      <geom name="ball${k}" type="ellipsoid" size="0.05 0.06 0.06" mass="0.4"/></body>
      <body name="p${k}" pos="${0.2 * k} -0.108 0.06"><freejoint/><geom name="pill${k}" type="capsule" size="0.05 0.03" mass="0.4"/></body>`,
      )
      .join("")}
  </worldbody>
  <sensor><rangefinder site="s0"/><distance body1="b0" body2="c1" cutoff="1"/></sensor></mujoco>`;

const DRAWN: Readonly<Record<string, Readonly<Record<string, Randomisation>>>> = {
  "places of geoms and sites, friction of pairs": {
    geoms: { field: "geom_pos", of: ["tip", "post"], add: [-0.03, 0.03] },
    sizes: { field: "geom_size", of: ["cube", "tip"], scale: [0.9, 1.1] },
    sites: { field: "site_pos", add: [-0.02, 0.02] },
    pairs: { field: "pair_friction", of: "grip", element: [0, 1], set: [0.1, 1], shared: true },
  },
  "places of bodies and default poses": {
    places: { field: "body_pos", of: ["arm", "post", "base"], add: [-0.03, 0.03] },
    turns: { field: "body_quat", of: ["arm", "base"], add: [-0.05, 0.05] },
    zero: { field: "qpos0", add: [-0.05, 0.05] },
  },
  "tendons and ranges of forces": {
    springs: { field: "tendon_stiffness", scale: [0.5, 2] },
    dampers: { field: "tendon_damping", scale: [0.5, 2] },
    friction: { field: "tendon_frictionloss", scale: [0.5, 2] },
    lengths: { field: "tendon_range", element: 1, set: [0.25, 0.4] },
    forces: { field: "actuator_forcerange", element: 1, set: [0.05, 0.4] },
  },
  "sizes of a crowd": {
    sizes: { field: "geom_size", of: ["box*", "ball*", "pill*"], scale: [0.85, 1.1] },
  },
  "springs and dampers of a tendon that has none": {
    springs: { field: "tendon_stiffness", of: "slack", set: [5, 20] },
    dampers: { field: "tendon_damping", of: "slack", set: [0.5, 3] },
  },
};

const task = (randomise: Readonly<Record<string, Randomisation>>, model: string): Task =>
  defineTask({
    id: "Places",
    model,
    frameSkip: 1,
    maxEpisodeSteps: 1000,
    actionSpace: () => new Box({ low: -1, high: 1, shape: [1] }),
    control: ({ model: { nu }, action }) => Array.from({ length: nu }, () => action[0]),
    observe: { sensors: "[sensordata, time]" },
    reward: {},
    randomise,
    reset: (s) => ({ qvel: s.random.normals(s.model.nv).map(() => 0.3) }),
  });

const cases = Object.keys(DRAWN).flatMap((name): [string, Partial<VecOptions>][] => [
  [name, {}],
  [name, { unroll: false, integrator: "implicitfast" }],
]);

test.each(cases)("%s: %o", async (name, options) => {
  const isCrowd = name.includes("crowd");
  // what rests on edges leaves them after some steps, at either side
  const [worlds, steps] = [2, isCrowd ? 5 : 40];
  const made = task(DRAWN[name], isCrowd ? CROWD : MODEL);
  await using env = await makeVec(made, { numEnvs: worlds, device: "cpu-f64", recorder: false, ...options });
  await env.reset({ seed: 4 });
  const drawn = await env.getState(Object.keys(DRAWN[name]));
  const start = await env.getState(["qpos", "qvel"]);
  const actions = (t: number) => Float32Array.of(Math.sin(t / 3), Math.sin(t / 3));
  for (let t = 0; t < steps; t++) await env.step(actions(t));
  const end = { ...(await env.getState(["qpos", "qvel"])), sensordata: env.observations };
  const own = (values: Float32Array | Float64Array, world: number) =>
    values.subarray((values.length / worlds) * world).slice(0, values.length / worlds);

  for (let world = 0; world < worlds; world++) {
    const changes = randomPlan(made, env.model).drawn.flatMap((item) =>
      item.groups.flat().map(({ field, index }, i) => {
        return { field, index, value: own(drawn[item.name], world)[i], derived: false };
      }),
    );
    using oracle = await createOracle(withChanges(env.model, changes));
    const { mujoco, model: mj, data } = oracle;
    if (name.includes("default poses")) {
      oracle.read("qpos").forEach((x, i) => expect(own(start.qpos, world)[i]).toBeCloseTo(x, 6));
    }
    oracle.write("qpos", own(start.qpos, world));
    oracle.write("qvel", own(start.qvel, world));
    for (let t = 0; t < steps; t++) {
      oracle.write("ctrl", new Float64Array(env.model.nu).fill(actions(t)[0]));
      mujoco.mj_step(mj, data);
    }
    for (const of of ["qpos", "qvel", "sensordata"] as const) {
      oracle.read(of).forEach((x, i) => {
        const off = Math.abs(own(end[of], world)[i] - x) / (1 + Math.abs(x));
        expect(off, `${of}[${i}] of world ${world}`).toBeLessThanOrEqual(envBounds.randomised.value);
      });
    }
  }
});
