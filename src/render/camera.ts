// where a picture is taken from, as MuJoCo's cameras: looking along -z, y up
import { mat4, vec3 } from "gl-matrix";

export type Point = readonly [number, number, number];

/** A view of the scene: an eye, what it looks at, and the angle from top to bottom (degrees). */
export interface View {
  readonly eye: Point;
  readonly target: Point;
  readonly up: Point;
  readonly fovy: number;
  readonly lens?: Lens;
}

/** What a camera's picture is of where `fovy` and the shape of the picture do not say it. */
export interface Lens {
  /** Orthographic: a picture is as high everywhere, `fovy` metres. */
  readonly isParallel: boolean;
  /** Edges of the picture a metre before the eye, of a camera whose intrinsics are known. */
  readonly edges?: Edges;
}

/** Left, right, lower and upper edge of a picture from its axis (m), a metre before the eye. */
type Edges = readonly [number, number, number, number];

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
export function fixedView(pos: ArrayLike<number>, mat: ArrayLike<number>, fovy: number, lens?: Lens): View {
  const eye: Point = [pos[0], pos[1], pos[2]];
  return {
    eye,
    target: [eye[0] - mat[2], eye[1] - mat[5], eye[2] - mat[8]],
    up: [mat[1], mat[4], mat[7]],
    fovy,
    ...(lens ? { lens } : {}),
  };
}

/** Edges of a picture, as MuJoCo's frustum has them (mjv_cameraFrustum). */
function edgesOf({ fovy, lens }: View, aspect: number): Edges {
  if (lens?.edges) return lens.edges;
  const half = lens?.isParallel ? fovy / 2 : Math.tan(radians(fovy) / 2);
  return [-half * aspect, half * aspect, -half, half];
}

/** Pixels that a metre at a metre takes; of a parallel view, where nothing is far, no bound. */
export function pixelsOf(view: View, height: number): number {
  const [, , low, high] = edgesOf(view, 1);
  return view.lens?.isParallel ? Infinity : height / (high - low);
}

/** From the world to what a picture shows: x and y in [-1, 1], depth in [0, 1]. Column-major. */
export function projectionOf(view: View, aspect: number, near: number, far: number): mat4 {
  const { eye, target, up, lens } = view;
  const [left, right, low, high] = edgesOf(view, aspect);
  const [width, height, deep] = [right - left, high - low, near - far];
  const projection = lens?.isParallel
    ? mat4.orthoZO(mat4.create(), left, right, low, high, near, far)
    : mat4.fromValues(
        2 / width,
        0,
        0,
        0,
        0,
        2 / height,
        0,
        0,
        (right + left) / width,
        (high + low) / height,
        far / deep,
        -1,
        0,
        0,
        (near * far) / deep,
        0,
      );
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

/** From the eye to the middle of the picture a metre before it, and from there to its right and upper edge. */
function frameOf(view: View, aspect: number): readonly [vec3, vec3, vec3, vec3] {
  const { eye, target, up } = view;
  const [left, right, low, high] = edgesOf(view, aspect);
  const ahead = vec3.normalize(vec3.create(), vec3.subtract(vec3.create(), target, eye));
  const side = vec3.normalize(vec3.create(), vec3.cross(vec3.create(), ahead, up));
  const upward = vec3.cross(vec3.create(), side, ahead);
  const middle = vec3.scaleAndAdd(vec3.create(), ahead, side, (left + right) / 2);
  vec3.scaleAndAdd(middle, middle, upward, (low + high) / 2);
  return [middle, vec3.scale(side, side, (right - left) / 2), vec3.scale(upward, upward, (high - low) / 2), ahead];
}

/** Along the middle of a picture, and what leads from there to its right and upper edge: directions of its points. */
export function directionsOf(view: View, aspect: number): readonly [vec3, vec3, vec3] {
  const [middle, right, up, ahead] = frameOf(view, aspect);
  return view.lens?.isParallel ? [ahead, vec3.create(), vec3.create()] : [middle, right, up];
}

/** The ray that a point of the picture shows; x and y in [-1, 1], y up. */
export function rayOf(
  view: View,
  aspect: number,
  x: number,
  y: number,
): { readonly eye: readonly number[]; readonly along: readonly number[] } {
  const [middle, right, up, ahead] = frameOf(view, aspect);
  const to = [0, 1, 2].map((i) => middle[i] + x * right[i] + y * up[i]);
  if (view.lens?.isParallel) return { eye: view.eye.map((e, i) => e + to[i] - ahead[i]), along: [...ahead] };
  return { eye: view.eye, along: [...vec3.normalize(vec3.create(), to)] };
}

/** Where a point of the world lies in a picture, in pixels from its left upper corner; undefined behind the eye. */
export function pixelOf(matrix: mat4, point: Point, width: number, height: number): [number, number] | undefined {
  const [x, y, z] = point;
  const at = (i: number) => matrix[i] * x + matrix[4 + i] * y + matrix[8 + i] * z + matrix[12 + i];
  const w = at(3);
  return w <= 0 ? undefined : [(0.5 + (0.5 * at(0)) / w) * width, (0.5 - (0.5 * at(1)) / w) * height];
}
