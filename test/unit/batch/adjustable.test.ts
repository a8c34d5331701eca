// numbers of actuators that change between steps: which there are, what is refused, and what they do
import { expect, test } from "vitest";
import { createSimulation, loadModel, type SimulationOptions } from "../../../src/index.ts";

const model =
  await loadModel(`<mujoco><worldbody><body><joint name="rail" type="slide" axis="1 0 0"/><geom size=".1" mass="1"/></body></worldbody>
  <actuator><motor joint="rail"/><position joint="rail" kp="2"/></actuator></mujoco>`);
const make = (adjustable: unknown) =>
  createSimulation(model, { numEnvs: 2, device: "cpu-f64", adjustable: adjustable as SimulationOptions["adjustable"] });
const messageOf = (made: Promise<unknown>) =>
  made.then(String, (error: { code: string; message: string }) => [error.code, error.message].join(" "));

test.each([
  ["actuator_forcerange[0]", /^bad-option .*adjustable is "actuator_forcerange\[0\]"; pass a list/],
  [["geom_size[0]"], /^bad-option .*adjustable.* is .*geom_size\[0\].*; pass .*actuator_forcerange/],
  [["actuator_forcerange[-1]"], /^bad-option .*actuator_forcerange/],
  [["actuator_forcerange[1.5]"], /^bad-option .*actuator_forcerange/],
  [["actuator_forcerange"], /^bad-option .*actuator_forcerange/],
  [[7], /^bad-option .*adjustable.* is .*7.*; pass .*actuator_forcerange/],
  [["actuator_forcerange[4]"], /^bad-option .*actuator_forcerange has 4 numbers, no number 4/],
  [["actuator_biasprm[20]"], /^bad-option .*actuator_biasprm has 20 numbers, no number 20/],
  [["actuator_biasprm[1]", "actuator_biasprm[1]"], /^bad-option .*twice: name it once/],
  [["actuator_biasprm[1]", "actuator_biasprm[01]"], /^bad-option /],
  [null, /^bad-option .*adjustable is null/],
])("adjustable %j is refused", async (adjustable, text) => {
  expect(await messageOf(make(adjustable))).toMatch(text);
});

test("ranges and biases act from the next step on; other numbers are refused", async () => {
  await using sim = await make(["actuator_forcerange[0]", "actuator_forcerange[1]", "actuator_biasprm[10]"]);
  const speedAfter = async (options: Parameters<typeof sim.setOptions>[0]) => {
    sim.setOptions(options);
    await sim.setState({ qpos: [0, 0], qvel: [0, 0], ctrl: [5, 0, 5, 0] });
    sim.step(1);
    return (await sim.getState(["qvel"])).qvel[1];
  };
  const dt = model.opt.timestep;
  // without a range in the MJCF nothing bounds until a number is set
  expect(await speedAfter({})).toBeCloseTo(5 * dt, 6);
  expect(await speedAfter({ "actuator_forcerange[1]": 3 })).toBeCloseTo(3 * dt, 6);
  expect(await speedAfter({ "actuator_biasprm[10]": -2 })).toBeCloseTo(dt, 6);
  expect(() => sim.setOptions({ "actuator_forcerange[1]": Number.NaN })).toThrow(
    /actuator_forcerange\[1\] is NaN; pass a finite number/,
  );
  expect(() => sim.setOptions({ "actuator_forcerange[2]": 1 })).toThrow(/what `adjustable` of a simulation names/);
});
