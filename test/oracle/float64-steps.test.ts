// models whose steps float32 loses: without an adapter kernels compute them in float64, and are as near to MuJoCo as float32 records allow
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { planKernels } from "../../src/batch/simulation-spec.ts";
import { createSimulation } from "../../src/batch/simulation.ts";
import { onCpu, planContext } from "../../src/batch/device.ts";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { explain } from "../../src/crash/bisect.ts";
import { minimise } from "../../src/crash/minimise.ts";
import { replay } from "../../src/crash/replay.ts";
import { writeReproduction } from "../../src/crash/reproduction.ts";
import { crashScene } from "../../src/crash/scene.ts";
import { defineTask, makeVec, startAround } from "../../src/env/index.ts";
import { loadModel } from "../../src/model/model.ts";
import { readBundle } from "../../src/record/read-bundle.ts";

const directory = mkdtempSync(join(tmpdir(), "corral-float64-steps-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Two legs of light links, each closed by a rod, as robots with coupled knees have them. */
const LOOPS = `<mujoco model="loops"><option timestep="0.002"/><default><joint damping="0.05"/><equality solimp="0.9999 0.9999 0.001" solref="0.005 1"/></default>
<worldbody><geom type="plane" size="3 3 .1"/>
<body name="trunk" pos="0 0 .72"><freejoint/><geom type="box" size=".15 .1 .08" mass="12"/>
${["l", "r"]
  .map((side, k) => {
    const y = k ? -0.1 : 0.1;
    return `<body name="thigh_${side}" pos="0 ${y} 0"><joint name="hip_${side}" axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 .05 0 -.32" mass=".8"/>
  <body name="shin_${side}" pos=".05 0 -.32"><joint name="knee_${side}" axis="0 1 0"/><geom type="capsule" size=".015" fromto="0 0 0 -.06 0 -.32" mass=".2"/>
    <body name="toe_${side}" pos="-.06 0 -.32"><joint name="toe_${side}" axis="0 1 0"/><geom name="foot_${side}" size=".03" mass=".02"/></body></body>
  <body name="rod_${side}" pos=".02 0 -.02"><joint name="rod_${side}" type="ball"/><geom type="capsule" size=".004" fromto="0 0 0 .07 0 -.33" mass=".003" contype="0" conaffinity="0"/></body></body>`;
  })
  .join("\n")}
</body></worldbody>
<equality>${["l", "r"].map((side) => `<connect body1="rod_${side}" body2="shin_${side}" anchor=".07 0 -.33"/>`).join("")}</equality>
<actuator>${["l", "r"].map((side) => `<motor joint="hip_${side}" gear="20"/><motor joint="knee_${side}" gear="20"/>`).join("")}</actuator></mujoco>`;

const LINKS = 14;
/** A rope of links of two grams between a weight and a post. */
const ROPE = `<mujoco model="rope"><option timestep="0.002"/><worldbody><geom type="plane" size="3 3 .1"/><body name="post" pos="0 0 1"><geom size=".02"/></body>
${Array.from({ length: LINKS }, (_, k) => k).reduceRight(
  (rest, k) =>
    `<body name="link${k}" pos="${k === 0 ? "0 0 1" : ".04 0 0"}"><joint type="ball" damping="1e-4"/><geom type="capsule" size=".006" fromto="0 0 0 .04 0 0" mass=".002" contype="0" conaffinity="0"/>${rest}</body>`,
  '<body name="weight" pos=".04 0 0"><geom size=".05" mass="1"/></body>',
)}
<body name="slide" pos=".6 0 1"><joint name="slide" type="slide" axis="1 0 0"/><geom size=".02" mass=".2" contype="0" conaffinity="0"/></body></worldbody>
<equality><weld body1="weight" body2="slide"/></equality><actuator><motor joint="slide"/></actuator></mujoco>`;

/** A pendulum on a floor with friction much stiffer than normals, in one iteration of the solver. */
const SHORT = `<mujoco><option impratio="100" iterations="1" ls_iterations="5"/><worldbody><geom type="plane" size="3 3 .1"/>
<body pos="0 0 .3"><freejoint/><geom type="capsule" size=".03" fromto="-.1 0 0 .1 0 0"/><body pos=".1 0 0"><joint name="j" axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 0 0 -.2"/></body></body></worldbody>
<actuator><motor joint="j"/></actuator></mujoco>`;

/** Cubes in one another, whose friction is to be free of slip: what is left of R is little, and noslip leaves it out. */
const CUBES = `<mujoco><option impratio="1000" noslip_iterations="1" o_solref="1e-5 1" o_solimp=".01 1 .001 .5 2"><flag override="enable"/></option>
<worldbody><geom type="plane" size="3 3 .1"/>
${[0, 0.02].map((x, i) => `<body pos="${x} 0 0"><freejoint/><geom type="box" size=".03 .03 .03" mass=".01" condim="4" friction="1 1 1"/>${i ? '<body pos="0 0 .04"><joint name="j" axis="0 1 0"/><geom size=".01" mass=".01"/></body>' : ""}</body>`).join("\n")}
</worldbody><actuator><motor joint="j" gear=".01"/></actuator></mujoco>`;

const PLAIN = `<mujoco><worldbody><body><joint name="j"/><geom size=".1"/></body></worldbody><actuator><motor joint="j"/></actuator></mujoco>`;

const CASES = Object.entries({ LOOPS, ROPE, SHORT, CUBES });

const isWide = async (xml: string, options: object) => {
  const given = { numEnvs: 8, ...options };
  const { traces } = planKernels(await loadModel(xml), given, onCpu(planContext({}, 8)));
  return traces.get("step")!.wide;
};

test.each(CASES)("%s is stepped in float64 by default, and in what is asked for", async (_name, xml) => {
  expect(await isWide(xml, {})).toBe(true);
  expect(await isWide(xml, { arithmetic: "float32" })).toBe(false);
});

test("a model that float32 steps well is stepped in float32 by default", async () => {
  expect(await isWide(PLAIN, {})).toBe(false);
  expect(await isWide(PLAIN, { arithmetic: "float64" })).toBe(true);
});

test("what is switched off, or has nothing to touch, asks for no float64", async () => {
  const tied = PLAIN.replace("<body>", '<body name="b">').replace(
    "<actuator>",
    '<equality><connect body1="b" anchor="0 0 .1"/></equality><actuator>',
  );
  const without = (xml: string, flag: string) =>
    xml.replace("<worldbody>", `<option><flag ${flag}="disable"/></option><worldbody>`);
  expect(await isWide(tied, {})).toBe(true);
  expect(await isWide(tied.replace("<connect ", '<connect active="false" '), {})).toBe(true);
  expect(await isWide(without(tied, "contact"), {})).toBe(true);
  expect(await isWide(without(tied, "equality"), {})).toBe(false);
  expect(await isWide(without(tied, "constraint"), {})).toBe(false);
  expect(await isWide(without(SHORT, "contact"), {})).toBe(false);
  expect(await isWide(SHORT.replace(/<geom type="plane"[^>]*>/, ""), {})).toBe(false);
});

test.each(CASES)("%s is within the bounds of one step of MuJoCo", async (_name, xml) => {
  const model = await loadModel(xml);
  const { verdict } = await compareWithMuJoCo(model, { device: "wasm", steps: 30, envs: 4 });
  expect(verdict.reasons).toEqual([]);
});

test.each(CASES)("%s has the same bits as WebAssembly and as JavaScript, in both forms", async (_name, xml) => {
  const model = await loadModel(xml);
  for (const unroll of [true, false]) {
    const run = async (device: "wasm" | "cpu") => {
      await using simulation = await createSimulation(model, { numEnvs: 3, device, unroll });
      const ctrl = Float32Array.from({ length: 3 * model.nu }, (_, i) => Math.sin(i));
      await simulation.setState({ ctrl });
      for (let t = 0; t < 20; t++) simulation.step();
      const { qpos, qvel } = await simulation.getState(["qpos", "qvel"]);
      return [...qpos, ...qvel];
    };
    expect(await run("wasm")).toEqual(await run("cpu"));
  }
});

test("a world has the bits that it has by itself, whatever others do, from a snapshot too", async () => {
  const model = await loadModel(LOOPS);
  // the second leaves all numbers
  const pushes = [0.3, 9e9, -0.7, 0, 0.9];
  const run = async (worlds: readonly number[], changesBatch = false) => {
    const made = () => createSimulation(model, { numEnvs: worlds.length, device: "wasm" });
    await using first = await made();
    await first.setState({ ctrl: Float32Array.from(worlds.flatMap((w) => Array(model.nu).fill(pushes[w]))) });
    for (let t = 0; t < 10; t++) first.step();
    await using second = changesBatch ? await made() : undefined;
    await second?.restore(await first.snapshot());
    const simulation = second ?? first;
    for (let t = 0; t < 10; t++) simulation.step();
    const { qpos, qvel } = await simulation.getState(["qpos", "qvel"]);
    return worlds.map((_, i) => [
      ...qpos.slice(i * model.nq, (i + 1) * model.nq),
      ...qvel.slice(i * model.nv, (i + 1) * model.nv),
    ]);
  };
  const alone: number[][] = [];
  for (const w of pushes.keys()) alone.push(...(await run([w])));
  expect(alone.map((values) => values.every(Number.isFinite))).toEqual([true, false, true, true, true]);

  for (const worlds of [
    [1, 0, 2],
    [0, 1, 2, 3, 4],
  ])
    expect(await run(worlds, worlds.length > 3)).toEqual(worlds.map((w) => alone[w]));
});

test("devices say what they compute in", async () => {
  const model = await loadModel(PLAIN);
  const nameOf = async (device: "wasm" | "cpu" | "cpu-f64", arithmetic: "float32" | "float64") => {
    await using simulation = await createSimulation(model, { numEnvs: 1, device, arithmetic });
    return simulation.deviceName;
  };
  expect(await nameOf("wasm", "float32")).toBe("wasm (WebAssembly SIMD)");
  expect(await nameOf("wasm", "float64")).toBe("wasm (WebAssembly, float64)");
  expect(await nameOf("cpu", "float32")).toBe("cpu (JavaScript f32)");
  expect(await nameOf("cpu", "float64")).toBe("cpu (JavaScript f32, steps in float64)");
  expect(await nameOf("cpu-f64", "float64")).toBe("cpu (JavaScript f64)");
});

test("devices refuse an arithmetic that they have not", async () => {
  const model = await loadModel(PLAIN);
  await expect(createSimulation(model, { numEnvs: 1, device: "cpu-f64", arithmetic: "float32" })).rejects.toThrow(
    /^\[bad-option\] arithmetic is "float32", and the device cpu-f64 computes in float64\./,
  );
  await expect(createSimulation(model, { numEnvs: 1, device: "gpu", arithmetic: "float64" })).rejects.toThrow(
    /^\[bad-option\] arithmetic is "float64", and kernels of adapters are WGSL, which has float32 alone\./,
  );
  await expect(createSimulation(model, { numEnvs: 1, device: "wasm", arithmetic: "f64" as never })).rejects.toThrow(
    "[bad-option] arithmetic is",
  );
});

test("a crash in float64 replays to the bit, on wasm and in JavaScript, and is explained", async () => {
  const task = defineTask({
    id: "Loops",
    model: LOOPS,
    frameSkip: 2,
    maxEpisodeSteps: 1000,
    observe: { qpos: "qpos", qvel: "qvel" },
    reward: { alive: "1" },
    reset: startAround({ qpos: 0.01 }),
  });
  await using env = await makeVec(task, { numEnvs: 8, seed: 1, device: "wasm", recorder: { directory } });
  await env.reset();
  const actions = new Float32Array(env.actionSpace.size);
  for (let t = 0; t < 30 && env.health().bundles.length === 0; t++) {
    if (t === 20) actions[5] = 1e16;
    await env.step(actions);
  }
  const [path] = env.health().bundles;
  const bundle = readBundle(path);
  expect(bundle.trace.wide).toBe(true);
  for (const device of ["wasm", "cpu"] as const)
    expect(await replay(bundle, { device })).toMatchObject({ identical: true, drift: {} });
});

/** A feather that carries an anvil: together they weigh what the anvil does in float32. A tie makes float64 its default. */
const FEATHER = `<mujoco model="feather"><option gravity="0 0 0" solver="PGS"/><worldbody>
<body name="feather"><joint name="rail" type="slide" axis="1 0 0"/><inertial pos="0 0 0" mass="1e-4" diaginertia="1 1 1"/>
  <body name="anvil"><joint name="turn" type="hinge" axis="0 1 0"/><joint name="slot" type="slide" axis="1 0 0"/>
  <inertial pos="0 0 0" mass="1e4" diaginertia="1 1 1"/></body></body></worldbody>
<equality><connect body1="anvil" anchor="0 0 0" active="false"/></equality>
<actuator><motor name="push" joint="turn" ctrlrange="-1 1"/></actuator></mujoco>`;

test("a crash is made again, and written as a program, in the arithmetic that it was recorded in", async () => {
  const task = defineTask({
    id: "Feather",
    model: FEATHER,
    frameSkip: 2,
    maxEpisodeSteps: 1000,
    observe: { qpos: "qpos" },
    reward: { alive: "1" },
    reset: () => ({ qpos: [0, 0, 0], qvel: [0, 0, 0] }),
  });
  await using env = await makeVec(task, {
    numEnvs: 2,
    seed: 1,
    device: "wasm",
    arithmetic: "float32",
    recorder: { directory },
  });
  await env.reset();
  await env.step(new Float32Array(env.actionSpace.size).fill(1));
  const bundle = readBundle(env.health().bundles[0]);
  const scene = await crashScene(bundle);
  const minimised = await minimise(scene, await explain(scene));
  expect(minimised.status).toContain("BAD_QACC");
  const [program] = writeReproduction(join(directory, "program"), bundle, minimised);
  expect(readFileSync(program, "utf8")).toContain('device: "cpu", arithmetic: "float32"');
});
