// needles, plates, large hulls, sizes far apart, one centre, one frame: the search ends, and parts the shapes at least cost
import { expect, test } from "vitest";
import { getMuJoCo } from "../../src/model/mujoco.ts";
import { distanceProgram, pairRow } from "../support/convex-pairs.ts";
import {
  ConvexScene,
  overlap,
  packHulls,
  randomBody,
  randomFrames,
  type Body,
  type Kind,
} from "../support/convex-scene.ts";
import { createRandom, type Random } from "../support/mjcf-random.ts";
import { convexBounds as bounds } from "../support/tolerances.ts";
import { runJs, runWasm } from "../support/trace-runner.ts";

const SCENES = process.env.CORRAL_FULL ? 300 : 40;
const KINDS: Kind[] = ["sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh"];
const VERTICES = [8, 16, 60, 200, 700];

/** A body as it is, or up to 500 times as long as it is wide. */
function randomShape(r: Random, kind: Kind, scale: number): Body {
  const body = randomBody(r, kind, scale, r.pick(VERTICES));
  if (r.chance(0.3)) return body;
  const by = [0, 1, 2].map(() => 10 ** r.between(-2.7, 0));
  const size = body.size.map((x, k) => Math.fround(x * by[k]));
  return { ...body, size, points: body.points?.map((x, k) => x * by[k % 3]) };
}

const POSES: ((f: number[]) => number[])[] = [
  (f) => f,
  (f) => [...f.slice(0, 12), ...f.slice(0, 3), ...f.slice(15)],
  (f) => [...f.slice(0, 15), ...f.slice(3, 12)],
  (f) => [...f.slice(0, 12), ...f.slice(0, 12)],
];

test("shapes of any form, size and place are parted along a direction that none known to MuJoCo is shorter than", async () => {
  const r = createRandom(8);
  const mujoco = await getMuJoCo();
  const scenes = Array.from({ length: SCENES }).flatMap(() => {
    const scale = 10 ** r.between(-3, 1);
    const kinds = [r.pick(KINDS), r.pick(KINDS)].sort((a, b) => KINDS.indexOf(a) - KINDS.indexOf(b));
    const [a, b] = kinds.map((kind, i) => randomShape(r, kind, i ? scale * 10 ** r.between(-2, 2) : scale));
    try {
      return [new ConvexScene(mujoco, [a, b])];
    } catch (error) {
      // plates that it takes for flat
      if (/volume is too small/.test(String(error))) return [];
      throw error;
    }
  });
  const hulls = packHulls(scenes);
  const cases = scenes.flatMap((scene) =>
    (["apart", "middle", "deep"] as const).flatMap((depth) =>
      POSES.map((change) => {
        const frames = change([...randomFrames(r, scene, depth, r.pick(["any", "face", "level"] as const))]);
        const margin = r.chance(0.5) ? 0 : 0.02 * scene.size;
        return { scene, frames, margin, theirs: scene.contacts(frames, margin, false) };
      }),
    ),
  );
  const rows = cases.map(({ scene, frames, margin }) => pairRow(scene, frames, hulls, margin));
  const traced = distanceProgram([KINDS, KINDS], hulls);
  const results = runWasm(traced, rows);
  // both back ends of the CPU hold the search, bit for bit
  expect(runJs(traced, "f32", rows.slice(0, 40))).toEqual(results.slice(0, 40));

  results.forEach((out, i) => {
    const { scene, frames, margin, theirs } = cases[i];
    const label = JSON.stringify({ bodies: scene.bodies, frames, margin });
    expect(out.every(Number.isFinite), label).toBe(true);
    const { size } = scene;
    const [hit, dist] = out;
    const normal = out.slice(2, 5);
    // MuJoCo finds none where the centres are one
    const least = theirs.length ? overlap(scene, frames, theirs[0].normal) : Infinity;
    if (!hit) {
      for (const c of theirs) expect((c.dist - margin) / size, label).toBeGreaterThan(-bounds.touching.value);
      return;
    }
    expect(Math.abs(Math.hypot(...normal) - 1), label).toBeLessThan(bounds.distance99.value);
    const ours = overlap(scene, frames, normal);
    expect((ours - least) / size, label).toBeLessThanOrEqual(bounds.excess.value);
    expect(Math.abs(dist + ours) / size, label).toBeLessThanOrEqual(bounds.excess.value);
  });
});
