// what must hold of every contact, whatever MuJoCo says: no oracle here
import { describe, expect, test } from "vitest";

import {
  boundingRadius,
  colliderName,
  colliders,
  makeFrame,
  near,
} from "../../../src/physics/collision/colliders/index.ts";
import type { ColliderName, Shape } from "../../../src/physics/collision/colliders/index.ts";
import { costOf } from "../../../src/trace/cost.ts";
import { select } from "../../../src/trace/scalar.ts";
import type { Mat3, Vec3 } from "../../../src/trace/vector.ts";
import { mjtGeom } from "../../../src/model/enums.ts";
import {
  EXACT_KINDS,
  alignedPoses,
  product,
  randomPoses,
  randomSizes,
  rotate,
  turn,
  unit,
} from "../../support/collider-poses.ts";
import { framesOf, runCollider, runSlots, traceCollider } from "../../support/collider-scene.ts";
import type { Contact, Pose } from "../../support/collider-scene.ts";
import { createRandom } from "../../support/mjcf-random.ts";
import { isFull } from "../../support/sweep.ts";
import { surfaceDistance } from "../../support/surface-distance.ts";
import { program, runJs } from "../../support/trace-runner.ts";

/** Sizes of a pair, of 200 poses each; oracle/colliders.test.ts holds contacts of others to MuJoCo's. */
const SCENES = isFull ? 5 : 3;

const dot = (a: number[], b: number[]) => a.reduce((s, x, i) => s + x * b[i], 0);
const along = (p: readonly number[], s: number, n: readonly number[]) => p.map((x, i) => x + s * n[i]);
const row = (c: Contact, i: number) => c.frame.slice(3 * i, 3 * i + 3);

/** The deviation of a frame from orthonormal and right-handed. */
function skew(c: Contact): number {
  const [x, y, z] = [0, 1, 2].map((i) => row(c, i));
  const cross = [0, 1, 2].map((i) => x[(i + 1) % 3] * y[(i + 2) % 3] - x[(i + 2) % 3] * y[(i + 1) % 3]);
  const lengths = [x, y, z].map((v) => Math.abs(dot(v, v) - 1));
  return Math.max(...lengths, Math.abs(dot(x, y)), ...cross.map((v, i) => Math.abs(v - z[i])));
}

/** Whether the axis of a capsule comes within a centimetre of a box. */
function axisEnters(capsule: number[], size: number[], pose: Pose, box: Pose): boolean {
  const axis = rotate(pose.slice(3), [0, 0, 1]);
  return Array.from({ length: 201 }, (_, i) => along(pose.slice(0, 3), capsule[1] * (i / 100 - 1), axis)).some(
    (point) => surfaceDistance("box", size, box, point) < 0.01,
  );
}

/** Scenes of random sizes with many poses each, traced once a scene. */
function* scenes(kind: ColliderName, count: number, pose: "random" | "aligned", margin = 10) {
  for (let seed = 1; seed <= count; seed++) {
    const r = createRandom(seed);
    const [size1, size2] = randomSizes(r, kind);
    const first = kind.startsWith("plane") ? size2 : size1;
    const poses = Array.from({ length: 200 }, () =>
      pose === "random" ? randomPoses(r) : alignedPoses(r, first, size2, [0, 0, 1e-4, 1e-2]),
    );
    yield { seed, r, size1, size2, poses, program: traceCollider(kind, size1, size2, margin) };
  }
}

