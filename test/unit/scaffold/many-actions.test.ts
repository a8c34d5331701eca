import { expect, test } from "vitest";
import { loadModel } from "../../../src/model/model.ts";
import { reachTask } from "../../../src/scaffold/reach-task.ts";
import { robotOf } from "../../../src/scaffold/robot.ts";

const arm = (
  count: number,
) => `<mujoco><worldbody><body name="arm"><joint name="j" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body></worldbody>
  <actuator>${Array.from({ length: count }, (_, i) => `<motor name="m${i}" joint="j" ctrlrange="-1 1"/>`).join("")}</actuator></mujoco>`;

test.each([
  [200, "learningRate: 1e-3, initialLogStd"],
  [1000, 'learningRate: 2e-5, schedule: "adaptive", targetKl: 0.02, initialLogStd'],
])("a policy of %s actions learns at a rate that its divergence bears", async (count, rate) => {
  const robot = await robotOf(await loadModel(arm(count)));
  expect(reachTask("arm", robot, { library: "corral", model: "./arm.xml" })).toContain(rate);
});
