// room for contacts that follows the model: what its file says, and how many there are where it starts
import { expect, test } from "vitest";
import { createSimulation } from "../../src/batch/simulation.ts";
import { defaultContacts } from "../../src/batch/kernel/form.ts";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/model/model.ts";
import { constraintBound } from "../../src/model/pairs.ts";

/** Boxes of their own on the floor, four contacts each; any two might meet. */
function boxes(count: number, { size = "", height = 0.0499, keys = "" } = {}): string {
  const body = (i: number) =>
    `<body pos="${0.2 * (i % 10)} ${0.2 * Math.floor(i / 10)} ${height}"><freejoint/><geom type="box" size=".05 .05 .05"/></body>`;
  return `<mujoco>${size}<worldbody><geom type="plane" size="0 0 1"/>${Array.from({ length: count }, (_, i) => body(i)).join("")}</worldbody>${keys}</mujoco>`;
}

/** A keyframe of as many boxes on the floor. */
const resting = (count: number) =>
  `<keyframe><key qpos="${Array.from({ length: count }, (_, i) => `${0.2 * i} 0 0.0499 1 0 0 0`).join(" ")}"/></keyframe>`;

test("a model that starts with more contacts than most worlds keep has room for half as many again", async () => {
  const model = await loadModel(boxes(44));
  expect(model.restContacts).toBe(176);
  expect(defaultContacts(model)).toBe(264);
  await using simulation = await createSimulation(model, { numEnvs: 1, device: "wasm", threads: 1, outputs: ["ncon"] });
  simulation.step(1);
  expect((await simulation.getState(["ncon"])).ncon[0]).toBe(176);
  expect(await simulation.status()).toEqual([]);
});

test("keyframes count, and what needs less has the room that it had", async () => {
  const air = { height: 1 };
  expect(defaultContacts(await loadModel(boxes(50, air)))).toBe(256);
  expect(defaultContacts(await loadModel(boxes(50, { ...air, keys: resting(50) })))).toBe(300);
  // all that there can be: nothing is counted
  const few = await loadModel(boxes(3));
  expect(few.restContacts).toBeUndefined();
  expect(defaultContacts(few)).toBe(constraintBound(few).nconmax);
});

test("the count of the file is heard, up to twice what most worlds keep", async () => {
  const said = async (nconmax: number) => loadModel(boxes(20, { size: `<size nconmax="${nconmax}"/>` }));
  expect((await said(300)).nconmax).toBe(300);
  expect((await loadModel(boxes(20))).nconmax).toBeUndefined();
  expect(defaultContacts(await said(300))).toBe(300);
  expect(defaultContacts(await said(5000))).toBe(512);
  // MuJoCo keeps contacts beyond such a count, and so does a world
  expect(defaultContacts(await said(10))).toBe(256);
});

test("a comparison takes nconmax, and tells of an overflow", async () => {
  // wherever they slide they touch
  const ball = (x: number) => `<body pos="${x} 0 0.04"><joint type="slide" axis="0 1 0"/><geom size=".05"/></body>`;
  const floor = `<geom type="plane" size="0 0 1"/>`;
  const model = await loadModel(`<mujoco><worldbody>${floor}${ball(0)}${ball(1)}</worldbody></mujoco>`);
  const compare = (nconmax: number) => compareWithMuJoCo(model, { device: "cpu-f64", steps: 2, envs: 1, nconmax });
  expect((await compare(2)).verdict.reasons).toEqual([]);
  const { verdict, status } = await compare(1);
  expect(status).toEqual({ CONTACT_OVERFLOW: 2 });
  expect(verdict.reasons.join()).toContain("CONTACT_OVERFLOW");
  await expect(compare(0)).rejects.toThrow(/nconmax/);
});
