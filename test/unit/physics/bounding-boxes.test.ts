// the test of oriented boxes against the theorem of separating axes, in float64
import { expect, test } from "vitest";
import { boxTest } from "../../../src/physics/collision/bounding-boxes.ts";
import { loadModel } from "../../../src/index.ts";
import { geomPairs } from "../../../src/model/pairs.ts";
import { modelView } from "../../../src/physics/view.ts";
import { select } from "../../../src/trace/scalar.ts";
import { framesIn, framesOf } from "../../support/collider-scene.ts";
import { unit } from "../../support/collider-poses.ts";
import { createRandom } from "../../support/mjcf-random.ts";
import { program, runJs } from "../../support/trace-runner.ts";

const SIZES = [
  [0.5, 0.03, 0.05],
  [0.04, 0.4, 0.06],
] as const;
const POSES = 2_000;
/** Metres to a touch within which float32 may say either. */
const BAND = 1e-5;

const dot = (u: readonly number[], v: readonly number[]) => u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
const cross = (u: readonly number[], v: readonly number[]) =>
  [0, 1, 2].map((k) => u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3]);

/** By how much two boxes are apart along what separates them best: of face normals, and of what crosses two edges. */
function gaps(frame: readonly number[]): { faces: number; edges: number } {
  const boxes = [0, 12].map((from, i) => ({
    at: frame.slice(from, from + 3),
    axes: [0, 1, 2].map((k) => [0, 1, 2].map((row) => frame[from + 3 + 3 * row + k])),
    half: SIZES[i],
  }));
  const [a, b] = boxes;
  const offset = b.at.map((x, k) => x - a.at[k]);
  const reach = (u: number[]) =>
    boxes.reduce((total, box) => total + box.half.reduce((s, h, k) => s + h * Math.abs(dot(box.axes[k], u)), 0), 0);
  const gap = (u: number[]) => Math.abs(dot(offset, u)) - reach(u);
  return {
    faces: Math.max(...boxes.flatMap((box) => box.axes.map(gap))),
    edges: Math.max(...a.axes.flatMap((u) => b.axes.map((v) => gap(cross(u, v))))),
  };
}

test.each([
  { room: true, margin: 0, edges: true },
  { room: false, margin: 0, edges: false },
  // contacts of two boxes with a margin are along an axis of theirs, whatever the boxes' distance is
  { room: true, margin: 0.001, edges: false },
])("long boxes are apart by faces, and by edges: room $room, margin $margin", async ({ room, margin, edges }) => {
  const model = await loadModel(
    `<mujoco><worldbody>${SIZES.map((size) => `<body><freejoint/><geom type="box" size="${size.join(" ")}" margin="${margin / 2}"/></body>`).join("")}</worldbody></mujoco>`,
  );
  const traced = program(
    24,
    1,
    (x) => {
      return [select(boxTest(modelView(model), framesIn(x), geomPairs(model))(0, 1, margin), 1, 0)];
    },
    { roomy: room },
  );
  const r = createRandom(11);
  const rows = Array.from({ length: POSES }, () => {
    const pose = () => [...[0, 0, 0].map(() => r.between(-0.15, 0.15)), ...unit(r, 4)];
    return framesOf(pose(), pose()).map(Math.fround);
  });
  const counts = { faces: 0, edges: 0, none: 0 };
  runJs(traced, "f32", rows).forEach(([apart], i) => {
    const found = gaps(rows[i]);
    const by = edges ? Math.max(found.faces, found.edges) : found.faces;
    if (Math.abs(by - margin) < BAND) return;
    expect(apart === 1, `pose ${i}: ${JSON.stringify(found)}`).toBe(by > margin);
    counts[found.faces > margin ? "faces" : found.edges > margin ? "edges" : "none"]++;
  });
  for (const [kind, count] of Object.entries(counts)) expect(count, kind).toBeGreaterThan(POSES / 10);
});
