// tasks for robots that are no quadruped on a named floor: on wheels, in the air, of a URDF, with motors that joints bound
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { strToU8, zipSync } from "fflate";
import { expect, test } from "vitest";
import { makeVec, type Task } from "../../../src/env/index.ts";
import { loadModel } from "../../../src/model/model.ts";
import { reachTask } from "../../../src/scaffold/reach-task.ts";
import { velocityTask } from "../../../src/scaffold/robot-tasks.ts";
import { wheelsOf } from "../../../src/scaffold/motors.ts";
import { baseOf, robotOf } from "../../../src/scaffold/robot.ts";
import { swayOf } from "../../../src/scaffold/track-task.ts";
import { cliInFolder } from "../../support/cli-process.ts";
import { worldsOnWasm } from "../../support/on-wasm.ts";

worldsOnWasm();

const { folder, ...cli } = cliInFolder("corral-any-robot-");

const library = new URL("../../../src/index.ts", import.meta.url).href;

/** Steps a task without action; how many episodes ended, and the text of the task. */
async function still(name: string, xml: string, steps: number): Promise<{ text: string; ended: number; last: number }> {
  const path = join(folder, `${name}.xml`);
  writeFileSync(path, xml);
  const text = velocityTask(name, await robotOf(await loadModel(path)), { library, model: pathToFileURL(path).href });
  const file = join(folder, `${name}.mts`);
  writeFileSync(file, text);
  const { default: task } = (await import(file)) as { default: Task };
  await using env = await makeVec(task, { numEnvs: 4, seed: 1, device: "wasm", recorder: false });
  await env.reset();
  const none = new Float32Array(env.actionSpace.sample(1, { draw: 0 }).length);
  let [ended, last] = [0, 0];
  for (let t = 0; t < steps; t++) {
    const { terminated, rewards, observations } = await env.step(none);
    ended += terminated.reduce((sum, x) => sum + x, 0);
    last = rewards[0];
    expect(observations.every(Number.isFinite)).toBe(true);
  }
  return { text, ended, last };
}

const floor = `<geom name="floor" type="plane" size="0 0 1"/>`;
const wheel = (name: string, y: number) => `<body name="${name}" pos="0 ${y} .1" euler="90 0 0">
  <joint name="${name}" axis="0 0 1"/><geom type="cylinder" size=".1 .02" mass=".5"/></body>`;
// its frame lies on the floor and weighs nothing; the floor is of a body of its own
const cart = (actuators: string) => `<mujoco><worldbody><body name="ground">${floor}</body>
  <body name="base_footprint"><freejoint/>
    <body name="base_link" pos="0 0 .15"><geom type="box" size=".2 .1 .05" mass="5"/></body>
    ${wheel("left", 0.15)}${wheel("right", -0.15)}
    <body name="castor" pos="-.15 0 .05"><joint type="ball"/><geom size=".05" mass=".1"/></body>
  </body></worldbody><actuator>${actuators}</actuator></mujoco>`;

test.each([
  [
    "speeds",
    `<velocity name="l" joint="left" kv="1" ctrlrange="-9 9"/><velocity name="r" joint="right" kv="1" ctrlrange="-9 9"/>`,
    9,
  ],
  ["torques", `<motor name="l" joint="left" ctrlrange="-2 2"/><motor name="r" joint="right" ctrlrange="-2 2"/>`, 2],
])("wheels that are driven by %s are asked for them, and their angles are no pose", async (name, actuators, most) => {
  const { text, ended } = await still(`cart-${name}`, cart(actuators), 60);
  expect(text).toContain(`scale: [${most}, ${most}],\n    offset: [0, 0],`);
  expect(text.includes('"l": { lag: 0.05 }')).toBe(name === "speeds");
  expect(text).toContain("a robot drives as it is commanded");
  expect(text).not.toMatch(/servo|touchdown|HOME|pose:|\blow:/);
  expect(text).toContain('of: "base_link", scale');
  expect(ended).toBe(0);
});

