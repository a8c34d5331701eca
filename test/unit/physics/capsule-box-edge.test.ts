import { expect, test } from "vitest";
import { product, rotate, turn, unit } from "../../support/collider-poses.ts";
import { framesOf, runSlots, traceCollider } from "../../support/collider-scene.ts";
import { createRandom } from "../../support/mjcf-random.ts";

// two faces are then as near as the rounding of positions a metre from the origin tells; the slopes still tell them apart
test("a capsule across an edge at nearly 45 degrees leaves by the same face in float32 as in float64", () => {
  const r = createRandom(5);
  const [capsule, box] = [
    [0.04, 0.1],
    [0.13, 0.11, 0.13],
  ];
  const frames = Array.from({ length: 200 }, () => {
    const lean = r.pick([-1, 1]) * r.between(1e-5, 1e-4);
    const slope = [0.68, r.between(-0.4, 0.4), -0.68 * (1 + lean)];
    const axis = slope.map((x) => x / Math.hypot(...slope));
    const [depth, across] = [r.between(2e-4, 2e-3), Math.hypot(axis[0], axis[2])];
    // the point nearest to the edge, as deep below one face as the axis is steep along the other
    const nearest = [
      -box[0] + (depth * -axis[2]) / across,
      r.between(-0.05, 0.05),
      -box[2] + (depth * axis[0]) / across,
    ];
    const along = r.between(-0.06, 0.06);
    const orientation = unit(r, 4);
    const at = unit(r, 3);
    const centre = rotate(
      orientation,
      nearest.map((x, k) => x + along * axis[k]),
    ).map((x, k) => x + at[k]);
    const toAxis = turn(
      [-axis[1], axis[0], 0].map((x) => x / Math.hypot(axis[0], axis[1])),
      Math.acos(axis[2]),
    );
    const poses = [
      [...centre, ...product(orientation, toAxis)],
      [...at, ...orientation],
    ];
    return framesOf(poses[0], poses[1]).map(Math.fround);
  });
  const single = runSlots(traceCollider("capsule-box", capsule, box, 0), "f32", frames);
  const double = runSlots(traceCollider("capsule-box", capsule, box, 0, true), "f64", frames);
  single.forEach(([first], i) => {
    expect(double[i][0].active).toBe(true);
    const aside = Math.hypot(...first.frame.slice(0, 3).map((x, k) => x - double[i][0].frame[k]));
    expect(aside, `pose ${i}`).toBeLessThan(1e-5);
  });
});
