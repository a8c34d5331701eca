// where a picture is taken from, as MuJoCo's cameras: looking along -z, y up
import { mat4, vec3 } from "gl-matrix";

export type Point = readonly [number, number, number];

/** A view of the scene: an eye, what it looks at, and the angle from top to bottom (degrees). */
export interface View {
  readonly eye: Point;
  readonly target: Point;
  readonly up: Point;
  readonly fovy: number;
}

/** mjvCamera: a point that is looked at, a distance (m), and two angles (degrees). */
export interface FreeCamera {
  readonly lookat: Point;
  readonly distance: number;
  readonly azimuth: number;
  readonly elevation: number;
  readonly fovy: number;
  /** Where in the plane the first body that moves was when this camera was placed. */
  readonly around?: readonly [number, number];
}

const radians = (degrees: number): number => (degrees * Math.PI) / 180;

/** The view of a free camera (mjv_cameraInModel). */
export function freeView({ lookat, distance, azimuth, elevation, fovy }: FreeCamera): View {
  const [a, e] = [radians(azimuth), radians(elevation)];
  const forward: Point = [Math.cos(e) * Math.cos(a), Math.cos(e) * Math.sin(a), Math.sin(e)];
  const eye = lookat.map((x, i) => x - distance * forward[i]) as unknown as Point;
  return { eye, target: lookat, up: [-Math.sin(e) * Math.cos(a), -Math.sin(e) * Math.sin(a), Math.cos(e)], fovy };
}

/** The view of a camera of the model: its position and its frame, row-major (cam_xpos, cam_xmat). */
export function fixedView(pos: ArrayLike<number>, mat: ArrayLike<number>, fovy: number): View {
  const eye: Point = [pos[0], pos[1], pos[2]];
  return {
    eye,
    target: [eye[0] - mat[2], eye[1] - mat[5], eye[2] - mat[8]],
    up: [mat[1], mat[4], mat[7]],
    fovy,
  };
}

/** From the world to what a picture shows: x and y in [-1, 1], depth in [0, 1]. Column-major. */
export function projectionOf({ eye, target, up, fovy }: View, aspect: number, near: number, far: number): mat4 {
  const projection = mat4.perspectiveZO(mat4.create(), radians(fovy), aspect, near, far);
  return mat4.multiply(mat4.create(), projection, mat4.lookAt(mat4.create(), vec3.clone(eye), target, up));
}

/** The same for a light that shines along a direction on all within `reach` of a point. */
export function lightProjection(direction: Point, around: Point, reach: number): mat4 {
  const from = vec3.scaleAndAdd(vec3.create(), around, vec3.normalize(vec3.create(), direction), 2 * reach);
  const projection = mat4.orthoZO(mat4.create(), -reach, reach, -reach, reach, 0.01 * reach, 4 * reach);
  return mat4.multiply(mat4.create(), projection, mat4.lookAt(mat4.create(), from, around, across(direction)));
}

/** A direction that another is far from. */
const across = ([, y]: Point): Point => (Math.abs(y) > 0.9 ? [1, 0, 0] : [0, 1, 0]);

/** The same for a light that shines from a place in a cone, `cutoff` (degrees) to each side. */
export function spotProjection(from: Point, along: Point, cutoff: number, near: number, far: number): mat4 {
  const projection = mat4.perspectiveZO(mat4.create(), 2 * radians(Math.min(80, cutoff + 1)), 1, near, far);
  const to = vec3.add(vec3.create(), from, along);
  return mat4.multiply(mat4.create(), projection, mat4.lookAt(mat4.create(), vec3.clone(from), to, across(along)));
}

/** Unit vectors of a view: along its middle, and to its right and upper edge from there. */
export function frameOf({ eye, target, up, fovy }: View, aspect: number): readonly [vec3, vec3, vec3] {
  const ahead = vec3.normalize(vec3.create(), vec3.subtract(vec3.create(), target, eye));
  const right = vec3.normalize(vec3.create(), vec3.cross(vec3.create(), ahead, up));
  const upward = vec3.cross(vec3.create(), right, ahead);
  const half = Math.tan(radians(fovy) / 2);
  return [ahead, vec3.scale(right, right, half * aspect), vec3.scale(upward, upward, half)];
}

/** Where a point of the world lies in a picture, in pixels from its left upper corner; undefined behind the eye. */
export function pixelOf(matrix: mat4, point: Point, width: number, height: number): [number, number] | undefined {
  const [x, y, z] = point;
  const at = (i: number) => matrix[i] * x + matrix[4 + i] * y + matrix[8 + i] * z + matrix[12 + i];
  const w = at(3);
  return w <= 0 ? undefined : [(0.5 + (0.5 * at(0)) / w) * width, (0.5 - (0.5 * at(1)) / w) * height];
}
