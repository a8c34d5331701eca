// few iterations of Newton: each island has a line search of its own, as in MuJoCo
import { expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/model/model.ts";

// three islands, which the cube joins now and then; Newton and its line search end before the minimum
const fingers = `<mujoco>
  <option timestep="0.01" iterations="3" ls_iterations="4"/>
  <default>
    <joint axis="0 1 0" damping="0.01" frictionloss="0.05" limited="true" range="-40 40"/>
    <geom friction="0.6"/>
    <position kp="20" ctrlrange="-1 1"/>
  </default>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body pos="-0.12 0 0.3"><joint name="left"/><geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.24"/></body>
    <body pos="0.12 0 0.3"><joint name="right"/><geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.24" mass="3"/></body>
    <body pos="0.01 0 0.06"><freejoint/><geom type="box" size="0.06 0.05 0.06" mass="0.2"/></body>
  </worldbody>
  <actuator><position joint="left"/><position joint="right"/></actuator>
</mujoco>`;

test.each([
  ["cpu", true],
  ["cpu-f64", true],
  ["cpu-f64", false],
] as const)("islands end where MuJoCo's do, %s, straight-line %s", async (device, unroll) => {
  const model = await loadModel(fingers);
  for (const seed of [0, 1]) {
    const { verdict } = await compareWithMuJoCo(model, { device, steps: 25, envs: 2, seed, unroll });
    expect(verdict).toMatchObject({ reasons: [], passed: true });
  }
});

// a Hessian over dofs solves what couples trees: no inner iteration leaves a step inexact that is taken for exact
test.each([
  ["three", fingers],
  ["ten", fingers.replace('iterations="3" ls_iterations="4"', 'iterations="10" ls_iterations="50"')],
])("rolled kernels of float32 end where MuJoCo does after %s iterations", async (_, xml) => {
  const model = await loadModel(xml);
  for (const seed of [0, 1, 2]) {
    const { verdict } = await compareWithMuJoCo(model, { device: "cpu", steps: 25, envs: 2, seed, unroll: false });
    expect(verdict).toMatchObject({ reasons: [], passed: true });
  }
});

// kernels of drivers have their private memory in registers or an arena: few iterations factor over dofs there too
test("rolled kernels of a driver end few iterations where MuJoCo does", async () => {
  const pressed = fingers
    .replace('timestep="0.01"', 'timestep="0.01" integrator="implicitfast"')
    .replace('"-0.12 0 0.3"', '"-0.06 0 0.3"')
    .replace('"0.12 0 0.3"', '"0.08 0 0.3"')
    .replace('friction="0.6"', 'friction="1" solimp="0.95 0.99 0.001"');
  const model = await loadModel(pressed);
  const { verdict } = await compareWithMuJoCo(model, { adapter: "embedded", unroll: false });
  expect(verdict).toMatchObject({ reasons: [], passed: true });
});
