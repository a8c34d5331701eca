// what a world knows of the terrain it stands on
import { array, loop, table } from "../../../trace/control.ts";
import { add, clamp, div, floor, ge, mul, sub, sum, toF32, toI32, type Scalar } from "../../../trace/scalar.ts";
import { add3, mulMatVec } from "../../../trace/vector.ts";
import { CorralError } from "../../../core/errors.ts";
import { idOf } from "../../../model/model.ts";
import { Elevations } from "../../../physics/elevations.ts";
import { slopes } from "../../../physics/ray/hfield.ts";
import type { Terrain } from "../../../model/terrain/terrain.ts";
import type { Scene, TaskTerrain } from "../task.ts";
import { groundAt, rowOf } from "../terrain.ts";
import { headingOf, WORLD_AXES } from "./axes.ts";
import { rayGrid, type RayGridOptions } from "./rays.ts";
import { body, needs, needsOptions, type Body } from "./source.ts";

function terrainOf(s: Scene, what: string): TaskTerrain {
  if (s.terrain) return s.terrain;
  throw new CorralError("bad-term", `${what} needs the group terrain of a task; this task has none.`);
}

/** The row of the terrain that the world is on, 0 the easiest. */
export const terrainRow =
  () =>
  (s: Scene): Scalar =>
    rowOf(s, terrainOf(s, "terrainRow"));

export interface TerrainHeightsOptions extends Pick<RayGridOptions, "size" | "counts"> {
  /** Whether the grid turns with the body's heading. Default "heading". */
  readonly axes?: "heading" | "world";
}

/** How high the terrain is at a point of the plane, above `base` (m). */
function heightOf(s: Scene, what: string): (x: Scalar, y: Scalar, base: Scalar) => Scalar {
  const terrain = terrainOf(s, what);
  return terrain.ground.as === "boxes" ? heightOfBoxes(s, terrain) : heightOfField(s, terrain);
}

const known = new WeakMap<Int32Array, readonly Float64Array[]>();

/** Of each cell of a terrain of boxes: how high its middle is (m), and how it rises along x and along y. */
function cellsOf({ heights, unit, inclined }: Terrain): readonly Float64Array[] {
  let cells = known.get(heights);
  if (!cells) {
    const [tops, along, across] = [0, 1, 2].map(() => new Float64Array(heights.length));
    for (let i = 0; i < heights.length; i++) tops[i] = heights[i] * unit;
    for (const [i, cell] of inclined?.cells ?? []) [tops[i], along[i], across[i]] = cell;
    known.set(heights, (cells = [tops, along, across]));
  }
  return cells;
}

/** The tops of cells, of a terrain of boxes. */
function heightOfBoxes(s: Scene, terrain: TaskTerrain): (x: Scalar, y: Scalar, base: Scalar) => Scalar {
  const { ncol, nrow, cell, inclined } = terrain.ground;
  const [top, ...slopes] = cellsOf(terrain.ground).map((values, k) =>
    table(`terrain_${["tops", "slopes_x", "slopes_y"][k]}`, values),
  );
  const at = groundAt(s, terrain);
  return (x, y, base) => {
    const from = [sub(x, at[0]), sub(y, at[1])];
    const counts = [ncol, nrow];
    const lines = from.map((v, k) => clamp(floor(add(div(v, cell), counts[k] / 2)), 0, counts[k] - 1));
    const index = add(mul(toI32(lines[1]), ncol), toI32(lines[0]));
    const rises = inclined
      ? sum(lines.map((line, k) => mul(slopes[k](index), sub(from[k], mul(cell, add(line, (1 - counts[k]) / 2))))))
      : 0;
    return sub(add(add(top(index), rises), at[2]), base);
  };
}

/** What lies between the points of a height field. */
function heightOfField(s: Scene, { geom }: TaskTerrain): (x: Scalar, y: Scalar, base: Scalar) => Scalar {
  const g = idOf(s.model, "geom", geom);
  const fields = new Elevations(s.model.surfaces!);
  const field = s.model.geom_dataid[g];
  const { sx, sy, top } = fields.extents(field);
  const [columns, rows] = [toF32(fields.ncol(field)), toF32(fields.nrow(field))];
  const geomAt = s.m.geom_pos.vec3(g);
  return (x, y, base) => {
    const cells = (from: Scalar, half: Scalar, lines: Scalar) =>
      clamp(mul(add(from, half), div(sub(lines, 1), mul(2, half))), 0, sub(lines, 1));
    const [u, v] = [cells(sub(x, geomAt[0]), sx, columns), cells(sub(y, geomAt[1]), sy, rows)];
    const [c, r] = [clamp(floor(u), 0, sub(columns, 2)), clamp(floor(v), 0, sub(rows, 2))];
    const [a, b] = [sub(u, c), sub(v, r)];
    const z = (dr: number, dc: number) => fields.at(field, add(toI32(r), dr), add(toI32(c), dc));
    const [z00, z10, z01, z11] = [z(0, 0), z(0, 1), z(1, 0), z(1, 1)];
    const [along, across] = slopes({ z00, z10, z01, z11 }, ge(a, b));
    const height = mul(top, add(z00, add(mul(along, a), mul(across, b))));
    return sub(add(height, geomAt[2]), base);
  };
}

/**
 * How high the terrain is at the points of a grid about a body, above the body's frame (m; negative below): what rays down
 * from above meet, at a small part of their cost. Beyond the field it is as high as at its edge.
 */
export const terrainHeights =
  (from: Body, options: TerrainHeightsOptions) =>
  (s: Scene): readonly Scalar[] => {
    terrainOf(s, "terrainHeights");
    needsOptions("terrainHeights", options, ["size", "counts", "axes"]);
    const { axes = "heading", ...grid } = options;
    needs(axes === "heading" || axes === "world", "axes of terrainHeights", axes, '"heading" or "world"');
    const pattern = rayGrid(grid);
    const id = body(s, from);
    const height = heightOf(s, "terrainHeights");
    const frame = axes === "heading" ? headingOf(s.d.xmat.mat3(id)) : WORLD_AXES;
    const at = s.d.xpos.vec3(id);
    const offset = [0, 1].map((k) =>
      table(
        `height_offset${k}`,
        pattern.map((r) => r.origin[k]),
      ),
    );
    const heights = array("terrain_heights", pattern.length);
    loop(pattern.length, (i) => {
      const p = add3(at, mulMatVec(frame, [offset[0](i), offset[1](i), 0]));
      heights.set(i, height(p[0], p[1], at[2]));
    });
    return pattern.map((_, i) => heights.get(i));
  };

/** How high the terrain is at points of the plane (m, global). Beyond the field it is as high as at its edge. */
export function terrainAt(s: Scene, points: readonly (readonly [x: Scalar, y: Scalar])[]): readonly Scalar[] {
  const height = heightOf(s, "terrainAt");
  const places = array("terrain_points", 2 * points.length);
  const heights = array("terrain_at", points.length);
  points.forEach((point, i) => point.forEach((x, k) => places.set(2 * i + k, x)));
  loop(points.length, (i) => heights.set(i, height(places.get(mul(2, i)), places.get(add(mul(2, i), 1)), 0)));
  return points.map((_, i) => heights.get(i));
}
