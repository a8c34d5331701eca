// contacts of every shape with height fields, against MuJoCo's prism by prism
import { describe, expect, test } from "vitest";
import { compareWithMuJoCo, type CompareOptions } from "../../src/compare/compare.ts";
import { createSimulation } from "../../src/batch/simulation.ts";
import { loadModel } from "../../src/model/model.ts";
import { withMuJoCo } from "../../src/model/oracle.ts";
import { getMuJoCo } from "../../src/model/mujoco.ts";
import { apart, dispose, percentile } from "../support/convex-pairs.ts";
import { packHulls, randomBody, type Contact, type ConvexScene, type Kind } from "../support/convex-scene.ts";
import {
  contactsOf,
  fieldFrames,
  fieldProgram,
  fieldRow,
  fieldScene,
  MOST,
  packFields,
  type Terrain,
} from "../support/field-scene.ts";
import { createRandom } from "../support/mjcf-random.ts";
import { isFull, sweepBut } from "../support/sweep.ts";
import { convexBounds as bounds, fieldBounds } from "../support/tolerances.ts";
import { runWasm } from "../support/trace-runner.ts";

const SCENES = isFull ? 40 : 8;
const POSES = isFull ? 40 : 12;

interface Sample {
  readonly label: string;
  readonly scene: ConvexScene;
  readonly ours: Contact[];
  readonly theirs: Contact[];
}

/** Poses on random fields; `cells` is the width of a cell, `margin` the margin, of the body's size. */
async function samples(kind: Kind, form: Terrain["form"], cells: number, margin: number): Promise<Sample[]> {
  const r = createRandom(7);
  const mujoco = await getMuJoCo();
  const scenes = Array.from({ length: SCENES }, () => {
    const scale = 10 ** r.between(-2, 0.5);
    const [nrow, ncol] = [0, 1].map(() => 4 + Math.floor(r.between(0, 12)));
    const half = 0.5 * cells * scale * r.between(0.5, 2) * ncol;
    const terrain = { nrow, ncol, half, top: scale * r.between(0.2, 1.5), base: scale * r.between(0.1, 3), form };
    return { terrain, scene: fieldScene(mujoco, r, terrain, randomBody(r, kind, scale, 20)) };
  });
  const hulls = packHulls(scenes.map((s) => s.scene));
  const traced = fieldProgram(kind, packFields(scenes.map((s) => s.scene)), kind === "mesh" ? hulls : undefined, 1000);
  const cases = scenes.flatMap(({ terrain, scene }, field) =>
    Array.from({ length: POSES }, () => {
      const frames = fieldFrames(r, scene, terrain);
      const reach = margin * scene.radius[1];
      return { scene, frames, field, reach, label: `${JSON.stringify(terrain)} at ${JSON.stringify(frames)}` };
    }),
  );
  const found = runWasm(
    traced,
    cases.map((c) => fieldRow(c.scene, c.frames, c.field, c.reach, hulls)),
  );
  return cases.map(({ scene, frames, reach, label }, i) => ({
    label,
    scene,
    ours: contactsOf(Array.from(found[i])),
    // of flat shapes that no margin surrounds MuJoCo 3.14 takes a prism's corners for one, and ends its search early
    theirs: scene.contacts(frames, Math.max(reach, fieldBounds.searched.value * scene.radius[1])),
  }));
}

describe.each<[Kind, Terrain["form"], number, number]>([
  ["sphere", "rough", 0.5, 0],
  ["sphere", "smooth", 3, 0.02],
  ["capsule", "rough", 0.5, 0],
  ["capsule", "flat", 0.5, 0.02],
  ["ellipsoid", "smooth", 0.5, 0],
  ["cylinder", "rough", 0.5, 0.02],
  ["cylinder", "smooth", 3, 0],
  ["box", "rough", 0.5, 0],
  ["box", "steps", 0.1, 0.02],
  ["mesh", "rough", 0.5, 0],
  ["mesh", "smooth", 3, 0.02],
])("%s on a %s field, cells of %d, margin %d", (kind, form, cells, margin) => {
  test("has MuJoCo's contacts in its order", async () => {
    const all = await samples(kind, form, cells, margin);
    const met = all.filter((s) => s.theirs.length > 0);
    expect(met.length).toBeGreaterThan(all.length / 4);
    const errors = { dist: [] as number[], normal: [] as number[], pos: [] as number[] };
    let counted = 0;
    for (const { scene, ours, theirs, label } of all) {
      expect(ours.length, label).toBeLessThanOrEqual(MOST);
      for (const c of ours) expect([c.dist, ...c.pos, ...c.normal].every(Number.isFinite), label).toBe(true);
      if (ours.length !== theirs.length) continue;
      counted++;
      ours.forEach((c, i) => {
        errors.dist.push(Math.abs(c.dist - theirs[i].dist) / scene.radius[1]);
        errors.normal.push(apart(c.normal, theirs[i].normal));
        errors.pos.push(apart(c.pos, theirs[i].pos) / scene.radius[1]);
      });
    }
    dispose(all);
    expect(counted / all.length).toBeGreaterThanOrEqual(fieldBounds.counted.value);
    expect(percentile(errors.dist, 0.99)).toBeLessThan(fieldBounds.distance99.value);
    expect(percentile(errors.normal, 0.95)).toBeLessThan(bounds.normal99.value);
    expect(percentile(errors.pos, 0.95)).toBeLessThan(bounds.facing99.value);
  });
});
const r = createRandom(11);
const LINES = 12;
const ground = Array.from({ length: LINES * LINES }, () => r.between(0, 1).toFixed(3)).join(" ");
/** A sphere, a capsule, and a body of both. */
const ON_GROUND = [
  `<body pos="-.5 0 .17"><freejoint/><geom size=".06"/></body>`,
  `<body pos=".5 0 .17"><freejoint/><geom type="capsule" size=".05 .08"/></body>`,
  `<body pos="0 .4 .2"><freejoint/><geom type="capsule" size=".04" fromto="0 0 0 .3 0 0"/><geom size=".08"/></body>`,
];
const onGround = (margin: number, bodies: readonly string[]) => `<mujoco model="on a field">
  <option ccd_tolerance="1e-12" ccd_iterations="200"/>
  <asset><hfield name="h" nrow="${LINES}" ncol="${LINES}" size="1 1.2 .15 .3" elevation="${ground}"/></asset>
  <default><geom contype="2" conaffinity="1" margin="${margin}"/></default>
  <worldbody>
    <geom type="hfield" hfield="h" contype="1" conaffinity="2" zaxis=".1 .05 1"/>
    ${bodies.join("")}
  </worldbody>
</mujoco>`;

