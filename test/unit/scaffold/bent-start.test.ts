// a URDF whose knees are never straight starts bent, its feet below its hips, within the ranges of its joints
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { withMuJoCo } from "../../../src/model/oracle.ts";
import { loadModel, type Model } from "../../../src/model/model.ts";
import { baseOf, robotOf } from "../../../src/scaffold/robot.ts";
import { cliInFolder } from "../../support/cli-process.ts";
import { worldsOnWasm } from "../../support/on-wasm.ts";
import { endedWithoutAction } from "../../support/without-action.ts";

worldsOnWasm();

const { folder, ...cli } = cliInFolder("corral-bent-");

const link = (name: string, mass: number, shape: string, at = "0 0 0") => `<link name="${name}">
  <inertial><origin xyz="${at}"/><mass value="${mass}"/><inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><origin xyz="${at}"/><geometry>${shape}</geometry></collision></link>`;
const joint = (name: string, parent: string, child: string, at: string, range: [number, number], more = "") =>
  `<joint name="${name}" type="revolute"><parent link="${parent}"/><child link="${child}"/><origin xyz="${at}"/><axis xyz="0 1 0"/>
   <limit lower="${range[0]}" upper="${range[1]}" effort="40" velocity="20"/>${more}</joint>`;

const leg = (name: string, x: number, y: number) =>
  link(`${name}_thigh`, 0.5, `<box size=".03 .03 .1"/>`, "0 0 -.1") +
  link(`${name}_calf`, 0.3, `<sphere radius=".02"/>`, "0 0 -.2") +
  joint(`${name}_hip`, "trunk", `${name}_thigh`, `${x} ${y} 0`, [-1, 2]) +
  joint(`${name}_knee`, `${name}_thigh`, `${name}_calf`, "0 0 -.2", [-2.6, -0.6]);
const corners: [string, number, number][] = [
  ["fl", 0.2, 0.1],
  ["fr", 0.2, -0.1],
  ["rl", -0.2, 0.1],
  ["rr", -0.2, -0.1],
];
const quadruped = `<robot name="bent">${link("trunk", 5, `<box size=".4 .15 .1"/>`)}${corners.map((c) => leg(...c)).join("")}</robot>`;

const outside = (model: Model, qpos: readonly number[]): number[] =>
  Array.from({ length: model.njnt }, (_, j) => j).filter((j) => {
    const x = qpos[model.jnt_qposadr[j]];
    return model.jnt_limited[j] > 0 && (x < model.jnt_range[2 * j] || x > model.jnt_range[2 * j + 1]);
  });

test("a quadruped whose knees are never straight stands on bent ones, below its hips", async () => {
  writeFileSync(join(folder, "bent.urdf"), quadruped);
  const { code, stdout } = await cli.run("new-task", "walk", "--robot", "bent.urdf", "--kind", "velocity");
  expect([code, stdout]).toEqual([0, expect.stringContaining("is outside the ranges of fl_knee, fr_knee, rl_knee")]);
  const model = await loadModel(join(folder, "walk.xml"));
  const robot = await robotOf(model);
  expect([robot.key, robot.lift]).toEqual(["home", 0]);
  expect(outside(model, robot.qpos)).toEqual([]);
  // a tenth of the range within, and half of it back at the hip: both links lean by 0.4 rad
  expect(robot.qpos.slice(7, 9)).toEqual([0.4, -0.8]);
  expect(baseOf(robot).height).toBeCloseTo(0.4 * Math.cos(0.4) + 0.02, 3);

  expect(await endedWithoutAction(join(folder, "walk.mts"), 50)).toBe(0);
});

