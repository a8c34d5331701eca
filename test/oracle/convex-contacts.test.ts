// how many contacts convex shapes make, and where, against MuJoCo's rules (multiccd)
import { describe, expect, test } from "vitest";
import { convexContacts } from "../../src/physics/collision/convex/index.ts";
import { toF32, type Scalar } from "../../src/trace/scalar.ts";
import { apart, dispose, PAIR_INPUTS, pairOf, pairRow, randomPairs, SEARCH } from "../support/convex-pairs.ts";
import {
  overlap,
  packHulls,
  randomFrames,
  type Contact,
  type ConvexScene,
  type Frames,
  type Kind,
  type Meeting,
} from "../support/convex-scene.ts";
import { createRandom } from "../support/mjcf-random.ts";
import { convexBounds as bounds } from "../support/tolerances.ts";
import { program, runWasm } from "../support/trace-runner.ts";

const FULL = process.env.CORRAL_FULL !== undefined;
const SCENES = FULL ? 60 : 8;
const POSES = FULL ? 30 : 10;
const MOST = 5;
const WIDTH = 7;

interface Sample {
  readonly label: string;
  readonly scene: ConvexScene;
  readonly frames: Frames;
  readonly meeting: Meeting;
  readonly ours: Contact[];
  readonly theirs: Contact[];
  /** MuJoCo's only contact with multiccd off, m: where it has several they may lie elsewhere. */
  readonly deepest: number;
}

/** Contacts of random pairs; `margin` is relative to the smaller radius. */
async function samples(kinds: [Kind, Kind], vertices: number, margin: number, multiccd = true): Promise<Sample[]> {
  const r = createRandom(vertices + 29);
  const scenes = await randomPairs(r, kinds, vertices, { count: SCENES, sizes: [-2, 0.5], ratio: 0.3 });
  const hulls = packHulls(scenes);
  const traced = program(PAIR_INPUTS, 1 + MOST * WIDTH, (x: Scalar[]) => {
    const pair = pairOf(x, [[kinds[0]], [kinds[1]]], hulls);
    const found = convexContacts(...pair.shapes, margin ? pair.margin : 0, { ...SEARCH, multiccd });
    const contacts = Array.from({ length: MOST }, (_, i) => found.at(i));
    return [toF32(found.count), ...contacts.flatMap((c) => [c.dist, ...c.pos, ...c.normal])];
  });
  const cases = scenes.flatMap((scene) =>
    (["face", "level"] as const).flatMap((meeting) =>
      Array.from({ length: POSES }, () => {
        const frames = randomFrames(r, scene, r.pick(["shallow", "middle"] as const), meeting);
        const reach = margin * Math.min(...scene.radius);
        const label = `${meeting}: ${JSON.stringify(scene.bodies)} at ${JSON.stringify(frames)}`;
        const [single] = scene.contacts(frames, reach, false) as (Contact | undefined)[];
        const theirs = scene.contacts(frames, reach, multiccd);
        return { scene, frames, meeting, label, reach, theirs, deepest: single?.dist ?? 0 };
      }),
    ),
  );
  const rows = cases.map(({ scene, frames, reach }) => pairRow(scene, frames, hulls, reach));
  return runWasm(traced, rows).flatMap(([count, ...out], i) => {
    const ours = Array.from({ length: count }, (_, k) => {
      const [dist, ...rest] = out.slice(WIDTH * k, WIDTH * (k + 1));
      return { dist, pos: rest.slice(0, 3), normal: rest.slice(3) };
    });
    const { theirs, scene } = cases[i];
    const touches = Math.min(0, ...theirs.map((c) => c.dist)) < -bounds.touching.value * scene.size;
    return touches ? [{ ...cases[i], ours }] : [];
  });
}

const along = (a: readonly number[], b: readonly number[]) => a.reduce((sum, x, k) => sum + x * b[k], 0);
const share = (of: readonly boolean[]) => of.filter(Boolean).length / of.length;
const sameCount = (s: Sample) => s.ours.length === s.theirs.length;
/** Whether each contact of MuJoCo is one of ours. */
const samePlaces = (s: Sample) =>
  s.theirs.every((c) => s.ours.some((o) => apart(o.pos, c.pos) < bounds.placed.value * s.scene.size));

