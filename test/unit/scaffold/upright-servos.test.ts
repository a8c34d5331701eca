// legs of what stands on two feet get servos that hold it upright, however weak its motors are
import { expect, test } from "vitest";
import { loadModel, type Model } from "../../../src/model/model.ts";
import { robotOf } from "../../../src/scaffold/robot.ts";
import { actuatorsOf, standingOn } from "../../../src/scaffold/scene-servos.ts";
import { upright } from "../../../src/scaffold/upright-servos.ts";

/** Servos of legs are this part of the weight times the height, and tasks' dampers that of the spring (s). */
const UPRIGHT = 0.75;
const DAMPING = 0.04;
/** N m of its motors, which spend them on so much of an error (rad). */
const TORQUE = 10;
const ERROR = 0.67;

/** Trunk and legs of hips and ankles, whose feet are at places (m); an arm hangs in front. */
const standing = (feet: readonly (readonly [number, number])[], inertia = 0.02): string => `<mujoco>
  <compiler angle="radian"/><option timestep=".002"/>
  <default><joint axis="0 1 0" range="-1 1" armature="${inertia}"/><motor ctrlrange="-${TORQUE} ${TORQUE}"/></default>
  <worldbody><geom type="plane" size="0 0 1"/><body name="trunk" pos="0 0 .9"><freejoint/><geom type="box" size=".1 .2 .2" mass="30"/>
    <body name="arm" pos=".15 0 0"><joint name="arm"/><geom type="capsule" size=".02" fromto="0 0 0 0 0 -.2" mass="1"/></body>
    ${feet
      .map(
        ([x, y], i) => `<body pos="${x} ${y} -.2"><joint name="hip${i}"/>
      <geom type="capsule" size=".03" fromto="0 0 0 0 0 -.6" mass="3"/>
      <body name="foot${i}" pos="0 0 -.65"><joint name="ankle${i}"/><geom type="box" size=".1 .05 .02" pos=".03 0 -.03" mass=".5"/></body></body>`,
      )
      .join("")}</body></worldbody>
  <actuator><motor name="arm" joint="arm"/>${feet.map((_, i) => `<motor name="hip${i}" joint="hip${i}"/><motor name="ankle${i}" joint="ankle${i}"/>`).join("")}</actuator></mujoco>`;

const BIPED = [-0.15, 0.15].map((y) => [0, y] as const);
const CORNERS = [-0.3, 0.3].flatMap((x) => BIPED.map(([, y]) => [x, y] as const));
const carriedBy = ({ body_subtreemass }: Model): number => 9.81 * body_subtreemass[1] * 0.9;

test("legs of a robot on two feet are as stiff as hold it upright, and nothing else is", async () => {
  const biped = await loadModel(standing(BIPED));
  const [arm, ...legs] = (await robotOf(biped)).motors;
  expect(arm.servo?.stiffness).toBeCloseTo(TORQUE / ERROR, 6);
  const least = UPRIGHT * carriedBy(biped);
  legs.forEach(({ servo }, i) => {
    const inertia = biped.dof_M0[biped.jnt_dofadr[biped.actuator_trnid[2 * (i + 1)]]];
    expect(servo?.stiffness).toBeCloseTo(least, 6);
    expect(servo?.damping).toBeCloseTo(Math.min(DAMPING * least, (0.5 * inertia) / 0.002), 6);
  });
  const four = await robotOf(await loadModel(standing(CORNERS)));
  for (const { servo } of four.motors) expect(servo?.stiffness).toBeCloseTo(TORQUE / ERROR, 6);
});

test("where it is drawn over or in the floor, on which it is put, they are as stiff", async () => {
  const drawn = (z: number) => standing(BIPED).replace('pos="0 0 .9"', `pos="0 0 ${z}"`);
  const stiffness = async (z: number) =>
    (await robotOf(await loadModel(drawn(z)))).motors.map((m) => m.servo!.stiffness);
  const stands = await stiffness(0.9);
  for (const z of [5, 0.05]) (await stiffness(z)).forEach((each, i) => expect(each).toBeCloseTo(stands[i], 6));
});

test("they are no stiffer than physics steps follow, and servos that are stiffer stay", async () => {
  const light = await loadModel(standing(BIPED, 0));
  const { motors } = await robotOf(light);
  const ankle = light.dof_M0[light.jnt_dofadr[light.actuator_trnid[4]]];
  expect(motors[2].servo?.stiffness).toBeCloseTo((0.5 * ankle) / 0.002 / 0.02, 6);
  const stiff = motors.map((motor) => ({ ...motor, servo: { stiffness: 1e5, damping: 1 } }));
  expect(upright(light, stiff, [3, 5], 1000)).toEqual(stiff);
});

test("so are those of its scene, where it has no actuators", async () => {
  const biped = await loadModel(standing(BIPED));
  const feet = [0, 1].map((i) => biped.names.body.indexOf(`foot${i}`));
  const carries = carriedBy(biped);
  const gain = (of: readonly number[]) =>
    Array.from(actuatorsOf(biped, standingOn(biped, of, carries)).matchAll(/joint="(\w+)" kp="([\d.]+)"/g), (m) => [
      m[1],
      Number(m[2]),
    ]);
  const kp = new Map(gain(feet) as [string, number][]);
  for (const joint of ["hip0", "ankle0", "hip1", "ankle1"]) expect(kp.get(joint)! / carries).toBeCloseTo(UPRIGHT, 3);
  expect(kp.get("arm")! / carries).toBeLessThan(UPRIGHT / 2);
});

test("links too light for steps to follow get a rotor in that scene, and steps follow them", async () => {
  const light = await loadModel(standing(BIPED, 0));
  const feet = [0, 1].map((i) => light.names.body.indexOf(`foot${i}`));
  const carries = carriedBy(light);
  const lines = actuatorsOf(light, standingOn(light, feet, carries)).split("\n");
  const at = (name: string) => lines.find((line) => line.includes(`joint="${name}"`)) ?? "";
  const number = (line: string, attribute: string) => Number(new RegExp(`${attribute}="([^"]*)"`).exec(line)?.[1]);
  for (const ankle of ["ankle0", "ankle1"]) {
    const inertia = light.dof_M0[light.jnt_dofadr[light.names.joint.indexOf(ankle)]];
    const kp = number(at(ankle), "kp");
    expect(kp / carries).toBeCloseTo(UPRIGHT, 3);
    // a quarter of the inertia over a step squared
    expect((kp * 4 * light.opt.timestep ** 2) / (number(at(ankle), "armature") + inertia)).toBeCloseTo(1, 3);
  }
  for (const heavy of ["hip0", "hip1", "arm"]) expect(at(heavy)).not.toContain("armature");
});
