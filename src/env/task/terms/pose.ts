// where bodies are, how they lie and how they move
import { acos, atan2 } from "../../../trace/math.ts";
import { clamp, type Scalar } from "../../../trace/scalar.ts";
import type { Spatial } from "../../../trace/spatial.ts";
import { mulMatTVec, type Mat3 } from "../../../trace/vector.ts";
import { inAxes, objectVelocity } from "../../../physics/sensor/frames.ts";
import type { Scene } from "../task.ts";
import { body, type Body } from "./source.ts";

const matOf = (s: Scene, name: Body): Mat3 => s.d.xmat.mat3(body(s, name));

/** Height of a body's frame (m). */
export const height =
  (name: Body) =>
  (s: Scene): Scalar =>
    s.d.xpos.at(3 * body(s, name) + 2);

/** Position of a body's frame (m), 3 numbers. */
export const position =
  (name: Body) =>
  (s: Scene): readonly Scalar[] =>
    s.d.xpos.vec3(body(s, name));

/** How upright a body is: the vertical part of its z axis, 1 upright, -1 upside down. */
export const upright =
  (name: Body) =>
  (s: Scene): Scalar =>
    matOf(s, name)[8];

/** Angle between a body's z axis and the vertical (rad). */
export const tilt =
  (name: Body) =>
  (s: Scene): Scalar =>
    acos(clamp(matOf(s, name)[8], -1, 1));

/** Direction in which the body's x axis points, from above (rad, -pi to pi). */
export const heading =
  (name: Body) =>
  (s: Scene): Scalar => {
    const mat = matOf(s, name);
    return atan2(mat[3], mat[0]);
  };

/** The direction of gravity in a body's frame, a unit vector: (0, 0, -1) if it is upright. */
export const projectedGravity =
  (name: Body) =>
  (s: Scene): readonly Scalar[] =>
    mulMatTVec(matOf(s, name), [0, 0, -1]);

export interface VelocityOptions {
  /** Axes of the result. Default: the body's own. */
  readonly frame?: "body" | "world";
}

/** Rotational and translational velocity of a body's frame, in its own axes or the world's (mj_objectVelocity). */
function velocity(s: Scene, name: Body, frame: "body" | "world"): Spatial {
  const id = body(s, name);
  const mat = matOf(s, name);
  const world = objectVelocity(s.m, s.d, { body: id, pos: s.d.xpos.vec3(id), mat, quat: s.d.xquat.quat(id) });
  return frame === "world" ? world : inAxes(world, mat);
}

/** Velocity of a body's frame (m/s), 3 numbers. */
export const linearVelocity =
  (name: Body, { frame = "body" }: VelocityOptions = {}) =>
  (s: Scene): readonly Scalar[] =>
    velocity(s, name, frame).slice(3);

/** Angular velocity of a body (rad/s), 3 numbers. */
export const angularVelocity =
  (name: Body, { frame = "body" }: VelocityOptions = {}) =>
  (s: Scene): readonly Scalar[] =>
    velocity(s, name, frame).slice(0, 3);