describe.each(EXACT_KINDS)("%s", (kind) => {
  test("returns as many candidates as its slots", () => {
    const shape: Shape = { pos: [0, 0, 0], mat: [1, 0, 0, 0, 1, 0, 0, 0, 1], size: [0.1, 0.2, 0.3] };
    const other: Shape = { ...shape, pos: [0.05, 0.1, 0.2] };
    let candidates = 0;
    program(1, 1, () => [(candidates = colliders[kind].collide(shape, other, 0).length)]);
    expect(candidates).toBe(colliders[kind].slots);
  });

  test.each(["random", "aligned"] as const)("makes finite, orthonormal contacts at %s poses", (pose) => {
    for (const { seed, poses, program: p } of scenes(kind, SCENES, pose)) {
      const frames = poses.map(([a, b]) => framesOf(a, b));
      for (const [precision, tolerance] of [
        ["f64", 1e-14],
        ["f32", 1e-6],
      ] as const) {
        runSlots(p, precision, frames).forEach((slots, i) => {
          for (const c of slots) {
            const label = `${precision}, seed ${seed}, pose ${i}: ${JSON.stringify(poses[i])}`;
            expect(Number.isFinite(c.dist + dot(c.pos, [1, 1, 1])), label).toBe(true);
            // a capsule upright on a plane gives the tangent no direction, and MuJoCo takes x
            const upright = row(c, 1).join() === "1,0,0";
            if (!upright) expect(skew(c), label).toBeLessThanOrEqual(tolerance);
          }
        });
      }
    }
  });

  test("puts each contact midway between points on the two surfaces", () => {
    const [type1, type2] = kind.split("-");
    for (const { seed, poses, size1, size2, program: p } of scenes(kind, SCENES, "random")) {
      runCollider(
        p,
        "f64",
        poses.map(([a, b]) => framesOf(a, b)),
      ).forEach((contacts, i) => {
        // a capsule whose axis enters a box is pushed out near the closest edge, by whatever face is nearest there
        if (kind === "capsule-box" && axisEnters(size1, size2, ...poses[i])) return;
        const deepest = Math.min(...contacts.map((c) => c.dist));
        for (const c of contacts) {
          const label = `seed ${seed}, pose ${i}: ${JSON.stringify(poses[i])}`;
          const [a, b] = [1, -1].map((s) => along(c.pos, (-s * c.dist) / 2, row(c, 0)));
          // apart, MuJoCo measures along an axis that need not join the nearest points of two edges
          if (kind === "box-box" && c.dist > 0) continue;
          const off = [surfaceDistance(type1, size1, poses[i][0], a), surfaceDistance(type2, size2, poses[i][1], b)];
          // its second contact is made as if its end were a sphere: part of that is inside the capsule
          if (kind.includes("capsule") && c.dist > deepest) expect(Math.max(...off), label).toBeLessThan(1e-12);
          else expect(Math.max(...off.map(Math.abs)), label).toBeLessThan(1e-12);
        }
      });
    }
  });

  test("makes the same of sizes and margins known only at run time", () => {
    const { slots, collide } = colliders[kind];
    const given = program(31, slots * 5, (x) => {
      const shape = (at: number, size: number) => ({
        pos: x.slice(at, at + 3) as unknown as Vec3,
        mat: x.slice(at + 3, at + 12) as unknown as Mat3,
        size: x.slice(size, size + 3) as unknown as Vec3,
      });
      return collide(shape(0, 24), shape(12, 27), x[30]).flatMap((c) => [select(c.exists, 1, 0), c.dist, ...c.pos]);
    });
    for (const { seed, poses, size1, size2, program: p } of scenes(kind, 2, "random", 0.1)) {
      const sizes = [size1, size2].flatMap((size) => [0, 1, 2].map((k) => size[k] ?? 0));
      const frames = poses.map(([a, b]) => framesOf(a, b));
      const expected = runSlots(p, "f64", frames);
      runJs(
        given,
        "f64",
        frames.map((f) => [...f, ...sizes, 0.1]),
      ).forEach((out, i) => {
        expected[i].forEach((c, k) => {
          const [exists, ...numbers] = out.slice(5 * k, 5 * k + 5);
          expect(exists === 1 && numbers[0] < 0.1, `seed ${seed}, pose ${i}`).toBe(c.active);
          if (!c.active) return;
          const worst = Math.max(...[c.dist, ...c.pos].map((x, n) => Math.abs(x - numbers[n])));
          expect(worst, `seed ${seed}, pose ${i}`).toBeLessThan(1e-12);
        });
      });
    }
  });

  test("moves its contacts with the scene", () => {
    for (const { seed, r, poses, program: p } of scenes(kind, 3, "random")) {
      const turned = unit(r, 4);
      const moved = poses.map((pair) =>
        pair.map((x) => [...along(rotate(turned, x.slice(0, 3)), 1, [1, 2, 3]), ...product(turned, x.slice(3))]),
      );
      const before = runCollider(
        p,
        "f64",
        poses.map(([a, b]) => framesOf(a, b)),
      );
      const after = runCollider(
        p,
        "f64",
        moved.map(([a, b]) => framesOf(a, b)),
      );
      before.forEach((contacts, i) => {
        expect(after[i].length, `seed ${seed}, pose ${i}`).toBe(contacts.length);
        contacts.forEach((c, k) => {
          const other = after[i][k];
          const expected = [c.dist, ...along(rotate(turned, c.pos), 1, [1, 2, 3]), ...rotate(turned, row(c, 0))];
          const actual = [other.dist, ...other.pos, ...row(other, 0)];
          const worst = Math.max(...expected.map((x, j) => Math.abs(x - actual[j])));
          expect(worst, `seed ${seed}, pose ${i}`).toBeLessThan(1e-9);
        });
      });
    }
  });

  test("changes the distance by no more than a geom moves", () => {
    const step = 1e-3;
    for (const { seed, r, size1, size2, poses, program: p } of scenes(kind, 3, "random")) {
      const shift = unit(r, 3).map((x) => step * x);
      const deepest = (pair: [Pose, Pose][]) =>
        runCollider(
          p,
          "f64",
          pair.map(([a, b]) => framesOf(a, b)),
        ).map((x) => Math.min(...x.map((c) => c.dist)));
      const before = deepest(poses);
      const after = deepest(poses.map(([a, b]) => [a, [...along(b.slice(0, 3), 1, shift), ...b.slice(3)]]));
      before.forEach((dist, i) => {
        // what is nearest to an axis inside a box jumps; faces and edges of two boxes take turns on near-ties
        const heuristic = kind === "box-box" || (kind === "capsule-box" && axisEnters(size1, size2, ...poses[i]));
        const label = `seed ${seed}, pose ${i}: ${JSON.stringify(poses[i])}`;
        if (!heuristic) expect(Math.abs(after[i] - dist), label).toBeLessThan(step * 1.000001);
      });
    }
  });

  test("is never spared by the bounding test where it makes a contact", () => {
    const [type1, type2] = kind.split("-").map((t) => mjtGeom[t.toUpperCase() as keyof typeof mjtGeom]);
    const margin = 0.05;
    for (const { seed, poses, size1, size2, program: p } of scenes(kind, SCENES, "random", margin)) {
      const [rbound1, rbound2] = [boundingRadius(type1, size1 as never), boundingRadius(type2, size2 as never)];
      // twice as far apart: at the others a plane is near everything
      const frames = poses.map(([a, b]) =>
        framesOf(a, [...along(b.slice(0, 3), 1, along(b.slice(0, 3), -1, [...a])), ...b.slice(3)]),
      );
      const test = program(24, 1, (x) => {
        const bounds = (at: number, rbound: typeof rbound1) => ({
          pos: x.slice(at, at + 3) as unknown as Vec3,
          mat: x.slice(at + 3, at + 12) as unknown as Mat3,
          rbound,
        });
        return [select(near(bounds(0, rbound1), bounds(12, rbound2), margin), 1, 0)];
      });
      const spared = runJs(test, "f32", frames).map(([x]) => x === 0);
      expect(spared.some(Boolean)).toBe(true);
      runCollider(p, "f32", frames).forEach((contacts, i) => {
        if (spared[i]) expect(contacts, `seed ${seed}, pose ${i}`).toHaveLength(0);
      });
    }
  });
});

