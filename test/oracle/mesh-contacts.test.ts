// steps of models whose geoms are meshes, from states among contacts, beside MuJoCo
import { describe, expect, test } from "vitest";
import { compareWithMuJoCo, type CompareOptions } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/model/model.ts";
import { ballPoints, boxPoints, prismPoints } from "../support/hulls.ts";
import { createRandom } from "../support/mjcf-random.ts";
import { isFull } from "../support/oracle-suite.ts";

const r = createRandom(5);
const MESHES = {
  box: boxPoints(0.1),
  few: ballPoints(r, 20, 0.1),
  prism: prismPoints(r, 9, 0.1, 0.05),
  // climbed
  many: ballPoints(r, 300, 0.12),
};

/** Meshes that fall on planes, which they alone can touch. */
const onPlane = `<mujoco model="meshes on a plane">
  <asset>${Object.entries(MESHES)
    .map(([name, vertex]) => `<mesh name="${name}" vertex="${vertex}"/>`)
    .join("")}</asset>
  <default><geom contype="2" conaffinity="1"/></default>
  <worldbody>
    <geom type="plane" size="5 5 .1" contype="1" conaffinity="2" zaxis=".02 .03 1" margin=".004"/>
    ${Object.keys(MESHES)
      .map((name, i) => `<body pos="${0.3 * i} 0 .09"><freejoint/><geom type="mesh" mesh="${name}"/></body>`)
      .join("")}
  </worldbody>
</mujoco>`;

/** Compares single steps, and expects contacts. */
async function holds(xml: string, options: CompareOptions): Promise<void> {
  const found = await compareWithMuJoCo(await loadModel(xml), { steps: isFull ? 300 : 60, ...options });
  expect(found.unsupported).toEqual([]);
  expect(found.contacts.most).toBeGreaterThan(3);
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
  ] satisfies [string, CompareOptions][])("in %s", (_, how) => holds(onPlane, how));
});
