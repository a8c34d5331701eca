// goals of an arm are where it comes to, not beyond its reach
import { expect, test } from "vitest";
import { loadModel } from "../../../src/model/model.ts";
import { goalsAbout, goalsOf } from "../../../src/scaffold/goals.ts";
import { robotOf } from "../../../src/scaffold/robot.ts";
import { forceOf } from "../../../src/scaffold/scene-servos.ts";

const LINK = 0.4;
const BASE = 0.5;

/** A shoulder of two hinges, an elbow and a wrist; each link goes up from the one before but for what `bends` turns it by (deg). */
const arm = (bends: readonly number[]): string => {
  const link = (i: number): string =>
    i === bends.length
      ? ""
      : `<body pos="0 0 ${i === 0 ? BASE : LINK}" euler="0 ${bends[i]} 0"><joint name="j${i}" axis="0 1 0" range="-150 150"/>
      ${i === 0 ? '<joint name="side" axis="1 0 0" range="-150 150"/><joint name="turn" axis="0 0 1" range="-150 150"/>' : ""}
      <geom type="capsule" size=".03" fromto="0 0 0 0 0 ${LINK}" mass="1"/>${i === bends.length - 1 ? `<site name="tip" pos="0 0 ${LINK}"/>` : link(i + 1)}</body>`;
  const joints = ["side", "turn", ...bends.map((_, i) => `j${i}`)];
  return `<mujoco><compiler angle="degree"/><worldbody>${link(0)}</worldbody>
    <actuator>${joints.map((j) => `<position name="${j}" joint="${j}" kp="100" kv="5"/>`).join("")}</actuator></mujoco>`;
};

test("none of an arm that starts stretched out is beyond its reach", async () => {
  const robot = await robotOf(await loadModel(arm([0, 0, 0])));
  const [x, y, z] = await goalsOf(robot);
  const reach = 3 * LINK;
  const far = Math.hypot(Math.max(-x[0], x[1]), Math.max(-y[0], y[1]), z[1] - BASE);
  // up to what counts as there
  expect(far).toBeLessThan(1.06 * reach);
  expect(z[1] - z[0]).toBeGreaterThan(0.05 * reach);
  expect(Math.max(...goalsAbout(robot)[2]) - BASE).toBeGreaterThan(1.15 * reach);
  // the same each time
  expect(await goalsOf(robot)).toEqual([x, y, z]);
});

test("of one that starts bent they are as far apart as before", async () => {
  const robot = await robotOf(await loadModel(arm([20, 70, 60])));
  const sides = (await goalsOf(robot)).map(([low, high]) => high - low);
  const before = goalsAbout(robot).map(([low, high]) => high - low);
  sides.forEach((side, i) => expect(side).toBeGreaterThan(0.5 * before[i]));
});

test("what nothing is said of holds its links stretched out level, twice", async () => {
  const model = await loadModel(arm([0, 0, 0]));
  for (const [i, hangs] of [3, 2, 1].entries()) {
    const level = 9.81 * hangs * ((hangs * LINK) / 2);
    const force = forceOf(model, model.names.joint.indexOf(`j${i}`), {});
    expect(force).toBeGreaterThan(2 * level);
    expect(force).toBeLessThan(3 * level);
  }
});