test.each(["sphere-sphere", "capsule-capsule"] as const)("%s gives the same contact for the swapped pair", (kind) => {
  for (const { seed, poses, size1, size2, program: p } of scenes(kind, SCENES, "random")) {
    const swapped = traceCollider(kind, size2, size1, 10);
    const ours = runCollider(
      p,
      "f64",
      poses.map(([a, b]) => framesOf(a, b)),
    );
    const theirs = runCollider(
      swapped,
      "f64",
      poses.map(([a, b]) => framesOf(b, a)),
    );
    ours.forEach(([c, ...none], i) => {
      expect(none).toHaveLength(0);
      const [d] = theirs[i];
      const worst = Math.max(
        Math.abs(c.dist - d.dist),
        ...c.pos.map((x, k) => Math.abs(x - d.pos[k])),
        ...row(c, 0).map((x, k) => Math.abs(x + d.frame[k])),
      );
      expect(worst, `seed ${seed}, pose ${i}: ${JSON.stringify(poses[i])}`).toBeLessThan(1e-10);
    });
  }
});

describe("geoms with one centre", () => {
  const at = (q: number[]): Pose => [0.1, 0.2, 0.3, ...q];
  const contact = (kind: ColliderName, size1: number[], size2: number[], q1: number[], q2: number[]) =>
    runCollider(traceCollider(kind, size1, size2, 0), "f32", [framesOf(at(q1), at(q2))])[0];

  test("spheres part along x, or across their z axes where these differ", () => {
    const [same] = contact("sphere-sphere", [0.1], [0.2], [1, 0, 0, 0], [1, 0, 0, 0]);
    expect(row(same, 0)).toEqual([1, 0, 0]);
    expect(same.dist).toBeCloseTo(-0.3, 6);

    const [other] = contact("sphere-sphere", [0.1], [0.2], [1, 0, 0, 0], turn([1, 0, 0], Math.PI / 2));
    expect(row(other, 0).map((x) => Math.round(x * 1e6) / 1e6 + 0)).toEqual([1, 0, 0]);
  });

  test("a sphere leaves a box through the first of the nearest faces", () => {
    const [c] = contact("sphere-box", [0.1], [0.5, 0.2, 0.2], [1, 0, 0, 0], [1, 0, 0, 0]);
    expect(row(c, 0)).toEqual([0, 1, 0]);
    expect(c.dist).toBeCloseTo(-0.3, 6);
  });

  test("capsules that coincide touch at both ends", () => {
    const both = contact("capsule-capsule", [0.1, 0.3], [0.1, 0.3], [1, 0, 0, 0], [1, 0, 0, 0]);
    expect(both.map((c) => Number(c.pos[2].toFixed(5)))).toEqual([0.6, 0]);
  });
});

