// kinds of ground: how high a square patch is at each of its points. Every patch is level in its
// middle, and at height 0 at its border or near it, so that neighbours meet.
import type { RandomStream } from "../../core/rng.ts";
import { slopeSlabs, type Slabs } from "./slabs.ts";

/** A number for the easiest and the hardest row, the rows between having numbers between; or one number for all. */
export type Graded = number | readonly [easiest: number, hardest: number];

/** A square patch: half its side and half the side of its level middle (m), its random numbers. */
export interface Patch {
  readonly half: number;
  readonly middle: number;
  readonly random: RandomStream;
}

/** Height (m) at a point of a patch, from its centre (m). */
export type Relief = (x: number, y: number) => number;

/** What a kind of ground has: its parameters with their defaults, and its relief for numbers of one difficulty. */
export interface Kind {
  readonly doc: string;
  readonly params: Readonly<Record<string, Graded>>;
  /** Parameters that are lengths, so above 0. */
  readonly lengths: readonly string[];
  readonly relief: (p: Readonly<Record<string, number>>, patch: Patch) => Relief;
  /** What it is of ground of boxes, where level cells are too coarse. */
  readonly slabs?: (p: Readonly<Record<string, number>>, patch: Patch) => Slabs;
}

/** Without what float64 left over, so that points on an edge are on one side of it all around a patch. */
const exact = (x: number): number => Math.round(x * 1e11) / 1e11;

/** Distance from the level middle, as squares about it count it; below 0 inside. */
const outward = (x: number, y: number, { middle }: Patch): number => exact(Math.max(Math.abs(x), Math.abs(y)) - middle);

/** 0 in the level middle, 1 this many metres outside of it. */
const fade = (x: number, y: number, patch: Patch, over: number): number =>
  Math.min(1, Math.max(0, outward(x, y, patch) / over));

/** Steps that end at height 0: `sign` 1 leads out of a pit, -1 down from a pyramid. */
function stairs(sign: 1 | -1): Kind["relief"] {
  return ({ rise, tread }, patch) => {
    const count = Math.floor(exact((patch.half - patch.middle) / tread));
    const climbed = (r: number) => Math.min(count, Math.max(0, Math.ceil(exact(r / tread))));
    return (x, y) => sign * rise * (climbed(outward(x, y, patch)) - count);
  };
}

const slope =
  (sign: 1 | -1): Kind["relief"] =>
  ({ angle }, patch) =>
  (x, y) =>
    sign * Math.tan(angle) * (Math.max(0, outward(x, y, patch)) - (patch.half - patch.middle));

/** Noise on a coarse grid, linear between its points. */
function rough({ height, spacing }: Readonly<Record<string, number>>, patch: Patch): Relief {
  const count = Math.ceil((2 * patch.half) / spacing) + 2;
  const at = (i: number, j: number) => height * (2 * patch.random.uniform(i * count + j) - 1);
  return (x, y) => {
    const [u, v] = [(x + patch.half) / spacing, (y + patch.half) / spacing];
    const [i, j] = [Math.floor(u), Math.floor(v)];
    const [a, b] = [u - i, v - j];
    const low = at(i, j) * (1 - a) + at(i + 1, j) * a;
    const high = at(i, j + 1) * (1 - a) + at(i + 1, j + 1) * a;
    return fade(x, y, patch, 0.3) * (low * (1 - b) + high * b);
  };
}

function waves({ height, length }: Readonly<Record<string, number>>, patch: Patch): Relief {
  const k = (2 * Math.PI) / length;
  return (x, y) => fade(x, y, patch, length / 4) * (height / 2) * (Math.sin(k * x) + Math.sin(k * y));
}

/** Squares side by side. */
function squares({ height, size }: Readonly<Record<string, number>>, patch: Patch): Relief {
  const count = Math.ceil(exact((2 * patch.half) / size));
  const place = (x: number) => Math.min(Math.floor(exact((x + patch.half) / size)), count - 1);
  return (x, y) =>
    outward(x, y, patch) <= 0 ? 0 : height * (2 * patch.random.uniform(place(x) * count + place(y)) - 1);
}

