// a world with numbers of its own against MuJoCo's model with those numbers
import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { CorralError } from "../../src/core/errors.ts";
import { randomPlan } from "../../src/env/task/randomise.ts";
import { makeVec, type Randomisation, type VecOptions } from "../../src/env/index.ts";
import { loadModel, type Model } from "../../src/model/model.ts";
import { createOracle, type Oracle } from "../../src/model/oracle.ts";
import { unsupportedFeatures } from "../../src/model/supported.ts";
import { inertiaConstants, subtreeMasses } from "../../src/physics/set_const.ts";
import { modelView } from "../../src/physics/view.ts";
import { trace } from "../../src/trace/graph.ts";
import { TraceNode } from "../../src/trace/nodes.ts";
import { ROVER, rover } from "../support/rover.ts";
import { envBounds } from "../support/tolerances.ts";

const models = [
  ...readdirSync(new URL("../models/", import.meta.url)).map((name) => `../models/${name}`),
  ...["ant", "half_cheetah", "humanoid", "walker2d"].map((name) => `../../envs/${name}/model.xml`),
].filter((path) => path.endsWith(".xml"));

describe("numbers derived at qpos0", () => {
  test.each(models)("%s", async (path) => {
    const model = await loadModel(new URL(path, import.meta.url));
    if (unsupportedFeatures(model).length > 0 || model.nv === 0) return;
    trace(() => {
      const m = modelView(model);
      const bodies = Array.from({ length: model.nbody }, (_, b) => b);
      const every = (count: number) => Array.from({ length: count }, (_, i) => i);
      const wanted = { bodies, tendons: every(model.ntendon), actuators: every(model.nactuator) };
      const constants = inertiaConstants(m, wanted);
      const { dof_invweight0, body_invweight0, meaninertia } = constants;
      const close = (got: unknown, want: number, what: string) => {
        // what wraps inside of a cylinder is found by a loop, not known here
        if (got instanceof TraceNode) return;
        expect(Math.abs((got as number) - want), what).toBeLessThanOrEqual(
          envBounds.derived.value * Math.max(1e-6, Math.abs(want)),
        );
      };
      dof_invweight0.forEach((x, i) => close(x, model.dof_invweight0[i], `dof_invweight0[${i}]`));
      close(meaninertia, model.stat.meaninertia, "meaninertia");
      for (const [b, pair] of body_invweight0)
        pair.forEach((x, k) => close(x, model.body_invweight0[2 * b + k], `body_invweight0[${b}][${k}]`));
      for (const [t, x] of constants.tendon_invweight0) close(x, model.tendon_invweight0[t], `tendon_invweight0[${t}]`);
      for (const [i, x] of constants.actuator_acc0) close(x, model.actuator_acc0[i], `actuator_acc0[${i}]`);
      subtreeMasses(m).forEach((x, b) => close(x, model.body_subtreemass[b], `body_subtreemass[${b}]`));
    });
  });
});

type Items = Readonly<Record<string, Randomisation>>;

const ALL: Items = {
  weight: { field: ["body_mass", "body_inertia"], scale: [0.5, 2] },
  damping: { field: "dof_damping", scale: { logUniform: [0.2, 5] } },
  armature: { field: "dof_armature", scale: [0.5, 1.5], shared: true },
  slide: { field: "geom_friction", of: ["floor", "foot_*"], element: 0, set: [0.2, 1.4] },
  feet: { field: "geom_size", of: "foot_*", element: 0, scale: [0.8, 1.2] },
  trunk: { field: "geom_size", of: "trunk", add: [-0.01, 0.01] },
  gear: { field: "actuator_gear", of: "left", element: 0, scale: { normal: [1, 0.1] } },
  gain: { field: "actuator_gainprm", element: 0, scale: [0.5, 1.5] },
  gravity: { field: "gravity", element: [0, 2], add: [-2, 2] },
  limits: { field: "jnt_range", of: "hip_*", scale: [0.1, 0.3] },
};

