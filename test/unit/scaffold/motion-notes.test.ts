// notes on a motion: its rate, joints beyond their ranges, quaternions whose w comes last
import { expect, test } from "vitest";
import { readFrames } from "../../../src/env/task/motion-frames.ts";
import { loadModel } from "../../../src/model/model.ts";
import { motionNotes } from "../../../src/scaffold/motion-notes.ts";

const xml = `<mujoco><compiler angle="radian"/><worldbody><body name="trunk"><freejoint name="root"/><geom size=".1"/>
<body><joint name="hip" axis="0 1 0" range="-1 1"/><geom size=".1" pos="0 0 -.3"/>
<body pos="0 0 -.3"><joint name="rod" type="slide" axis="0 0 1" range="0 .2"/><geom size=".1"/></body></body></body></worldbody></mujoco>`;

/** Eleven frames in which the hip turns evenly to an angle. */
const turning = (angle: number, quat = [1, 0, 0, 0]) =>
  Array.from({ length: 11 }, (_, f) => [0, 0, 1, ...quat, (angle * f) / 10, 0.1]);

const notesOf = async (rows: number[][], fps: number) =>
  motionNotes(await loadModel(xml), await readFrames(rows, { model: xml, fps }));

test("a motion is told by its time and its fastest joint", async () => {
  expect(await notesOf(turning(0.5), 20)).toEqual([
    'The motion: 11 frames in 0.5 s (20 a second); joint "hip" is the fastest, at 1 rad/s.',
  ]);
});

test("degrees are told by ranges that they leave", async () => {
  const [, note, ...others] = await notesOf(turning(50), 20);
  expect(note).toBe(
    'In it joint "hip" comes to 5 rad, its range is [-1, 1]. Angles are in radians, and columns in the order of qpos.',
  );
  expect(others).toEqual([]);
  const moved = turning(0.5).map((row) => row.with(8, 2).with(7, 3));
  expect((await notesOf(moved, 20))[1]).toContain("its range is [-1, 1], and 1 more leave theirs.");
});

test("quaternions with w last are told by a base that is turned by half", async () => {
  expect((await notesOf(turning(0.5, [0.02, 0, 0.03, 1]), 20))[1]).toContain(
    'pass --quaternions xyzw, or quaternions: "xyzw" to loadMotion',
  );
  expect(await notesOf(turning(0.5, [Math.SQRT1_2, 0, 0, Math.SQRT1_2]), 20)).toHaveLength(1);
});

test("a rate that is passed beside another of the file is told", async () => {
  const model = await loadModel(xml);
  const frames = await readFrames(turning(0.5), { model: xml, fps: 20 });
  expect(motionNotes(model, { ...frames, said: 50 })).toContain(
    "Its file says 50 frames a second; the task takes the 20 of --fps. Leave --fps out to take the file's.",
  );
  expect(motionNotes(model, { ...frames, said: 20.0001 })).toHaveLength(1);
});
