// equality constraints that events and starts switch
import { expect, test } from "vitest";
import { defineTask, makeVec } from "../../../src/env/index.ts";
import { loadModel } from "../../../src/model/model.ts";
import { createSimulation } from "../../../src/batch/simulation.ts";
import { div, gt, select, toF32 } from "../../../src/trace/scalar.ts";

const MODEL = `<mujoco model="gripped"><worldbody>
  <body name="hand" pos="0 0 1"><geom size="0.05" contype="0"/></body>
  <body pos="1 0 1"><joint name="flap"/><geom size="0.05" contype="0"/></body>
  <body name="thing" pos="0 0 0.9"><freejoint/><geom size="0.05" contype="0"/></body></worldbody>
  <equality><weld name="grip" body1="hand" body2="thing" active="false"/></equality><actuator><motor joint="flap" ctrlrange="-1 1"/></actuator></mujoco>`;

test("a weld that starts on and that an event lets go holds until then", async () => {
  const task = defineTask({
    id: "Gripped",
    model: MODEL,
    frameSkip: 1,
    maxEpisodeSteps: 100,
    observe: { grip: "eq_active", height: "xpos(body.thing).z" },
    reward: { height: "xpos(body.thing).z" },
    reset: () => ({ eq_active: [1] }),
    events: { release: (s) => ({ eq_active: [select(gt(s.length, 19), 0, 1)] }) },
  });
  await using envs = await makeVec(task, { numEnvs: 2, device: "cpu" });
  const heights: number[] = [];
  const grips = [(await envs.reset({ seed: 1 })).observations as Float32Array].map((o) => o[0]);
  for (let k = 0; k < 40; k++) {
    const { observations } = await envs.step(new Float32Array(2));
    grips.push((observations as Float32Array)[0]);
    heights.push((observations as Float32Array)[1]);
  }
  expect(grips).toEqual([...Array(21).fill(1), ...Array(20).fill(0)]);
  expect(heights[18]).toBeGreaterThan(0.899);
  expect(heights[39]).toBeLessThan(0.899);
});

test("a switch is a boolean: halves are refused of hosts, and of expressions what is not 0 is 1", async () => {
  const refusal = "[bad-value] eq_active[0] of world 1 is 0.5; it must be 1, active, or 0.";
  await using simulation = await createSimulation(await loadModel(MODEL), { numEnvs: 2, device: "cpu" });
  await expect(simulation.setState({ eq_active: [1, 0.5] })).rejects.toThrow(refusal);
  const { eq_active } = await simulation.getState(["eq_active"]);
  expect([...eq_active]).toEqual([0, 0]);
  const task = defineTask({
    id: "Half gripped",
    model: MODEL,
    frameSkip: 1,
    maxEpisodeSteps: 100,
    observe: { grip: "eq_active" },
    reward: { alive: "1" },
    reset: () => ({ eq_active: [2] }),
    events: { loosen: (s) => ({ eq_active: [div(toF32(s.length), 4)] }) },
  });
  await using envs = await makeVec(task, { numEnvs: 2, device: "cpu" });
  const shown = [(await envs.reset({ seed: 1 })).observations as Float32Array].map((o) => o[0]);
  for (let k = 0; k < 3; k++) shown.push(((await envs.step(new Float32Array(2))).observations as Float32Array)[0]);
  expect(shown).toEqual([1, 0, 1, 1]);
  await expect(envs.setState({ eq_active: [1, 0.5] })).rejects.toThrow(refusal);
});
