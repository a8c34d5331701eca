// motions as text: what a CSV may look like, and what is told of one that is none
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { readFrames } from "../../src/env/task/motion-frames.ts";
import { loadMotion } from "../../src/index.ts";

const PENDULUM = `<mujoco><worldbody><body><joint name="hip"/><geom size="1"/>
  <body><joint name="knee"/><geom size="1"/></body></body></worldbody></mujoco>`;

test("a motion is read by its path, and columns of which some are named after joints lie where theirs do", async () => {
  const folder = mkdtempSync(join(tmpdir(), "corral-motion-"));
  const file = join(folder, "sway.csv");
  writeFileSync(file, "\ufeffhip,knee\r\n0,1\r\n0.5,1\r\n");
  const how = { model: PENDULUM, fps: 10 };
  for (const path of [file, pathToFileURL(file)]) expect((await loadMotion(path, how)).duration).toBe(0.1);
  rmSync(folder, { recursive: true });
  await expect(loadMotion("knee,foot\n0,1\n0.5,1\n", how)).rejects.toThrow(
    'its column 0 is named "knee", which is qpos[1] of 2; columns are in the order of qpos, or all joints',
  );
  // a number that is missing in the first line does not make it names
  await expect(loadMotion("nan,1\n0,1\n0,1", how)).rejects.toThrow(/qpos\[0\] of frame 0 is NaN/);
  // columns of even width begin with blanks
  expect((await loadMotion("  0  1\n 10  1\n", how)).duration).toBe(0.1);
});

test("a cell of a CSV that is no number is told of with its file, line and column", async () => {
  const folder = mkdtempSync(join(tmpdir(), "corral-motion-"));
  const file = join(folder, "sway.csv");
  writeFileSync(file, "# made by hand\nhip,knee\n0,1\n\n0.5,abc\n");
  const how = { model: PENDULUM, fps: 10 };
  await expect(loadMotion(file, how)).rejects.toThrow(
    `[bad-motion] the motion: line 5, column 2 ("knee") of ${file} is "abc"; it is a number, 0.25 for example.`,
  );
  rmSync(folder, { recursive: true });
  await expect(loadMotion("0,1\n0,1,\n", how)).rejects.toThrow(/line 2, column 3 of its text is ""; it is a number/);
});

test("a cell of a CSV that is empty moves no other one into its place", async () => {
  const how = { model: PENDULUM, fps: 10 };
  await expect(loadMotion("0,1,2\n0,,1\n0,1,2\n", how)).rejects.toThrow(/line 2, column 2 of its text is ""/);
  await expect(loadMotion("0,1\n, 1\n", how)).rejects.toThrow(/line 2, column 1 of its text is ""/);
  for (const text of ["0 , 1\n1 , 1\n", "0\t1\n1\t 1\n", '"0"; "1"\n"1"; "1"\n'])
    expect((await loadMotion(text, how)).duration, text).toBe(0.1);
});

test("columns that are named as all joints are, with or without what files add to names, are put in the order of qpos", async () => {
  const qposOf = async (text: string, model = PENDULUM) =>
    Array.from((await readFrames(text, { model, fps: 10 })).qpos);
  expect(await qposOf("knee,hip\n0,1\n0.5,2\n")).toEqual([1, 0, 2, 0.5]);
  expect(await qposOf("Knee_joint,HIP\n0,1\n0.5,2\n")).toEqual([1, 0, 2, 0.5]);
  // what floats has the columns that no joint of one number has
  const floats = PENDULUM.replace("<body>", '<body><freejoint name="base"/><geom size="1"/><body>').replace(
    "</worldbody>",
    "</body></worldbody>",
  );
  const frame = "2,7,8,9,1,0,0,0,5";
  const names = "knee joint,root pos x,root pos y,root pos z,w,x,y,z,hip";
  expect((await qposOf(`${names}\n${frame}\n${frame}\n`, floats)).slice(0, 9)).toEqual([7, 8, 9, 1, 0, 0, 0, 5, 2]);
  // names that are alike but for what files add tell nothing
  const alike = PENDULUM.replace('"hip"', '"knee_joint"');
  expect(await qposOf("KNEE,hip\n0,1\n0.5,2\n", alike)).toEqual([0, 1, 0.5, 2]);
});

