// limits of joints given beside the MJCF: the steps of MuJoCo's model that has them in its XML
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createSimulation, planSimulation } from "../../src/batch/simulation.ts";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { bisect } from "../../src/crash/bisect.ts";
import { modelAt } from "../../src/crash/physics-facts.ts";
import { replay } from "../../src/crash/replay.ts";
import { examine } from "../../src/crash/scene.ts";
import { defineTask, makeVec, type VectorEnv } from "../../src/env/index.ts";
import { withLimits, type JointLimits } from "../../src/model/limits.ts";
import { loadModel, type Model } from "../../src/model/model.ts";
import { withMuJoCo } from "../../src/model/oracle.ts";
import { constraintBound } from "../../src/model/pairs.ts";
import { readBundle } from "../../src/record/read-bundle.ts";
import { boundOf } from "../support/oracle-suite.ts";

/** A trunk with two legs and a ball joint; `range` of hips, knees and the ball, if they have one. */
const robot = (hip = "", knee = "", ball = ""): string => `<mujoco><compiler angle="radian"/>
  <option timestep="0.004"/><worldbody>
  <body pos="0 0 1"><freejoint name="root"/><geom size="0.1" density="800"/>
    ${["left", "right"]
      .map(
        (side, i) => `<body pos="0 ${0.2 * i - 0.1} 0"><joint name="hip_${side}" axis="0 1 0" damping="0.1" ${hip}/>
        <geom type="capsule" size="0.03" fromto="0 0 0 0 0 -0.2" contype="0"/>
        <body pos="0 0 -0.2"><joint name="knee_${side}" axis="0 1 0" damping="0.1" ${knee}/>
          <geom type="capsule" size="0.03" fromto="0 0 0 0.1 0 -0.2" contype="0"/></body></body>`,
      )
      .join("")}
    <body pos="0.1 0 0.1"><joint name="neck" type="ball" ${ball}/><geom type="capsule" size="0.03" fromto="0 0 0 0.1 0 0.2" contype="0"/></body>
  </body></worldbody>
  <actuator><motor joint="hip_left" gear="30"/><motor joint="hip_right" gear="-30"/><motor joint="knee_left" gear="10"/></actuator></mujoco>`;

const LIMITS: JointLimits = {
  "*_left": { range: [-2, 2] },
  "hip_*": { range: [-0.4, 0.3] },
  "knee_*": { range: [-0.2, 0.1] },
  neck: { range: [0, 0.5] },
};
const IN_XML = robot(`range="-0.4 0.3"`, `range="-0.2 0.1"`, `range="0 0.5"`);

/** `steps` under full controls from qpos0, on the CPU in float64. */
async function run(model: Model, limits: JointLimits | undefined, steps: number, unroll = true) {
  await using sim = await createSimulation(model, { numEnvs: 1, device: "cpu-f64", limits, unroll, outputs: ["nefc"] });
  await sim.setState({ ctrl: [1, 1, 1] });
  sim.step(steps);
  return sim.getState(["qpos", "qvel", "nefc"]);
}

describe("ranges", () => {
  test.each([true, false])("are those of the XML, the later pattern counts; unrolled: %s", async (unroll) => {
    const [plain, limited] = [await loadModel(robot()), await loadModel(IN_XML)];
    const [ours, theirs] = [await run(plain, LIMITS, 100, unroll), await run(limited, undefined, 100, unroll)];
    expect(ours).toEqual(theirs);
    expect(ours.nefc[0]).toBeGreaterThan(2);
    expect(plain.jnt_limited[1]).toBe(0);
  });

  test("reach MuJoCo beside us, and every step agrees", async () => {
    const { model } = withLimits(await loadModel(robot()), LIMITS);
    const limited = await loadModel(IN_XML);
    await withMuJoCo(model, async (ours) =>
      withMuJoCo(limited, (theirs) => {
        for (const oracle of [ours, theirs]) {
          oracle.data.ctrl.set([1, 1, 1]);
          for (let i = 0; i < 100; i++) oracle.mujoco.mj_step(oracle.model, oracle.data);
        }
        expect(ours.read("qpos")).toEqual(theirs.read("qpos"));
      }),
    );
    const { verdict } = await compareWithMuJoCo(model, { device: "cpu-f64", steps: 40, envs: 1 });
    expect(verdict.reasons).toEqual([]);
  });

  test("false takes the MJCF's away", async () => {
    const limited = await loadModel(IN_XML);
    const none = { "*": { range: false } } as const;
    expect(await run(limited, none, 100)).toEqual(await run(await loadModel(robot()), undefined, 100));
  });
});

