// capsule and cylinder against MuJoCo, which searches their nearest points and then turns the geoms by a milliradian to
// find more. Its search is run to the end here; what remains is how little the distance says of a point on a flat or
// slightly curved surface.
import { beforeAll, describe, expect, test } from "vitest";
import { makeFrame } from "../../src/physics/collision/colliders/index.ts";
import type { Precision } from "../../src/trace/javascript.ts";
import { IDENTITY, nudge, product, randomPoses, randomSizes, turn } from "../support/collider-poses.ts";
import { ColliderScene, runCollider, traceCollider, type Contact, type Pose } from "../support/collider-scene.ts";
import { createRandom } from "../support/mjcf-random.ts";
import { colliderBounds as bounds } from "../support/tolerances.ts";

const KIND = "capsule-cylinder";

interface Sample {
  readonly label: string;
  readonly ours: Contact[];
  readonly theirs: Contact[];
  /** The capsule's axis enters the cylinder (with MuJoCo's half of the margin around it). */
  readonly deep: boolean;
  /** What MuJoCo finds if the geoms are moved by what it cannot tell. */
  readonly nearby: () => Contact[][];
}

async function samples(precision: Precision): Promise<Sample[]> {
  const out: Sample[] = [];
  for (let seed = 1; seed <= 12; seed++) {
    const r = createRandom(seed);
    const margin = seed % 2 ? 0 : r.between(0, 0.2);
    const scene = await ColliderScene.create(KIND, ...randomSizes(r, KIND), margin);
    const poses = Array.from({ length: 150 }, () => randomPoses(r));
    const reference = poses.map((p) => scene.contacts(...p));
    const traced = traceCollider(KIND, scene.size1, scene.size2, margin, precision === "f64");
    const ours = runCollider(
      traced,
      precision,
      reference.map((x) => x.frames),
    );
    ours.forEach((contacts, i) => {
      const theirs = reference[i].contacts;
      const touches = (c: Contact[]) => c.length > 0 && Math.abs(c[0].dist - margin) > bounds.singleMargin.value;
      if (!touches(theirs) && !touches(contacts)) return;
      out.push({
        label: `seed ${seed}, pose ${i}: ${JSON.stringify(poses[i])}`,
        ours: contacts,
        theirs,
        deep: theirs[0]?.dist < margin / 2 - scene.size1[0] + 1e-5,
        nearby: () =>
          Array.from(
            { length: 64 },
            () =>
              scene.contacts(...(poses[i].map((p) => nudge(r, p, bounds.searchNudge.value)) as unknown as [Pose, Pose]))
                .contacts,
          ),
      });
    });
  }
  return out;
}

const apart = (a: readonly number[], b: readonly number[]) => Math.max(...a.map((x, k) => Math.abs(x - b[k])));

describe.each(["f64", "f32"] as const)("capsule-cylinder in %s", (precision) => {
  let all: Sample[];
  beforeAll(async () => void (all = await samples(precision)));

  test("finds MuJoCo's distance, and its points while the capsule's axis is outside", async () => {
    expect(all.filter((s) => s.deep).length).toBeGreaterThan(200);
    expect(all.filter((s) => !s.deep).length).toBeGreaterThan(200);
    const depth = precision === "f64" ? bounds.exactMargin.value : bounds.searched.value;
    for (const { label, ours, theirs, deep } of all) {
      expect(Math.abs(ours[0].dist - theirs[0].dist), label).toBeLessThanOrEqual(depth);
      if (deep && precision === "f32") continue;
      expect(apart(ours[0].pos, theirs[0].pos), label).toBeLessThanOrEqual(bounds.searched.value);
      expect(apart(ours[0].frame, theirs[0].frame), label).toBeLessThanOrEqual(bounds.searched.value);
    }
  });

  test("finds the further contacts that turning finds", async () => {
    for (const { label, ours, theirs, deep, nearby } of all) {
      if (deep && precision === "f32") continue;
      if (ours.length === theirs.length) {
        ours.forEach((c, i) => expect(apart(c.pos, theirs[i].pos), label).toBeLessThanOrEqual(bounds.searched.value));
        continue;
      }
      // two places that are hardly distinct
      expect(
        nearby().map((c) => c.length),
        label,
      ).toContain(ours.length);
    }
  });

  test("makes finite contacts with unit normals", async () => {
    for (const { label, ours } of all) {
      for (const c of ours) {
        expect([c.dist, ...c.pos, ...c.frame].every(Number.isFinite), label).toBe(true);
        const normal = c.frame.slice(0, 3) as unknown as [number, number, number];
        expect(Math.abs(Math.hypot(...normal) - 1), label).toBeLessThanOrEqual(bounds.single.value);
        expect(apart(c.frame, makeFrame(normal) as readonly number[]), label).toBeLessThanOrEqual(
          bounds.searched.value,
        );
      }
    }
  });
});

// upside down: of two that point the same way MuJoCo's search ends at an end of one in a quarter of the cases, by rounding
test.each(["f64", "f32"] as const)(
  "a capsule that stands beside a cylinder is met where MuJoCo meets it, in %s",
  async (precision) => {
    let met = 0;
    for (let seed = 1; seed <= 40; seed++) {
      const r = createRandom(seed);
      const scene = await ColliderScene.create(KIND, ...randomSizes(r, KIND), 0);
      const [[round, half], [radius, height]] = [scene.size1, scene.size2];
      const rise = r.between(-0.9, 0.9) * (half + height);
      const across = radius + r.between(-0.9 * radius, 0.95 * round);
      const angle = r.between(-Math.PI, Math.PI);
      const one = [across * Math.cos(angle), across * Math.sin(angle), rise, 0, 1, 0, 0];
      const two = [0, 0, 0, ...IDENTITY];
      // the way over a cap is not the shorter one
      if (across - radius < Math.abs(rise) - half - height) continue;
      const { frames, contacts } = scene.contacts(one, two);
      const traced = traceCollider(KIND, scene.size1, scene.size2, 0, precision === "f64");
      const [ours] = runCollider(traced, precision, [frames]);
      const label = `seed ${seed}`;
      expect(apart(ours[0].pos, contacts[0].pos), label).toBeLessThanOrEqual(bounds.searched.value);
      met++;
      scene[Symbol.dispose]();
    }
    expect(met).toBeGreaterThan(20);
  },
);

test.each(["f64", "f32"] as const)(
  "a capsule that is all but level in a disc leaves it by MuJoCo's direction, in %s",
  async (precision) => {
    const scene = await ColliderScene.create(KIND, [0.06, 0.2], [0.1, 0.1], 0);
    const traced = traceCollider(KIND, scene.size1, scene.size2, 0, precision === "f64");
    for (let seed = 1; seed <= 40; seed++) {
      const r = createRandom(seed);
      // level, tilted by a milliradian, as a turn leaves it
      const level = product(
        turn([0, 0, 1], r.between(-Math.PI, Math.PI)),
        turn([0, 1, 0], Math.PI / 2 + (seed % 2 ? 1e-3 : -1e-3)),
      );
      const one = [r.between(-0.03, 0.03), r.between(-0.03, 0.03), r.between(0.02, 0.04), ...level];
      const { frames, contacts } = scene.contacts(one, [0, 0, 0, ...IDENTITY]);
      const [ours] = runCollider(traced, precision, [frames]);
      const normal = (c: Contact) => c.frame.slice(0, 3);
      expect(apart(normal(ours[0]), normal(contacts[0])), `seed ${seed}`).toBeLessThanOrEqual(bounds.searched.value);
    }
    scene[Symbol.dispose]();
  },
);
