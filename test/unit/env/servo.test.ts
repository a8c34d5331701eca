// a servo made of a motor moves as a position actuator of the same gains does
import { expect, test } from "vitest";
import { defineTask, makeVec, servo, type ActuatorRealities } from "../../../src/env/index.ts";
import { actuatorNames, loadModel } from "../../../src/model/model.ts";
import { stageBounds } from "../../support/tolerances.ts";

const arm = (actuator: string) => `<mujoco>
  <option timestep="0.002"/>
  <worldbody><body><joint name="hinge" axis="0 1 0" armature="0.01"/><geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0"/></body></worldbody>
  <actuator>${actuator}</actuator>
</mujoco>`;

async function turned(actuator: string, actuators: ActuatorRealities): Promise<number[]> {
  const task = defineTask({
    id: "servo",
    model: arm(actuator),
    frameSkip: 5,
    maxEpisodeSteps: 100,
    actuators,
    action: { clip: [-1, 1] },
    observe: { q: "qpos", v: "qvel" },
    reward: { none: 0 },
  });
  await using env = await makeVec(task, { numEnvs: 2, device: "cpu-f64", seed: 1 });
  await env.reset();
  const seen: number[] = [];
  for (const u of [0.5, 0.5, -1, 1, 0.2]) seen.push(...(await env.step([[u], [-u]])).observations);
  return seen;
}

test("a motor with a servo is a position actuator, up to the torque that it has", async () => {
  const made = await turned('<motor name="m" joint="hinge" ctrlrange="-3 3"/>', {
    m: { network: servo({ stiffness: 10, damping: 0.4 }) },
  });
  const given = await turned('<position joint="hinge" kp="10" kv="0.4" forcerange="-3 3"/>', {});
  made.forEach((x, i) => expect(Math.abs(x - given[i])).toBeLessThan(stageBounds.any64.value));
});

test("a motor without a name is called as the joint that it alone moves, unless an actuator is called so", async () => {
  const gains = { hinge: { network: servo({ stiffness: 10, damping: 0.4 }) } };
  const made = await turned('<motor joint="hinge" ctrlrange="-3 3"/>', gains);
  const named = await turned('<motor name="hinge" joint="hinge" ctrlrange="-3 3"/>', gains);
  expect(made).toEqual(named);
  const both = turned('<motor joint="hinge" ctrlrange="-3 3"/><motor joint="hinge" ctrlrange="-3 3"/>', gains);
  await expect(both).rejects.toThrow(/unknown-name.*no actuator named "hinge"/);
  const other = loadModel(arm('<motor joint="hinge" gear="2"/><general name="hinge" joint="hinge"/>'));
  expect(actuatorNames(await other)).toEqual(["", "hinge"]);
});

test("gains that are no numbers are refused", () => {
  expect(() => servo({ stiffness: Number.NaN })).toThrow(/stiffness of a servo is NaN/);
  expect(() => servo({ stiffness: 1, damping: -1 })).toThrow(/damping of a servo is -1/);
});
