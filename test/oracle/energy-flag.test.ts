// e_kinetic under <flag energy="enable"/>: MuJoCo's sensor reads the energy of the evaluation before
import { describe, expect, test } from "vitest";
import { createSimulation } from "../../src/batch/simulation.ts";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/model/model.ts";
import { withMuJoCo } from "../../src/model/oracle.ts";
import { softwareAdapters } from "../support/software-adapters.ts";

const [adapter] = await softwareAdapters();

const pendulum = (integrator: string, flag = "enable") => `
  <mujoco><option timestep="0.01" integrator="${integrator}"><flag energy="${flag}"/></option>
  <worldbody><body><joint name="hinge" axis="0 1 0" armature="0.1"/><geom type="capsule" size=".05" fromto="0 0 0 .5 0 0"/></body></worldbody>
  <actuator><motor joint="hinge"/></actuator><sensor><e_kinetic/><e_potential/></sensor></mujoco>`;

describe.each(["Euler", "RK4", "implicitfast"])("%s", (integrator) => {
  test.each(["enable", "disable"])("steps and evaluations report MuJoCo's energies, flag %sd", async (flag) => {
    const model = await loadModel(pendulum(integrator, flag));
    await using sim = await createSimulation(model, { numEnvs: 2, device: "cpu-f64", outputs: ["sensordata"] });
    await withMuJoCo(model, async ({ mujoco, model: m, data, read }) => {
      for (const nstep of [1, 1, 3, 0, 2, 1]) {
        if (nstep === 0) mujoco.mj_forward(m, data);
        for (let k = 0; k < nstep; k++) mujoco.mj_step(m, data);
        if (nstep === 0) sim.forward();
        else sim.step(nstep);
        const { sensordata } = await sim.getState(["sensordata"], [1]);
        read("sensordata").forEach((x, i) => expect(sensordata[i], `sensor ${i} after ${nstep}`).toBeCloseTo(x, 12));
      }
    });
  });
});

test("a reset forgets it, a snapshot keeps it", async () => {
  const model = await loadModel(pendulum("Euler"));
  await using sim = await createSimulation(model, { numEnvs: 1, device: "cpu-f64", outputs: ["sensordata"] });
  const kinetic = async () => (await sim.getState(["sensordata"])).sensordata[0];
  sim.step(5);
  const saved = await sim.snapshot();
  sim.step(1);
  const next = await kinetic();
  await sim.restore(saved);
  sim.step(1);
  expect(await kinetic()).toBe(next);
  await sim.reset();
  await sim.setState({ qvel: [2] });
  sim.step(1);
  // that of 2 rad/s, not what the step before left
  expect(await kinetic()).toBeGreaterThan(next);
});

test.skipIf(!adapter)("compare judges it on a device", async () => {
  const found = await compareWithMuJoCo(await loadModel(pendulum("RK4")), { steps: 20, envs: 2, adapter });
  expect(found.verdict.reasons).toEqual([]);
  expect(found.oneStep.sensordata!.max).toBeLessThan(1e-6);
});
