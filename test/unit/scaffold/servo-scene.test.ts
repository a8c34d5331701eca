// an MJCF without actuators gets a scene with servos, by what its joints may be moved with
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadModel } from "../../../src/model/model.ts";
import { robotOf } from "../../../src/scaffold/robot.ts";
import { stiffServos } from "../../../src/scaffold/stiff-servos.ts";
import { cliInFolder } from "../../support/cli-process.ts";
import { worldsOnWasm } from "../../support/on-wasm.ts";
import { endedWithoutAction } from "../../support/without-action.ts";

worldsOnWasm();

const { folder, ...cli } = cliInFolder("corral-servos-");

const LEGS = ["fl .2 .1", "fr .2 -.1", "rl -.2 .1", "rr -.2 -.1"].map((leg) => leg.split(" "));
/** Thighs lean back by 0.5 rad, and shanks ahead. */
const leg = ([name, x, y]: string[]) => `<body name="${name}" pos="${x} ${y} 0" euler="0 .5 0">
  <joint name="${name}_hip" axis="0 1 0" range="-1 1" actuatorfrcrange="-20 20" armature=".01"/><geom class="limb" fromto="0 0 0 0 0 -.2"/>
  <body pos="0 0 -.2" euler="0 -1 0"><joint name="${name}_knee" axis="0 1 0" range="-1 1" damping=".3"/><geom class="limb" fromto="0 0 0 0 0 -.2"/></body></body>`;
const quadruped = (
  more = "",
  option = "",
  rest = "",
) => `<mujoco model="bare"><compiler angle="radian"/><option ${option}/>
  <default><default class="limb"><geom type="capsule" size=".02" mass=".4"/></default></default>
  <worldbody><geom name="floor" type="plane" size="0 0 1"/>
  <body name="trunk" pos="0 0 .4"><freejoint name="root"/><geom type="box" size=".2 .08 .05" mass="5"/>${LEGS.map(leg).join("")}${more}</body>
  <body name="ball" pos="3 0 .2"><freejoint/><geom size=".2" mass="400"/></body></worldbody>${rest}</mujoco>`;

const ears = ["left", "right"].map(
  (side) => `<body><joint name="${side}" axis="0 1 0"/><geom size=".02" pos=".1 0 .1" mass=".1"/></body>`,
);
const tail = '<body><joint axis="0 1 0" range="-1 1" stiffness="1"/><geom size=".02" pos="-.3 0 0" mass=".1"/></body>';
const follows = '<equality><joint joint1="right" joint2="left"/></equality>';

test("servos are as strong as joints allow, or as what they carry asks, and hold the robot up", async () => {
  writeFileSync(join(folder, "bare.xml"), quadruped(ears.join("") + tail, "", follows));
  const { code, stdout, stderr } = await cli.run("new-task", "walk", "--robot", "bare.xml");
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("has no actuators: the scene adds servos for 9 joints. Change their gains there.\n2 of its");
  const [bare, scene] = await Promise.all(["bare.xml", "walk.xml"].map((name) => loadModel(join(folder, name))));
  expect(scene.names.actuator).toEqual([...LEGS.flatMap(([n]) => [`${n}_hip`, `${n}_knee`]), "left"]);
  for (const field of ["dof_armature", "dof_damping", "jnt_range", "body_mass", "qpos0"] as const)
    expect(scene[field]).toEqual(bare[field]);
  // half of what 8.5 kg weigh, 0.37 m high: not of the ball beside it
  const carried = 0.5 * 9.81 * 8.5 * (0.4 * Math.cos(0.5) + 0.02);
  const forces = scene.actuator_forcerange;
  expect(forces[1]).toBe(20);
  expect(forces[3]).toBeCloseTo(carried, 1);
  expect(forces[17]).toBeCloseTo(9.81 * 0.3 * 0.2 * 8.5, 2);
  expect(scene.actuator_biasprm[1]).toBeLessThanOrEqual(-20 / 0.67 + 0.01);
  expect(scene.opt).toEqual({ ...bare.opt, integrator: 3 });
  expect(await endedWithoutAction(join(folder, "walk.mts"), 50)).toBe(0);
});

test("servos are such that steps of RK4 can follow them", async () => {
  const gains = async (name: string, option: string) => {
    writeFileSync(join(folder, `${name}.xml`), quadruped("", option));
    expect((await cli.run("new-task", `${name}s`, "--robot", `${name}.xml`)).code).toBe(0);
    const scene = await loadModel(join(folder, `${name}s.xml`));
    expect([scene.opt.timestep, stiffServos(scene)]).toEqual([0.006, []]);
    return -scene.actuator_biasprm[12];
  };
  const light = 'timestep=".006"';
  expect(await gains("rk4", `${light} integrator="RK4"`)).toBeLessThan(await gains("euler", light));
});

test("a keyframe of a robot without actuators is what it starts from", async () => {
  const pose = "0 0 .35 1 0 0 0 .1 -.2 .1 -.2 .1 -.2 .1 -.2 3 0 .2 1 0 0 0";
  writeFileSync(
    join(folder, "keyed.xml"),
    quadruped("", "", `<keyframe><key name="stand" qpos="${pose}"/></keyframe>`),
  );
  expect((await cli.run("new-task", "keys", "--robot", "keyed.xml")).stdout).toContain('Starts from keyframe "stand"');
  const { motors } = await robotOf(await loadModel(join(folder, "keys.xml")));
  expect(motors.map(({ home }) => home)).toEqual([0.1, -0.2, 0.1, -0.2, 0.1, -0.2, 0.1, -0.2]);
  expect(await endedWithoutAction(join(folder, "keys.mts"), 50)).toBe(0);
});

test("an arm without actuators reaches", async () => {
  const arm = `<mujoco><worldbody><body pos="0 0 .5"><joint name="a" axis="0 1 0"/><geom type="capsule" size=".03" fromto="0 0 0 .3 0 0"/>
    <body pos=".3 0 0"><joint name="b" axis="0 1 0"/><geom type="capsule" size=".03" fromto="0 0 0 .3 0 0"/></body></body></worldbody></mujoco>`;
  writeFileSync(join(folder, "arm.xml"), arm);
  const { code } = await cli.run("new-task", "reach", "--robot", "arm.xml");
  expect(code).toBe(0);
  expect(readFileSync(join(folder, "reach.mts"), "utf8")).toContain("the end of a robot goes where it is commanded");
  expect((await loadModel(join(folder, "reach.xml"))).names.actuator).toEqual(["a", "b"]);
});

test("what has an actuator is left as it is, and what nothing could drive is refused", async () => {
  writeFileSync(join(folder, "one.xml"), quadruped("", "", '<actuator><motor joint="fl_hip"/></actuator>'));
  const one = await cli.run("new-task", "ones", "--robot", "one.xml");
  expect([one.code, one.stdout]).toEqual([0, expect.not.stringContaining("adds servos")]);
  writeFileSync(join(folder, "none.xml"), quadruped().replaceAll(/<joint name="\w*"/g, "<joint"));
  const none = await cli.run("new-task", "nones", "--robot", "none.xml");
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("[no-actuators] the model has no actuators")]);
  expect(["nones.xml", "nones.mts"].filter((file) => existsSync(join(folder, file)))).toEqual([]);
});