describe("a capsule that lies level across a box", () => {
  // half-length 1 over half-sizes of 0.3 to 0.4, 1 cm deep
  const p = traceCollider("capsule-box", [0.1, 1], [0.3, 0.4, 0.2], 0);

  test.each([0, 0.3, 1.2, 2.8, Math.PI, 4, 5.5])(
    "keeps two contacts, %s rad about z, however noise tilts it",
    (yaw) => {
      for (const tilt of [0, 1e-17, -1e-17, 1e-12, -1e-12, 3e-8, -3e-8, 1e-7, -1e-7, 1e-5, -1e-5]) {
        const level = product(turn([0, 0, 1], yaw), turn([0, 1, 0], Math.PI / 2 + tilt));
        for (const x of [0, 0.05, 0.9]) {
          const pose = [x * Math.cos(yaw), x * Math.sin(yaw), 0.29, ...level];
          for (const precision of ["f64", "f32"] as const) {
            const [contacts] = runCollider(p, precision, [framesOf(pose, [0, 0, 0, 1, 0, 0, 0])]);
            expect(contacts.length, `${precision}, tilt ${tilt}, x ${x}`).toBe(2);
          }
        }
      }
    },
  );
});

describe("makeFrame", () => {
  const frame = (n: number[], t?: number[]) =>
    (makeFrame(n as never, t as never) as readonly number[]).map((x) => x + 0);

  test("leans to y, or to z where the normal is near y", () => {
    expect(frame([0, 0, 1])).toEqual([0, 0, 1, 0, 1, 0, -1, 0, 0]);
    expect(frame([1, 0, 0])).toEqual([1, 0, 0, 0, 1, 0, 0, 0, 1]);
    expect(frame([0, 1, 0])).toEqual([0, 1, 0, 0, 0, 1, 1, 0, 0]);
    expect(frame([0.8, 0.6, 0]).slice(3, 6)).toEqual([0, 0, 1]);
  });

  test("follows a tangent, or x where that is the normal", () => {
    expect(frame([0, 0, 1], [0.6, 0, 0.8]).slice(3, 6)).toEqual([1, 0, 0]);
    expect(frame([0, 0, 1], [0, 0, 1]).slice(3, 6)).toEqual([1, 0, 0]);
  });
});

describe("a floor known when the kernel is traced", () => {
  const onFloor = (kind: ColliderName, size: number[]) => (x: readonly unknown[], floor: Shape) => {
    const shape = { pos: x.slice(0, 3), mat: x.slice(3, 12), size: [0, 1, 2].map((k) => size[k] ?? 0) };
    const candidates = colliders[kind].collide(floor, shape as never, 0);
    return candidates.flatMap((c) => [c.dist, ...c.pos, ...makeFrame(c.normal, c.tangent)]);
  };
  const floor: Shape = { pos: [0, 0, 0.25], mat: [1, 0, 0, 0, 1, 0, 0, 0, 1], size: [0, 0, 0.1] };

  test.each([
    ["plane-sphere", [0.1], 12],
    ["plane-capsule", [0.1, 0.3], 45],
    ["plane-box", [0.1, 0.2, 0.3], 180],
  ] as const)("folds into %s", (kind, size, most) => {
    const collide = onFloor(kind, [...size]);
    const outputs = colliders[kind].slots * 13;
    const folded = program(12, outputs, (x) => collide(x, floor));
    const given = program(24, outputs, (x) =>
      collide(x, { pos: x.slice(12, 15) as never, mat: x.slice(15) as never, size: floor.size }),
    );
    expect(costOf(folded.trace).arithmetic).toBeLessThanOrEqual(most);

    const r = createRandom(7);
    const frames = Array.from({ length: 100 }, () => framesOf(...randomPoses(r)).slice(12));
    const full = frames.map((f) => [...f, ...floor.pos, ...floor.mat] as number[]);
    const expected = runJs(given, "f64", full).flat();
    const actual = runJs(folded, "f64", frames).flat();
    expect(Math.max(...actual.map((x, i) => Math.abs(x - expected[i])))).toBeLessThan(1e-14);
  });
});

test("pairs of geom types have colliders in either order", () => {
  expect(colliderName(mjtGeom.PLANE, mjtGeom.SPHERE)).toBe("plane-sphere");
  expect(colliderName(mjtGeom.BOX, mjtGeom.CAPSULE)).toBe("capsule-box");
  expect(colliderName(mjtGeom.PLANE, mjtGeom.PLANE)).toBeUndefined();
  expect(colliderName(mjtGeom.MESH, mjtGeom.BOX)).toBeUndefined();
});
