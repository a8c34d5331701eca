// implicit integration after few iterations: forces of stiff contacts multiply what rounds in qacc
import { expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/model/model.ts";

// a light stick that falls on a floor, with a driven arm
const stick = `<mujoco>
  <option timestep="0.005" integrator="implicitfast" iterations="10" ls_iterations="10"/>
  <default><geom solimp="0.99 0.999 0.001"/></default>
  <worldbody>
    <geom type="plane" size="1 1 0.1"/>
    <body pos="0 0 0.045"><freejoint/><geom type="box" size="0.1 0.01 0.01" mass="0.05"/>
      <body pos="0 0 0.02"><joint name="arm" axis="0 1 0" damping="0.001"/>
        <geom type="capsule" size="0.005" fromto="0 0 0 0.05 0 0.05" mass="0.01"/></body></body>
  </worldbody>
  <actuator><position joint="arm" kp="0.1" ctrlrange="-1 1"/></actuator>
</mujoco>`;

test.each([0, 1])("velocities keep their digits in straight-line float32, seed %i", async (seed) => {
  const model = await loadModel(stick);
  const { verdict } = await compareWithMuJoCo(model, { device: "cpu", steps: 30, envs: 2, seed, unroll: true });
  expect(verdict.reasons).toEqual([]);
});