/** What holds of every contact: finite, as deep as the deepest or less, along a direction that parts the shapes. */
function expectSound({ label, scene, frames, ours, theirs, deepest }: Sample): void {
  const { size } = scene;
  const [single] = theirs.length === 1 ? theirs : [];
  expect(ours.length, label).toBeGreaterThan(0);
  expect(ours.length, label).toBeLessThanOrEqual(MOST);
  for (const { dist, pos, normal } of ours) {
    expect([dist, ...pos, ...normal].every(Number.isFinite), label).toBe(true);
    expect(Math.abs(Math.hypot(...normal) - 1), label).toBeLessThan(1e-5);
    // faces meet at up to 5 degrees, so that a corner may be deeper than the least overlap
    expect(dist / size, label).toBeGreaterThan(deepest / size - bounds.tilted.value);
    // never inside out, but where MuJoCo is
    const asTheirs = single !== undefined && along(normal, single.normal) > 0.99;
    if (!asTheirs) expect(overlap(scene, frames, normal) / size, label).toBeLessThan(0.5);
  }
  const first = Math.min(...ours.map((c) => c.dist));
  expect(Math.abs(first - deepest) / size, label).toBeLessThan(bounds.tilted.value);
}

describe.each<[Kind, Kind, number]>([
  ["cylinder", "cylinder", 0],
  ["cylinder", "box", 0],
  ["cylinder", "mesh", 8],
  ["box", "mesh", 8],
  ["mesh", "mesh", 8],
])("%s-%s of %i vertices without a margin", (kind1, kind2, vertices) => {
  test("make as many contacts as in MuJoCo, and on a face where MuJoCo makes them", async () => {
    const all = await samples([kind1, kind2], vertices, 0);
    all.forEach(expectSound);
    expect(share(all.map(sameCount))).toBeGreaterThanOrEqual(bounds.counted.value);
    const onFace = all.filter((s) => s.meeting === "face");
    expect(share(onFace.map(samePlaces))).toBeGreaterThanOrEqual(0.95);
    dispose(all);
  });
});

test.each<[Kind, Kind, number, Meeting, number]>([
  ["cylinder", "box", 0, "level", bounds.capped.value],
  ["cylinder", "mesh", 8, "level", bounds.capped.value],
  ["box", "mesh", 64, "face", bounds.edged.value],
  ["mesh", "mesh", 64, "face", bounds.edged.value],
])(
  "%s-%s of %i vertices that meet by %s keep the corners that MuJoCo keeps",
  async (kind1, kind2, n, meeting, least) => {
    const all = await samples([kind1, kind2], n, 0);
    const meet = all.filter((s) => s.meeting === meeting);
    expect(share(meet.map((s) => sameCount(s) && samePlaces(s)))).toBeGreaterThanOrEqual(least);
    dispose(all);
  },
);

describe.each<[Kind, Kind, number, number]>([
  ["box", "mesh", 64, 0],
  ["mesh", "mesh", 64, 0],
  ["box", "mesh", 8, 0.01],
  ["mesh", "mesh", 8, 0.01],
  ["capsule", "mesh", 64, 0],
  ["capsule", "mesh", 8, 0.01],
  ["cylinder", "box", 0, 0.01],
])("%s-%s of %i vertices with a margin of %f", (kind1, kind2, vertices, margin) => {
  test("make sound contacts, and on a face those of MuJoCo", async () => {
    const all = await samples([kind1, kind2], vertices, margin);
    all.forEach(expectSound);
    const onFace = all.filter((s) => s.meeting === "face");
    expect(share(onFace.map((s) => sameCount(s) && samePlaces(s)))).toBeGreaterThanOrEqual(0.85);
    dispose(all);
  });
});

test.each<[Kind, Kind, number, boolean]>([
  ["box", "mesh", 8, false],
  ["cylinder", "cylinder", 0, false],
  ["ellipsoid", "mesh", 32, true],
])("%s-%s of %i vertices make one contact, with multiccd %s", async (kind1, kind2, vertices, multiccd) => {
  const all = await samples([kind1, kind2], vertices, 0, multiccd);
  for (const s of all) {
    expect(s.theirs.length, s.label).toBe(1);
    expect(s.ours.length, s.label).toBe(1);
    const [ours, theirs] = [s.ours[0].dist, s.theirs[0].dist];
    expect(Math.abs(ours - theirs) / s.scene.size, s.label).toBeLessThanOrEqual(bounds.distance.value);
  }
  dispose(all);
});

// where an edge of the first shape lies along a face of the second, and not over it, MuJoCo's normal points back; of a
// cylinder that lies on another's cap to the last bit, either way
test.each<[Kind, Kind, number]>([
  ["cylinder", "cylinder", 0],
  ["cylinder", "box", 0],
  ["box", "mesh", 8],
  ["box", "mesh", 64],
])("single contacts of %s-%s of %i vertices point where MuJoCo's do", async (kind1, kind2, n) => {
  const all = await samples([kind1, kind2], n, 0);
  const single = all.filter((s) => s.theirs.length === 1 && sameCount(s) && samePlaces(s));
  expect(share(single.map(({ ours, theirs }) => along(ours[0].normal, theirs[0].normal) > 0))).toBeGreaterThan(0.96);
  dispose(all);
});
