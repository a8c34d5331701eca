// what G1Velocity and G1Rough have in common: how the humanoid's legs are made, and how it walks
import { add, mul, type Scalar } from "../../src/trace/scalar.ts";
import type { GaitOptions } from "../gait.ts";
import { walker, type WalkerOptions } from "../walker.ts";

/** Its legs, as walkers and tests take them. */
export const G1_GAIT: GaitOptions = {
  joints: ["hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll"],
  thigh: [0.047964, -0.303206],
  shank: [-0.047964, -0.296212],
  height: 0.69,
  hip: -0.1027,
  sole: 0.048558,
  centre: 0,
  nearer: 0,
  out: 0,
  period: 0.5,
  duty: 0.6,
  lift: 0.07,
  sway: 0.015,
  catches: 0.2,
  rights: 0.2,
  follows: 0.5,
  posture: [0.5, 6],
};

/** Shoulder pitch, roll and yaw, elbow pitch and roll of an arm that swings, on the left (1) or the right (-1). */
const arm = (swing: Scalar, side: number): Scalar[] => [add(0.2, mul(0.5, swing)), 0.2 * side, 0, 1.2, 0];

/** A G1 about a gait. */
export const g1Walker = (gait: GaitOptions, more: Pick<WalkerOptions, "fallen" | "most" | "above">) =>
  walker({
    ...more,
    model: new URL("./model.xml", import.meta.url),
    base: "pelvis",
    feet: ["left_ankle_roll", "right_ankle_roll"],
    gait,
    speeds: [0.8, 0.3, 0.6],
    acts: 0.3,
    logStd: -1.75,
    upper: (swings) => [0, ...arm(swings[0], 1), ...arm(swings[1], -1)],
    moved: 1,
  });

export const G1 = g1Walker(G1_GAIT, { fallen: "xpos(body.pelvis).z < 0.45 || down.z > -0.7" });

/** The same on terrain, which its feet follow, from above the ground whatever pose is drawn. */
export const G1_ON_TERRAIN = g1Walker(
  {
    ...G1_GAIT,
    footing: {
      base: "pelvis",
      feet: ["left_ankle_roll", "right_ankle_roll"],
      heel: -0.06,
      toe: 0.13,
      half: 0.02,
      apart: 0.1155,
    },
  },
  { most: 3, above: 0.03, fallen: "under > -0.4 || down.z > -0.7" },
);