test("code that derives inverse weights in loops grows with bodies by what reads the results", async () => {
  const legs = (count: number) =>
    Array.from(
      { length: count },
      () => `<body><joint/><geom size="0.1"/><body><joint/><geom size="0.1"/></body></body>`,
    );
  const valuesOf = async (count: number) => {
    const model = await loadModel(
      `<mujoco><worldbody><body><freejoint/><geom size="1"/>${legs(count).join("")}</body></worldbody></mujoco>`,
    );
    const bodies = Array.from({ length: model.nbody - 1 }, (_, b) => b + 1);
    return trace(() => void inertiaConstants(modelView(model), { bodies }), { unroll: false }).nodes;
  };
  // two bodies and two dofs a leg: 2 results and a mean of each
  expect((await valuesOf(6)) - (await valuesOf(3))).toBeLessThan(3 * 2 * 10);
});

/** Where the values of an item go in MuJoCo's model, in order. */
function writes(items: Items, model: Model, drawn: Record<string, Float64Array>, world: number, count: number) {
  const plan = randomPlan(rover({ randomise: items }), model);
  return plan.drawn.flatMap(({ name, groups }) => {
    const entries = groups.flat();
    const size = drawn[name].length / count;
    expect(size).toBe(entries.length);
    return entries.map(({ field, index }, i) => ({ field, index, value: drawn[name][world * size + i] }));
  });
}

describe("a world that draws its own numbers", () => {
  const steps = 25;
  const cases: [string, Items, Partial<VecOptions>][] = [
    ...Object.entries(ALL).map(([name, item]): [string, Items, Partial<VecOptions>] => [name, { [name]: item }, {}]),
    ["all, Euler", ALL, {}],
    ["all, RK4", ALL, { integrator: "RK4" }],
    ["all, rolled", ALL, { unroll: false }],
    ["all, implicitfast, elliptic", ALL, { integrator: "implicitfast", cone: "elliptic" }],
    ["all, discrete", ALL, { integrator: "discrete" }],
    ["all, discrete, rolled", ALL, { integrator: "discrete", unroll: false }],
  ];

  test.each(cases)("%s", async (_, items, options) => {
    const worlds = 2;
    const names = Object.keys(items);
    await using env = await makeVec(
      rover({ randomise: items, reset: (s) => ({ qvel: s.random.normals(s.model.nv) }) }),
      {
        numEnvs: worlds,
        device: "cpu-f64",
        maxEpisodeSteps: 1000,
        ...options,
      },
    );
    await env.reset({ seed: 11 });
    const drawn = await env.getState(names);
    const model = (env as unknown as { spec: { model: Model } }).spec.model;
    for (let world = 0; world < worlds; world++) {
      // another world drew other numbers
      for (const name of names) {
        const size = drawn[name].length / worlds;
        expect([...drawn[name].subarray(0, size)]).not.toEqual([...drawn[name].subarray(size)]);
      }
      using oracle = await createOracle(model);
      const { mujoco, model: mj, data } = oracle;
      for (const { field, index, value } of writes(items, model, drawn, world, worlds)) {
        if (field === "gravity") mj.opt.gravity[index] = value;
        else (mj as unknown as Record<string, Float64Array>)[field][index] = value;
      }
      if (names.includes("feet")) {
        for (let g = 0; g < model.ngeom; g++) {
          const [radius, half] = mj.geom_size.subarray(3 * g, 3 * g + 2) as Float64Array;
          if (model.geom_type[g] === 2) mj.geom_rbound[g] = radius;
          if (model.geom_type[g] === 3) mj.geom_rbound[g] = radius + half;
        }
      }
      mujoco.mj_setConst(mj, data);
      mujoco.mj_resetData(mj, data);
      const { qpos, qvel } = await env.getState(["qpos", "qvel"], [world]);
      oracle.write("qpos", qpos);
      oracle.write("qvel", qvel);
      worldRuns.push({ world, oracle: run(oracle, steps) });
    }
    for (let t = 0; t < steps; t++) await env.step(actions(t, worlds));
    const end = await env.getState(["qpos", "qvel"]);
    for (const { world, oracle } of worldRuns.splice(0)) {
      for (const name of ["qpos", "qvel"] as const) {
        const size = end[name].length / worlds;
        oracle[name].forEach((x, i) =>
          expect(Math.abs(end[name][world * size + i] - x), `${name}[${i}] of world ${world}`).toBeLessThanOrEqual(
            envBounds.randomised.value,
          ),
        );
      }
    }
  });

  const worldRuns: { world: number; oracle: Record<"qpos" | "qvel", Float64Array> }[] = [];
  const actions = (t: number, worlds: number) =>
    Float32Array.from({ length: 2 * worlds }, (_, i) => Math.fround(Math.sin(t + (i % 2))));

  function run(oracle: Oracle, count: number) {
    for (let t = 0; t < count; t++) {
      oracle.write("ctrl", Float64Array.from(actions(t, 1)));
      for (let k = 0; k < 2; k++) oracle.mujoco.mj_step(oracle.model, oracle.data);
    }
    return { qpos: oracle.read("qpos"), qvel: oracle.read("qvel") };
  }
});