describe("speeds", () => {
  /** One hinge of known inertia, pushed by a motor. */
  const WHEEL = `<mujoco><option timestep="0.001" gravity="0 0 0"/><worldbody><body>
    <joint name="axle" axis="0 0 1" armature="0.5"/><inertial pos="0 0 0" mass="1" diaginertia="0.5 0.5 0.5"/></body></worldbody>
    <actuator><motor joint="axle"/></actuator></mujoco>`;

  test.each([1, -1])("are held where the reference and the force balance (%d)", async (way) => {
    const model = await loadModel(WHEEL);
    await using sim = await createSimulation(model, {
      numEnvs: 1,
      device: "cpu-f64",
      limits: { axle: { velocity: 20 } },
    });
    await sim.setState({ ctrl: [50 * way], qvel: [19 * way] });
    const { qvel: below } = await sim.getState(["qvel"]);
    expect(below[0]).toBe(19 * way);
    sim.step(1);
    expect((await sim.getState(["qvel"])).qvel[0]).toBeCloseTo(way * (19 + 50 * 0.001), 12);
    sim.step(3000);

    // f = D (excess / timestep - J a) with a = 0: what pushes is 50 N m
    const excess = ((50 * 0.01) / 0.99) * model.dof_invweight0[0] * model.opt.timestep;
    expect(excess).toBeGreaterThan(1e-4);
    expect(Math.abs((await sim.getState(["qvel"])).qvel[0] - way * (20 + excess))).toBeLessThan(
      boundOf("solver", "f64"),
    );
  });

  test.each([true, false])("of several joints, among limits and contacts; unrolled: %s", async (unroll) => {
    const model = await loadModel(robot());
    const limits = { "hip_*": { velocity: 3 }, "*": { velocity: 6 } } as const;
    expect(withLimits(model, limits).model.speedLimits?.map((s) => s.limit)).toEqual([6, 6, 6, 6]);
    const slow = { "*": { velocity: 6 }, "hip_*": { velocity: 3 } } as const;
    const { qvel } = await run(model, slow, 200, unroll);
    for (const dof of [6, 8]) expect(Math.abs(qvel[dof])).toBeLessThan(3.3);
    const free = await run(model, undefined, 10, unroll);
    expect(Math.abs(free.qvel[6])).toBeGreaterThan(6);
    const limited = withLimits(model, slow).model;
    expect(constraintBound(limited).nl).toBe(4);
    expect(planSimulation(model, { numEnvs: 8, limits: slow }).totalBytes).toBeGreaterThan(0);
  });
});

