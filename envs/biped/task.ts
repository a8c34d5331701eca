// BipedVelocity: two legs and a trunk follow a joystick on level ground
import { defineTask } from "../../src/env/index.ts";
import type { GaitOptions } from "../gait.ts";
import { walker } from "../walker.ts";

export const BIPED_GAIT: GaitOptions = {
  joints: ["hip_yaw", "hip_roll", "hip_pitch", "knee", "ankle_pitch", "ankle_roll"],
  thigh: [0, -0.22],
  shank: [0, -0.18],
  height: 0.52,
  hip: -0.1031,
  sole: 0.043,
  centre: -0.02,
  nearer: 0.08,
  out: 0.09,
  period: 0.5,
  duty: 0.6,
  lift: 0.04,
  sway: 0.015,
};

export const biped = defineTask({
  ...walker({
    model: new URL("./model.xml", import.meta.url),
    base: "torso",
    feet: ["left_ankle_roll", "right_ankle_roll"],
    gait: BIPED_GAIT,
    speeds: [0.6, 0.25, 0.6],
    acts: 0.5,
    logStd: -2.1,
    upper: () => [],
    moved: 0,
  }),
  id: "BipedVelocity",
  terminated: { fallen: "xpos(body.torso).z < 0.35 || down.z > -0.7" },
});
