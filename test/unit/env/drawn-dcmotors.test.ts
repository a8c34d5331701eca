// gains that worlds draw of motors of direct current, which are read from the MJCF
import { expect, test } from "vitest";
import { defineTask, makeVec, type Randomisation } from "../../../src/env/index.ts";

const MODEL = `<mujoco model="spun"><worldbody><body name="arm"><joint name="hinge"/><geom size="0.1" pos="0.2 0 0"/></body>
  </worldbody><actuator><dcmotor name="drive" joint="hinge" motorconst="0.05" resistance="2"/>
  <motor name="plain" joint="hinge" ctrlrange="-1 1"/></actuator></mujoco>`;

const open = (strength: Randomisation) =>
  makeVec(
    defineTask({
      id: "Spun",
      model: MODEL,
      frameSkip: 1,
      maxEpisodeSteps: 10,
      observe: { speed: "qvel" },
      reward: { none: "0" },
      randomise: { strength },
    }),
    { numEnvs: 1, device: "cpu" },
  );

test("they are refused, and those of other actuators are not", async () => {
  await expect(open({ field: "actuator_gainprm", scale: [0.5, 1] })).rejects.toThrow(
    'actuator_gainprm of the dcmotor actuator "drive" cannot be randomised: its resistance, constants and controller are those of the MJCF. Name other actuators (`of`), or draw what acts on it',
  );
  await using envs = await open({ field: "actuator_gainprm", of: "plain", scale: [0.5, 1] });
  expect(envs.numEnvs).toBe(1);
});
