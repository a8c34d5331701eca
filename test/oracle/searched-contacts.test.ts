// steps of models of meshes and of pairs that MuJoCo searches, from states among contacts, beside MuJoCo
import { describe, expect, test } from "vitest";
import { compareWithMuJoCo, type CompareOptions } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/model/model.ts";
import { ballPoints, boxPoints, prismPoints } from "../support/hulls.ts";
import { createRandom } from "../support/mjcf-random.ts";
import { isFull, sweep } from "../support/sweep.ts";

const r = createRandom(5);
const MESHES = {
  box: boxPoints(0.1),
  few: ballPoints(r, 20, 0.1),
  prism: prismPoints(r, 9, 0.1, 0.05),
  // climbed
  many: ballPoints(r, 300, 0.12),
};

const HULLS = Object.keys(MESHES);

/** Meshes that fall on planes, which they alone can touch. */
const onPlane = (names: readonly string[]) => `<mujoco model="meshes on a plane">
  <asset>${Object.entries(MESHES)
    .map(([name, vertex]) => `<mesh name="${name}" vertex="${vertex}"/>`)
    .join("")}</asset>
  <default><geom contype="2" conaffinity="1"/></default>
  <worldbody>
    <geom type="plane" size="5 5 .1" contype="1" conaffinity="2" zaxis=".02 .03 1" margin=".004"/>
    ${names
      .map((name, i) => `<body pos="${0.3 * i} 0 .09"><freejoint/><geom type="mesh" mesh="${name}"/></body>`)
      .join("")}
  </worldbody>
</mujoco>`;

/** Round bodies in a bowl of shapes of every kind. */
// MuJoCo searches to the end: by default it leaves 2e-3 of an ellipsoid's size
const roundOnFlat = `<mujoco model="round on flat">
  <option ccd_tolerance="1e-12" ccd_iterations="200"/>
  <asset><mesh name="few" vertex="${ballPoints(r, 20, 0.2)}"/><mesh name="many" vertex="${ballPoints(r, 300, 0.2)}"/></asset>
  <default><geom contype="1" conaffinity="2"/><default class="mover"><geom contype="2" conaffinity="1"/></default></default>
  <worldbody>
    <geom type="mesh" mesh="few"/>
    <geom type="mesh" mesh="many" pos=".3 0 0"/>
    <geom type="cylinder" size=".2 .1" pos=".3 .3 0"/>
    <geom type="box" size=".2 .2 .1" pos="0 .3 0"/>
    <geom type="ellipsoid" size=".2 .25 .1" pos=".6 0 0"/>
    <body pos="0 0 .27"><freejoint/><geom class="mover" type="sphere" size=".08"/></body>
    <body pos=".3 .05 .27"><freejoint/><geom class="mover" type="capsule" size=".05 .1"/></body>
    <body pos=".3 .3 .21"><freejoint/><geom class="mover" type="ellipsoid" size=".05 .1 .12"/></body>
    <body pos=".6 .02 .17"><freejoint/><geom class="mover" type="ellipsoid" size=".05 .1 .07"/></body>
    <body pos="0 .3 .16"><freejoint/><geom class="mover" type="ellipsoid" size=".09 .1 .07"/></body>
  </worldbody>
</mujoco>`;

/** Compares single steps, and expects contacts. */
async function holds(xml: string, options: CompareOptions): Promise<void> {
  const found = await compareWithMuJoCo(await loadModel(xml), { steps: isFull ? 300 : 60, ...options });
  expect(found.unsupported).toEqual([]);
  expect(found.contacts.most).toBeGreaterThan(2);
  expect(found.contacts.equal + found.contacts.touching).toBe(found.contacts.total);
  expect(found.verdict.reasons).toEqual([]);
}

describe("a plane with hulls", () => {
  test.each([
    ["float64, straight", { device: "cpu-f64" }],
    ["float64, rolled", { device: "cpu-f64", unroll: false }],
    ["WebAssembly", { device: "wasm" }],
    ["WebAssembly, rolled", { device: "wasm", unroll: false }],
    ["the driver, straight", {}],
  ] satisfies [string, CompareOptions][])("in %s", (where, how) =>
    // what a driver compiles for one small hull it compiles for others
    holds(onPlane(where.startsWith("the driver") ? sweep(HULLS, ["few", "many"]) : HULLS), how),
  );
});

describe("round shapes on all others", () => {
  test.each([
    ["float64, straight", { device: "cpu-f64" }],
    ["float64, rolled", { device: "cpu-f64", unroll: false }],
    ["WebAssembly", { device: "wasm" }],
    // compiles for ten seconds; the search itself is compiled for the plane
    ...(isFull ? [["the driver, straight", {}] as [string, CompareOptions]] : []),
  ] satisfies [string, CompareOptions][])("in %s", (_, how) => holds(roundOnFlat, how));
});

/** A heap of hulls and boxes that come to rest on each other. */
const heap = `<mujoco model="heap of hulls">
  <asset><mesh name="box" vertex="${boxPoints(0.1)}"/><mesh name="tet" vertex="0 0 0 .2 0 0 0 .2 0 0 0 .2"/>
    <mesh name="prism" vertex="${prismPoints(r, 5, 0.12, 0.06)}"/></asset>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 .099"><freejoint/><geom type="mesh" mesh="box"/></body>
    <body pos=".03 .02 .259"><freejoint/><geom type="mesh" mesh="prism"/></body>
    <body pos="0 .01 .4"><freejoint/><geom type="box" size=".1 .1 .08"/></body>
    <body pos=".02 0 .54"><freejoint/><geom type="mesh" mesh="tet"/></body>
  </worldbody>
</mujoco>`;

describe("faces on faces", () => {
  test.each([
    ["float64, straight", { device: "cpu-f64" }],
    ["WebAssembly", { device: "wasm" }],
    ["WebAssembly, rolled", { device: "wasm", unroll: false }],
  ] satisfies [string, CompareOptions][])("in %s", (_, how) => holds(heap, { seed: 2, ...how }));
});
