// distance, normal and nearest points of convex shapes against MuJoCo, which searches them in float64 to 1e-12 m
import { describe, expect, test } from "vitest";
import { distanceProgram, dispose, pairRow, percentile, randomPairs } from "../support/convex-pairs.ts";
import {
  overlap,
  packHulls,
  randomFrames,
  type Contact,
  type ConvexScene,
  type Frames,
  type Kind,
} from "../support/convex-scene.ts";
import { createRandom } from "../support/mjcf-random.ts";
import { convexBounds as bounds } from "../support/tolerances.ts";
import { runWasm } from "../support/trace-runner.ts";

const FULL = process.env.CORRAL_FULL !== undefined;
const SCENES = FULL ? 60 : 6;
const POSES = FULL ? 8 : 2;

const PAIRS: [Kind, Kind, number][] = [
  ["sphere", "ellipsoid", 0],
  ["capsule", "ellipsoid", 0],
  ["capsule", "cylinder", 0],
  ["ellipsoid", "ellipsoid", 0],
  ["ellipsoid", "cylinder", 0],
  ["ellipsoid", "box", 0],
  ["cylinder", "cylinder", 0],
  ["cylinder", "box", 0],
  ["sphere", "mesh", 64],
  ["capsule", "mesh", 64],
  ["ellipsoid", "mesh", 32],
  ["cylinder", "mesh", 32],
  ["box", "mesh", 8],
  ["box", "mesh", 64],
  ["mesh", "mesh", 8],
  ["mesh", "mesh", 64],
  ["mesh", "mesh", 300],
];

interface Sample {
  readonly label: string;
  readonly scene: ConvexScene;
  readonly frames: Frames;
  readonly margin: number;
  readonly theirs: Contact | undefined;
  readonly hit: boolean;
  readonly dist: number;
  readonly normal: readonly number[];
  readonly from: readonly number[];
  readonly to: readonly number[];
}

async function samples(kinds: [Kind, Kind], vertices: number): Promise<Sample[]> {
  const r = createRandom(vertices + 17);
  const scenes = await randomPairs(r, kinds, vertices, { count: SCENES, sizes: [-3, 1], ratio: 0.5 });
  const hulls = packHulls(scenes);
  const traced = distanceProgram([[kinds[0]], [kinds[1]]], hulls);
  const cases = scenes.flatMap((scene) =>
    (["apart", "shallow", "middle", "deep"] as const).flatMap((depth) =>
      (["any", "face", "level"] as const).flatMap((meeting) =>
        Array.from({ length: POSES }, () => {
          const margin = depth === "apart" ? 0.02 * Math.min(...scene.radius) : 0;
          const frames = randomFrames(r, scene, depth, meeting);
          const [theirs] = scene.contacts(frames, margin, false) as (Contact | undefined)[];
          const label = `${depth}, ${meeting}: ${JSON.stringify(scene.bodies)} at ${JSON.stringify(frames)}`;
          return { scene, frames, margin, theirs, label };
        }),
      ),
    ),
  );
  const rows = cases.map(({ scene, frames, margin }) => pairRow(scene, frames, hulls, margin));
  return runWasm(traced, rows).map((out, i) => ({
    ...cases[i],
    hit: out[0] === 1 && out[1] < cases[i].margin,
    dist: out[1],
    normal: out.slice(2, 5),
    from: out.slice(5, 8),
    to: out.slice(8, 11),
  }));
}

const dot = (a: readonly number[], b: readonly number[]) => a.reduce((s, x, k) => s + x * b[k], 0);
const angle = (a: readonly number[], b: readonly number[]) =>
  2 * Math.asin(Math.min(1, Math.hypot(...a.map((x, k) => x - b[k])) / 2));
describe.each(PAIRS)("%s-%s of %i vertices", (kind1, kind2, vertices) => {
  test("are as far apart or as deep as MuJoCo finds, along its normal, at points that face each other", async () => {
    const all = await samples([kind1, kind2], vertices);
    const distances: number[] = [];
    const angles: number[] = [];
    const asides: number[] = [];
    for (const { label, scene, frames, margin, theirs, hit, dist, normal, from, to } of all) {
      const { size } = scene;
      expect([dist, ...normal, ...from, ...to].every(Number.isFinite), label).toBe(true);
      const slack = bounds.touching.value * size;
      if (!theirs) {
        expect(hit && dist < margin - slack, label).toBe(false);
        continue;
      }
      if (!hit) {
        expect(theirs.dist, label).toBeGreaterThan(margin - slack);
        continue;
      }
      const [ours, least] = [normal, theirs.normal].map((n) => overlap(scene, frames, n));
      // MuJoCo's direction is not always the best
      distances.push(Math.abs(dist + Math.min(ours, least)) / size);
      expect((ours - least) / size, label).toBeLessThanOrEqual(bounds.excess.value);
      const turned = angle(normal, theirs.normal);
      if (turned < bounds.tie.value || ours - least > slack) angles.push(turned);
      const gap = from.map((x, k) => to[k] - x);
      const along = dot(gap, normal);
      expect(Math.abs(along - dist) / size, label).toBeLessThanOrEqual(bounds.distance.value);
      const aside = Math.hypot(...gap.map((x, k) => x - along * normal[k]));
      asides.push(aside / size);
    }
    expect(distances.length).toBeGreaterThan(all.length / 8);
    expect(percentile(distances, 0.99)).toBeLessThanOrEqual(bounds.distance99.value);
    expect(percentile(distances, 1)).toBeLessThanOrEqual(bounds.distance.value);
    expect(percentile(asides, 0.99)).toBeLessThanOrEqual(bounds.facing99.value);
    expect(percentile(angles, 0.99)).toBeLessThanOrEqual(bounds.normal99.value);
    dispose(all);
  });
});
