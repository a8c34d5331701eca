// a base that floats by slides and hinges gets a copy of its MJCF with a free joint, which is and moves as the MJCF did
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { loadModel, type Model } from "../../../src/model/model.ts";
import { createOracle } from "../../../src/model/oracle.ts";
import { cliInFolder } from "../../support/cli-process.ts";
import { worldsOnWasm } from "../../support/on-wasm.ts";
import { endedWithoutAction } from "../../support/without-action.ts";

worldsOnWasm();

const { folder, ...cli } = cliInFolder("corral-free-");
beforeAll(() => {
  mkdirSync(join(folder, "robots/meshes"), { recursive: true });
  writeFileSync(
    join(folder, "robots/meshes/foot.obj"),
    "v 0 0 0\nv .1 0 0\nv 0 .1 0\nv 0 0 .1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n",
  );
});

const slide = (name: string, axis: string, more = "") => `<joint name="${name}" type="slide" axis="${axis}" ${more}/>`;
const SLIDES = `${slide("x", "1 0 0")}
      ${slide("y", "0 .6 .8")}<!-- <joint name="in a comment"/> -->
      ${slide("z", "0 0 1", 'ref=".5"')}`;
const HINGES = `<joint name="yaw" axis="0 0 1" pos=".1 0 .2"/><joint name="lean" axis="1 0 0" ref=".2" pos="0 .1 0">
      </joint><joint name='tilt' axis="0 1 0"/>`;
const BALL = `<joint name="turn" type="ball" pos=".1 -.1 .2"/>`;
const leg = (name: string, y: number) => `<body name="${name}" pos="0 ${y} -.1"><joint name="${name}_hip" axis="0 1 0"/>
  <geom type="capsule" size=".03" fromto="0 0 0 .1 0 -.3" mass=".5"/><geom type="mesh" mesh="foot" pos=".1 0 -.4" mass=".2"/></body>`;

/** A biped in files of a folder: its joints, where its base is, and a state of it. */
function write(name: string, joints: string, qpos: string, rest = ""): string {
  const limbs = `<mujocoinclude><worldbody><geom type="plane" size="0 0 1" pos="0 0 -2"/></worldbody>
    <keyframe><key name="fast" qvel=".1 -.2 .3 .4 -.5 .6 .7 -.8" qpos='${qpos} .3 -.4' ctrl=".1 .2"/><key name="still"/></keyframe></mujocoinclude>`;
  writeFileSync(join(folder, `robots/${name}-parts.xml`), limbs);
  const path = join(folder, `robots/${name}.xml`);
  writeFileSync(
    path,
    `<mujoco><compiler angle="radian" meshdir="meshes/"/><include file="${name}-parts.xml"/>
  <asset><mesh name="foot" file="foot.obj"/></asset>
  <worldbody>
    <body name="trunk" pos=".1 .2 .5" euler=".1 .2 .3">
      ${joints}
      <geom type="box" size=".1 .2 .1" mass="4"/><site name="imu" pos=".05 .1 .2"/>${leg("left", 0.1)}${leg("right", -0.1)}
    </body>
  </worldbody>
  <actuator><motor joint="left_hip" ctrlrange="-9 9"/><motor joint="right_hip" ctrlrange="-9 9"/></actuator>
  <sensor><jointpos name="height" joint="z"/><gyro site="imu"/><velocimeter site="imu"/><accelerometer site="imu"/>
    <framequat objtype="site" objname="imu"/><framepos objtype="site" objname="imu"/></sensor>${rest}</mujoco>`,
  );
  return path;
}

/** What sensors measure in a keyframe, in MuJoCo, and what limbs do; undefined: as the model is drawn. */
async function measured(model: Model, key: number | undefined, sensors: number) {
  using oracle = await createOracle(model);
  if (key !== undefined) oracle.mujoco.mj_resetDataKeyframe(oracle.model, oracle.data, key);
  oracle.mujoco.mj_forward(oracle.model, oracle.data);
  return [...oracle.read("sensordata").slice(-sensors), ...oracle.read("qacc").slice(6), ...oracle.read("xpos")];
}