test("wheels with rollers about their rims are wheels, which go sideways too; a castor on a fork that turns has none", async () => {
  const roller = (k: number) => {
    const [x, y] = [Math.cos(k), Math.sin(k)].map((c) => 0.1 * c);
    return `<body pos="${x} ${y} 0"><joint axis="${-y} ${x} 0"/><geom size=".03" mass=".05"/></body>`;
  };
  const omni = (
    n: number,
    angle: number,
  ) => `<body pos="${0.2 * Math.cos(angle)} ${0.2 * Math.sin(angle)} .13" zaxis="${Math.cos(angle)} ${Math.sin(angle)} 0">
    <joint name="w${n}" axis="0 0 1"/><inertial pos="0 0 0" mass=".2" diaginertia="1e-3 1e-3 1e-3"/>${[0, 1, 2, 3, 4, 5].map(roller).join("")}</body>`;
  const xml = `<mujoco><worldbody>${floor}<body name="plate"><freejoint name="root"/>
    <geom type="cylinder" size=".15 .02" pos="0 0 .15" mass="2"/>${[0, 2.1, 4.2].map((angle, n) => omni(n, angle)).join("")}</body></worldbody>
    <actuator>${[0, 1, 2].map((n) => `<motor name="m${n}" joint="w${n}" ctrlrange="-1 1"/>`).join("")}</actuator></mujoco>`;
  const { text, ended } = await still("omni", xml, 20);
  expect(text).toContain("a robot drives as it is commanded");
  expect(text).toContain('["-0.5 * param.speed", "0.5 * param.speed"],');
  expect(text).toContain('velocities: { value: "[qvel[6], qvel[13], qvel[20]]"');
  expect(text).toContain("scale: [1, 1, 1],");
  expect(text).not.toMatch(/servo|touchdown|HOME|pose:/);
  expect(ended).toBe(0);
  const fork = await loadModel(`<mujoco><worldbody><body><freejoint/><geom size=".1"/>
    <body><joint name="steer" axis="0 0 1"/><geom size=".02"/><body pos=".1 0 -.1"><joint name="castor" axis="0 1 0"/><geom size=".05"/></body></body></body></worldbody>
    <actuator><position joint="steer"/></actuator></mujoco>`);
  expect([...wheelsOf(fork)]).toEqual([2]);
});

test("a wheel whose body is sprung and steered too is one: the joint that comes last", async () => {
  const car = await loadModel(`<mujoco><worldbody><body><freejoint/><geom type="box" size=".2 .1 .05"/>
    <body pos=".2 0 -.1"><joint type="slide" axis="0 0 1" range="-.01 .01"/><joint name="steer" axis="0 0 1" range="-1 1"/>
      <joint name="drive" axis="0 1 0"/><geom type="cylinder" size=".05 .02" zaxis="0 1 0"/></body></body></worldbody>
    <actuator><motor joint="drive" ctrlrange="-1 1"/></actuator></mujoco>`);
  expect([...wheelsOf(car)]).toEqual([3]);
});

test("a wheel whose limits are so many turns has no end", async () => {
  const cart = (range: string) =>
    loadModel(`<mujoco><compiler angle="radian"/><worldbody><body><freejoint/><geom type="box" size=".2 .1 .05"/>
    <body pos="0 .2 -.1"><joint axis="0 1 0" range="${range}"/><geom type="cylinder" size=".1 .02" zaxis="0 1 0"/></body></body></worldbody></mujoco>`);
  expect([...wheelsOf(await cart("-999999 999999"))]).toEqual([1]);
  expect([...wheelsOf(await cart("-6 6"))]).toEqual([]);
});

test("a leg that turns without end is no wheel: its foot lies beside the hinge", async () => {
  const leg = (foot: string) => `<mujoco><worldbody>${floor}<body pos="0 0 1"><freejoint/><geom size=".1"/>
    <body name="shank"><joint name="knee" axis="0 1 0"/><inertial pos="0 0 -.2" mass="1" diaginertia=".1 .1 .1"/>${foot}</body></body></worldbody></mujoco>`;
  const own = await loadModel(leg('<geom size=".05" pos="0 0 -.4"/>'));
  const fixed = await loadModel(
    leg('<body name="foot" pos="0 .3 0"><body pos="0 0 -.4"><geom size=".05"/></body></body>'),
  );
  const round = await loadModel(leg('<body name="rim" pos="0 .3 0"><geom size=".4"/></body>'));
  expect([own, fixed, round].map((model) => [...wheelsOf(model)])).toEqual([[], [], [1]]);
});

