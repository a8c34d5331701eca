// how fast a robot of two legs is told to go where dampers of its joints bound how fast they turn
import { expect, test } from "vitest";
import { loadModel, type Model } from "../../../src/model/model.ts";
import { withMuJoCo } from "../../../src/model/oracle.ts";
import { gaitOf } from "../../../src/scaffold/gait.ts";
import { fastestOf } from "../../../src/scaffold/motors.ts";
import { robotOf } from "../../../src/scaffold/robot.ts";
import { swingSpeed } from "../../../src/scaffold/swing.ts";

const hinge = (joint: string, actuator: string) =>
  loadModel(`<mujoco><option gravity="0 0 0" timestep=".002" integrator="implicitfast"/><worldbody><body>
      <joint name="j" axis="0 0 1" ${joint}/><geom size=".1" mass="1" pos=".2 0 0"/></body></worldbody>
      <actuator>${actuator}</actuator></mujoco>`);

/** rad/s that MuJoCo's joint ends at under the most control. */
const endsAt = (model: Model) =>
  withMuJoCo(model, (oracle) => {
    oracle.write("ctrl", [1e4]);
    for (let t = 0; t < 5000; t++) oracle.mujoco.mj_step(oracle.model, oracle.data);
    return oracle.read("qvel")[0];
  });

test.each([
  ["a servo", `damping="1.1"`, `<position joint="j" kp="20" forcerange="-5 5"/>`],
  ["friction", `damping=".5" frictionloss=".3"`, `<position joint="j" kp="20" forcerange="-2 2"/>`],
  [
    "a gear, and a joint's bound",
    `damping=".4" actuatorfrcrange="-3 3"`,
    `<position joint="j" kp="20" gear="2" forcerange="-9 9"/>`,
  ],
  ["a motor", `damping=".2"`, `<motor joint="j" gear="3" ctrlrange="-1 1"/>`],
])("%s turns its joint as fast as MuJoCo's against its damper", async (_, joint, actuator) => {
  const model = await hinge(joint, actuator);
  expect(fastestOf(model, 0)).toBeCloseTo(await endsAt(model), 3);
});

test("the range of a servo's controls, which are places, bounds no force", async () => {
  const servo = (range: string) =>
    hinge(`damping="1.1"`, `<position joint="j" kp="20" forcerange="-5 5" ${range}/>`).then((m) => fastestOf(m, 0));
  for (const range of ["0 2", "-.1 2"]) expect(await servo(`ctrlrange="${range}"`)).toBe(await servo(""));
});

test("nothing bounds joints without a damper, or actuators without a bound", async () => {
  expect(fastestOf(await hinge("", `<position joint="j" kp="20" forcerange="-5 5"/>`), 0)).toBe(Infinity);
  expect(fastestOf(await hinge(`damping="1"`, `<motor joint="j"/>`), 0)).toBe(Infinity);
});

test("two legs are told to go no faster than dampers let them swing", async () => {
  const robot = await robotOf(await loadModel(new URL("../../../envs/biped/model.xml", import.meta.url)));
  const { legs } = (await gaitOf(robot))!;
  const bound = (force: number) => {
    const { nu, nv } = robot.model;
    const dofs = { dof_damping: new Float64Array(nv).fill(1), dof_frictionloss: new Float64Array(nv) };
    const actuator_forcerange = Float64Array.from({ length: 2 * nu }, (_, i) => (i % 2 ? force : -force));
    const damped = { actuator_forcelimited: new Uint8Array(nu).fill(1), actuator_forcerange };
    return swingSpeed({ ...robot, model: { ...robot.model, ...damped, ...dofs } }, legs);
  };
  // hips turn by 3.8 rad for each metre
  const [slow, fast] = [bound(2), bound(4)];
  expect(slow).toBeGreaterThan(0.2);
  expect(slow).toBeLessThan(0.25);
  expect(fast).toBeCloseTo(2 * slow, 6);
  expect(bound(0.01)).toBe(0.1);
  // joints that do not move feet ahead bound nothing, nor do those that friction holds
  const held = {
    ...robot.model,
    dof_damping: new Float64Array(robot.model.nv).fill(1),
    dof_frictionloss: new Float64Array(robot.model.nv).fill(1e9),
  };
  const sideways = legs.map((leg) => ({ ...leg, ahead: leg.ahead.map(() => 0) }));
  expect(swingSpeed({ ...robot, model: held }, sideways)).toBe(Infinity);
});
