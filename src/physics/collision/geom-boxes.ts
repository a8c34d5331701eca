// boxes about geoms (geom_aabb), in the geoms' frames and along the world's axes
import { mjtGeom } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import type { GeomPairs, PairNumbers } from "../../model/pairs.ts";
import { table } from "../../trace/control.ts";
import { abs, add, mul, sqrt, square, sum, type Int, type Scalar } from "../../trace/scalar.ts";
import type { Vec3 } from "../../trace/vector.ts";
import type { ModelView } from "../view.ts";

/** A distance along an axis must be larger by this share of the bounding radii, which rounding cannot reach. */
export const ROUNDING = 1e-6;
/** Half size of what has no box: nothing is apart from it. */
const UNBOUNDED = 1e9;

const { PLANE, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH } = mjtGeom;
const ROUND: ReadonlySet<number> = new Set([SPHERE, CAPSULE, ELLIPSOID, CYLINDER]);
const BOXED: ReadonlySet<number> = new Set([SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH]);

/** Along the world's axes: where a geom is, and half of the reach of its pairs around that. */
export interface WorldBox {
  readonly low: Vec3;
  readonly high: Vec3;
}

/** Whether a geom has a box. */
export const isBoxed = ({ geom_type }: Model, g: number): boolean => BOXED.has(geom_type[g]);

/** Whether it is round, so that an ellipsoid may surround the box within it. */
export const isRounded = ({ geom_type }: Model, g: number): boolean => ROUND.has(geom_type[g]);

/** Centre and half size of the box of a geom. */
export function boxOf(model: Model, g: number): Record<"centre" | "half", Vec3> {
  if (!isBoxed(model, g)) return { centre: [0, 0, 0], half: [UNBOUNDED, UNBOUNDED, UNBOUNDED] };
  const [x, y, z, a, b, c] = model.geom_aabb.subarray(6 * g, 6 * g + 6);
  return { centre: [x, y, z], half: [a, b, c] };
}

/**
 * The box within a round geom, of which a point, an axis or nothing is left, and the half axes of the ellipsoid that surrounds it
 * on all sides: together the geom itself. Of others the box, and no ellipsoid.
 */
function roundedBoxOf(model: Model, g: number): Record<"centre" | "half" | "round", Vec3> {
  const [x, y, z] = model.geom_size.subarray(3 * g, 3 * g + 3);
  const centre: Vec3 = [0, 0, 0];
  switch (model.geom_type[g]) {
    case SPHERE:
      return { centre, half: [0, 0, 0], round: [x, x, x] };
    case CAPSULE:
      return { centre, half: [0, 0, y], round: [x, x, x] };
    case CYLINDER:
      return { centre, half: [0, 0, y], round: [x, x, 0] };
    case ELLIPSOID:
      return { centre, half: [0, 0, 0], round: [x, y, z] };
    default:
      return { ...boxOf(model, g), round: [0, 0, 0] };
  }
}

/** How far a box and what is round about it reach along a direction, of which `along` gives the part along each axis. */
export function reachAlong(half: Vec3, round: Vec3 | undefined, along: (axis: number) => Scalar): Scalar {
  const parts: Scalar[] = [];
  const flat = sum(half.map((h, k) => mul(h, abs((parts[k] = along(k))))));
  return round ? add(flat, sqrt(sum(round.map((r, k) => square(mul(r, parts[k])))))) : flat;
}

/** Boxes at indices known only at run time; where there is room, and some geom is round, of what is round the box within. */
export function boxesOf(m: ModelView): Record<"centre" | "half", (geom: Int) => Vec3> & {
  readonly round: ((geom: Int) => Vec3) | undefined;
} {
  const isRound = m.form.hasRoom && m.model.geom_type.some((type) => ROUND.has(type));
  const all = Array.from({ length: m.ngeom }, (_, g) => (isRound ? roundedBoxOf : boxOf)(m.model, g));
  const of = (values: readonly number[], offset: number) => {
    // one component a table: centres of primitives are 0
    const components = [0, 1, 2].map((k) =>
      table(
        `box_${offset}_${k}`,
        values.filter((_, i) => i % 3 === k),
      ),
    );
    return (g: Int) => components.map((read) => read(g)) as unknown as Vec3;
  };
  const values = (what: "centre" | "half") => all.flatMap((box) => box[what] as readonly number[]);
  const round = (all as ReturnType<typeof roundedBoxOf>[]).flatMap((box) => box.round as readonly number[]);
  return { centre: of(values("centre"), 0), half: of(values("half"), 3), round: isRound ? of(round, 6) : undefined };
}

/** Whether boxes along the world's axes stand for bounding spheres, as `worldBoxes` says. */
export function hasWorldBoxes(m: ModelView, all: GeomPairs): boolean {
  const pairs = all.kinds.filter(isSolid);
  const isWide = (p: PairNumbers) => p.type1 === BOX && p.type2 === BOX && p.margin + p.gap > 0;
  return !m.geom_size.isOwn && pairs.length > 0 && !pairs.some(isWide);
}

/** Whether a pair is of no plane. */
export const isSolid = ({ type1 }: PairNumbers): boolean => type1 !== PLANE;