test("an ellipsoid on a ridge touches where it is, not where the ridge ends", async () => {
  const model = await loadModel(`
    <mujoco>
      <asset><hfield name="h" nrow="3" ncol="3" size="3 3 .5 .1" elevation="0 0 0 0 1 0 0 0 0"/></asset>
      <worldbody>
        <geom type="hfield" hfield="h"/>
        <body pos=".2 .1 .9"><freejoint/><geom type="ellipsoid" size=".3 .2 .1"/></body>
      </worldbody>
    </mujoco>`);
  const qpos = [
    0.19289443158399008, 0.08331215856745712, 0.569233378288102, 0.9979049019821953, -0.0035260327306370783,
    0.021538710549372234, -0.06090531701713227,
  ];
  const theirs = await withMuJoCo(model, (oracle) => {
    oracle.write("qpos", qpos);
    oracle.mujoco.mj_forward(oracle.model, oracle.data);
    return oracle.contacts();
  });
  await using sim = await createSimulation(model, { numEnvs: 1, device: "wasm", outputs: ["ncon", "contact_pos"] });
  await sim.setState({ qpos });
  sim.step(1);
  const { ncon, contact_pos } = await sim.getState(["ncon", "contact_pos"]);
  expect(ncon[0]).toBe(theirs.length);
  theirs.forEach(({ pos }, i) =>
    pos.forEach((x, k) => expect(Math.abs(contact_pos[3 * i + k] - x)).toBeLessThan(fieldBounds.ridge.value)),
  );
});

test.each([
  [1, 1],
  [1, 3],
  [3, 1],
])("a field of %i by %i points has no cells, and nothing touches it", async (nrow, ncol) => {
  const model = await loadModel(`
    <mujoco>
      <asset><hfield name="h" nrow="${nrow}" ncol="${ncol}" size="1 1 .5 .1"/></asset>
      <worldbody>
        <geom type="hfield" hfield="h"/>
        <body pos=".2 .1 .05"><freejoint/><geom type="box" size=".3 .2 .1"/></body>
      </worldbody>
    </mujoco>`);
  const found = await compareWithMuJoCo(model, { steps: 5, envs: 2, device: "wasm" });
  expect(found.contacts.most).toBe(0);
  expect(found.verdict.reasons).toEqual([]);
});

describe("steps on a field", () => {
  test.each([
    ["float64, straight", 0, { device: "cpu-f64" }],
    ["float64, rolled", 0, { device: "cpu-f64", unroll: false }],
    ["WebAssembly", 0, { device: "wasm" }],
    ["WebAssembly with a margin, rolled", 0.01, { device: "wasm", unroll: false }],
    ["the driver, straight", 0.01, {}],
  ] satisfies [string, number, CompareOptions][])("in %s", async (where, margin, options) => {
    // the third has the shapes of the others, and a driver takes seconds to compile what it adds
    const bodies = where.startsWith("the driver") ? sweepBut(ON_GROUND, [ON_GROUND[2]]) : ON_GROUND;
    const found = await compareWithMuJoCo(await loadModel(onGround(margin, bodies)), {
      steps: isFull ? 300 : 60,
      ...options,
    });
    expect(found.unsupported).toEqual([]);
    expect(found.contacts.most).toBeGreaterThan(2);
    expect(found.contacts.equal + found.contacts.touching).toBe(found.contacts.total);
    expect(found.verdict.reasons).toEqual([]);
  });
});