test.each(["implicitfast", "discrete"] as const)(
  "actuators that couple dofs in worlds alone, %s",
  async (integrator) => {
    const model = `<mujoco><option timestep="0.01" integrator="${integrator}" gravity="0 0 0"/><worldbody>
    <body><joint name="a" axis="0 1 0"/><geom type="capsule" size="0.05" fromto="0 0 0 0.3 0 0"/>
      <body pos="0.3 0 0"><joint name="b" axis="0 1 0"/><geom type="capsule" size="0.05" fromto="0 0 0 0.3 0 0"/></body></body></worldbody>
    <tendon><fixed name="t"><joint joint="a" coef="1"/><joint joint="b" coef="-1"/></fixed></tendon>
    <actuator><general name="servo" tendon="t" biastype="affine" biasprm="0.5"/></actuator></mujoco>`;
    const randomise: Items = { servo: { field: "actuator_biasprm", of: "servo", element: [1, 2], set: [-30, -20] } };
    const reset = () => ({ qvel: [0.5, 3] });
    const task = rover({ model, frameSkip: 1, observe: { qvel: "qvel" }, randomise, reset });
    for (const unroll of [true, false]) {
      await using env = await makeVec(task, { numEnvs: 1, device: "cpu-f64", unroll });
      await env.reset({ seed: 3 });
      const { servo } = await env.getState(["servo"]);
      await env.step(new Float32Array(1));
      const { qvel } = await env.getState(["qvel"]);
      using oracle = await createOracle(await loadModel(model));
      servo.forEach((x, i) => (oracle.model.actuator_biasprm[1 + i] = x));
      oracle.write("qvel", reset().qvel);
      oracle.mujoco.mj_step(oracle.model, oracle.data);
      oracle
        .read("qvel")
        .forEach((x, i) => expect(Math.abs(qvel[i] - x), `qvel[${i}]`).toBeLessThanOrEqual(envBounds.randomised.value));
    }
  },
);

describe("draws", () => {
  const items: Items = {
    weight: { field: "body_mass", scale: [0.5, 2] },
    gravity: { field: "gravity", element: 2, set: [-12, -6] },
  };
  const draws = async (options: Partial<VecOptions>, resets: number) => {
    await using env = await makeVec(rover({ randomise: items }), { numEnvs: 4, device: "cpu", ...options });
    await env.reset({ seed: 1 });
    for (let k = 0; k < resets; k++) await env.reset();
    const { weight } = await env.getState(["weight"], [env.numEnvs - 1]);
    return [...weight];
  };

  test("are those of (seed, world, episode), in their range", async () => {
    const first = await draws({}, 0);
    expect(await draws({ numEnvs: 1, worldIds: [3] }, 0)).toEqual(first);
    const second = await draws({}, 1);
    expect(second).not.toEqual(first);
    const model = await loadModel(ROVER);
    first.forEach((x, i) => {
      expect(x).toBeGreaterThanOrEqual(0.5 * model.body_mass[i + 1] * (1 - 1e-6));
      expect(x).toBeLessThanOrEqual(2 * model.body_mass[i + 1] * (1 + 1e-6));
    });
  });

  test("are in the plan, and can be read by terms", async () => {
    const task = rover({ randomise: items, info: { mass: "body_mass(body.torso)", g: "gravity.z" } });
    await using env = await makeVec(task, { numEnvs: 2, device: "cpu" });
    const state = env.plan.arenas.find((a) => a.name === "state")!;
    // three masses and gravity; of each of four bodies the subtree, of 8 dofs and 3 bodies the inverse inertia, the mean
    expect(state.fields.find((f) => f.name === "per_world")?.perWorld).toBe(3 + 1 + 4 + 8 + 6 + 1);
    await env.reset();
    await env.step(new Float32Array(4));
    const { weight, gravity } = await env.getState(["weight", "gravity"]);
    expect(env.infos.get("mass")!.values[1]).toBe(weight[3]);
    expect(env.infos.get("g")!.values[1]).toBe(gravity[1]);
  });
});

