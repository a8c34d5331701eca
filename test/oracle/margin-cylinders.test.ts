// cylinders with a margin beside boxes: where on a straight line MuJoCo's search ends decides how many contacts there are
import { expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/model/model.ts";

/** A leg whose calf folds onto the cylinder of its hip: a side of the box is level with the cylinder's. */
const LEG = `<mujoco><option timestep="0.01"/><default><geom margin="0.001"/>
<joint axis="0 1 0" damping="0.01" armature="0.01" frictionloss="0.2" limited="true"/></default><worldbody>
<body pos="0 0 .5"><freejoint/><geom type="box" size=".13 .06 .05" mass="5"/>
  <body pos=".18 -.05 0"><joint axis="1 0 0" range="-46 46"/>
    <geom type="cylinder" size=".04 .04" pos="0 -.05 0" euler="90 0 0" mass=".7"/>
    <body pos="0 -.085 0"><joint name="thigh" range="-60 240"/><geom type="box" size=".01 .012 .09" pos="0 0 -.1" mass="1"/>
      <body pos="0 0 -.2"><joint name="calf" range="-160 160"/><geom type="box" size=".008 .008 .1" pos="0 0 -.1" mass=".2"/></body>
    </body></body></body></worldbody>
<actuator><motor joint="thigh" ctrlrange="-30 30" ctrllimited="true"/><motor joint="calf" ctrlrange="-10 0" ctrllimited="true"/></actuator></mujoco>`;

/** Cylinders that stand and lie on a box. */
const CANS = `<mujoco><default><geom margin="0.001"/></default><worldbody><geom type="box" size=".3 .3 .05"/>
<body pos="0 0 .095"><freejoint/><geom type="cylinder" size=".04 .04"/></body>
<body pos=".12 0 .095"><freejoint/><geom type="cylinder" size=".03 .04"/></body>
<body pos="-.12 0 .085" euler="90 0 0"><freejoint/><geom type="cylinder" size=".03 .05"/></body></worldbody></mujoco>`;

test.each([
  ["parts of one robot, in float32", LEG, "float32", "float32"],
  // sides tie where random controls fold it
  ["the same, in float64 by default", LEG, undefined, "float64"],
  ["cylinders that come to rest on a box, in float64 by default", CANS, undefined, "float64"],
] as const)("steps of %s are MuJoCo's", async (_, xml, asked, expected) => {
  const { arithmetic, contacts, verdict } = await compareWithMuJoCo(await loadModel(xml), {
    steps: 40,
    envs: 6,
    device: "wasm",
    arithmetic: asked,
  });
  expect(verdict.reasons).toEqual([]);
  expect(contacts.equal + contacts.touching).toBe(contacts.total);
  expect(contacts.most).toBeGreaterThan(4);
  expect(arithmetic).toBe(expected);
});
