// a drone with an arm flies: its rotors carry it, whatever joints it has
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadModel } from "../../../src/model/model.ts";
import { velocityTask } from "../../../src/scaffold/robot-tasks.ts";
import { baseOf, robotOf } from "../../../src/scaffold/robot.ts";
import { worldsOnWasm } from "../../support/on-wasm.ts";
import { endedWithoutAction } from "../../support/without-action.ts";

worldsOnWasm();

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "corral-drone-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const library = new URL("../../../src/index.ts", import.meta.url).href;
const corners = [
  [0.2, 0.2],
  [-0.2, 0.2],
  [-0.2, -0.2],
  [0.2, -0.2],
];
// rotors tilted by 60 degrees out of line, of which half the thrust carries
const withArm = (tilt: number, most: number) => `<mujoco><worldbody><geom name="floor" type="plane" size="0 0 1"/>
  <body name="pillar" pos="3 0 1"><geom type="box" size=".3 .3 1" mass="900"/></body>
  <body name="drone" pos="0 0 .3"><freejoint/><geom type="box" size=".2 .2 .03" mass="1.8"/>
    ${corners.map(([x, y], i) => `<site name="r${i}" pos="${x} ${y} 0" euler="${i % 2 === 0 ? tilt : -tilt} 0 0"/>`).join("")}
    <body name="arm" pos="0 0 -.05"><joint name="swing" axis="0 1 0" range="-60 60" damping=".1"/><geom type="capsule" size=".02" fromto="0 0 0 0 0 -.1" mass=".2"/></body>
  </body></worldbody>
  <actuator>${corners.map((_, i) => `<motor name="m${i}" site="r${i}" gear="0 0 1 0 0 0" ctrlrange="0 ${most}"/>`).join("")}
    <position name="swing" joint="swing" kp="2" kv=".2"/></actuator></mujoco>`;

test("its controls are about those that hold it up, tilted rotors' too, and it stays up without action", async () => {
  const path = join(folder, "drone.xml");
  writeFileSync(path, withArm(60, 40));
  const robot = await robotOf(await loadModel(path));
  expect(baseOf(robot)).toMatchObject({ flies: true, feet: [] });
  // 2 kg on four rotors, each half upwards; the pillar hangs on none of them
  for (const { home } of robot.motors.slice(0, 4)) expect(home).toBeCloseTo((2 * 9.81) / 4 / 0.5, 6);
  const text = velocityTask("drone", robot, { library, model: pathToFileURL(path).href });
  expect(text).toContain("track_height");
  expect(text).not.toContain("touchdown(");
  const file = join(folder, "drone.mts");
  writeFileSync(file, text);
  expect(await endedWithoutAction(file, 40)).toBe(0);
});

test("rotors that cannot carry it make no flyer of what has joints", async () => {
  const path = join(folder, "heavy.xml");
  writeFileSync(path, withArm(0, 4));
  expect(baseOf(await robotOf(await loadModel(path))).flies).toBe(false);
});
