import { expect, test } from "vitest";
import { loadModel } from "../../../src/model/model.ts";
import { listen } from "../../../src/model/mujoco.ts";
import { stiffServos } from "../../../src/scaffold/stiff-servos.ts";
import { withRobot } from "../../../src/scaffold/with-robot.ts";

const arm = (
  kv: number,
  gear: number,
  integrator = "Euler",
  damping = 0,
) => `<mujoco><option integrator="${integrator}" gravity="0 0 0"/>
  <worldbody><body><joint name="a" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 .2" size=".02"/>
  <body pos="0 0 .2"><joint name="b" axis="0 1 0" damping="${damping}"/><geom type="capsule" fromto="0 0 0 0 0 .1" size=".01"/></body></body></worldbody>
  <actuator><position name="servo" joint="b" kp=".001" kv="${kv}" gear="${gear}"/></actuator></mujoco>`;

/** Whether MuJoCo's own steps make a small speed of the last joint larger. */
async function grows(xml: string): Promise<boolean> {
  return withRobot(await loadModel(xml), ({ mujoco, model, data, write, read }) => {
    write("qvel", [0, 1e-6]);
    listen(() => {
      for (let i = 0; i < 8; i++) mujoco.mj_step(model, data);
    });
    return !(Math.abs(read("qvel")[1]) < 1e-6);
  });
}

test.each([
  [0.5, 1],
  [0.9, 1],
  [1.1, 1],
  [2, 1],
  [0.9, 3],
  [1.1, 3],
])(
  "a servo that damps %s times what a step can follow, with gear %s, is told where MuJoCo's steps let it grow",
  async (part, gear) => {
    const { dof_invweight0, opt } = await loadModel(arm(1, 1));
    const kv = (part * 2) / (dof_invweight0[1] * opt.timestep * gear ** 2);
    const [explicit, implicit] = [arm(kv, gear), arm(kv, gear, "implicitfast")];
    expect(stiffServos(await loadModel(explicit))).toEqual(
      (await grows(explicit)) ? [expect.stringMatching(/^servo damps \(kv\).*steps of 0\.002 s.*implicitfast/)] : [],
    );
    expect(await grows(explicit)).toBe(part > 1);
    expect([stiffServos(await loadModel(implicit)), await grows(implicit)]).toEqual([[], false]);
  },
);

test("what joints damp themselves, which Euler takes implicitly, leaves room for servos", async () => {
  const { dof_invweight0, opt } = await loadModel(arm(1, 1));
  const most = 2 / (dof_invweight0[1] * opt.timestep);
  for (const part of [0.9, 1.1]) {
    const xml = arm(part * (most + 2 * most), 1, "Euler", 2 * most);
    expect([stiffServos(await loadModel(xml)).length > 0, await grows(xml)]).toEqual([part > 1, part > 1]);
  }
  for (const part of [0.95, 1.05]) {
    const xml = arm(part * (1.3925 - 0.5) * most, 1, "RK4", 0.5 * most);
    expect([stiffServos(await loadModel(xml)).length > 0, await grows(xml)]).toEqual([part > 1, part > 1]);
  }
});

test("muscles damp nothing, whatever force they are of", async () => {
  const muscle = arm(1, 1).replace(/<position .*\/>/, `<muscle name="m" joint="b" lengthrange=".1 1"/>`);
  const model = await loadModel(muscle);
  expect(model.actuator_biasprm[2]).toBe(-1);
  expect(stiffServos(model)).toEqual([]);
});
