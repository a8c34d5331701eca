import { expect, test } from "vitest";
import { listen } from "../../../src/model/mujoco.ts";
import { loadModel } from "../../../src/model/model.ts";
import { robotOf } from "../../../src/scaffold/robot.ts";
import { stiffnessFor } from "../../../src/scaffold/standing.ts";
import { withRobot } from "../../../src/scaffold/with-robot.ts";

const robot = (stiffness: number) =>
  loadModel(`<mujoco><worldbody><body><joint name="z" type="slide" axis="0 0 1"/><geom size="0.1"/></body></worldbody>
    <actuator><position joint="z" kp="${stiffness}"/></actuator></mujoco>`);

test("all that looks at a robot shares one model of MuJoCo's, and finds it as after a reset", async () => {
  const [first, second] = [await robot(1), await robot(2)];
  const falls = await withRobot(first, ({ mujoco, model, data, read }) => {
    listen(() => mujoco.mj_step(model, data));
    return read("qpos")[0];
  });
  expect(falls).not.toBe(0);
  const seen = await Promise.all(
    [first, second, first].map((model) =>
      withRobot(model, (oracle) => ({ of: oracle.model, at: oracle.read("qpos")[0], kp: model.actuator_gainprm[0] })),
    ),
  );
  expect(seen.map(({ at, kp }) => [at, kp])).toEqual([
    [0, 1],
    [0, 2],
    [0, 1],
  ]);
  const again = await withRobot(first, ({ model }) => model);
  expect(again === seen[2].of).toBe(true);
  expect(again === seen[0].of).toBe(false);
});

test("what fails in one look does not keep others from theirs", async () => {
  const model = await robot(1);
  const fails = withRobot(model, (oracle) => {
    (oracle.model.actuator_gainprm as Float64Array)[0] = 7;
    throw new Error("no feet");
  });
  await expect(fails).rejects.toThrow("no feet");
  expect(await withRobot(model, ({ model: m }) => [m.nv, (m.actuator_gainprm as Float64Array)[0]])).toEqual([1, 1]);
});

test("servos tried on a robot leave its wheels, and all others, as they were", async () => {
  const model = await loadModel(`<mujoco><worldbody><body><freejoint/><geom size="0.1"/><body>
    <joint name="knee"/><geom size="0.1"/><body><joint name="wheel"/><geom size="0.1"/></body></body></body></worldbody>
    <actuator><position joint="knee" kp="5" kv="1"/><velocity joint="wheel" kv="3"/></actuator></mujoco>`);
  const { actuator_gainprm, actuator_biasprm } = model;
  expect(await stiffnessFor(await robotOf(model), () => [[9, 2], undefined])).toBe(1);
  const left = await withRobot(model, ({ model: m }) =>
    [m.actuator_gainprm, m.actuator_biasprm].map((x) => Array.from(x as Float64Array)),
  );
  expect(left).toEqual([actuator_gainprm, actuator_biasprm].map((x) => Array.from(x)));
});
