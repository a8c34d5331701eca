// a state beyond mjMAXVAL is bad, as in MuJoCo (mju_isBad), whether or not its numbers are finite
import { expect, test } from "vitest";
import { defineTask, makeVec } from "../../../src/env/index.ts";

const slider = defineTask({
  id: "Slider",
  model: `<mujoco><option timestep="1e-3" gravity="0 0 0"/><worldbody><body><joint name="j" type="slide"/><geom size="1" mass="1"/></body></worldbody>
    <actuator><motor joint="j"/></actuator></mujoco>`,
  frameSkip: 1,
  maxEpisodeSteps: 100,
  defaults: {},
  observe: ({ d }) => ({ qpos: d.qpos.all() }),
  reward: () => ({ alive: 1 }),
  terminated: () => ({}),
  reset: () => ({ qpos: [0], qvel: [0] }),
});

test.each(["cpu-f64", "cpu", undefined] as const)("on device %s", async (device) => {
  const names = [[], ["BAD_QVEL"], ["BAD_QPOS"], ["BAD_CTRL"], [], ["BAD_QVEL"]];
  await using env = await makeVec(slider, { numEnvs: 6, ...(device ? { device } : {}) });
  await env.reset();
  await env.setState({ qpos: [9e9, 0, -1.1e10, 0, 0, 0], qvel: [9e9, 1.1e10, 0, 0, 0, -2e10] });
  const { infos, terminated } = await env.step([9e9, 0, 0, 2e10, 0, 0]);
  const status = [0, 1, 2, 3, 4, 5].map((w) => infos.statusNames(w));
  expect(status).toEqual(names);
  expect([...terminated]).toEqual([0, 1, 1, 1, 0, 1]);
});