describe("environments", () => {
  const task = defineTask({
    id: "Limited",
    model: robot(),
    frameSkip: 1,
    maxEpisodeSteps: 200,
    limits: { "hip_*": { range: [-0.4, 0.3] } },
    params: { fast: 2 },
    observe: { all: "qpos", v: "qvel" },
    reward: { none: "0 * time" },
  });

  test("end an episode where a joint is too fast, by a parameter of each world", async () => {
    await using envs = await makeVec(task, {
      numEnvs: 2,
      device: "cpu",
      limits: { hip_left: { velocity: { limit: "param.fast", terminate: true } } },
    });
    await envs.setParams({ fast: 1000 }, [1]);
    await envs.reset({ seed: 1 });
    const ended = [false, false];
    for (let t = 0; t < 60; t++) {
      const { terminated } = await envs.step(new Float32Array([1, 1, 1, 1, 1, 1]));
      terminated.forEach((x, w) => (ended[w] ||= x > 0));
    }
    expect(ended).toEqual([true, false]);
  });

  test("give each world a range of its own, in the plan and in the steps", async () => {
    const limits = { "knee_*": { range: [[-0.3, -0.1], 0.2] } } as const;
    await using envs = await makeVec(task, { numEnvs: 16, device: "cpu", limits });
    await envs.reset({ seed: 1 });
    const actions = new Float32Array(48).map((_, i) => (i % 3 === 2 ? -1 : 0));
    let qpos: Float32Array = new Float32Array();
    for (let t = 0; t < 150; t++) qpos = (await envs.step(actions)).observations as Float32Array;
    const width = qpos.length / 16;
    const knees = Array.from({ length: 16 }, (_, w) => qpos[w * width + 8]);
    expect(new Set(knees.map((x) => x.toFixed(3))).size).toBeGreaterThan(8);
    for (const x of knees) expect(x).toBeGreaterThan(-0.45);
    expect(JSON.stringify(envs.plan)).toContain("per_world");
  });
});

