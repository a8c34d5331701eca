// models of thousands of geoms: a plan or a refusal, never a wait or a stack that runs over
import { expect, test } from "vitest";
import { compareWithMuJoCo } from "../../../src/compare/compare.ts";
import { planSimulation } from "../../../src/batch/simulation.ts";
import { loadModel, type Model } from "../../../src/model/model.ts";
import { constraintBound, countPairs, geomPairs, MAX_PAIRS } from "../../../src/model/pairs.ts";
import { unsupportedFeatures } from "../../../src/model/supported.ts";
import { loadTestModel, TEST_MODELS } from "../../support/mjcf.ts";

/** Free balls over a plane; `bits` of the balls. */
const balls = (count: number, bits = ""): Promise<Model> => {
  const ball = (i: number) =>
    `<body pos="${i % 10} ${Math.floor(i / 10) % 10} ${1 + Math.floor(i / 100)}"><freejoint/><geom size="0.1" ${bits}/></body>`;
  return loadModel(`<mujoco><size memory="300M"/><worldbody><geom type="plane" size="5 5 0.1"/>
    ${Array.from({ length: count }, (_, i) => ball(i)).join("")}</worldbody></mujoco>`);
};

const PLANE = '<geom type="plane" size="5 5 0.1"/>';

/** Ground of 7 by 7 boxes, level with the plane. */
const TILES = Array.from({ length: 49 }, (_, i) => {
  const [x, y] = [i % 7, Math.floor(i / 7)].map((k) => 0.1 * (k - 3));
  return `<geom type="box" size="0.05 0.05 0.05" pos="${x} ${y} -0.05"/>`;
}).join("");

/** Free bodies in rings of `size` balls, each half sunk into the next and the lowest into the ground. */
const clusters = (count: number, size: number, ground = PLANE): Promise<Model> => {
  const ring = Array.from({ length: size }, (_, k) => {
    const angle = (2 * Math.PI * k) / size;
    return `<geom size="0.02" pos="${0.2 * Math.cos(angle)} ${0.2 * Math.sin(angle)} 0"/>`;
  }).join("");
  const body = (i: number) => `<body pos="0 0 ${0.018 + 0.036 * i}"><freejoint/>${ring}</body>`;
  return loadModel(`<mujoco><worldbody>${ground}
    ${Array.from({ length: count }, (_, i) => body(i)).join("")}</worldbody></mujoco>`);
};

test("counted pairs are those that are made, explicit ones too", async () => {
  for (const name of TEST_MODELS) {
    const model = await loadTestModel(name);
    const explicit = geomPairs(model).filter((p) => p.ipair >= 0).length;
    expect([name, countPairs(model) - model.npair >= geomPairs(model).length - explicit]).toEqual([name, true]);
    if (model.npair === 0) expect([name, countPairs(model)]).toEqual([name, geomPairs(model).length]);
  }
});

test("more pairs than any world could test are refused, whatever is asked of the model", async () => {
  // 40 bodies of 52 balls: millions of pairs, few bodies
  const model = await clusters(40, 52);
  expect(countPairs(model)).toBe(((40 * 39) / 2) * 52 * 52 + 40 * 52);
  for (const call of [
    () => planSimulation(model, { numEnvs: 8 }),
    () => unsupportedFeatures(model),
    () => constraintBound(model),
    () => geomPairs(model),
  ])
    expect(call).toThrow(
      /\[too-many-pairs\] 2111200 pairs among the 2081 geoms .* 2097152 are the most.* contype and conaffinity/,
    );
});

test("dofs that contacts couple into a matrix without room are refused, with what steps them", async () => {
  const leaf = `<body><freejoint/><geom type="ellipsoid" size="0.02 0.01 0.005" fluidshape="ellipsoid"/></body>`;
  const leaves = (integrator: string) =>
    loadModel(`<mujoco><option integrator="${integrator}" density="1.2"/><worldbody>
      <replicate count="130" offset="0 0 0.1">${leaf}</replicate></worldbody></mujoco>`);
  const implicit = await leaves("implicitfast");
  expect(() => planSimulation(implicit, { numEnvs: 1, device: "wasm" })).toThrow(
    /\[too-many-couplings\] .* 780 dofs .* integrator="Euler"/,
  );
  const euler = await leaves("Euler");
  expect(planSimulation(euler, { numEnvs: 1, device: "wasm" }).totalBytes).toBeGreaterThan(0);
});

test.each([
  ["a plane", PLANE, 1],
  ["boxes", TILES, 49],
])("a world of 75,000 pairs over %s steps as MuJoCo's does", async (_, ground, geoms) => {
  const model = await clusters(22, 18, ground);
  expect(geomPairs(model).length).toBe(((22 * 21) / 2) * 18 * 18 + 22 * 18 * geoms);
  const { contacts, verdict } = await compareWithMuJoCo(model, { steps: 4, envs: 1, device: "wasm" });
  expect(verdict.reasons).toEqual([]);
  expect(contacts.most).toBeGreaterThan(20);
});

test("as many as are allowed have a plan", async () => {
  const model = await balls(150);
  expect(geomPairs(model).length).toBe((150 * 151) / 2);
  expect(geomPairs(model)).toBe(geomPairs(model));
  expect(geomPairs(model).length).toBeLessThan(MAX_PAIRS);
  expect(planSimulation(model, { numEnvs: 8 }).totalBytes).toBeGreaterThan(0);
  const apart = await balls(1000, `contype="0"`);
  expect(planSimulation(apart, { numEnvs: 8 }).totalBytes).toBeGreaterThan(0);
});
