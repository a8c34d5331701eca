// an MJCF robot without a floor, or whose joints start outside their ranges, gets a scene that has both, and is else the same
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadModel } from "../../../src/model/model.ts";
import { baseOf, robotOf } from "../../../src/scaffold/robot.ts";
import { cliInFolder } from "../../support/cli-process.ts";
import { worldsOnWasm } from "../../support/on-wasm.ts";
import { endedWithoutAction } from "../../support/without-action.ts";

worldsOnWasm();

const { folder, ...cli } = cliInFolder("corral-bare-");

const leg = (name: string, at: string, knee: string) => `<body name="${name}" pos="${at}">
  <joint name="${name}_hip" axis="0 1 0" range="-1 2"/><geom class="limb" fromto="0 0 0 0 0 -.2"/>
  <body pos="0 0 -.2"><joint name="${name}_knee" axis="0 1 0" range="${knee}"/>
    <geom class="limb" fromto="0 0 0 0 0 -.2"/><geom type="box" size=".02 .02 .02" contype="0" conaffinity="0" group="2"/></body></body>`;
const LEGS = ["fl .2 .1", "fr .2 -.1", "rl -.2 .1", "rr -.2 -.1"].map((leg) => leg.split(" "));
const servos = LEGS.map(([name]) =>
  ["hip", "knee"].map((joint) => `<position joint="${name}_${joint}" kp="60" kv="2" forcerange="-40 40"/>`).join(""),
).join("");

/** A quadruped over the place where a floor would be; its geoms meet what has their second bit. */
const quadruped = (knee: string, world = "", compiler = "") => `<mujoco model="bare"><compiler ${compiler}/>
  <option timestep="0.004" integrator="implicitfast" cone="elliptic" iterations="20"><flag eulerdamp="disable"/></option>
  <default><default class="limb"><geom type="capsule" size=".02" mass=".4" contype="2" conaffinity="2"/></default></default>
  <worldbody>${world}<body name="trunk" pos="0 0 .8"><freejoint name="root"/><geom type="box" size=".2 .08 .05" mass="5" contype="2" conaffinity="2"/>
  ${LEGS.map(([name, x, y]) => leg(name, `${x} ${y} 0`, knee)).join("")}</body></worldbody>
  <actuator>${servos}</actuator></mujoco>`;

test("a robot without a floor walks on one that meets what of it collides", async () => {
  writeFileSync(join(folder, "bare.xml"), quadruped("-150 10", "", 'angle="degree" discardvisual="true"'));
  const { code, stdout } = await cli.run("new-task", "walk", "--robot", "bare.xml", "--kind", "velocity");
  expect([code, stdout]).toEqual([0, expect.stringContaining("no floor: the scene adds a plane")]);
  const [bare, scene] = await Promise.all(["bare.xml", "walk.xml"].map((name) => loadModel(join(folder, name))));
  expect(scene.opt).toEqual(bare.opt);
  expect([scene.nq, scene.nbody, scene.ngeom]).toEqual([bare.nq, bare.nbody, bare.ngeom + 1]);
  for (const field of ["jnt_range", "body_mass", "actuator_gainprm", "qpos0"] as const)
    expect(scene[field]).toEqual(bare[field]);
  expect(baseOf(await robotOf(scene)).height).toBeCloseTo(0.42, 3);
  expect(await endedWithoutAction(join(folder, "walk.mts"), 50)).toBe(0);
});

test("a scene has the integrator discrete of the robot that it attaches, and options like it", async () => {
  const discrete = quadruped("-2.6 -.6")
    .replace("implicitfast", "discrete")
    .replace("<option", '<option gravity="0 0 -3"');
  writeFileSync(join(folder, "discrete.xml"), discrete);
  const { code, stderr } = await cli.run("new-task", "tread", "--robot", "discrete.xml", "--kind", "velocity");
  expect([code, stderr]).toEqual([0, expect.not.stringContaining("undefined")]);
  const [bare, scene] = await Promise.all(["discrete.xml", "tread.xml"].map((name) => loadModel(join(folder, name))));
  expect(scene.opt).toEqual(bare.opt);
  expect(readFileSync(join(folder, "tread.xml"), "utf8")).toContain("<!-- as in discrete.xml: change both");
});

test("knees that are never straight start bent, on the floor that the robot has", async () => {
  const floor = '<geom name="mat" type="plane" size="0 0 1" contype="2" conaffinity="2"/>';
  writeFileSync(join(folder, "bent.xml"), quadruped("-2.6 -.6", floor, 'angle="radian"'));
  const { code, stdout } = await cli.run("new-task", "crouch", "--robot", "bent.xml");
  expect([code, stdout]).toEqual([0, expect.stringContaining("is outside the ranges of fl_knee, fr_knee, rl_knee")]);
  const scene = await loadModel(join(folder, "crouch.xml"));
  const robot = await robotOf(scene);
  expect([robot.key, scene.names.geom.filter(Boolean)]).toEqual(["home", ["mat"]]);
  expect(robot.qpos.slice(7, 9)).toEqual([0.4, -0.8]);
  expect(Array.from(scene.key_ctrl.slice(0, 2))).toEqual([0.4, -0.8]);
  expect(await endedWithoutAction(join(folder, "crouch.mts"), 50)).toBe(0);
});

test("a robot that has a floor, and starts on bent legs within its ranges, gets no scene", async () => {
  const floor = '<geom type="plane" size="0 0 1" contype="2" conaffinity="2"/>';
  const drawnBent = quadruped("-2.6 0", floor, 'angle="radian"').replaceAll(
    '0 0 -.2"/><geom type',
    '.1 0 -.17"/><geom pos=".1 0 -.17" type',
  );
  writeFileSync(join(folder, "whole.xml"), drawnBent);
  expect((await cli.run("new-task", "stand", "--robot", "whole.xml")).code).toBe(0);
  expect(readFileSync(join(folder, "stand.mts"), "utf8")).toContain('"./whole.xml"');
});

test("a foot that goes through the floor is told of", async () => {
  const floor = '<geom type="plane" size="0 0 1" contype="2" conaffinity="0"/>';
  const left = quadruped("-2.6 -.6", floor, 'angle="radian"').replace(/<body name="fl"[^]*?<body name="fr"/, (part) =>
    part.replaceAll('class="limb"', 'class="limb" contype="2" conaffinity="1"'),
  );
  writeFileSync(join(folder, "sinks.xml"), left);
  const { stdout } = await cli.run("new-task", "sink", "--robot", "sinks.xml");
  expect(stdout.match(/Its foot .* goes through the ground/g)).toHaveLength(1);
});