test("lines may end as they do on any system, and UTF-16 is told of", async () => {
  const how = { model: PENDULUM, fps: 10 };
  for (const end of ["\n", "\r\n", "\r"])
    expect((await loadMotion(["hip,knee", "0,1", "1,1", ""].join(end), how)).duration).toBe(0.1);
  const bytes = Buffer.from("\ufeff0,1\n1,1\n", "utf16le");
  await expect(loadMotion(bytes, how)).rejects.toThrow("its text is text in UTF-16; save it in UTF-8");
});

test("names of columns say in which order quaternions are", async () => {
  const model = '<mujoco><worldbody><body><freejoint/><geom size="1"/></body></worldbody></mujoco>';
  const text = (names: string) => `x,y,z,${names}\n0,0,1,0.6,0,0,0.8\n0,0,1,0.6,0,0,0.8\n`;
  const quatOf = async (names: string, how: object = {}) =>
    Array.from((await readFrames(text(names), { model, fps: 10, ...how })).qpos.subarray(3, 7));
  expect(await quatOf("qx,qy,qz,qw")).toEqual([0.8, 0.6, 0, 0]);
  expect(await quatOf("root_rot.x,root_rot.y,root_rot.z,root_rot.w")).toEqual([0.8, 0.6, 0, 0]);
  expect(await quatOf("quatW,quatX,quatY,quatZ")).toEqual([0.6, 0, 0, 0.8]);
  for (const names of ["rotationX,rotationY,rotationZ,rotationW", "x_rot,y_rot,z_rot,w_rot", '"qx","qy","qz","qw"'])
    expect(await quatOf(names), names).toEqual([0.8, 0.6, 0, 0]);
  // what says no order
  expect(await quatOf("q0,q1,q2,q3")).toEqual([0.6, 0, 0, 0.8]);
  expect(await quatOf("q0,q1,q2,q3", { quaternions: "xyzw" })).toEqual([0.8, 0.6, 0, 0]);
  await expect(quatOf("qx,qy,qz,qw", { quaternions: "wxyz" })).rejects.toThrow(
    'its columns 3 to 6 are named "qx", "qy", "qz", "qw", and quaternions is "wxyz"; pass "xyzw", or nothing',
  );
  await expect(quatOf("q0,q1,q2,q3", { quaternions: "zxyw" })).rejects.toThrow('it is "wxyz" or "xyzw"');
  const two = model.replace(
    "</worldbody>",
    '<body pos="0 0 9"><joint type="ball"/><geom size="1"/></body></worldbody>',
  );
  const both = `x,y,z,qx,qy,qz,qw,ball_w,ball_x,ball_y,ball_z\n0,0,1,0.6,0,0,0.8,0.6,0,0,0.8\n`;
  const read = readFrames(both + both.split("\n")[1], { model: two, fps: 10 });
  await expect(read).rejects.toThrow(
    'its columns 7 to 10 are named "ball_w", "ball_x", "ball_y", "ball_z", and columns 3 to 6 are named "qx", "qy", "qz", "qw"; write all in one order',
  );
  const first = "rot_x,rot_y,rot_z,rot_w,x,y,z\n0,0,0,1,0,0,0.05\n0,0,0,1,0,0,0.05\n";
  await expect(readFrames(first, { model, fps: 10 })).rejects.toThrow(
    'its columns 0 to 3 are named "rot_x", "rot_y", "rot_z", "rot_w", and qpos has its quaternion at 3; columns are in the order of qpos',
  );
  expect(await quatOf("w,x,y,z")).toEqual([0.6, 0, 0, 0.8]);
});
