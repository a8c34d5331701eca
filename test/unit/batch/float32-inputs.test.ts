// numbers that a host passes: what float32 would make infinite is refused where it comes in, with the bound and the remedy
import { describe, expect, test } from "vitest";
import { loadModel } from "../../../src/model/model.ts";
import { createSimulation } from "../../../src/batch/simulation.ts";
import { defineTask, makeVec } from "../../../src/env/index.ts";

const xml = `<mujoco><worldbody><body><joint name="x" type="slide"/><geom size=".1"/></body></worldbody>
  <actuator><motor joint="x"/></actuator></mujoco>`;
const task = defineTask({
  id: "Pushed",
  model: xml,
  frameSkip: 1,
  maxEpisodeSteps: 10,
  defaults: {},
  params: { gain: 1 },
  observe: { qpos: "qpos" },
  reward: { gain: "param.gain * qpos(joint.x)" },
});

/** Too large for float32, one that rounds to infinity, one for a timestep that rounds to 0. */
const HUGE = [1e300, -1e39, 3.4028235677973366e38];
const TINY = 1e-60;
const SMALLER = /\[bad-\w+\] .*(within ±3\.4028234663852886e\+38, which float32 holds\. Pass a smaller one|float32)/;

describe.each(["cpu", "cpu-f64"] as const)("on %s", (device) => {
  const single = device === "cpu";
  const outcome = async (call: () => unknown): Promise<string> => {
    try {
      await call();
      return "taken";
    } catch (error) {
      return (error as Error).message;
    }
  };
  const expected = single ? expect.stringMatching(SMALLER) : "taken";

  test.each(HUGE)("setState of a simulation: %d", async (x) => {
    await using sim = await createSimulation(await loadModel(xml), { numEnvs: 2, device });
    expect(await outcome(() => sim.setState({ qpos: [0, x] }))).toEqual(expected);
    expect((await sim.getState(["qpos"])).qpos[1]).toBe(single ? 0 : x);
    expect(await outcome(() => sim.setState({ ctrl: [x], qfrc_applied: [1] }, [1]))).toEqual(expected);
    expect(await outcome(() => sim.setOptions({ gravity: [0, 0, x] }))).toEqual(expected);
    expect(await outcome(() => sim.setOptions({ tolerance: Math.abs(x) }))).toEqual(expected);
    expect(await outcome(() => sim.setOptions({ timestep: TINY }))).toEqual(expected);
  });

  test("digits beyond float32 are not kept where floats are float32", async () => {
    const held = single ? Math.fround(0.1) : 0.1;
    await using sim = await createSimulation(await loadModel(xml), { numEnvs: 2, device });
    await sim.setState({ qpos: [0.1, 0.1] });
    expect([...(await sim.getState(["qpos"])).qpos]).toEqual([held, held]);
    await using env = await makeVec(task, { numEnvs: 2, device, recorder: false });
    await env.reset();
    await env.setState({ qpos: [0.1] }, [1]);
    expect((await env.getState(["qpos"])).qpos[1]).toBe(held);
  });

  test.each(HUGE)("state, parameters and resets of an environment: %d", async (x) => {
    await using env = await makeVec(task, { numEnvs: 2, device, recorder: false });
    await env.reset();
    expect(await outcome(() => env.setState({ qpos: [0, x] }))).toEqual(expected);
    expect((await env.getState(["qpos"])).qpos[1]).toEqual(single ? expect.any(Number) : x);
    expect(await outcome(() => env.setParams({ gain: x }))).toEqual(expected);
    expect(await outcome(() => env.setOptions({ gravity: [0, 0, x] }))).toEqual(expected);
    // actions are float32 on every device
    expect(await outcome(() => env.step([0, x]))).toMatch(/^\[bad-action\] world 1, entry 0/);
  });
});
