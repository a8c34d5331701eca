// whether a contact's line of force meets a touch site, against mju_rayGeom
import { describe, expect, test } from "vitest";
import { mjtGeom } from "../../src/model/enums.ts";
import { getMuJoCo } from "../../src/model/mujoco.ts";
import { rayMeets } from "../../src/physics/sensor/touch.ts";
import type { Vec3 } from "../../src/trace/vector.ts";
import { select } from "../../src/trace/scalar.ts";
import { createRandom } from "../support/mjcf-random.ts";
import { program, runJs } from "../support/trace-runner.ts";

const IDENTITY = [1, 0, 0, 0, 1, 0, 0, 0, 1];
const SIZES: Readonly<Record<string, readonly number[]>> = {
  SPHERE: [0.7, 0, 0],
  CAPSULE: [0.4, 0.8, 0],
  ELLIPSOID: [0.3, 0.6, 0.9],
  CYLINDER: [0.6, 0.5, 0],
  BOX: [0.3, 0.6, 0.9],
};

/** Points in and around a site, and unit directions; every fourth along an axis. */
function rays(count: number): number[][] {
  const random = createRandom(5);
  const vector = (x: number) => [0, 1, 2].map(() => random.between(-x, x));
  return Array.from({ length: count }, (_, i) => {
    const axis = [0, 1, 2].map((k) => (k === i % 3 ? (i % 2 ? 1 : -1) : 0));
    const free = vector(1);
    const norm = Math.hypot(...free);
    return [...vector(1.5), ...(i % 4 ? free.map((x) => x / norm) : axis)];
  });
}

describe("a ray meets a site where mju_rayGeom finds a distance", () => {
  for (const [name, size] of Object.entries(SIZES)) {
    test(name.toLowerCase(), async () => {
      const mujoco = await getMuJoCo();
      const type = mjtGeom[name as keyof typeof mjtGeom];
      const list = rays(2000);
      const meets = program(
        6,
        1,
        (x) => [
          select(rayMeets(type, size, x.slice(0, 3) as unknown as Vec3, x.slice(3) as unknown as Vec3), 1, 0, "f32"),
        ],
        { exact: true },
      );
      const ours = runJs(meets, "f64", list).map(([hit]) => hit === 1);
      const theirs = list.map(
        (r) => mujoco.mju_rayGeom([0, 0, 0], IDENTITY, [...size], r.slice(0, 3), r.slice(3), type, null) >= 0,
      );
      const wrong = list.filter((_, i) => ours[i] !== theirs[i]);
      expect(wrong).toEqual([]);
      expect(theirs.filter(Boolean).length).toBeGreaterThan(100);
      expect(theirs.filter((hit) => !hit).length).toBeGreaterThan(100);
    });
  }
});
