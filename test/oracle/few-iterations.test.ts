// few iterations: forces of stiff contacts multiply what rounds in qacc, and where CG ends is part of the result
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

// four light legs within narrow limits, which fall: gradients are small, directions long
const leg = (angle: number) => `<body euler="0 0 ${angle}">
  <joint axis="0 1 0"/><joint axis="0 0 1"/><geom type="capsule" fromto="0 0 0 .02 0 0" size=".004"/>
  <body pos=".02 0 0"><joint axis="0 1 0"/><joint axis="0 0 1"/><geom type="capsule" fromto="0 0 0 .02 0 0" size=".004"/></body></body>`;
const spider = (cone: string) => `<mujoco>
  <option solver="CG" iterations="6" ls_iterations="6" cone="${cone}"/>
  <default><joint limited="true" range="-10 10"/></default>
  <worldbody>
    <geom type="plane" size="2 2 .1"/>
    <body pos="0 0 .006"><freejoint/><geom type="box" size=".01 .01 .005"/>${[0, 90, 180, 270].map(leg).join("")}</body>
  </worldbody>
</mujoco>`;

test.each([
  ["pyramidal", true],
  ["elliptic", false],
])("conjugate directions are bounded as MuJoCo's are, %s cones, straight-line %s", async (cone, unroll) => {
  const model = await loadModel(spider(cone));
  const { verdict } = await compareWithMuJoCo(model, { device: "cpu-f64", steps: 12, envs: 2, seed: 0, unroll });
  expect(verdict.reasons).toEqual([]);
});