describe("what cannot be randomised is refused by name", () => {
  const message = async (item: object, model = ROVER) => {
    try {
      await using env = await makeVec(
        { ...rover({ randomise: { item: item as Randomisation } }), model },
        { numEnvs: 1, device: "cpu" },
      );
      return `nothing was refused: ${env.id}`;
    } catch (error) {
      return (error as CorralError).message;
    }
  };
  const PADDLES = ROVER.replace('<option timestep="0.01"/>', '<option timestep="0.01" density="1.2"/>').replace(
    'name="trunk"',
    'name="trunk" fluidshape="ellipsoid"',
  );
  const MUSCLE = ROVER.replace("</actuator>", '<muscle joint="hip_left" lengthrange="-1 1"/></actuator>');
  const GEARED = ROVER.replace('gear="2"', 'gear="2" armature="0.1"');
  test.each<[object, string, string?]>([
    [
      { field: "body_mas", scale: [1, 2] },
      "[bad-randomise] task Rover, randomise.item: it cannot randomise body_mas; nearest: body_mass, body_pos, body_ipos.",
    ],
    [
      { field: "key_qpos", scale: [1, 2] },
      "[bad-randomise] task Rover, randomise.item: it cannot randomise key_qpos; there are: body_mass, body_inertia, body_ipos, dof_damping, dof_armature, dof_frictionloss, jnt_stiffness, jnt_range, geom_friction, geom_size, actuator_gear, actuator_gainprm, ....",
    ],
    [
      { field: "body_mass", of: "torsso", scale: [1, 2] },
      '[unknown-name] task Rover, randomise.item: the model has no body named "torsso"; nearest: torso.',
    ],
    [
      { field: "body_mass", of: "torso", add: [-3, 0] },
      "[bad-randomise] task Rover, randomise.item: it makes body_mass[1] as low as -1; it stays above 0 (rover has 2).",
    ],
    [
      { field: "body_mass", of: "torso", set: [1, 1e39] },
      "[bad-randomise] task Rover, randomise.item: it makes body_mass[1] 1e+39; it is a number of float32, of at most 3.4e38.",
    ],
    [
      { field: "body_mass", of: "torso", set: [1e-46, 1] },
      "[bad-randomise] task Rover, randomise.item: it makes body_mass[1] as low as 1e-46; it stays above 0 (rover has 2).",
    ],
    [
      { field: [], of: "torso", scale: [1, 2] },
      "[bad-randomise] task Rover, randomise.item: field is []; it is the name of a field, or several.",
    ],
    [
      { field: "body_mass" },
      "[bad-randomise] task Rover, randomise.item: it has none of set, scale and add; give one.",
    ],
    [
      { field: "geom_friction", element: 3, set: [0, 1] },
      "[bad-randomise] task Rover, randomise.item: element is 3; geom_friction has elements 0 to 2.",
    ],
    [
      { field: "jnt_stiffness", scale: [0, 1] },
      "[bad-randomise] task Rover, randomise.item: there is no jnt_stiffness to randomise in this model.",
    ],
    [
      { field: "dof_frictionloss", of: "hip_left", add: [0, 1] },
      "[bad-randomise] task Rover, randomise.item: dof_frictionloss[6] is 0 in the MJCF, so that it has no constraint row; give it a small one there.",
    ],
    [
      { field: "gravity", scale: [2, 1] },
      "[bad-randomise] task Rover, randomise.item: a distribution is [2,1]; it is [low, high], { logUniform: [low, high] } with low > 0, { normal: [mean, deviation] }, { grid: [low, high, step] } of at most 65536 steps, or { between: [from, to], within: [low, high] } or { value, within } with expressions or functions.",
    ],
    [
      { field: "jnt_range", of: "hip_left", element: 0, add: [0, 2] },
      '[bad-randomise] task Rover, randomise.item: it makes the low end of joint "hip_left" 0.952802; it stays at most 0, the middle of its range.',
    ],
    [
      { field: "jnt_range", of: "root", set: [0, 1] },
      "[bad-randomise] task Rover, randomise.item: there is no jnt_range to randomise of root: these joints are not limited.",
    ],
    [
      { field: "body_pos", of: "torso", add: [0, 1] },
      "[bad-randomise] task Rover, randomise.item: there is no body_pos to randomise of torso: bodies that float, and mocap bodies, are where their state says. Draw it in reset.",
    ],
    [
      { field: "geom_size", of: "trunk", scale: [1, 2] },
      "[bad-randomise] task Rover, randomise.item: geom_size cannot be randomised in this model: what fluids do to its ellipsoids is computed from the sizes of the MJCF.",
      PADDLES,
    ],
    [
      { field: "actuator_gear", scale: [1, 2] },
      "[bad-randomise] task Rover, randomise.item: actuator_gear cannot be randomised in this model: the length ranges of its muscles go with their gear.",
      MUSCLE,
    ],
    [
      { field: "actuator_gainprm", scale: [1, 2] },
      "[bad-randomise] task Rover, randomise.item: actuator_gainprm cannot be randomised in this model: its muscles' curves are computed from the MJCF.",
      MUSCLE,
    ],
    [
      { field: "body_ipos", of: "crate", add: [-0.01, 0.01] },
      '[bad-randomise] task Rover, randomise.item: body_ipos of body "crate" cannot be randomised: MuJoCo has compiled it as a simple body, whose inertia is diagonal in its dofs. Give it an <inertial> in the MJCF whose pos is a little (1e-4 m) off the body\'s origin.',
      ROVER.replace(
        "</worldbody>",
        '<body name="crate" pos="2 0 1"><freejoint/><geom type="box" size=".1 .1 .1"/></body></worldbody>',
      ),
    ],
    [
      { field: "actuator_gear", scale: [1, 2] },
      "[bad-randomise] task Rover, randomise.item: actuator_gear cannot be randomised in this model: damping or armature of its actuators goes with their gear.",
      GEARED,
    ],
  ])("%j", async (item, text, model) => {
    expect(await message(item, model)).toBe(text);
  });

  test("a batch draws beside its task, or instead of what the task draws", async () => {
    const task = rover({ randomise: { weight: { field: "body_mass", of: "torso", set: [3, 3] } } });
    const randomise: Items = {
      weight: { field: "body_mass", of: "torso", set: [4, 4] },
      limit: { field: "jnt_range", of: "hip_left", element: 1, set: [0.5, 0.5] },
    };
    await using env = await makeVec(task, { numEnvs: 1, device: "cpu", randomise });
    await env.reset();
    const { weight, limit } = await env.getState(["weight", "limit"]);
    expect([...weight, ...limit]).toEqual([4, 0.5]);
  });

  test("two items for one number", async () => {
    const randomise: Items = {
      a: { field: "body_mass", scale: [1, 2] },
      b: { field: "body_mass", of: "torso", set: [1, 2] },
    };
    await expect(makeVec(rover({ randomise }), { numEnvs: 1, device: "cpu" })).rejects.toThrow(
      "[bad-randomise] task Rover, randomise.b: it draws body_mass[1], which a draws too; leave it to one of them.",
    );
  });

  test("masses at the end of a long arm, rolled as straight", async () => {
    const arm = rover({
      model: `<mujoco><worldbody><body><freejoint/><geom size="0.1" mass="10"/><body pos="1 0 0"><joint name="hip_left"
        axis="0 1 0" frictionloss="0.5"/><geom size="0.01" mass="1"/></body></body></worldbody><actuator><motor name="left" joint="hip_left"/>
        </actuator></mujoco>`,
      observe: { qvel: "qvel" },
      reward: { none: "0.0" },
      randomise: { weight: { field: "body_mass", scale: [0.5, 2] } },
      actionSpace: undefined,
      info: {},
      terminated: {},
      reset: (s) => ({ qvel: s.random.normals(s.model.nv) }),
    });
    const ends = [];
    for (const unroll of [true, false]) {
      await using env = await makeVec(arm, { numEnvs: 1, device: "cpu-f64", unroll });
      await env.reset({ seed: 2 });
      await env.step([0.5]);
      ends.push(...(await env.getState(["qvel"])).qvel);
    }
    const half = ends.length / 2;
    for (let i = 0; i < half; i++)
      expect(Math.abs(ends[i] - ends[half + i])).toBeLessThanOrEqual(envBounds.randomised.value);
  });
});
