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

/**
 * Beside each first corner, those that the climb of MuJoCo 3.14 ends at: none stops at the next, so that from
 * corner 1 the second passes the third, where corners in line with it add no area (docs/decisions/0193).
 */
const OTHERS_BY_CORNER = [
  [1, 4, 7],
  [4, 4, 7],
  [3, 4, 7],
  [4, 7, 9],
  [5, 7, 9],
  [6, 7, 9],
  [7, 9, 1],
  [9, 0, 4],
  [9, 0, 4],
  [0, 4, 7],
];

test("a polygon whose side bends inwards by rounding has the corners of MuJoCo's climb", () => {
  const hulls = {
    vert: Float64Array.from(POLYGON.flatMap(([x, y]) => [x, y, 0])),
    polyvert: Int32Array.from(POLYGON, (_, i) => i),
    polyvertnum: Int32Array.of(POLYGON.length),
    polyvertadr: Int32Array.of(0),
  } as unknown as Hulls;
  const { corners } = wideCorners(hulls);
  expect(POLYGON.map((_, start) => [...corners.subarray(3 * start, 3 * start + 3)])).toEqual(OTHERS_BY_CORNER);
});
