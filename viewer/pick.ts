// which body a point of the picture shows: the nearest part whose surface the ray hits
import { multiply, rotation, turned } from "../src/render/rotation.ts";
import { SHAPE, type Part, type Scene } from "../src/render/scene.ts";
import { VERTEX_FLOATS, type Shape } from "../src/render/shapes.ts";
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

const dot = (a: readonly number[], b: readonly number[]) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

/** Distance to a part along a ray of unit length in the part's frame; Infinity if it is missed. */
function hit(part: Part, shapes: readonly Shape[], from: readonly number[], along: readonly number[]): number {
  const { shape, size, radius } = part;
  if (shape === SHAPE.plane) {
    const t = -from[2] / along[2];
    const at = from.map((x, i) => x + t * along[i]);
    return t > 0 && Math.abs(at[0]) <= size[0] && Math.abs(at[1]) <= size[1] ? t : Infinity;
  }
  if (shape === SHAPE.round) return hitRound(size, from, along);
  if (shape === SHAPE.cylinder) return hitCylinder(size, from, along);
  if (shape === SHAPE.box) return hitBox(size, from, along);
  // what misses the sphere around it misses its triangles
  const nearest = -dot(from, along);
  if (Math.hypot(...from.map((x, i) => x + nearest * along[i])) > radius) return Infinity;
  return hitFaces(shapes[shape], size, from, along);
}

function hitBox(size: readonly number[], from: readonly number[], along: readonly number[]): number {
  let [near, far] = [0, Infinity];
  for (let i = 0; i < 3; i++) {
    const ends = [-size[i], size[i]].map((end) => (end - from[i]) / along[i]);
    near = Math.max(near, Math.min(...ends));
    far = Math.min(far, Math.max(...ends));
  }
  return near <= far ? near : Infinity;
}

function hitCylinder([radius, , half]: readonly number[], from: readonly number[], along: readonly number[]): number {
  const a = along[0] ** 2 + along[1] ** 2;
  const b = from[0] * along[0] + from[1] * along[1];
  const under = b * b - a * (from[0] ** 2 + from[1] ** 2 - radius * radius);
  const side = (-b - Math.sqrt(Math.max(0, under))) / a;
  const isSide = under >= 0 && side > 0 && Math.abs(from[2] + side * along[2]) <= half;
  const ends = [-half, half].map((end) => {
    const t = (end - from[2]) / along[2];
    return t > 0 && Math.hypot(from[0] + t * along[0], from[1] + t * along[1]) <= radius ? t : Infinity;
  });
  return Math.min(isSide ? side : Infinity, ...ends);
}

/** The nearest triangle, seen from either side (Möller and Trumbore 1997). */
function hitFaces(
  { vertices, indices }: Shape,
  size: readonly number[],
  from: readonly number[],
  along: readonly number[],
) {
  const corner = (k: number) => [0, 1, 2].map((i) => vertices[VERTEX_FLOATS * indices[k] + i] * size[i]);
  let found = Infinity;
  for (let k = 0; k < indices.length; k += 3) {
    const a = corner(k);
    const [e, f] = [sub(corner(k + 1), a), sub(corner(k + 2), a)];
    const p = cross(along, f);
    const scale = 1 / dot(e, p);
    const s = sub(from, a);
    const u = scale * dot(s, p);
    const q = cross(s, e);
    const v = scale * dot(along, q);
    const t = scale * dot(f, q);
    if (u >= 0 && v >= 0 && u + v <= 1 && t > 0 && t < found) found = t;
  }
  return found;
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

/** What is seen along a ray. */
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
      const distance = hit(part, scene.shapes, turned(back, sub(eye, center)), turned(back, along));
      if (!(distance < (found?.distance ?? Infinity))) continue;
      const at = eye.map((e, i) => e + distance * along[i]);
      const inverse = [frame[0], frame[3], frame[6], frame[1], frame[4], frame[7], frame[2], frame[5], frame[8]];
      found = { world, body: part.body, at, local: turned(inverse, sub(at, place)), distance };
    }
  }
  return found;
}
