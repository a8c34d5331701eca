// what MuJoCo leaves open where geoms lie level or on one axis: no change of the state tells it, one of their places does
import { expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { quantitiesOf } from "../../src/compare/quantities.ts";
import { placingOf, sensitivityOf } from "../../src/compare/sensitivity.ts";
import { startState } from "../../src/compare/trajectory.ts";
import { loadModel, type Model } from "../../src/model/model.ts";
import { MuJoCoWorld } from "../../src/monitor/mujoco-world.ts";

/** A post that turns in its pedestal, `aside` of the axis of it. */
const post = (aside: number): string => `
  <mujoco>
    <option timestep=".001"><flag filterparent="disable"/></option>
    <worldbody>
      <body>
        <geom type="cylinder" size=".08 .05"/>
        <body pos="${aside} 0 .05">
          <joint name="turn" axis="0 0 1"/>
          <geom type="capsule" fromto="0 0 0 0 0 .3" size=".045" mass="1"/>
        </body>
      </body>
    </worldbody>
    <actuator><motor joint="turn"/></actuator>
  </mujoco>`;

/** By how many the counts of MuJoCo's own contacts differ at `qpos0`, of which nothing may stay in the model. */
function countsOpenAt(model: Model, world: MuJoCoWorld): number {
  const from = { ...startState(model, 0, 0), qpos: Float64Array.from(model.qpos0) };
  const result = world.step(from);
  const placed = Array.from(world.oracle.model.geom_pos as Float64Array);
  const { ncon } = placingOf(world, { from, result }, quantitiesOf(model));
  // which the state's own changes do not tell
  expect(sensitivityOf(world, { from, result }, quantitiesOf(model)).ncon).toEqual([result.ncon, result.ncon]);
  // the model is as it was
  expect(Array.from(world.oracle.model.geom_pos as Float64Array)).toEqual(placed);
  expect(world.step(from)).toEqual(result);
  return ncon[1] - ncon[0];
}

test.each([
  ["on the axis of its pedestal", 0, true],
  ["aside of it", 0.01, false],
])("contacts of a post %s hang on MuJoCo's own rounding: %s, %s", async (_, aside, isOpen) => {
  const model = await loadModel(post(aside));
  const world = await MuJoCoWorld.create(model);
  try {
    expect(countsOpenAt(model, world) > 0).toBe(isOpen);
  } finally {
    world.delete();
  }
});

test("what hangs on it is accounted for", async () => {
  const { contacts, verdict } = await compareWithMuJoCo(await loadModel(post(0)), {
    steps: 30,
    envs: 3,
    device: "cpu-f64",
  });
  expect(contacts.most).toBeGreaterThan(0);
  expect(verdict.beyond).toBeGreaterThan(0);
  expect(verdict.because.sensitivity).toBeGreaterThan(0);
  expect(verdict.explained).toBe(verdict.beyond);
  expect(verdict.reasons).toEqual([]);
});

test("a geom that MuJoCo takes to be where its body is, is moved from there", async () => {
  const model = await loadModel(`
    <mujoco><worldbody><body pos="0 0 1"><freejoint/><geom type="box" size=".1 .2 .3" pos="5e-7 0 0"/></body></worldbody></mujoco>`);
  const world = await MuJoCoWorld.create(model);
  try {
    const place = () => {
      world.step(startState(model, 0, 0));
      return world.oracle.read("geom_xpos");
    };
    const before = place();
    const moved = world.withGeomsMoved(0, 1e-15, place);
    expect(Math.max(...moved.map((x, i) => Math.abs(x - before[i])))).toBeLessThan(1e-14);
  } finally {
    world.delete();
  }
});
