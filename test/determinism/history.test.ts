// delayed controls and sensors are state: planned, and in snapshots
import { expect, test } from "vitest";
import { createSimulation, loadModel } from "../../src/index.ts";

const XML = `<mujoco model="late"><worldbody><body><joint name="j" axis="0 1 0"/><geom size="0.1" pos="0.1 0 0"/></body></worldbody>
  <actuator><motor joint="j" delay="0.006" nsample="3"/></actuator>
  <sensor><jointpos joint="j" delay="0.004" nsample="2"/></sensor></mujoco>`;

test("a snapshot holds the samples, and the worlds go on from them bit for bit", async () => {
  const model = await loadModel(XML);
  await using sim = await createSimulation(model, { numEnvs: 3, device: "wasm", outputs: ["sensordata"] });
  expect(sim.plan.fields.find((f) => f.name === "history")?.perWorld).toBe(model.nhistory);
  const push = (u: number) => sim.setState({ ctrl: [u, 2 * u, 3 * u] });

  await push(1);
  sim.step(2);
  const snapshot = await sim.snapshot();
  await push(0);
  sim.step(3);
  const then = await sim.getState(["qvel", "history", "sensordata"]);
  // the push of the steps before arrives late
  expect(then.qvel.every((v) => v !== 0)).toBe(true);

  sim.step(5);
  await sim.restore(snapshot);
  await push(0);
  sim.step(3);
  expect(await sim.getState(["qvel", "history", "sensordata"])).toEqual(then);

  await sim.reset();
  sim.step(2);
  expect((await sim.getState(["sensordata"])).sensordata).toEqual(new Float64Array(3));
});
