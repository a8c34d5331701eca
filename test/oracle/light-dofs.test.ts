// M of dofs that are light beside their lever: the last joints of arms, fingers at the end of one, without armature
import { expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { loadModel, withOptions } from "../../src/model/model.ts";
import { stageOf } from "../support/stage-table.ts";
import { evaluate } from "../support/stages.ts";
import { fixture } from "../support/fixture.ts";
import { inputsOf, STATES } from "../support/oracle-suite.ts";
import { finBounds, massBounds } from "../support/tolerances.ts";
import { hasLightDofs } from "../../src/physics/smooth/own-centres.ts";

const wrist = `
  <body pos="0.4 0 0"><joint axis="0 0 1"/><geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.03" mass="2"/>
    <body pos="0.4 0 0"><joint type="slide" axis="1 0 0"/><geom type="sphere" size="0.02" mass="0.3"/>
      <body pos="0.1 0 0"><joint type="ball"/><geom type="cylinder" size="0.02 0.02" mass="0.1"/>
        <body pos="0.03 0.02 0"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.03 0 0.01" size="0.005" mass="0.01"/></body>
        <body pos="0.03 -0.02 0"><joint axis="0 1 0" armature="1e-6"/><joint axis="1 0 0"/>
          <geom type="box" size="0.01 0.006 0.004" mass="0.005"/></body>
      </body>
    </body>
  </body>`;
const arm = (base: string) => `<mujoco><worldbody>
  <body pos="0.3 -0.2 0.5">${base}<geom type="box" size="0.1 0.1 0.2" mass="20"/>${wrist}</body>
</worldbody></mujoco>`;

test.each([
  ["a fixed base", ""],
  ["a floating base", "<freejoint/>"],
  ["a base that turns", '<joint axis="0 0 1" pos="0.1 0 0"/>'],
])("on %s, float32 keeps M beside the inertia of each dof", async (_name, base) => {
  const f = await fixture(arm(base), STATES);
  expect(hasLightDofs(f.model)).toBe(true);
  for (const on of ["f32", "f64"] as const) {
    const inputs = f.truths.map((t) => inputsOf(f, t));
    const bound = massBounds[on].value;
    const results = await Promise.all(
      [true, false].map((unroll) => evaluate(f.model, stageOf("crb"), inputs, { on, unroll })),
    );
    results.flat().forEach(({ M }, row) => {
      const k = row % f.truths.length;
      const { M: truth } = f.truths[k].fields;
      const diagonal = Array.from(
        { length: f.model.nv },
        (_, i) => truth[f.model.M_rowadr[i] + f.model.M_rownnz[i] - 1],
      );
      diagonal.forEach((own, i) => {
        for (let e = 0; e < f.model.M_rownnz[i]; e++) {
          const at = f.model.M_rowadr[i] + e;
          const other = diagonal[f.model.M_colind[at]];
          expect(Math.abs(M[at] - truth[at]) / Math.sqrt(own * other), `${on}, dof ${i}`).toBeLessThanOrEqual(bound);
        }
      });
    });
  }
});

// a finger at the end of an arm that lies on the floor
const finger = `<mujoco><worldbody><geom type="plane" size="9 9 0.1"/>
  <body pos="0.3 -0.2 0.0305"><geom type="box" size="0.1 0.1 0.2" mass="20"/>
    <body pos="0.4 0 0"><joint name="a" axis="0 0 1"/><geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.03" mass="2"/>
      <body pos="0.4 0 0"><joint name="b" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" mass="0.5"/>
        <body pos="0.3 0 0"><joint name="c" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.05 0 0" size="0.01" mass="0.05"/>
          <body pos="0.05 0.02 0"><joint name="d" axis="0 1 0" armature="1e-5"/>
            <geom type="capsule" fromto="0 0 0 0.04 0 0.01" size="0.008" mass="0.02"/></body>
        </body>
      </body>
    </body>
  </body>
</worldbody><actuator><motor joint="a" gear="2" ctrlrange="-1 1"/><motor joint="b" ctrlrange="-1 1"/>
  <motor joint="c" gear="0.1" ctrlrange="-1 1"/><motor joint="d" gear="0.01" ctrlrange="-1 1"/></actuator></mujoco>`;

test.each([
  ["articulated bodies", {}],
  ["M in loops", { integrator: "implicit" as const }],
])("steps of a finger stay within the bounds in rolled kernels: %s", async (_name, options) => {
  const model = withOptions(await loadModel(finger), options);
  expect(hasLightDofs(model)).toBe(true);
  const { verdict } = await compareWithMuJoCo(model, { device: "cpu", steps: 20, envs: 2, seed: 1, unroll: false });
  expect(verdict.reasons).toEqual([]);
});

// fins of a floating body whose own inertia resists little more than theirs
const swimmer = `<mujoco><option timestep="0.004" density="5000"><flag gravity="disable" constraint="disable"/></option>
  <worldbody><body><freejoint/><geom type="box" size="0.002 0.06 0.03"/>
    <body pos="0 -0.09 0"><joint name="a" axis="0 0 1" pos="0 0.01 0" damping="2e-5"/><joint name="b" axis="0 1 0" pos="0 0.01 0" damping="2e-5"/>
      <geom type="ellipsoid" size="0.001 0.008 0.016"/>
      <body pos="0 -0.028 0"><joint axis="0 0 1" pos="0 0.02 0" damping="2e-5" stiffness="8e-5"/>
        <geom type="ellipsoid" size="0.001 0.018 0.035"/></body></body>
    <body pos="0.01 0 0"><joint name="c" axis="0 1 0" damping="2e-5"/><joint name="d" axis="1 0 0" pos="0 0.005 0" damping="2e-5"/>
      <geom type="ellipsoid" pos="0.015 0 0" size="0.02 0.015 0.001"/></body>
  </body></worldbody>
  <actuator>${["a", "b", "c", "d"].map((j) => `<position joint="${j}" kp="2e-4" ctrlrange="-1 1"/>`).join("")}</actuator></mujoco>`;

test("accelerations of fins keep their digits", async () => {
  const model = await loadModel(swimmer);
  expect(hasLightDofs(model)).toBe(true);
  const { oneStep } = await compareWithMuJoCo(model, { device: "cpu", steps: 60, envs: 4, unroll: true });
  expect(oneStep.qacc!.max).toBeLessThan(finBounds.qacc.value);
});

test("other models keep their sums", async () => {
  for (const name of ["envs/humanoid", "envs/half_cheetah", "joint_many_on_body"]) {
    const f = await fixture(name, [1]);
    expect(hasLightDofs(f.model), name).toBe(false);
  }
});
