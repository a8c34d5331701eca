// legs of a hip and a knee whose feet are points: their gait is that of the end of a shin, whose frame is at the knee
import { expect, test } from "vitest";
import { jointOf, loadModel } from "../../../src/model/model.ts";
import { gaitOf } from "../../../src/scaffold/gait.ts";
import { robotOf } from "../../../src/scaffold/robot.ts";
import { withRobot } from "../../../src/scaffold/with-robot.ts";

const leg = (
  side: string,
  y: number,
  shin = "",
) => `<body pos="0 ${y} 0"><joint name="roll${side}" axis="1 0 0" range="-60 60"/>
  <geom size=".03" mass=".1"/>
  <body><joint name="hip${side}" axis="0 1 0" range="-90 90"/><geom type="capsule" size=".02" fromto="0 0 0 0 0 -.2" mass=".2"/>
  <body name="shin${side}" pos="0 0 -.2"><joint name="knee${side}" axis="0 1 0" range="-120 120"/>
  <geom type="capsule" size=".015" fromto="0 0 0 .02 0 -.2" mass=".1" ${shin}/><geom name="ball${side}" pos=".02 0 -.2" size=".02" mass=".02"/>
  </body></body></body>`;
/** m that feet move. */
const STEP = 0.01;
const bend = [0, -0.5, 1];
const biped = (shin?: string) =>
  loadModel(`<mujoco><option timestep=".002" integrator="implicitfast"/><worldbody>
  <geom type="plane" size="0 0 1"/>
  <body name="trunk" pos="0 0 .4"><freejoint/><geom type="box" size=".06 .1 .05" mass="1.5"/>${leg("L", 0.08, shin)}${leg("R", -0.08, shin)}</body></worldbody>
  <actuator>${["rollL", "hipL", "kneeL", "rollR", "hipR", "kneeR"].map((joint) => `<position name="${joint}" joint="${joint}" kp="20" kv=".5"/>`).join("")}</actuator>
  <keyframe><key name="home" qpos="0 0 .38 1 0 0 0 ${bend.join(" ")} ${bend.join(" ")}"/></keyframe></mujoco>`);

test("feet of a leg without ankles go where a gait has them", async () => {
  const robot = await robotOf(await biped());
  const gait = (await gaitOf(robot))!;
  expect(gait.legs.map(({ actuators }) => actuators)).toEqual([
    ["rollL", "hipL", "kneeL"],
    ["rollR", "hipR", "kneeR"],
  ]);
  const places = await withRobot(robot.model, (oracle) =>
    gait.legs.map(({ ahead, left, up, motors, shift }, i) => {
      const ball = robot.model.names.geom.indexOf(i === 0 ? "ballL" : "ballR");
      const at = (by: (k: number) => number) => {
        const qpos = Float64Array.from(robot.qpos);
        motors.forEach((motor, k) => {
          qpos[robot.model.jnt_qposadr[jointOf(robot.model, motor)]] += shift[k] + by(k);
        });
        oracle.write("qpos", qpos);
        oracle.mujoco.mj_kinematics(oracle.model, oracle.data);
        return [...oracle.read("geom_xpos").subarray(3 * ball, 3 * ball + 3)];
      };
      const still = at(() => 0);
      return [ahead, left, up].map((column) => at((k) => STEP * column[k]).map((x, axis) => x - still[axis]));
    }),
  );
  // but for how legs bend, of which a gait has the half of a step
  for (const leg of places)
    leg.forEach((moved, column) => moved.forEach((x, axis) => expect(x).toBeCloseTo(axis === column ? STEP : 0, 2.5)));
  expect(gait.legs.map(({ side }) => side).map((y) => Math.round(100 * y))).toEqual([8, -8]);
});

test("what else of a shin collides does not say where it stands", async () => {
  const [all, balls] = await Promise.all(
    ["", 'contype="0" conaffinity="0"'].map(async (shin) => gaitOf(await robotOf(await biped(shin)))),
  );
  expect(all).toBeDefined();
  expect(all).toEqual(balls);
});
