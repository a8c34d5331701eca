// many worlds of one scene: what the device places by itself, one matrix an instance, and in which detail each is drawn
import { pixelsOf, type View } from "./camera.ts";
import { glossOf, SHAPE, surfaceOf, type Part } from "./scene.ts";
import { COARSE, type Draw } from "./shapes.ts";

/**
 * Floats of `Instance` in shaders/render/scene.wgsl: rows of its frame in its body, size, colour, look with the body,
 * skin.
 */
const PART_FLOATS = 28;

/** Worlds whose parts stand side by side. Plain data. */
export interface Crowd {
  readonly parts: readonly Part[];
  readonly nbody: number;
  /** [worlds, nbody, BODY_FLOATS], by the number of the world. */
  readonly bodies: Float32Array;
  /** Numbers of the worlds, and where each stands. */
  readonly worlds: readonly number[];
  readonly places: readonly (readonly number[])[];
  /** Opacity of all. */
  readonly opacity: number;
}

/** Half of an instance in pixels above which each detail is drawn, from the finest on; the coarsest below. */
export const DETAIL_PIXELS = COARSE.map(({ pixels }) => pixels);

/** The shape of a detail: `fine` is what the scene names, `shapes` how many it has. */
export function detailed(fine: number, detail: number, shapes: number): number {
  if (detail === 0 || (fine !== SHAPE.round && fine !== SHAPE.cylinder)) return fine;
  return shapes + (fine === SHAPE.round ? 0 : COARSE.length) + detail - 1;
}

/** The next detail below that a shape has; itself where it has none. */
export function coarser(shape: number, shapes: number): number {
  if (shape < shapes) return detailed(shape, 1, shapes);
  return (shape - shapes + 1) % COARSE.length === 0 ? shape : shape + 1;
}

export interface Arranged {
  /** World and place of each rank, nearest first: number of the world as a float, x, y, 0. */
  readonly ranks: Float32Array<ArrayBuffer>;
  readonly draws: readonly Draw[];
}

/** Orders worlds by their distance from the eye and says what is drawn how: instance = first + part * worlds + rank. */
export function arrange(
  { parts, worlds, places, opacity }: Crowd,
  view: View,
  height: number,
  first: number,
  shapes: number,
): Arranged {
  const { eye } = view;
  const far = places.map(([x, y]) => Math.hypot(x - eye[0], y - eye[1], eye[2]));
  const order = worlds.map((_, i) => i).toSorted((a, b) => far[a] - far[b] || a - b);
  const ranks = new Float32Array(4 * order.length);
  order.forEach((i, rank) => ranks.set([worlds[i], places[i][0], places[i][1], 0], 4 * rank));
  const sorted = order.map((i) => far[i]);
  // pixels of a metre at a metre
  const pixels = pixelsOf(view, height);
  const draws = parts.flatMap(({ shape, size, rgba, skin }, part): Draw[] => {
    const clear = opacity * rgba[3] < 1;
    const ends = DETAIL_PIXELS.map((least) =>
      countBelow(sorted, (Math.max(size[0], size[1], size[2]) * pixels) / least),
    );
    return [0, ...ends].flatMap((from, detail) => {
      const to = ends[detail] ?? order.length;
      const at = first + part * order.length + from;
      const kind = { shape: detailed(shape, detail, shapes), clear, casts: !clear, surface: surfaceOf(skin) };
      return to > from ? [{ ...kind, first: at, count: to - from }] : [];
    });
  });
  return { ranks, draws };
}

/** How many of the numbers, which ascend, are below a bound. */
function countBelow(sorted: readonly number[], bound: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The parts as the device reads them. */
export function packParts(parts: readonly Part[], opacity: number): Float32Array<ArrayBuffer> {
  const out = new Float32Array(parts.length * PART_FLOATS);
  parts.forEach(({ mat, pos, size, rgba, body, skin }, i) => {
    const rows = [0, 1, 2].flatMap((r) => [mat[3 * r], mat[3 * r + 1], mat[3 * r + 2], pos[r]]);
    const made = [skin.emission, 0, 0, body, ...skin.scale, skin.specular, glossOf(skin)];
    out.set([...rows, ...size, rgba[0], rgba[1], rgba[2], opacity * rgba[3], ...made], i * PART_FLOATS);
  });
  return out;
}
