import { expect, test } from "vitest";
import { nearest } from "../../../src/core/names.ts";

const names = ["torso", "thigh", "thigh_left", "leg", "leg_left", "foot", "foot_left"];

test.each([
  ["toros", ["torso"]],
  ["Torso", ["torso"]],
  ["thig", ["thigh", "thigh_left"]],
  ["foot_lef", ["foot_left", "foot"]],
  ["head", []],
  ["", []],
])("nearest to %j are %j", (name, expected) => {
  expect(nearest(name, names)).toEqual(expected);
});

test("a name is not suggested where there is none, and at most three are", () => {
  expect(nearest("hip", ["", ""])).toEqual([]);
  expect(nearest("hip_0", ["hip_1", "hip_2", "hip_3", "hip_4"])).toEqual(["hip_1", "hip_2", "hip_3"]);
});