test("an arm starts within its ranges, and what follows a joint where that is", async () => {
  const arm = `<robot name="arm">${["base", "upper", "lower", "finger"].map((name) => link(name, 1, `<sphere radius=".02"/>`, "0 0 .1")).join("")}
    ${joint("shoulder", "base", "upper", "0 0 0", [-2, 2])}
    ${joint("elbow", "upper", "lower", "0 0 .3", [0.5, 2.5])}
    ${joint("tip", "lower", "finger", "0 0 .3", [-1, 1], `<mimic joint="elbow" multiplier="-.5" offset="0"/>`)}</robot>`;
  writeFileSync(join(folder, "arm.urdf"), arm);
  const { code } = await cli.run("new-task", "grab", "--robot", "arm.urdf", "--kind", "reach");
  expect(code).toBe(0);
  const robot = await robotOf(await loadModel(join(folder, "grab.xml")));
  expect(robot.key).toBe("home");
  expect(robot.qpos).toEqual([0, 0.7, -0.35]);
  expect(readFileSync(join(folder, "grab.mts"), "utf8")).toContain(`key: "home"`);
});

test("a URDF whose legs are straight starts on bent ones", async () => {
  const upTo = (most: string) => quadruped.replaceAll('lower="-2.6" upper="-0.6"', `lower="-2.6" upper="${most}"`);
  writeFileSync(join(folder, "straight.urdf"), upTo("0"));
  const { code, stdout } = await cli.run("new-task", "stand", "--robot", "straight.urdf", "--kind", "velocity");
  expect([code, stdout]).toEqual([0, expect.stringContaining("bends fl_knee, fr_knee, rl_knee, rr_knee.")]);
  const robot = await robotOf(await loadModel(join(folder, "stand.xml")));
  expect(robot.qpos.slice(7, 9)).toEqual([0.35, -0.7]);

  // nothing that reaches stands on legs
  expect((await cli.run("new-task", "hang", "--robot", "straight.urdf", "--kind", "reach")).code).toBe(0);
  expect(readFileSync(join(folder, "hang.xml"), "utf8")).not.toContain("keyframe");
});

test("legs that would fold under a robot get stiffer servos, those that stand do not", async () => {
  writeFileSync(join(folder, "weak.urdf"), quadruped.replaceAll('effort="40"', 'effort="7"'));
  const { code, stdout } = await cli.run("new-task", "fold", "--robot", "weak.urdf", "--kind", "velocity");
  expect([code, stdout]).toEqual([0, expect.stringMatching(/Its servos are (1\.5|2|3) times as stiff/)]);
  expect(await endedWithoutAction(join(folder, "fold.mts"), 200)).toBe(0);
  const stiff = await loadModel(join(folder, "fold.xml"));
  // as strong as they were
  expect([stiff.actuator_forcerange[1], stiff.actuator_gainprm[0] > 7 / 0.67]).toEqual([7, true]);
  const { stdout: stands } = await cli.run("new-task", "hold", "--robot", "bent.urdf", "--kind", "velocity");
  expect(stands).not.toContain("as stiff");
});

test("links that lie in one another where it starts do not collide, and legs without an effort are strong enough", async () => {
  // thighs with hulls that reach into the trunk's other side
  const deep = quadruped
    .replaceAll('<box size=".03 .03 .1"/>', '<box size=".5 .03 .2"/>')
    .replaceAll(' effort="40"', "");
  writeFileSync(join(folder, "deep.urdf"), deep.replaceAll('velocity="20"', 'effort="0" velocity="20"'));
  const { code, stdout } = await cli.run("new-task", "apart", "--robot", "deep.urdf", "--kind", "velocity");
  expect([code, stdout]).toEqual([0, expect.stringContaining("do not collide: fl_thigh and rl_thigh")]);
  const model = await loadModel(join(folder, "apart.xml"));
  const contacts = await withMuJoCo(model, ({ mujoco, model: m, data, contacts: all }) => {
    mujoco.mj_resetDataKeyframe(m, data, 0);
    for (let i = 0; i < 100; i++) mujoco.mj_step(m, data);
    return all();
  });
  expect(contacts.length).toBeGreaterThan(0);
  expect(contacts.every(({ geom }) => geom.some((g) => model.geom_bodyid[g] === 0))).toBe(true);
  // half of its weight times its height, which what hangs on a knee is far from
  const carries = 9.81 * 8.2 * baseOf(await robotOf(model)).height;
  expect(model.actuator_forcerange[3]).toBeGreaterThan(0.4 * carries);
});