const drone = (rest: string) => {
  const at = [-0.1, 0.1].flatMap((x) => [-0.1, 0.1].map((y) => [x, y]));
  const sites = at.map(([x, y], i) => `<site name="t${i}" pos="${x} ${y} 0"/>`).join("");
  const motors = at.map((_, i) => `<motor site="t${i}" ctrlrange="0 10" gear="0 0 1 0 0 ${i % 3 ? 0.02 : -0.02}"/>`);
  return `<mujoco><option timestep="0.01"/><worldbody>${floor}<body name="x" pos="0 0 .1"><freejoint/>
    <geom type="box" size=".1 .1 .02" mass="1"/>${sites}</body></worldbody><actuator>${motors.join("")}</actuator>${rest}</mujoco>`;
};

test("what thrusters carry flies at the height that it is commanded, about the controls that hold it up", async () => {
  const key = `<keyframe><key name="hover" qpos="0 0 .3 1 0 0 0" ctrl="2.45 2.45 2.45 2.45"/></keyframe>`;
  for (const [name, rest, home] of [
    ["keyed", key, "2.45"],
    ["keyless", "", "2.453"],
  ]) {
    const { text, ended } = await still(`drone-${name}`, drone(rest), 40);
    expect(text).toContain(`scale: [${[home, home, home, home].join(", ")}],`);
    expect(text).toContain(`raise: [0, ${name === "keyed" ? 0.7 : 0.9}]`);
    expect(text).toContain('track_height: { value: tracking(height(BASE), "wanted.z", 0.5), weight: 1 }');
    expect(text).not.toMatch(/joints|qvel\[/);
    expect(ended).toBe(0);
  }
});

const legged = (z: number, motor: string, joint = "") => `<mujoco><worldbody>${floor}
  <body name="trunk" pos="0 0 ${z}"><freejoint name="root"/><geom type="box" size=".2 .15 .05" mass="5"/>
    ${[-0.15, 0.15]
      .flatMap((x) => [-0.15, 0.15].map((y) => [x, y]))
      .map(
        ([x, y], i) => `<body pos="${x} ${y} 0"><joint name="j${i}" axis="0 1 0" range="-60 60" ${joint}/>
      <geom type="capsule" size=".03" fromto="0 0 0 0 0 -.27" mass=".5"/></body>`,
      )
      .join("")}
  </body></worldbody><actuator>${[0, 1, 2, 3].map((i) => `<motor name="m${i}" joint="j${i}" ${motor}/>`).join("")}</actuator></mujoco>`;

test("a robot that lies in the floor, or hangs over it, starts on it", async () => {
  for (const z of [0.2, 0.3, 0.8]) {
    const { text, ended } = await still(`legs-${10 * z}`, legged(z, 'ctrlrange="-20 20"'), 40);
    const [, least, most] = /raise: \["root", \[(.*), (.*)\]\]/.exec(text)!;
    expect(Number(least)).toBeCloseTo(0.3 - z, 6);
    expect(Number(most) - Number(least)).toBeCloseTo(0.02 * 0.3, 6);
    expect(text).toContain("const LOW = 0.15;");
    expect(text).toContain("low: outside(height(BASE), LOW, Infinity)");
    expect(ended).toBe(0);
  }
});

test("motors become servos where their joints bound the torque, with a gear too, and where they have no name", async () => {
  for (const [motor, joint] of [
    ["", 'actuatorfrcrange="-20 20"'],
    ['gear="10" ctrlrange="-2 2"', ""],
    ['forcelimited="true" forcerange="-20 20"', ""],
  ]) {
    const { motors } = await robotOf(await loadModel(legged(0.3, motor, joint)));
    expect(motors.map(({ isPosition }) => isPosition)).toEqual([true, true, true, true]);
    expect(motors[0].servo!.stiffness).toBeCloseTo(20 / 0.67, 6);
  }
  const unnamed = legged(0.3, 'ctrlrange="-20 20"').replaceAll(/ name="m\d"/g, "");
  const called = await robotOf(await loadModel(unnamed));
  expect(called.motors.map(({ name, servo }) => [name, servo !== undefined])).toEqual(
    [0, 1, 2, 3].map((i) => [`j${i}`, true]),
  );
  // the gains are such that a leg in the air does not swing up
  const strong = await robotOf(await loadModel(legged(0.3, 'ctrlrange="-2000 2000"')));
  const { model, motors } = strong;
  const damped = (motors[0].servo!.damping * model.opt.timestep) / model.dof_M0[6];
  expect(damped).toBeLessThanOrEqual(0.5001);
});

test("an arm beside something that floats is an arm", async () => {
  const xml = `<mujoco><worldbody>${floor}<body pos="1 0 .1"><freejoint name="cube"/><geom size=".05"/></body>
    <body pos="0 0 .5"><joint name="j" axis="0 1 0" range="-60 60"/><geom type="capsule" size=".03" fromto="0 0 0 .3 0 0"/><site name="tip" pos=".3 0 0"/></body>
    </worldbody><actuator><position joint="j" kp="50"/></actuator></mujoco>`;
  writeFileSync(join(folder, "arm.xml"), xml);
  const { code, stdout } = await cli.run("new-task", "arm", "--robot", "arm.xml");
  expect([code, stdout]).toEqual([0, expect.stringContaining("Starts from the default pose")]);
  const text = readFileSync(join(folder, "arm.mts"), "utf8");
  expect(text).toContain("the end of a robot goes where it is commanded");
  // what lies on a table begins on it, not in it
  expect(text).toContain('startAround({ qpos: 0.05, qvel: 0.05, except: ["cube"] })');
});

const urdf = `<robot name="cart"><link name="base"><inertial><mass value="4"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><box size=".4 .2 .1"/></geometry></collision></link>
  ${["a", "b"]
    .map(
      (
        n,
        i,
      ) => `<link name="${n}"><inertial><mass value=".5"/><inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><sphere radius=".1"/></geometry></collision></link>
  <joint name="${n}" type="${i ? "continuous" : "revolute"}"><parent link="base"/><child link="${n}"/><origin xyz="${i ? -0.2 : 0.2} 0 -.1"/><axis xyz="0 1 0"/>
    <limit effort="8" velocity="5"${i ? "" : ' lower="-1" upper="1"'}/></joint>`,
    )
    .join("")}</robot>`;

test("servos for a URDF are no stiffer than its weight asks for, whatever effort it says", async () => {
  const stiffness = async (effort: string): Promise<number> => {
    writeFileSync(join(folder, "strong.urdf"), urdf.replaceAll('effort="8"', `effort="${effort}"`));
    const { code } = await cli.run("new-task", `strong${effort}`, "--robot", "strong.urdf", "--kind", "velocity");
    expect(code).toBe(0);
    return Number(/<position .*kp="([^"]+)"/.exec(readFileSync(join(folder, `strong${effort}.xml`), "utf8"))![1]);
  };
  // 5 kg, 0.2 m high, over an error of 0.67 rad
  expect(await stiffness("1000")).toBeCloseTo((9.81 * 5 * 0.2) / 0.67, 1);
  expect(await stiffness("4")).toBeCloseTo(4 / 0.67, 1);
});

