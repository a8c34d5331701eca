// the integrator `implicit` over articulated bodies, where private memory is a CPU's: chains, balls, free bodies and what they touch
import { expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/model/model.ts";
import { solvesByBodies } from "../../src/physics/smooth/inertia.ts";

const link = (joint: string, rest: string): string =>
  `<body pos=".1 0 .01">${joint}<geom type="capsule" size=".02" fromto="0 0 0 .08 .02 0" mass=".2"/>${rest}</body>`;
const hinge = (name: string, axis: string): string =>
  `<joint name="${name}" axis="${axis}" damping=".02" armature=".001" range="-60 60"/>`;
/** Two fingers and a lever below a base of either kind, a slide and two hinges at one body among them, and a box that they touch. */
const tree = (base: string, integrator = "implicit"): string => `<mujoco><compiler autolimits="true"/>
<option timestep=".004" integrator="${integrator}"/><default><geom condim="3"/></default><worldbody><geom type="plane" size="3 3 .1"/>
<body pos="0 0 .12">${base}<geom type="box" size=".06 .05 .03" mass="1"/>
  ${link('<joint type="ball" damping=".01"/>', link(hinge("a", "0 1 0"), link(hinge("b", "0 .6 .8"), "")))}
  ${link(hinge("c", "1 0 0") + '<joint name="d" type="slide" axis="0 1 0" damping=".5"/>' + hinge("e", "0 0 1"), '<body pos="0 0 .05"><geom size=".02" mass=".1"/></body>')}
</body>
<body pos=".3 .05 .05"><freejoint/><geom type="box" size=".05 .04 .05" mass=".3"/></body></worldbody>
<tendon><fixed name="pinch" damping=".3"><joint joint="b" coef="1"/><joint joint="c" coef="-.5"/></fixed></tendon>
<actuator><velocity joint="a" kv=".3"/><motor joint="b" gear=".5"/><position joint="c" kp="2" kv=".1"/><motor joint="d" gear="4"/>
  <motor joint="e" gear=".5"/><position tendon="pinch" kp="1" kv=".2"/></actuator>
<keyframe><key qvel="KEY"/></keyframe></mujoco>`;

const BASES = {
  "a free joint": "<freejoint/>",
  "a ball and a slide":
    '<joint type="slide" axis="0 0 1" damping="2" stiffness="300"/><joint type="ball" damping=".1"/>',
  none: "",
};

test.each(Object.entries(BASES))("fast limbs on a base with %s", async (_name, base) => {
  const plain = await loadModel(tree(base).replace(/<keyframe>.*<\/keyframe>/, ""));
  const fast = Array.from({ length: plain.nv }, (_, i) => (4 * Math.sin(3 * i + 1)).toFixed(2)).join(" ");
  const model = await loadModel(tree(base).replace("KEY", fast));
  expect(solvesByBodies(model, model, true)).toBe(true);
  expect(solvesByBodies(model)).toBe(false);
  for (const device of ["cpu-f64", "wasm"] as const) {
    const { verdict, contacts } = await compareWithMuJoCo(model, { device, steps: 20, envs: 2, unroll: false });
    expect({ device, reasons: verdict.reasons }).toEqual({ device, reasons: [] });
    expect(contacts.most).toBeGreaterThan(0);
  }
});
