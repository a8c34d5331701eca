// what BipedVelocity and BipedRough have in common: how the biped's legs are made, and how it walks
import type { GaitOptions } from "../gait.ts";
import { walker, type WalkerOptions } from "../walker.ts";

/** Its legs, as walkers and tests take them: in short steps, servos that hold 120 N. */
export const BIPED_GAIT: GaitOptions = {
  joints: ["hip_yaw", "hip_roll", "hip_pitch", "knee", "ankle_pitch", "ankle_roll"],
  thigh: [0, -0.22],
  shank: [0, -0.18],
  height: 0.525,
  hip: -0.1031,
  sole: 0.043,
  centre: -0.02,
  nearer: 0.06,
  out: 0.09,
  period: 0.4,
  duty: 0.6,
  lift: 0.04,
  sway: 0.015,
  catches: 0.2,
  carries: { knee: 120 / 80, roll: 6 / 60 },
  posture: [4, 4],
};

/** A biped about a gait. */
export const bipedWalker = (gait: GaitOptions, more: Pick<WalkerOptions, "fallen" | "most" | "above">) =>
  walker({
    ...more,
    model: new URL("./model.xml", import.meta.url),
    base: "torso",
    feet: ["left_ankle_roll", "right_ankle_roll"],
    gait,
    speeds: [0.6, 0.25, 0.6],
    acts: 0.5,
    logStd: -2.1,
    upper: () => [],
    moved: 0,
    aboutGait: true,
  });

/** In shorter steps yet, that sway it less: on terrain feet must clear steps meanwhile. */
export const BIPED = bipedWalker(
  { ...BIPED_GAIT, period: 0.3, sway: 0.005, catches: 0.15 },
  { fallen: "xpos(body.torso).z < 0.35 || down.z > -0.7" },
);

/** The same on terrain, which its feet follow, from above the ground whatever pose is drawn. */
export const BIPED_ON_TERRAIN = bipedWalker(
  {
    ...BIPED_GAIT,
    footing: {
      base: "torso",
      feet: ["left_ankle_roll", "right_ankle_roll"],
      heel: -0.0666,
      toe: 0.0934,
      half: 0.0275,
      apart: 0.12,
      reach: 0.02,
    },
  },
  { most: 2, above: 0.03, fallen: "under > -0.3 || down.z > -0.7" },
);