/** Blocks that lie on each other, up and down. */
function boxes({ height, size, count }: Readonly<Record<string, number>>, patch: Patch): Relief {
  const { half, random } = patch;
  const blocks = Array.from({ length: Math.round(count) }, (_, i) => {
    const u = (k: number) => random.uniform(5 * i + k);
    const between = (k: number, low: number, high: number) => low + (high - low) * u(k);
    return {
      x: between(0, -half, half),
      y: between(1, -half, half),
      dx: between(2, size / 4, size / 2),
      dy: between(3, size / 4, size / 2),
      top: height * (2 * u(4) - 1),
    };
  });
  return (x, y) => {
    if (outward(x, y, patch) <= 0) return 0;
    const on = blocks.filter((b) => Math.abs(x - b.x) <= b.dx && Math.abs(y - b.y) <= b.dy);
    return on.at(-1)?.top ?? 0;
  };
}

function steppingStones({ size, gap, depth, height }: Readonly<Record<string, number>>, patch: Patch): Relief {
  const pitch = size + gap;
  return (x, y) => {
    if (outward(x, y, patch) <= 0) return 0;
    const [i, j] = [x, y].map((v) => Math.floor(exact((v + patch.half) / pitch)));
    const [a, b] = [exact(x + patch.half - i * pitch), exact(y + patch.half - j * pitch)];
    if (a > size || b > size) return -depth;
    return height * (2 * patch.random.uniform(i * 4096 + j) - 1);
  };
}

/** Trenches around the middle, a tread apart. */
const gaps: Kind["relief"] =
  ({ width, tread, depth }, patch) =>
  (x, y) => {
    const r = outward(x, y, patch) - tread;
    // between the edges of a trench, which are level
    const within = exact(r - (width + tread) * Math.floor(exact(r / (width + tread))));
    return r > 0 && within > 0 && within < exact(width) ? -depth : 0;
  };

export const KINDS = {
  flat: { doc: "level", params: {}, lengths: [], relief: () => () => 0 },
  rough: {
    doc: "noise, linear between points",
    params: { height: [0.01, 0.08], spacing: 0.25 },
    lengths: ["spacing"],
    relief: rough,
  },
  squares: {
    doc: "squares side by side, up and down",
    params: { height: [0.02, 0.15], size: 0.8 },
    lengths: ["size"],
    relief: squares,
  },
  "slope-up": {
    doc: "rises from the middle, by an angle",
    params: { angle: [0, 0.4] },
    lengths: [],
    relief: slope(1),
    slabs: ({ angle }, patch) => slopeSlabs(1, angle, patch),
  },
  "slope-down": {
    doc: "falls from the middle",
    params: { angle: [0, 0.4] },
    lengths: [],
    relief: slope(-1),
    slabs: ({ angle }, patch) => slopeSlabs(-1, angle, patch),
  },
  "stairs-up": {
    doc: "steps that rise from the middle",
    params: { rise: [0.03, 0.2], tread: 0.3 },
    lengths: ["tread"],
    relief: stairs(1),
  },
  "stairs-down": {
    doc: "steps that fall from the middle",
    params: { rise: [0.03, 0.2], tread: 0.3 },
    lengths: ["tread"],
    relief: stairs(-1),
  },
  boxes: {
    doc: "blocks, up and down",
    params: { height: [0.02, 0.2], size: 1, count: 60 },
    lengths: ["size"],
    relief: boxes,
  },
  "stepping-stones": {
    doc: "squares with gaps between them",
    params: { size: [1, 0.4], gap: [0.05, 0.25], depth: 0.5, height: [0, 0.05] },
    lengths: ["size"],
    relief: steppingStones,
  },
  gaps: {
    doc: "trenches around the middle",
    params: { width: [0.1, 0.6], tread: 0.8, depth: 0.5 },
    lengths: ["tread"],
    relief: gaps,
  },
  waves: {
    doc: "waves along both axes, trough to crest",
    params: { height: [0.05, 0.3], length: 2 },
    lengths: ["length"],
    relief: waves,
  },
} as const satisfies Readonly<Record<string, Kind>>;

export type TerrainKind = keyof typeof KINDS;
