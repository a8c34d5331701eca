// the table of colliders, by pair of geom types
import { mjtGeom } from "../../../model/enums.ts";
import { boxBox } from "./box-box.ts";
import { capsuleBox } from "./capsule-box.ts";
import { capsuleCapsule } from "./capsule-capsule.ts";
import { capsuleCylinder } from "./capsule-cylinder.ts";
import { planeBox } from "./plane-box.ts";
import { planeCapsule } from "./plane-capsule.ts";
import { planeCylinder } from "./plane-cylinder.ts";
import { planeEllipsoid } from "./plane-ellipsoid.ts";
import { planeSphere } from "./plane-sphere.ts";
import { sphereBox } from "./sphere-box.ts";
import { sphereCapsule } from "./sphere-capsule.ts";
import { sphereCylinder } from "./sphere-cylinder.ts";
import { sphereSphere } from "./sphere-sphere.ts";
import type { Collider } from "./types.ts";

export { defaultTangent, makeFrame } from "./frame.ts";
export { boundingRadius, near, type Bounds } from "./near.ts";
export type { Candidate, Collider, Shape } from "./types.ts";

/** A pair of geom types, in the order of mjtGeom. */
export type ColliderName =
  | "plane-sphere"
  | "plane-capsule"
  | "plane-ellipsoid"
  | "plane-cylinder"
  | "plane-box"
  | "sphere-sphere"
  | "sphere-capsule"
  | "sphere-cylinder"
  | "sphere-box"
  | "capsule-capsule"
  | "capsule-cylinder"
  | "capsule-box"
  | "box-box";

interface Entry {
  slots: number;
  costly: boolean;
  /** Whether it chooses the tangent of its contact frames. */
  leans?: true;
  /** Whether its code is so long that all pairs share it, in a runtime loop. */
  long?: true;
  collide: Collider;
}

/**
 * Every collider with the number of candidates it returns. One that is `costly` does so many operations (over a
 * hundred) that a bounding test before it pays.
 */
export const colliders: Record<ColliderName, Entry> = {
  "plane-sphere": { slots: 1, costly: false, collide: planeSphere },
  "plane-capsule": { slots: 2, costly: false, leans: true, collide: planeCapsule },
  "plane-ellipsoid": { slots: 1, costly: false, collide: planeEllipsoid },
  "plane-cylinder": { slots: 4, costly: false, collide: planeCylinder },
  "plane-box": { slots: 4, costly: false, collide: planeBox },
  "sphere-sphere": { slots: 1, costly: false, collide: sphereSphere },
  "sphere-capsule": { slots: 1, costly: false, collide: sphereCapsule },
  "sphere-cylinder": { slots: 1, costly: false, collide: sphereCylinder },
  "sphere-box": { slots: 1, costly: true, collide: sphereBox },
  "capsule-capsule": { slots: 2, costly: true, collide: capsuleCapsule },
  "capsule-cylinder": { slots: 5, costly: true, long: true, collide: capsuleCylinder },
  "capsule-box": { slots: 2, costly: true, collide: capsuleBox },
  "box-box": { slots: 8, costly: true, long: true, collide: boxBox },
};

const NAMES: Record<number, string> = {
  [mjtGeom.PLANE]: "plane",
  [mjtGeom.SPHERE]: "sphere",
  [mjtGeom.CAPSULE]: "capsule",
  [mjtGeom.ELLIPSOID]: "ellipsoid",
  [mjtGeom.CYLINDER]: "cylinder",
  [mjtGeom.BOX]: "box",
};

/** The collider of two mjtGeom values in either order, or undefined if there is none. */
export function colliderName(type1: number, type2: number): ColliderName | undefined {
  const kind = `${NAMES[Math.min(type1, type2)]}-${NAMES[Math.max(type1, type2)]}`;
  return kind in colliders ? (kind as ColliderName) : undefined;
}
