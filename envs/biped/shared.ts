// what BipedVelocity and BipedRough have in common: how the biped's legs are made, and how it walks
import type { GaitOptions } from "../gait.ts";
import { walker, type WalkerOptions } from "../walker.ts";

/** Its legs, as walkers and tests take them. */
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

const biped = (gait: GaitOptions, more: Pick<WalkerOptions, "most" | "aboutGait" | "above"> = {}) =>
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
  });

export const BIPED = biped(BIPED_GAIT);

/** Its feet follow the ground, in shorter steps on straighter legs; servos hold 120 N, hips the torso upright. */
const ON_TERRAIN: GaitOptions = {
  ...BIPED_GAIT,
  height: 0.525,
  nearer: 0.06,
  period: 0.4,
  catches: 0.2,
  carries: { knee: 120 / 80, roll: 6 / 60 },
  posture: 4,
  footing: {
    base: "torso",
    feet: ["left_ankle_roll", "right_ankle_roll"],
    heel: -0.0666,
    toe: 0.0934,
    half: 0.0275,
    apart: 0.12,
    reach: 0.02,
  },
};

/** The same on terrain, from above the ground whatever pose is drawn. */
export const BIPED_ON_TERRAIN = biped(ON_TERRAIN, { most: 2, aboutGait: true, above: 0.03 });
