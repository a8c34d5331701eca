// boxes along the world's axes about geoms that nothing moves, which are numbers beside where their bodies are: those that lie
// side by side come in groups, with a box about each group
import { loop, table, when } from "../../trace/control.ts";
import { abs, add, mul, neg, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import { mulMatVec, type Vec3 } from "../../trace/vector.ts";
import type { Model } from "../../model/model.ts";
import type { GeomPairs } from "../../model/pairs.ts";
import { FEWEST_FIXED } from "../fixed-ids.ts";
import { boxOf, isBoxed, ROUNDING, type WorldBox } from "./geom-boxes.ts";
import { BodyPlaces, fixedFrames, fixedGeoms, type FixedFrame } from "../smooth/fixed-geoms.ts";
import type { GeomFrames } from "./geom-frames.ts";
import type { ModelView } from "../view.ts";

/** Most geoms of a group. */
const GROUP = 16;
/** Side of the squares by which geoms are put together (m). */
const SQUARE = 1;

/** Boxes of fixed geoms. */
export interface FixedBoxes {
  /** The geoms, group after group. */
  readonly geoms: readonly number[];
  /**
   * Visits those of the geoms that are among the first of `rows`, in this order, whose group `isNear` is true of: the
   * place in `rows`, and the box. Returns how many of `rows` are fixed geoms.
   */
  visit(rows: readonly number[], isNear: (box: WorldBox) => Bool, body: (row: Int, box: WorldBox) => void): number;
}

/** A box beside the place of a body (m). */
interface Fixed extends Omit<FixedFrame, "mat"> {
  readonly low: readonly number[];
  readonly high: readonly number[];
}

function boxBeside(model: Model, { geom, body, at, mat }: FixedFrame, reach: number): Fixed {
  const { centre, half } = boxOf(model, geom);
  const [middle, extent] = [turnedBy(mat, centre), turnedBy(mat.map(Math.abs), half)];
  // sums and differences round by the size of what is summed
  const slack = reach / 2 + ROUNDING * (model.geom_rbound[geom] + Math.max(...at.map(Math.abs)));
  return {
    geom,
    body,
    at,
    low: at.map((x, k) => x + middle[k] - extent[k] - slack),
    high: at.map((x, k) => x + middle[k] + extent[k] + slack),
  };
}

const turnedBy = (mat: readonly number[], v: Vec3): readonly number[] =>
  mulMatVec(mat as never, v) as readonly number[];

/** Those of the pairs' geoms that nothing moves; none if they are few. */
export function fixedIn(m: ModelView, pairs: GeomPairs): readonly number[] {
  const fixed: boolean[] = Array(m.ngeom).fill(false);
  for (const g of fixedGeoms(m)) fixed[g] = isBoxed(m.model, g);
  if (fixed.filter(Boolean).length < FEWEST_FIXED) return [];
  // two that an explicit pair names are compared as any others
  const both = new Set<number>();
  for (let k = 0; k < pairs.length; k++) {
    const [a, b] = [pairs.geom1[k], pairs.geom2[k]];
    if (fixed[a] && fixed[b]) both.add(a).add(b);
  }
  const found = pairs.geoms().filter((g) => fixed[g] && !both.has(g));
  return found.length < FEWEST_FIXED ? [] : found;
}

/** Geoms of one body that lie near one another, few enough for a group. */
function inGroups(all: readonly Fixed[]): Fixed[][] {
  // along a curve that fills space, body by body
  const key = ({ body, at }: Fixed): number => {
    const [x, y] = at.map((v) => Math.min(Math.max(Math.floor(v / SQUARE) + 2 ** 12, 0), 2 ** 13 - 1));
    let code = 0;
    for (let bit = 12; bit >= 0; bit--) code = 4 * code + 2 * ((y >> bit) & 1) + ((x >> bit) & 1);
    return body * 2 ** 26 + code;
  };
  const sorted = all.toSorted((a, b) => key(a) - key(b) || a.geom - b.geom);
  const groups: Fixed[][] = [];
  for (const one of sorted) {
    const last = groups.at(-1);
    if (last && last.length < GROUP && last[0].body === one.body) last.push(one);
    else groups.push([one]);
  }
  return groups;
}

/** Reads boxes that are numbers beside the places of bodies. */
function reader(name: string, boxes: readonly Fixed[], frames: GeomFrames): (place: Int) => WorldBox {
  const column = (end: "low" | "high", k: number) =>
    table(
      `${name}_${end}${k}`,
      boxes.map((box) => box[end][k]),
    );
  const [low, high] = (["low", "high"] as const).map((end) => [0, 1, 2].map((k) => column(end, k)));
  const bodies = new BodyPlaces(boxes.map(({ body }) => body));
  bodies.set(frames.body);
  return (place) => {
    const at = bodies.get(place);
    const end = (of: typeof low, slack: (x: Scalar) => Scalar) =>
      at.map((x, k) => add(add(x, of[k](place)), slack(x))) as unknown as Vec3;
    const rounded = (x: Scalar) => mul(ROUNDING, abs(x));
    return { low: end(low, (x) => neg(rounded(x))), high: end(high, rounded) };
  };
}

/** Boxes of geoms that `fixedIn` names, wider by half of `reach` on each side. */
export function fixedBoxes(m: ModelView, frames: GeomFrames, geoms: readonly number[], reach: number): FixedBoxes {
  const all = inGroups(fixedFrames(m, geoms).map((frame) => boxBeside(m.model, frame, reach)));
  return {
    geoms: all.flat().map(({ geom }) => geom),
    visit(rows, isNear, body) {
      const here = new Set(rows);
      const groups = all.map((group) => group.filter(({ geom }) => here.has(geom))).filter((group) => group.length > 0);
      if (groups.length === 0) return 0;
      const starts = [0];
      for (const group of groups) starts.push(starts.at(-1)! + group.length);
      const start = table("fixed_start", starts, "i32");
      const around = reader("fixed_group", groups.map(boxAbout), frames);
      const of = reader("fixed_box", groups.flat(), frames);
      loop(
        groups.length,
        (g) =>
          when(isNear(around(g)), () => {
            loop(start(add(g, 1)), (r) => body(r, of(r)), { start: start(g), label: "broad_fixed" });
          }),
        { label: "broad_groups" },
      );
      return starts.at(-1)!;
    },
  };
}

const boxAbout = (group: readonly Fixed[]): Fixed => ({
  ...group[0],
  low: [0, 1, 2].map((k) => Math.min(...group.map(({ low }) => low[k]))),
  high: [0, 1, 2].map((k) => Math.max(...group.map(({ high }) => high[k]))),
});
