// a keyframe called home in which a robot lies is none to start from
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadModel } from "../../../src/model/model.ts";
import { homeKey } from "../../../src/scaffold/home-key.ts";
import { baseOf, robotOf } from "../../../src/scaffold/robot.ts";
import { cliInFolder } from "../../support/cli-process.ts";

const { folder, ...cli } = cliInFolder("corral-home-", { isBuilt: true });

const leg = (i: number, x: number, y: number) => `<body name="thigh${i}" pos="${x} ${y} 0">
  <joint name="hip${i}" axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 0 0 -.2" mass=".5"/>
  <body name="shin${i}" pos="0 0 -.2"><joint name="knee${i}" axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 0 0 -.2" mass=".3"/></body></body>`;

/** Four straight legs; each keyframe has hips and knees of the two in front, and of those behind. */
const quadruped = (keys: readonly (readonly [string, number, number, number, number])[]) => `<mujoco><worldbody>
  <body name="trunk" pos="0 0 .45"><freejoint/><geom type="box" size=".2 .12 .04" mass="6"/>
  ${leg(0, 0.2, 0.1)}${leg(1, 0.2, -0.1)}${leg(2, -0.2, 0.1)}${leg(3, -0.2, -0.1)}</body></worldbody>
  <actuator>${[0, 1, 2, 3].map((i) => `<position joint="hip${i}" kp="40" kv="1"/><position joint="knee${i}" kp="40" kv="1"/>`).join("")}</actuator>
  <keyframe>${keys.map(([name, a, b, c, d]) => `<key name="${name}" qpos="0 0 .45 1 0 0 0 ${a} ${b} ${a} ${b} ${c} ${d} ${c} ${d}"/>`).join("")}</keyframe></mujoco>`;

const STANDS = [-0.4, 0.8, -0.4, 0.8] as const;
const STRAIGHT = [0, 0, 0, 0] as const;
const LIES = [2.2, -1.3, -0.4, 0.8] as const;

test("keyframes in which feet are in the air are passed over", async () => {
  const chosen = async (...keys: (readonly [string, number, number, number, number])[]) =>
    homeKey(await loadModel(quadruped(keys)));
  expect(await chosen(["home", ...STANDS])).toEqual({ key: 0, passed: [] });
  expect(await chosen(["lie", ...LIES], ["home", ...LIES], ["stand", ...STANDS])).toEqual({
    key: 2,
    passed: [{ key: "home", foot: "shin0", over: expect.closeTo(0.4, 1) }],
  });
  expect(await chosen(["home", ...LIES])).toMatchObject({ key: -1 });
  // low on all feet is a stance
  expect(await chosen(["home", -1.2, 2.4, -1.2, 2.4])).toEqual({ key: 0, passed: [] });
  // so is one on straight legs, where no other has bent ones
  expect(await chosen(["home", ...STRAIGHT])).toEqual({ key: 0, passed: [] });
  expect(await chosen(["home", ...STRAIGHT], ["stand", ...STANDS])).toEqual({ key: 1, passed: [] });
  expect(await homeKey(await loadModel(quadruped([]).replace(/<keyframe>.*<\/keyframe>/, "")))).toEqual({
    key: -1,
    passed: [],
  });
});

test("its task starts on bent legs, in a keyframe of another name", async () => {
  writeFileSync(join(folder, "lying.xml"), quadruped([["home", ...LIES]]));
  const { code, stdout } = await cli.run("new-task", "walk", "--robot", "lying.xml", "--kind", "velocity");
  expect([code, stdout]).toEqual([
    0,
    expect.stringContaining('In keyframe "home" it does not stand on its feet: shin0'),
  ]);
  expect(stdout).toContain('Starts from keyframe "stance".');
  const robot = await robotOf(await loadModel(join(folder, "walk.xml")));
  expect(robot.key).toBe("stance");
  expect(baseOf(robot).feet).toHaveLength(4);
  expect(robot.qpos.slice(7, 9)).toEqual([-0.35, 0.7]);
});

test("a keyframe on legs that are straight, as the robot is drawn, is bent; one that is bent a little is meant to be so", async () => {
  const walk = async (name: string, bent: number) => {
    const file = join(folder, `${name}-robot.xml`);
    writeFileSync(file, quadruped([["home", -bent / 2, bent, -bent / 2, bent]]));
    const { stdout } = await cli.run("new-task", name, "--robot", file, "--kind", "velocity");
    return { stdout, robot: await robotOf(await loadModel(join(folder, `${name}.xml`))) };
  };
  const straight = await walk("straight", 0);
  expect(straight.stdout).toContain(
    'In keyframe "home" legs are straight: "stance", which the scene has, bends knee0,',
  );
  expect(straight.robot.key).toBe("stance");
  expect(straight.robot.qpos.slice(7, 9)).toEqual([-0.35, 0.7]);
  const little = await walk("little", 0.2);
  expect(little.stdout).not.toContain("legs are straight");
  expect(little.robot.qpos.slice(7, 9)).toEqual([-0.1, 0.2]);
});
