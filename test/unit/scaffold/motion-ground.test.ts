import { expect, test } from "vitest";
import { readFrames } from "../../../src/env/task/motion-frames.ts";
import { loadModel } from "../../../src/model/model.ts";
import { groundNotes } from "../../../src/scaffold/motion-ground.ts";

const hopper = (joint: string, floor = '<geom type="plane" size="0 0 1" pos="0 0 .5"/>') => `<mujoco><worldbody>${floor}
  <body>${joint}<geom size=".1"/><body pos="0 0 -.2"><joint name="rod" type="slide" axis="0 0 1"/><geom size=".1"/></body></body>
  </worldbody><actuator><motor joint="rod"/></actuator></mujoco>`;
const free = hopper("<freejoint/>");

/** Frames of a base that falls from a height and a rod that is pulled in: its lowest point starts 0.3 m below its middle. */
const notesOf = async (xml: string, height: number, root: (z: number) => number[]) => {
  const rows = Array.from({ length: 5 }, (_, f) => [...root(height - 0.01 * f), 0.005 * f]);
  return groundNotes(await loadModel(xml), await readFrames(rows, { model: xml, fps: 20 }));
};
const floats = (z: number) => [0, 0, z, 1, 0, 0, 0];

test("a motion in the ground, or over it, is told by how far", async () => {
  // the floor is at 0.5 m: from 0.8 m it sinks 0.02 m, as a sole may
  expect(await notesOf(free, 0.8, floats)).toEqual([]);
  expect(await notesOf(free, 0.6, floats)).toEqual([
    expect.stringContaining("In frame 4 it lies 220 mm in the ground"),
  ]);
  expect(await notesOf(free, 1, floats)).toEqual([expect.stringContaining("it is 180 mm over it")]);
});

test("so is one in a plane; where nothing floats, or there is no floor, nothing is", async () => {
  const slides = '<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>';
  expect(await notesOf(hopper(slides), 1, (z) => [0, z])).toEqual([expect.stringContaining("it is 180 mm over it")]);
  expect(await notesOf(hopper(""), 1, () => [])).toEqual([]);
  expect(await notesOf(hopper("<freejoint/>", ""), 1, floats)).toEqual([]);
});
