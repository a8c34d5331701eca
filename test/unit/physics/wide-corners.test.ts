// corners of a polygon that meet a plane
import { expect, test } from "vitest";
import type { Hulls } from "../../../src/model/hulls.ts";
import { wideCorners } from "../../../src/physics/collision/colliders/wide-corners.ts";

// two corners of the side after the first lie inside of it by rounding, as merged triangles have them
const POLYGON = [
  [0.009, -0.043],
  [0.015, 0.006],
  [0.015 - 1e-8, 0.013],
  [0.015 - 3e-9, 0.016],
  [0.015, 0.023],
  [0.006, 0.023],
  [-0.007, 0.023],
  [-0.013, 0.023],
  [-0.013, 0.006],
  [-0.008, -0.043],
];

test("no corner of a quadrilateral is in it twice where a side bends inwards by rounding", () => {
  const hulls = {
    vert: Float64Array.from(POLYGON.flatMap(([x, y]) => [x, y, 0])),
    polyvert: Int32Array.from(POLYGON, (_, i) => i),
    polyvertnum: Int32Array.of(POLYGON.length),
    polyvertadr: Int32Array.of(0),
  } as unknown as Hulls;
  const { corners } = wideCorners(hulls);
  for (let start = 0; start < POLYGON.length; start++)
    expect(new Set([start, ...corners.subarray(3 * start, 3 * start + 3)]).size, `from corner ${start}`).toBe(4);
});
