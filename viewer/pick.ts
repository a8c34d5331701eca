// which body a point of the picture shows: the nearest part whose surface the ray hits, by its box or its ball
import type { View } from "../src/render/camera.ts";
import { multiply, rotation, turned } from "../src/render/rotation.ts";
import { SHAPE, type Part, type Scene } from "../src/render/scene.ts";
import { BODY_FLOATS, isShown, offsetOf, type Poses, type Shown } from "../src/render/show.ts";

export interface Picked {
  readonly world: number;
  readonly body: number;
  /** In the world's frame with its place in the grid, in the body's frame, and from the eye (m). */
  readonly at: readonly number[];
  readonly local: readonly number[];
  readonly distance: number;
}

const sub = (a: readonly number[], b: readonly number[]) => a.map((x, i) => x - b[i]);
const cross = (a: readonly number[], b: readonly number[]) => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];
const unit = (a: readonly number[]) => a.map((x) => x / (Math.hypot(...a) || 1));

/** The direction in which a point of the picture lies; x and y in [-1, 1], y up. */
export function rayOf({ eye, target, up, fovy }: View, aspect: number, x: number, y: number): number[] {
  const forward = unit(sub(target, eye));
  const right = unit(cross(forward, up));
  const above = cross(right, forward);
  const half = Math.tan((fovy * Math.PI) / 360);
  return unit(forward.map((f, i) => f + half * (aspect * x * right[i] + y * above[i])));
}

/** Distance to a part along a ray in the part's frame; Infinity if it is missed. */
function hit({ shape, size, radius }: Part, from: readonly number[], along: readonly number[]): number {
  if (shape === SHAPE.plane) {
    const t = -from[2] / along[2];
    const at = from.map((x, i) => x + t * along[i]);
    return t > 0 && Math.abs(at[0]) <= size[0] && Math.abs(at[1]) <= size[1] ? t : Infinity;
  }
  if (shape === SHAPE.round) return hitRound(size, from, along);
  const half = shape > SHAPE.plane ? [radius, radius, radius] : [size[0], size[1], size[2]];
  let [near, far] = [0, Infinity];
  for (let i = 0; i < 3; i++) {
    const ends = [-half[i], half[i]].map((end) => (end - from[i]) / along[i]);
    near = Math.max(near, Math.min(...ends));
    far = Math.min(far, Math.max(...ends));
  }
  return near <= far ? near : Infinity;
}

/** An ellipsoid whose halves are moved apart along z: its ends, and the tube between them. */
function hitRound(size: readonly number[], from: readonly number[], along: readonly number[]): number {
  const scale = (v: readonly number[]) => [v[0] / size[0], v[1] / size[1], v[2] / size[2]];
  const d = scale(along);
  const roots = (p: readonly number[], axes: readonly number[]): number => {
    const over = (u: readonly number[], v: readonly number[]) => axes.reduce((sum, i) => sum + u[i] * v[i], 0);
    const [a, b, c] = [over(d, d), over(p, d), over(p, p) - 1];
    const under = b * b - a * c;
    const t = (-b - Math.sqrt(Math.max(0, under))) / a;
    return under >= 0 && t > 0 ? t : Infinity;
  };
  const caps = [-1, 1].map((end) => {
    const t = roots(scale([from[0], from[1], from[2] - end * size[3]]), [0, 1, 2]);
    return size[3] === 0 || end * (from[2] + t * along[2]) >= size[3] ? t : Infinity;
  });
  const tube = size[3] === 0 ? Infinity : roots(scale(from), [0, 1]);
  return Math.min(...caps, Math.abs(from[2] + tube * along[2]) <= size[3] ? tube : Infinity);
}

/** What is seen along a ray. Meshes are taken as their boxes. */
export function pick(
  scene: Scene,
  { worlds, bodies }: Poses,
  radius: number,
  shown: Shown,
  eye: readonly number[],
  along: readonly number[],
  places?: readonly number[],
  hidden: ReadonlySet<number> = new Set(),
): Picked | undefined {
  const parts = scene.parts.filter((part) => isShown(part, shown));
  const grid = places === undefined ? worlds : Math.max(...places) + 1;
  let found: Picked | undefined;
  for (let world = 0; world < worlds; world++) {
    if (hidden.has(world)) continue;
    const offset = offsetOf(places?.[world] ?? world, grid, radius);
    for (const part of parts) {
      if (part.checker && world > 0) continue;
      const from = (world * scene.bodies.length + part.body) * BODY_FLOATS;
      const [x, y, z, ...quat] = bodies.subarray(from, from + BODY_FLOATS);
      const frame = rotation(quat);
      const place = [x, y, z].map((p, i) => p + offset[i]);
      const mat = multiply(frame, part.mat);
      const center = turned(frame, part.pos).map((p, i) => p + place[i]);
      const back = [mat[0], mat[3], mat[6], mat[1], mat[4], mat[7], mat[2], mat[5], mat[8]];
      const distance = hit(part, turned(back, sub(eye, center)), turned(back, along));
      if (!(distance < (found?.distance ?? Infinity))) continue;
      const at = eye.map((e, i) => e + distance * along[i]);
      const inverse = [frame[0], frame[3], frame[6], frame[1], frame[4], frame[7], frame[2], frame[5], frame[8]];
      found = { world, body: part.body, at, local: turned(inverse, sub(at, place)), distance };
    }
  }
  return found;
}

export { sub, unit };