test("a URDF gets a scene with a floor and actuators, in which it stands, and a task for it", async () => {
  writeFileSync(join(folder, "cart.urdf"), urdf);
  const asked = await cli.run("new-task", "drive", "--robot", "cart.urdf");
  expect([asked.code, asked.stderr]).toEqual([
    2,
    expect.stringContaining("does not say whether it floats: pass --kind"),
  ]);
  const { code, stdout } = await cli.run("new-task", "drive", "--robot", "cart.urdf", "--kind", "velocity");
  expect([code, stdout]).toEqual([0, expect.stringContaining("drive.xml: a floor, and actuators")]);
  const robot = await robotOf(await loadModel(join(folder, "drive.xml")));
  expect(robot.motors.map(({ name, isPosition }) => [name, isPosition])).toEqual([
    ["a", true],
    ["b", false],
  ]);
  // spheres of 0.1 m, 0.1 m below the base
  expect(baseOf(robot).height).toBeCloseTo(0.2, 5);
  expect(robot.lift).toBe(0);
  const checked = await cli.run("check-env", "./drive.mts", "--steps", "20");
  expect(checked.code).toBe(0);
  // a scene is not overwritten, and none is left of a robot that does not fit
  const again = await cli.run("new-task", "drive2", "--robot", "none.urdf", "--kind", "velocity");
  expect(again.stderr).toContain("[missing-file]");
  expect(existsSync(join(folder, "drive2.xml"))).toBe(false);
});

