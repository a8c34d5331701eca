// the smallest models that users and breakers found wrong, where they lie beside the repository
import { existsSync, readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createSimulation } from "../../src/batch/simulation.ts";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/model/model.ts";

const folder = new URL("../../../shared/found/", import.meta.url);
const files = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith(".xml")) : [];

/** The full run takes every device and form: a software driver compiles each for seconds. */
const FULL = process.env.CORRAL_FULL === "1";
const DEVICES = FULL ? (["gpu", "wasm", "cpu", "cpu-f64"] as const) : (["wasm"] as const);
const STEPS = 40;

// without ../shared there is nothing to compare; what is like them in test/models/solver is compared in every run
describe.skipIf(!FULL || files.length === 0)("found", () => {
  test.each(files)("%s stays within the bounds", async (file) => {
    const model = await loadModel(new URL(file, folder));
    for (const device of DEVICES)
      for (const unroll of [true, false]) {
        const { verdict } = await compareWithMuJoCo(model, { device, steps: STEPS, envs: 4, seed: 1, unroll });
        expect([device, unroll, verdict]).toMatchObject([device, unroll, { reasons: [], passed: true }]);
      }
  });
});

/** Where MuJoCo in float64 holds a knee against a motor of 2 Nm, in rad. */
const HELD = 0.0034;

describe.each(DEVICES)("on %s", (device) => {
  test.each(["Newton", "CG"] as const)("%s holds a knee while a turret stands in the floor", async (solver) => {
    const model = await loadModel(`<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="5 5 .1"/>
      <body pos="0 0 0.039"><joint axis="0 0 1" armature=".01"/><geom size=".04" mass=".3"/></body>
      <body pos="1 0 1"><joint name="knee" axis="0 1 0" armature=".01" damping=".05" range="-150 0"/>
        <geom type="capsule" fromto="0 0 0 .08 0 -.16" size=".015" mass=".2"/></body>
      </worldbody><actuator><motor joint="knee" gear="2" ctrlrange="-1 1"/></actuator></mujoco>`);
    for (const unroll of FULL ? [true, false] : [true]) {
      await using simulation = await createSimulation(model, { numEnvs: 1, device, solver, unroll });
      await simulation.setState({ ctrl: new Float64Array([1]) });
      simulation.step(400);
      const { qpos } = await simulation.getState(["qpos"]);
      expect(qpos[1]).toBeCloseTo(HELD, 3);
    }
  });
});
