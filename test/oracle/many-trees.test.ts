// many small trees that touch and are tied: their Hessian is factored in the tiles of dofs that each world has
import { expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { createSimulation } from "../../src/batch/simulation.ts";
import { loadModel } from "../../src/model/model.ts";
import { planKernels } from "../../src/batch/simulation-spec.ts";
import { onCpu } from "../../src/batch/device.ts";
import { emissionFor } from "../../src/batch/kernel/emission.ts";

const count = (n: number, make: (i: number) => string): string => Array.from({ length: n }, (_, i) => make(i)).join("");
const slides = count(
  3,
  (k) => `<joint type="slide" axis="${[0, 1, 2].map((c) => Number(c === k)).join(" ")}" damping=".02"/>`,
);

/** Grains that fill a tray on a slide, which reaches all of them; they overlap by a little. */
const grains = (n: number, geom = ""): string =>
  count(n, (i) => {
    const place = [0.058 * (i % 4) - 0.09, 0.059 * ((i >> 2) % 4) - 0.09, 0.045 + 0.057 * (i >> 4)];
    return `<body pos="${place.join(" ")}">${slides}<geom size=".03" mass=".02" condim="${[1, 3, 4][i % 3]}" ${geom}/></body>`;
  });
const TRAY = `<body><joint name="tray" type="slide" axis="1 0 0" damping="2"/><geom type="box" size=".15 .15 .01" mass="1"/>
  <geom type="box" size=".01 .15 .1" pos="-.15 0 .1" mass=".1"/><geom type="box" size=".01 .15 .1" pos=".15 0 .1" mass=".1"/></body>`;
/** What presses on them: an arm whose joints are tied, on a tendon, and a box that floats. */
const PRESS = `<body pos="0 -.3 .35"><joint name="a1" axis="1 0 0" damping=".1"/><geom type="capsule" size=".03" fromto="0 0 0 0 .2 0" mass=".3"/><site name="s1" pos="0 .1 0"/>
  <body pos="0 .2 0"><joint name="a2" axis="1 0 0" damping=".1"/><joint name="a3" axis="0 0 1" damping=".1"/><geom type="box" size=".05 .05 .1" pos="0 .05 -.07" mass=".3"/><site name="s2"/></body></body>
  <body pos=".06 .06 .32"><freejoint/><geom type="box" size=".05 .05 .05" mass=".2"/><site name="s3"/></body>`;
const TIES = `<equality><joint joint1="a1" joint2="a2" polycoef="0 -.5 0 0 0"/></equality><tendon><spatial name="t" limited="true" range="0 .3"><site site="s2"/><site site="s3"/></spatial></tendon>
  <actuator><motor joint="tray" gear="20"/><motor joint="a1" gear="2"/></actuator>`;
const scene = (bodies: string, rest = "", option = ""): string =>
  `<mujoco><option timestep=".002" ${option}/><worldbody><geom type="plane" size="2 2 .1" pos="0 0 -.011"/>${bodies}</worldbody>${rest}</mujoco>`;

/** Walkers on rails, of four tiles each, whose links touch those of their neighbours and their own. */
const walkers = (n: number): string =>
  count(n, (i) => {
    const leg = (k: number) =>
      `<body pos="${0.07 * k} 0 -.05"><joint type="ball" damping=".02"/><geom type="capsule" size=".025" fromto="0 0 0 0 0 -.08" mass=".1"/>
       <body pos="0 0 -.08"><joint axis="0 1 0" damping=".02"/><geom type="capsule" size=".02" fromto="0 0 0 ${-0.02 * k} 0 -.08" mass=".05"/></body></body>`;
    return `<body pos="${0.21 * (i % 6) - 0.5} ${0.11 * Math.floor(i / 6) - 0.1} .19">${slides}<joint axis="0 0 1" damping=".05"/><geom type="box" size=".1 .05 .03" mass=".4"/>${leg(-1)}${leg(1)}</body>`;
  });

const MODELS = [
  ["grains in a tray, under an arm and a box", scene(TRAY + PRESS + grains(48), TIES)],
  [
    "under elliptic cones and implicitfast",
    scene(TRAY + PRESS + grains(36), TIES, `cone="elliptic" integrator="implicitfast"`),
  ],
  ["grains that stick in a gap", scene(TRAY + grains(40, `gap=".01" margin=".002"`), "", `iterations="30"`)],
  ["trees of several tiles that touch themselves too", scene(walkers(12))],
  ["few iterations", scene(TRAY + grains(40), "", `iterations="4"`)],
] as const;

test.each(MODELS)("many trees step as in MuJoCo: %s", async (_, xml) => {
  const model = await loadModel(xml);
  for (const device of ["cpu-f64", "wasm"] as const) {
    const steps = device === "wasm" ? 60 : 15;
    const { verdict, contacts } = await compareWithMuJoCo(model, { device, steps, envs: 1, unroll: false });
    expect(verdict.reasons).toEqual([]);
    expect(contacts.most).toBeGreaterThan(20);
  }
});

/** Bits of worlds that begin at velocities of their own. */
async function bits(xml: string, numEnvs: number, threads: number): Promise<Uint32Array> {
  const model = await loadModel(xml);
  await using simulation = await createSimulation(model, { numEnvs, device: "wasm", threads });
  const qvel = Float32Array.from(
    { length: numEnvs * model.nv },
    (_, i) => 0.2 * Math.sin(37 * Math.floor(i / model.nv) + (i % model.nv)),
  );
  await simulation.setState({ qvel });
  simulation.step(20);
  const state = await simulation.getState(["qpos", "qvel"]);
  return new Uint32Array(Float32Array.from([...state.qpos, ...state.qvel]).buffer);
}

test("worlds have the same bits beside others, and in every run", async () => {
  const xml = MODELS[0][1];
  const once = await bits(xml, 6, 1);
  expect(await bits(xml, 6, 2)).toEqual(once);
  const alone = await bits(xml, 1, 1);
  const { nq } = await loadModel(xml);
  expect(once.slice(0, nq)).toEqual(alone.slice(0, nq));
});

test("tiles are of many trees of few dofs, on WebAssembly and JavaScript alone", async () => {
  const holds = async (
    xml: string,
    context: Parameters<typeof planKernels>[2] = onCpu({ emission: emissionFor(undefined) }),
  ) => {
    const { traces } = planKernels(await loadModel(xml), { numEnvs: 8, unroll: false }, context);
    return traces.get("step")!.arrays.some(({ name }) => name === "tree_touched_tile");
  };
  const many = scene(grains(40));
  expect(await holds(many)).toBe(true);
  expect(await holds(many, { emission: emissionFor(undefined) })).toBe(false);
  // few dofs have a Hessian in words, free bodies blocks
  expect(await holds(scene(grains(8)))).toBe(false);
  const boxes = (n: number) => count(n, (i) => `<body pos="${i} 1 1"><freejoint/><geom size=".1"/></body>`);
  expect(await holds(scene(grains(40) + boxes(3)))).toBe(true);
  expect(await holds(scene(grains(40) + boxes(4)))).toBe(false);
  // 256 tiles, and 30 dofs of a tree
  expect(await holds(scene(grains(256)))).toBe(true);
  expect(await holds(scene(grains(257)))).toBe(false);
  const chain = (n: number) =>
    Array.from({ length: n }).reduceRight<string>(
      (rest) => `<body pos=".1 0 0"><joint axis="0 1 0"/><geom size=".04"/>${rest}</body>`,
      "",
    );
  expect(await holds(scene(grains(40) + chain(30)))).toBe(true);
  expect(await holds(scene(grains(40) + chain(31)))).toBe(false);
});