test("a joint that mimics another has no servo, and follows it in the motion that is written", async () => {
  const mimics = urdf.replace(/<\/joint>(?!.*<\/joint>)/s, `<mimic joint="a" multiplier="-2" offset="0.1"/></joint>`);
  writeFileSync(join(folder, "mimics.urdf"), mimics);
  const { code } = await cli.run("new-task", "mimicking", "--robot", "mimics.urdf", "--kind", "track");
  expect(code).toBe(0);
  const robot = await robotOf(await loadModel(join(folder, "mimicking.xml")));
  expect(robot.motors.map(({ name }) => name)).toEqual(["a"]);
  const rows = await swayOf(robot);
  expect(Math.max(...rows.map((row) => Math.abs(row[7])))).toBeGreaterThan(0.1);
  for (const row of rows) expect(row[8]).toBeCloseTo(0.1 - 2 * row[7], 9);
});

test("a hand whose frame lies on the floor is not lost where its motion begins, and is said to float", async () => {
  const low = urdf
    .replaceAll(' 0 -.1"/><axis', ' 0 .1"/><axis')
    .replace("<collision>", '<collision><origin xyz="0 0 .05"/>');
  writeFileSync(join(folder, "low.urdf"), low);
  const { code, stdout } = await cli.run("new-task", "low", "--robot", "low.urdf", "--kind", "track");
  expect([code, stdout]).toEqual([0, expect.stringContaining("It floats. Where it is mounted")]);
  expect(baseOf(await robotOf(await loadModel(join(folder, "low.xml")))).height).toBeLessThan(0.01);
  const { default: task } = (await import(join(folder, "low.mts"))) as { default: Task };
  await using env = await makeVec(task, { numEnvs: 4, seed: 1, device: "wasm", recorder: false });
  await env.reset();
  const { terminated } = await env.step(new Float32Array(4 * 2));
  expect([...terminated]).toEqual([0, 0, 0, 0]);
});

test("a URDF is told by what it holds: as an XML it gets a scene, in a zip it is refused", async () => {
  writeFileSync(join(folder, "cart.xml"), `<?xml version="1.0"?>\n<!-- <mujoco/> -->\n${urdf}`);
  const { code, stdout } = await cli.run("new-task", "told", "--robot", "cart.xml", "--kind", "reach");
  expect([code, stdout]).toEqual([0, expect.stringContaining("told.xml: a floor, and actuators")]);
  writeFileSync(join(folder, "cart.zip"), zipSync({ "cart.urdf": strToU8(urdf) }));
  for (const path of ["cart.zip", "cart.zip/cart.urdf"]) {
    const refused = await cli.run("new-task", "zipped", "--robot", path, "--kind", "reach");
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("Unpack the zip")]);
  }
});

test("what is raised is a joint that floats or slides, by a length or between two, which noise does not move", async () => {
  const { startAround } = await import("../../../src/index.ts");
  const path = join(folder, "raise.xml");
  writeFileSync(path, legged(0.3, 'ctrlrange="-20 20"'));
  const made = (given: object, qpos = 0, numEnvs = 1) =>
    makeVec(
      {
        id: "r",
        model: path,
        frameSkip: 1,
        maxEpisodeSteps: 9,
        observe: { q: "qpos", v: "qvel" },
        reward: { one: "1.0" },
        reset: startAround({ qpos, qvel: qpos, ...given }),
      } as never,
      { numEnvs, device: "cpu" } as never,
    );
  await using env = await made({ raise: ["root", 0.25] });
  const { observations } = await env.reset();
  expect(observations[2]).toBeCloseTo(0.55, 6);
  await using many = await made({ raise: ["root", [0.1, 0.2]] }, 0.5, 64);
  const starts = (await many.reset({ seed: 1 })).observations;
  const column = (k: number) => Array.from({ length: 64 }, (_, w) => starts[21 * w + k]);
  expect(Math.min(...column(2))).toBeGreaterThanOrEqual(0.4);
  expect(Math.max(...column(2))).toBeLessThanOrEqual(0.5 + 1e-6);
  expect(Math.max(...column(2)) - Math.min(...column(2))).toBeGreaterThan(0.08);
  expect(Math.min(...column(0))).toBeLessThan(-0.3);
  for (const raise of [
    "root",
    ["root"],
    ["root", NaN],
    ["j0", 0.1],
    [99, 0.1],
    [-1, 0.1],
    ...[[], [0.1], [0.2, 0.1], [0.1, NaN], [0.1, 0.2, 0.3], ["0.1", "0.2"]].map((by) => ["root", by]),
  ])
    await expect(made({ raise })).rejects.toMatchObject({ code: "bad-term" });
  await expect(made({ raise: ["rot", 0.1] })).rejects.toMatchObject({ code: "unknown-name" });

  await using held = await made({ except: ["root", 2] }, 0.5, 8);
  const first = (await held.reset({ seed: 1 })).observations;
  const all = (k: number) => Array.from({ length: 8 }, (_, w) => first[21 * w + k]);
  for (const k of [0, 1, 4, 5, 6, 8, 11, 16, 18]) expect(all(k), `${k}`).toEqual(Array(8).fill(0));
  for (const k of [7, 9, 10, 17, 19, 20]) expect(all(k), `${k}`).not.toContain(0);
  for (const except of ["root", [99], [1.5], [null]])
    await expect(made({ except })).rejects.toMatchObject({ code: "bad-term" });
  await expect(made({ except: ["rot"] })).rejects.toMatchObject({ code: "unknown-name" });
});

