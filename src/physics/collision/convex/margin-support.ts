// support points of MuJoCo's own steps: which of level vertices they are hangs on where its climb over a hull begins
import { breakIf, increase, loop, variable, when } from "../../../trace/control.ts";
import { current } from "../../../trace/graph.ts";
import { add, and, eq, ge, gt, lt, mul, not, select, sub, type Int } from "../../../trace/scalar.ts";
import { dot3, scale3, sub3, type Vec3 } from "../../../trace/vector.ts";
import { mjtGeom } from "../../../model/enums.ts";
import { vector } from "./registers.ts";
import { isKind, supportPoint, type Core } from "./support.ts";
import type { Hull } from "./types.ts";

/** Components of a unit direction beyond this are one way or the other in MuJoCo's 27 cells (mesh_extrema). */
const CELL = 0.4;

/** The farthest point of the first or the second shape in a unit direction of its own frame, as the searches of a pair go on. */
export function marginSupport(): (core: Core, side: number, n: Vec3) => Vec3 {
  const last = [0, 1].map((side) => variable(`own_last${side}`, -1, "i32"));
  last.forEach((vertex) => vertex.set(-1));
  // of vertices that are level the one that was met before
  const farthest = (core: Core, side: number, n: Vec3): Vec3 => {
    const point = supportPoint(core, n);
    const { hull } = core.shape;
    if (!hull || isKind(core.shape, mjtGeom.MESH) === false) return point;
    const found = vector("own_point", point);
    when(and(isKind(core.shape, mjtGeom.MESH), ge(last[side].get(), 0)), () => {
      const before = scale3(hull.tables.vertex(last[side].get()), core.perSize);
      const higher = gt(dot3(sub3(point, before), n), 0);
      core.corner.set(select(higher, core.corner.get(), last[side].get(), "i32"));
      found.setIf(not(higher), before);
    });
    last[side].set(core.corner.get());
    return found.get();
  };
  return (core, side, n) => {
    const { hull } = core.shape;
    const isHull = isKind(core.shape, mjtGeom.MESH);
    if (!current().exact || !hull?.extreme || isHull === false) return farthest(core, side, n);
    const found = vector("own_support");
    const start = variable("own_start", -1, "i32");
    start.set(-1);
    when(isHull, () => start.set(hull.extreme!(cellOf(n))));
    when(
      ge(start.get(), 0),
      () => {
        const vertex = climb(hull, n, start.get(), last[side].get());
        core.corner.set(vertex);
        last[side].set(vertex);
        found.set(scale3(hull.tables.vertex(vertex), core.perSize));
      },
      () => found.set(farthest(core, side, n)),
    );
    return found.get();
  };
}

/** MuJoCo's cell of a direction. */
function cellOf(n: Vec3): Int {
  const [i, j, k] = n.map((x) => add(sub(select(gt(x, CELL), 1, 0, "i32"), select(lt(x, -CELL), 1, 0, "i32")), 1));
  return add(mul(9, i), add(mul(3, j), k));
}

/**
 * From the higher of two vertices, if the second is one, to the highest neighbour until none is higher
 * (mjc_hillclimbSupport). Sides that are level to float32's last place have places that are higher than all about them.
 */
function climb({ tables, vertexCount }: Hull, n: Vec3, start: Int, before: Int): Int {
  const height = (vertex: Int) => dot3(n, tables.vertex(vertex));
  const at = variable("own_at", start, "i32");
  const most = variable("own_most", height(start));
  when(ge(before, 0), () => {
    const was = height(before);
    const stays = not(gt(most.get(), was));
    at.set(select(stays, before, at.get(), "i32"));
    most.set(select(stays, was, most.get()));
  });
  loop(
    vertexCount,
    () => {
      const from = variable("own_from", at.get(), "i32");
      const next = variable("own_next_edge", tables.firstNeighbour!(from.get()), "i32");
      loop(vertexCount, () => {
        const vertex = tables.neighbour!(next.get());
        breakIf(lt(vertex, 0));
        const here = height(vertex);
        const higher = gt(here, most.get());
        at.set(select(higher, vertex, at.get(), "i32"));
        most.set(select(higher, here, most.get()));
        increase(next, 1);
      });
      breakIf(eq(from.get(), at.get()));
    },
    { label: "climb" },
  );
  return at.get();
}
