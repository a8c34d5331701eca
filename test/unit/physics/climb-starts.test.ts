// where climbs over hulls begin: near the direction that is asked for, whatever its length
import fc from "fast-check";
import { expect, test } from "vitest";
import { climbStarts, START_CELLS, startCell } from "../../../src/physics/collision/convex/starts.ts";
import { toF32 } from "../../../src/trace/scalar.ts";
import { program, runWasm } from "../../support/trace-runner.ts";

const cells = program(3, 1, ([x, y, z]) => [toF32(startCell([x, y, z]))]);
const component = fc.double({ min: -1, max: 1, noNaN: true });

test("a climb begins at a vertex that is nearly as far as the farthest", () => {
  // a vertex each few degrees
  const points = Array.from({ length: 2000 }, (_, i) => {
    const [z, angle] = [1 - (2 * i + 1) / 2000, i * 2.399963];
    const r = Math.sqrt(1 - z * z);
    return [r * Math.cos(angle), r * Math.sin(angle), z];
  });
  const starts = climbStarts(points.flat());
  expect(starts).toHaveLength(START_CELLS);
  const directions = fc.array(fc.tuple(component, component, component, fc.integer({ min: -30, max: 30 })), {
    minLength: 50,
    maxLength: 50,
  });
  fc.assert(
    fc.property(directions, (list) => {
      const rows = list
        .map(([x, y, z, e]) => [x, y, z].map((c) => c * 10 ** e))
        .filter((d) => Math.hypot(...d) > 1e-28);
      runWasm(cells, rows).forEach(([cell], i) => {
        const vertex = points[starts[cell]];
        const cosine = rows[i].reduce((s, x, k) => s + x * vertex[k], 0) / Math.hypot(...rows[i]);
        // half of a cell's diagonal is 14 degrees
        expect(cosine).toBeGreaterThan(0.95);
      });
    }),
    { numRuns: 20 },
  );
});

test("a direction of zeros, or one that is not finite, has a cell", () => {
  for (const d of [
    [0, 0, 0],
    [NaN, 0, 1],
    [Infinity, 0, 0],
    [1e38, -1e38, 1e38],
  ]) {
    const [[cell]] = runWasm(cells, [d]);
    expect(cell).toBeGreaterThanOrEqual(0);
    expect(cell).toBeLessThan(START_CELLS);
  }
});
