// models that start far from the origin, or parked deep below the ground: what float32 cannot place or push makes simulations compute in float64
import { expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/model/model.ts";

/** A cart on castors of a few grams, at a place. */
const cart = (x: number): string => `<mujoco><worldbody><geom type="plane" size="20 20 .1"/>
<body pos="${x} 0 .02"><freejoint/><geom type="box" size=".1 .1 .01" mass="5"/>
<body pos=".1 0 -.01"><joint type="ball"/><geom type="sphere" size=".01" mass=".004"/></body>
<body pos="-.1 .1 -.01"><joint name="a" type="hinge" axis="0 1 0"/><geom type="sphere" size=".01" mass=".004"/></body>
<body pos="-.1 -.1 -.01"><joint type="ball"/><geom type="sphere" size=".01" mass=".004"/></body>
</body></worldbody><actuator><motor joint="a" gear="1e-5"/></actuator></mujoco>`;

/** A ball at a height, with cones of stiff friction, beside an arm whose links push one another. */
const ball = (z: number): string => `<mujoco><option cone="elliptic" impratio="40"/><worldbody>
<geom type="plane" size="3 3 .1"/>
<body pos="2 0 ${z}"><freejoint/><geom type="sphere" size=".023" mass=".2"/></body>
<body pos="0 0 1"><joint name="a" axis="0 1 0"/><geom type="box" size=".1 .05 .05" mass="2"/>
<body pos=".2 0 0"><joint axis="0 0 1"/><geom type="sphere" size=".01" mass=".5" contype="0" conaffinity="0"/>
<body pos="-.02 0 .03"><joint axis="0 1 0"/><geom type="box" size=".1 .04 .04" mass="1"/></body></body></body>
</worldbody><actuator><motor joint="a"/></actuator></mujoco>`;

test.each([
  ["links of grams far from the origin", cart(12), cart(0.5)],
  ["a ball parked deep below the ground", ball(-5), ball(0.02)],
])("%s are stepped in float64, and the same near are not", async (_, far, near) => {
  const model = await loadModel(far);
  expect(model.restRounding).toBeGreaterThan(1e-4);
  const asked = { steps: 10, envs: 2, device: "wasm" } as const;
  const { arithmetic, verdict } = await compareWithMuJoCo(model, asked);
  expect(arithmetic).toBe("float64");
  expect(verdict.reasons).toEqual([]);
  const lost = await compareWithMuJoCo(model, { ...asked, arithmetic: "float32" });
  expect(lost.verdict.reasons).not.toEqual([]);
  expect((await loadModel(near)).restRounding ?? 0).toBeLessThan(1e-4);
});
