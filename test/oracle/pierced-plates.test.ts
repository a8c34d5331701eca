// capsules that stick out of a plate on both sides: MuJoCo's contact lies anywhere on the axis, its normal along the axis
import { expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/model/model.ts";

// the turret's contact, which no dof relieves, has all levers made about their joints
const XML = `<mujoco><option timestep="0.002"/><worldbody>
  <geom type="plane" size="5 5 .1"/>
  <body pos="0 0 .039"><joint axis="0 0 1" armature=".01"/><geom size=".04" mass=".3"/></body>
  <geom type="box" pos="1 0 .5" size=".06 .06 .02"/>
  <body pos="1.05 0 .9"><joint name="reach" axis="0 1 0" armature=".1"/><joint axis="1 0 0" armature=".1"/>
    <geom type="capsule" fromto="0 0 -.3 0 0 -.5" size=".04" mass="1"/></body>
</worldbody><actuator><motor joint="reach" ctrlrange="-1 1"/></actuator></mujoco>`;

test.each(["cpu-f64", "wasm"] as const)("a capsule through a plate, %s", async (device) => {
  const model = await loadModel(XML);
  const { contacts, verdict } = await compareWithMuJoCo(model, { device, steps: 30, envs: 6 });
  expect(contacts.most).toBeGreaterThan(1);
  expect(verdict).toMatchObject({ reasons: [], passed: true });
});
