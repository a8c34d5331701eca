// links of one plane that cross: nearest points coincide, and what they round to is no direction
import { expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/model/model.ts";

const SHAPES = {
  capsule: '<geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.24"/>',
  sphere: '<geom type="sphere" size="0.05" pos="0 0 -0.2"/>',
};

/** Two pendulums about parallel axes, whose controls cross them. `far`: how far from the origin, m. */
const pendulums = (a: keyof typeof SHAPES, b: keyof typeof SHAPES, far: number) => `<mujoco>
  <option timestep="0.005"/>
  <default>
    <joint axis="0 1 0" damping="0.05" frictionloss="0.02" limited="true" range="-60 60"/>
    <position kp="5" ctrlrange="-1 1"/>
  </default>
  <worldbody>
    <body pos="${far - 0.1} 0 0.3"><joint name="left"/>${SHAPES[a]}</body>
    <body pos="${far + 0.1} 0 0.3"><joint name="right"/>${SHAPES[b]}</body>
  </worldbody>
  <actuator><position joint="left"/><position joint="right"/></actuator>
</mujoco>`;

test.each([
  ["capsule", "capsule", 0, "cpu"],
  ["capsule", "capsule", 3, "cpu"],
  ["capsule", "capsule", 0, "cpu-f64"],
  ["capsule", "sphere", 0, "cpu"],
  ["sphere", "sphere", 3, "cpu"],
] as const)("%s and %s, %s m away, %s", async (a, b, far, device) => {
  const model = await loadModel(pendulums(a, b, far));
  const { contacts, verdict } = await compareWithMuJoCo(model, { device, steps: 200, envs: 4 });
  expect(contacts.most).toBeGreaterThan(0);
  expect(verdict).toMatchObject({ reasons: [], passed: true });
});
