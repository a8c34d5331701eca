// plane against the hull of a mesh
import { breakIf, loop, variable, when, type Variable } from "../../../trace/control.ts";
import { add, and, eq, ge, gt, le, lt, mul, select, sub, type Int, type Scalar } from "../../../trace/scalar.ts";
import { add3, addScaled3, column, dot3, neg3, sub3, type Mat3, type Vec3 } from "../../../trace/vector.ts";
import { startCell } from "../convex/starts.ts";
import { eachListed } from "../convex/support.ts";
import { CLIMB_ABOVE, type Hull } from "../convex/types.ts";
import type { Candidate, Shape } from "./types.ts";
import { OTHERS } from "./wide-corners.ts";

/** The product of the transpose of a matrix and a vector. */
const transposed = (m: Mat3, v: Vec3): Vec3 => [0, 1, 2].map((k) => dot3(column(m, k), v)) as unknown as Vec3;

const int = (name: string, initial: Int): Variable => variable(name, initial, "i32");

/** The height of a vertex that is above all others. */
const ABOVE = 1e30;

/** The lowest vertex along a direction, and its height: of those listed for it, of all, or along edges where there are many. */
function lowest(hull: Hull, up: Vec3): { readonly vertex: Int; readonly height: Scalar } {
  const { tables, firstVertex } = hull;
  const best = int("lowest", firstVertex);
  const height = variable("lowest_height", tables.cells ? ABOVE : dot3(tables.vertex(firstVertex), up));
  const take = (v: Int, point = tables.vertex(v)) => {
    const here = dot3(point, up);
    when(lt(here, height.get()), () => {
      height.set(here);
      best.set(v);
    });
  };
  if (tables.cells)
    eachListed(hull, neg3(up), take, () => {
      height.set(dot3(tables.vertex(firstVertex), up));
      climb(hull, up, best, take);
    });
  else climb(hull, up, best, take);
  return { vertex: best.get(), height: height.get() };
}

/** Takes all vertices after the first, or those on the way along edges. */
function climb(hull: Hull, up: Vec3, best: Variable, take: (v: Int) => void): void {
  const { tables, firstVertex, vertexCount, firstStart } = hull;
  const { firstNeighbour, neighbour, mostVertices } = tables;
  const search = () =>
    loop(add(firstVertex, vertexCount), (v) => take(v), { start: add(firstVertex, 1), label: "vertices" });
  if (mostVertices <= CLIMB_ABOVE || !firstNeighbour || !neighbour) return search();
  when(le(vertexCount, CLIMB_ABOVE), search, () => {
    if (tables.start && firstStart !== undefined) take(tables.start(add(firstStart, startCell(neg3(up)))));
    loop(
      vertexCount,
      () => {
        const from = best.get();
        const first = firstNeighbour(from);
        loop(
          vertexCount,
          (i) => {
            const next = neighbour(add(first, i));
            breakIf(lt(next, 0));
            take(next);
          },
          { label: "edges" },
        );
        breakIf(eq(best.get(), from));
      },
      { label: "climb" },
    );
  });
}

/** The polygon about a vertex that faces down best, -1 if there is none. */
function facingDown(hull: Hull, vertex: Int, up: Vec3): Int {
  const { polygonNormal } = hull.tables;
  const best = int("facing", -1);
  const least = variable("facing_up", 2);
  loop(
    hull.tables.polygonCountOf!(vertex),
    (i) => {
      const p = hull.tables.polygon!(add(hull.tables.firstPolygonOf!(vertex), i));
      const here = dot3(polygonNormal!(p), up);
      when(lt(here, least.get()), () => {
        least.set(here);
        best.set(p);
      });
    },
    { label: "polygons" },
  );
  return best.get();
}

/**
 * Up to four corners of the polygon that the lowest vertex of the hull lies in and that faces the plane best, the lowest
 * first, and of the others those that lie below the mesh's centre. Of more than four they are corners of a large quadrilateral (`wideCorners`).
 */
export function planeMesh(a: Shape, b: Shape & { readonly hull: Hull }, reach: Scalar): Candidate[] {
  const { hull } = b;
  const { tables } = hull;
  const normal = column(a.mat, 2);
  const up = transposed(b.mat, normal);
  const centre = dot3(sub3(b.pos, a.pos), normal);
  const { vertex: deepest, height: least } = lowest(hull, up);
  const corners = [deepest, ...[1, 2, 3].map(() => -1)].map((v, i) => int(`corner${i}`, v));

  const { firstCorner, cornerCount, corner } = tables;
  if (tables.mostCorners > 0 && firstCorner && cornerCount && corner) {
    const isNear = lt(add(centre, hull.tables.cells ? least : dot3(tables.vertex(deepest), up)), reach);
    when(isNear, () => {
      const polygon = facingDown(hull, deepest, up);
      when(ge(polygon, 0), () => {
        const [first, count] = [firstCorner(polygon), cornerCount(polygon)];
        const start = int("start", 0);
        loop(count, (i) => start.set(select(eq(corner(add(first, i)), deepest), i, start.get(), "i32")), {
          label: "corners",
        });
        for (const k of [1, 2, 3]) {
          // corners are counted from the lowest
          const at = add(start.get(), k);
          const next = corner(add(first, select(ge(at, count), sub(at, count), at, "i32")));
          when(lt(k, count), () => corners[k].set(next));
        }
        const { firstWide, wide } = tables;
        if (firstWide && wide)
          when(gt(count, OTHERS + 1), () => {
            const from = add(firstWide(polygon), mul(start.get(), OTHERS));
            for (const k of [1, 2, 3]) corners[k].set(wide(add(from, k - 1)));
          });
      });
    });
  }
  return corners.map((which, i): Candidate => {
    const v = which.get();
    const isCorner = ge(v, 0);
    const vertex = tables.vertex(select(isCorner, v, deepest, "i32"));
    const height = dot3(vertex, up);
    // corners above the mesh's centre are left out
    const exists = i === 0 ? isCorner : and(isCorner, lt(height, 0));
    const dist = add(centre, height);
    const offset = [0, 1, 2].map((r) => dot3(b.mat.slice(3 * r, 3 * r + 3) as unknown as Vec3, vertex));
    const pos = addScaled3(add3(b.pos, offset as unknown as Vec3), mul(dist, -0.5), normal);
    return { dist, pos, normal, exists };
  });
}