describe("speeds of a world's own", () => {
  const task = defineTask({
    id: "Fast",
    model: robot(),
    frameSkip: 1,
    maxEpisodeSteps: 1000,
    observe: { v: "qvel" },
    reward: { none: "0 * time" },
  });
  const MOST = 'most speed of joint "hip_left"';
  const hip = (velocity: number | readonly [number, number]) => ({ hip_left: { velocity } });
  /** Velocities of all worlds after steps under full controls. */
  async function turn(envs: VectorEnv, steps: number) {
    let v: Float32Array = new Float32Array();
    for (let t = 0; t < steps; t++)
      v = (await envs.step(new Float32Array(3 * envs.numEnvs).fill(1))).observations as Float32Array;
    return v;
  }

  test.each([true, false])("are drawn with each episode, and held; unrolled: %s", async (unroll) => {
    await using envs = await makeVec(task, { numEnvs: 16, device: "cpu", unroll, limits: hip([2, 4]) });
    await envs.reset({ seed: 1 });
    const most = (await envs.getState([MOST]))[MOST];
    expect(new Set(most).size).toBe(16);
    const v = await turn(envs, 8);
    most.forEach((limit, w) => {
      expect(limit).toBeGreaterThanOrEqual(2);
      expect(limit).toBeLessThan(4);
      // full controls go faster at once; what is left above is what a steady push gives
      expect(v[(v.length / 16) * w + 6] / limit).toBeGreaterThan(0.9);
      expect(v[(v.length / 16) * w + 6] / limit).toBeLessThan(1.1);
    });
  });

  test("of [x, x] are the bits of x", async () => {
    const bits = async (velocity: number | readonly [number, number]) => {
      await using envs = await makeVec(task, { numEnvs: 2, device: "cpu", limits: hip(velocity) });
      await envs.reset({ seed: 1 });
      return await turn(envs, 30);
    };
    expect(await bits([3, 3])).toEqual(await bits(3));
  });

  test("are in bundles, which replay, and in the model that --bisect looks at", async () => {
    const directory = mkdtempSync(join(tmpdir(), "corral-speeds-"));
    try {
      await using envs = await makeVec(task, {
        numEnvs: 4,
        device: "cpu",
        limits: hip([2, 4]),
        recorder: { directory },
      });
      await envs.reset({ seed: 1 });
      await turn(envs, 3);
      const limit = (await envs.getState([MOST]))[MOST][2];
      await envs.setState({ qvel: new Float32Array(envs.model.nv).fill(9e9) }, [2]);
      await turn(envs, 1);
      const bundle = readBundle(envs.health().bundles[0]);
      expect(await replay(bundle, { device: "cpu" })).toMatchObject({ identical: true });
      const { scene } = await examine(bundle, { device: "cpu" });
      expect(modelAt(bundle, scene.moments[scene.at], scene.row).speedLimits).toEqual([{ dof: 6, limit }]);
      expect(await bisect(bundle, { device: "cpu" })).toMatchObject({ world: 2 });
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });

  test("may be scaled by what a task randomises, and need a limit to draw from", async () => {
    const randomise = { speed: { field: "speed_limit", of: "hip_left", scale: [0.5, 0.5] } } as const;
    await using envs = await makeVec(task, { numEnvs: 2, device: "cpu", limits: hip(6), randomise });
    await envs.reset({ seed: 1 });
    expect((await envs.getState(["speed"])).speed).toEqual(new Float64Array([3, 3]));
    await expect(makeVec(task, { numEnvs: 2, device: "cpu", randomise })).rejects.toThrow(/bad-randomise.*limits/);
  });
});

describe("mistakes", () => {
  test.each([
    [{ hip_lefft: { range: [-1, 1] } }, /unknown-name.* "hip_lefft"; nearest: hip_left/],
    [{ "hop_*": { range: [-1, 1] } }, /unknown-name.*fits "hop_\*"/],
    [{ hip_left: { range: [1, -1] } }, /bad-limits.*cross/],
    [{ hip_left: { range: [0] } }, /bad-limits.*low and high/],
    [{ hip_left: { range: [Number.NaN, 1] } }, /bad-limits/],
    [{ hip_left: { velocity: -2 } }, /bad-limits.*above 0/],
    [{ hip_left: { velocity: [0, 2] } }, /bad-limits.*above 0/],
    [{ hip_left: { velocity: [3, 2] } }, /bad-limits.*above 0/],
    [{ hip_left: { velocity: [2, 3] } }, /needs-task/],
    [{ hip_left: { velocity: { limit: 2 } } }, /bad-limits.*terminate/],
    [{ hip_left: { speed: 2 } }, /bad-limits.*"speed".*range and velocity/],
    [{ root: { range: [0, 1] } }, /bad-limits.*free joint/],
    [{ neck: { velocity: 3 } }, /bad-limits.*slides and hinges/],
    [{ neck: { range: [-1, 1] } }, /bad-limits.*ball/],
    [{ hip_left: { range: [[-1, -0.5], 1] } }, /needs-task.*draw/],
    [{ hip_left: { velocity: { limit: 3, terminate: true } } }, /needs-task/],
    [7, /bad-limits/],
  ])("%o", async (limits, message) => {
    const model = await loadModel(robot());
    expect(() => planSimulation(model, { numEnvs: 1, limits: limits as never })).toThrow(message);
  });
});

describe("limits of joints that servos hold, which worlds pass over", () => {
  const servos = IN_XML.replaceAll(
    /<motor (joint="\w+") gear="-?\d+"\/>/g,
    `<position $1 kp="30" kv="1" ctrlrange="-1 1"/>`,
  );
  // first worlds are at no limit, others at one or more
  const controls = Array.from({ length: 6 }, (_, w) => [0, 1, 2].map((k) => (w > k ? 0.9 : 0) * (k === 1 ? -1 : 1)));

  test("each world has the bits that it has by itself, and MuJoCo's steps", async () => {
    const model = await loadModel(servos);
    const run = async (ctrl: readonly number[][]) => {
      await using sim = await createSimulation(model, { numEnvs: ctrl.length, device: "wasm", outputs: ["nefc"] });
      await sim.setState({ ctrl: ctrl.flat() });
      sim.step(60);
      return sim.getState(["qpos", "qvel", "nefc"]);
    };
    const all = await run(controls);
    expect(all.nefc[0]).toBeLessThan(all.nefc[5]);
    for (const [w, ctrl] of controls.entries()) {
      const own = await run([ctrl]);
      for (const name of ["qpos", "qvel"] as const) {
        const size = own[name].length;
        expect(all[name].subarray(w * size, (w + 1) * size)).toEqual(own[name]);
      }
    }
    const { verdict } = await compareWithMuJoCo(model, { device: "wasm", steps: 30, envs: 4, seed: 1 });
    expect(verdict.reasons).toEqual([]);
  });
});