test.each([-0.05, 0])("what floats may have its frame at its feet, or below them: %d m", async (z) => {
  // the box reaches from the floor to 0.1 m over it, the arm from there
  const { text, ended } = await still(
    `frame${z < 0}`,
    `<mujoco><worldbody>${floor}<body name="base" pos="0 0 ${z}"><freejoint name="root"/>
    <geom type="box" size=".1 .1 .05" pos="0 0 ${0.05 - z}" mass="5"/>
    <body name="mast" pos="0 0 ${0.2 - z}"><joint name="turn" axis="0 0 1" damping=".01"/><geom type="box" size=".02 .02 .08" mass=".2"/></body></body>
    </worldbody><actuator><position joint="turn" kp=".1"/></actuator></mujoco>`,
    20,
  );
  const [, low, high] = /raise: \["root", \[(-?[\d.]+), (-?[\d.]+)\]\]/.exec(text)!.map(Number);
  expect(high).toBeGreaterThan(low);
  expect(ended).toBe(0);
});

test("of two robots in one model it is said which one the task is for", async () => {
  const robot = (
    name: string,
    y: number,
  ) => `<body name="${name}" pos="0 ${y} .25"><freejoint/><geom type="box" size=".1 .1 .05"/>
    <body name="${name} leg" pos=".1 0 0"><joint name="${name}j" axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 .05 0 -.2"/></body></body>`;
  const cube = '<body name="cube" pos="1 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>';
  const pair = `<mujoco><worldbody>${floor}${robot("left", 0)}${cube}${robot("right", 1)}</worldbody>
    <actuator><motor joint="leftj"/><position joint="rightj"/></actuator></mujoco>`;
  writeFileSync(join(folder, "pair.xml"), pair);
  const { code, stdout } = await cli.run("new-task", "pairs", "--robot", "pair.xml");
  expect(code).toBe(0);
  expect(stdout).toContain('The task is for body "left": it neither observes nor commands body "right", which floats');
  expect(stdout).not.toContain("cube");
});

test.each([
  ["without a floor", "", -0.3],
  ["over a floor far below", '<geom type="plane" size="1 1 1" pos="0 0 -1"/>', -0.3],
  ["near the floor", '<geom type="plane" size="1 1 1" pos="0 0 -0.22"/>', -0.2],
])("goals of an end below 0 are about it: %s", async (_, floor, least) => {
  const model =
    await loadModel(`<mujoco><worldbody>${floor}<body><joint name="j" axis="0 1 0"/><geom type="capsule" size="0.01" fromto="0 0 0 0 0 -0.1" contype="0"/>
    <body pos="0 0 -0.1"><joint name="k" axis="0 1 0"/><geom type="capsule" size="0.01" fromto="0 0 0 0 0 -0.1" contype="0"/><site name="tip" pos="0 0 -0.1"/></body></body></worldbody>
    <actuator><position joint="j"/><position joint="k"/></actuator></mujoco>`);
  const text = reachTask("low", await robotOf(model), { library: "corral", model: "low.xml" });
  const [, low, high] = /\[(-?[\d.]+), (-?[\d.]+)\],\n\s*\]\)/.exec(text)!.map(Number);
  expect(low).toBeLessThan(high);
  expect(low).toBeLessThanOrEqual(-0.1);
  expect(low).toBeGreaterThanOrEqual(least);
});