test.each([
  ["three hinges", `${SLIDES}${HINGES}`, ".2 .3 .9 .5 -.4 .7"],
  [
    "a ball joint",
    `<frame pos=".1 0 .2" euler=".3 0 .1">${SLIDES}<frame>${BALL}</frame></frame>`,
    ".2 .3 .9 .8 .2 -.4 .4",
  ],
])("a base of three slides and %s is where it was, and moves as it did", async (what, joints, qpos) => {
  const name = what.replaceAll(" ", "-");
  const path = write(name, joints, qpos);
  const { code, stdout, stderr } = await cli.run("new-task", name, "--robot", path);
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain(`body "trunk" floats by a free joint there, where it has three slides and ${what}.`);
  expect(stdout).toContain("Sensors of those joints are left out: height.\nIts keyframes have the same poses");
  const [given, copy] = await Promise.all([path, join(folder, `${name}-free.xml`)].map((file) => loadModel(file)));
  expect(copy.names.joint).toEqual(["root", "left_hip", "right_hip"]);
  expect([copy.nmesh, copy.names.key, copy.names.sensor.length]).toEqual([1, ["fast", "still"], 5]);
  for (const key of [0, 1, undefined]) {
    const [was, is] = await Promise.all([given, copy].map((model) => measured(model, key, 16)));
    is.forEach((x, i) => expect(x, `${key} ${i}`).toBeCloseTo(was[i], 8));
  }
  expect(readFileSync(join(folder, `${name}-free.xml`), "utf8")).toContain('<!-- <joint name="in a comment"/> -->');
});

test.each([
  ["moved", '<actuator><motor name="lift" joint="z"/></actuator>', /actuator "lift" moves it by them/],
  ["tied", '<tendon><fixed name="rope"><joint joint="z" coef="1"/></fixed></tendon>', /tendon "rope" is of them/],
  ["kept", '<equality><joint name="keep" joint1="tilt"/></equality>', /equality "keep" holds it/],
  ["hung", '<equality><connect name="hook" body1="trunk" anchor="0 0 0"/></equality>', /equality "hook" holds it/],
  ["counted", '<custom><tuple name="all"><element objtype="joint" objname="z"/></tuple></custom>', /does not compile/],
])("a base that is %s is refused by name, and no copy left", async (name, rest, says) => {
  const path = write(name, `${SLIDES}${HINGES}`, ".2 .3 .9 .5 -.4 .7", rest);
  const { code, stderr } = await cli.run("new-task", name, "--robot", path, "--kind", "velocity");
  expect([code, stderr]).toEqual([2, expect.stringMatching(/^\[no-free-base\] body "trunk" floats by/)]);
  expect(stderr).toMatch(says);
  expect(existsSync(join(folder, `${name}-free.xml`))).toBe(false);
});

test("what is not a child of the world is refused", async () => {
  const path = write("cart", `${SLIDES}${HINGES}`, ".2 .3 .9 .5 -.4 .7");
  writeFileSync(
    path,
    readFileSync(path, "utf8")
      .replace('<body name="trunk"', '<body name="cart"><body name="trunk"')
      .replace("</worldbody>", "</body></worldbody>"),
  );
  const { stderr } = await cli.run("new-task", "cart", "--robot", path, "--kind", "velocity");
  expect(stderr).toMatch(/it is no child of the world/);
});

test("what those joints had is told, and a robot without actuators or a floor gets both too", async () => {
  const path = join(folder, "robots/bare.xml");
  const legs = [-1, 1].flatMap((x) => [-1, 1].map((y) => [x, y]));
  writeFileSync(
    path,
    `<mujoco><default><joint damping=".2"/></default><worldbody><body pos="0 0 .3">${SLIDES}${HINGES}
    <geom type="box" size=".2 .1 .05" mass="4"/>${legs
      .map(
        ([
          x,
          y,
        ]) => `<body pos="${0.2 * x} ${0.1 * y} 0" euler="0 20 0"><joint name="hip${x}${y}" axis="0 1 0" range="-40 40"/>
      <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.15" mass=".2"/><body pos="0 0 -.15" euler="0 -40 0"><joint name="knee${x}${y}" axis="0 1 0" range="-40 40"/>
      <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.15" mass=".1"/></body></body>`,
      )
      .join("")}</body></worldbody></mujoco>`,
  );
  const { code, stdout, stderr } = await cli.run("new-task", "bare", "--robot", path);
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("A free joint has none of what those had: damping.");
  expect(stdout).toContain("the scene adds servos for 8 joints");
  expect(stdout).toContain("the scene adds a plane");
  expect(await endedWithoutAction(join(folder, "bare.mts"), 50)).toBe(0);
});
