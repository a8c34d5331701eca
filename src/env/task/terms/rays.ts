// what rays from a body or site meet: height scans, lidar
import { array, table, when, type LocalArray } from "../../../trace/control.ts";
import { and, eq, ge, idiv, lt, mul, select, sub, type Int, type Scalar } from "../../../trace/scalar.ts";
import { add3, addScaled3, mulMatVec, select3, type Mat3, type Vec3 } from "../../../trace/vector.ts";
import { CorralError } from "../../../core/errors.ts";
import { enumName, mjtGeom } from "../../../model/enums.ts";
import { idOf } from "../../../model/model.ts";
import { GEOM_GROUPS, unmetKinds } from "../../../model/rays.ts";
import { RayCaster } from "../../../physics/ray/cast.ts";
import type { Scene } from "../task.ts";
import { headingOf, WORLD_AXES } from "./axes.ts";
import { body, isNumber, needs, needsOptions, type Body } from "./source.ts";

/** One ray of a pattern, in the frame that carries it: origin (m), direction (any length but 0). */
export interface PatternRay {
  readonly origin: readonly [number, number, number];
  readonly direction: readonly [number, number, number];
}

export interface RaysOptions {
  /** The rays: those of `rayGrid` or `rayFan`, or a list of your own. */
  readonly pattern: readonly PatternRay[];
  /** How far they look (m). A ray that meets nothing nearer ends there. */
  readonly most: number;
  /**
   * Axes that the pattern turns with: all of the body's, its heading alone (z stays vertical), or none. Default: "body".
   */
  readonly axes?: "body" | "heading" | "world";
  /**
   * What is observed of each ray: its length (m, 1 number); how high it ends above the frame that carries it (m, 1 number);
   * where it ends (m, global, 3 numbers); the normal of what it meets there (unit, global, 3 numbers, zero if there is
   * nothing). Default: "distance".
   */
  readonly gives?: "distance" | "height" | "point" | "normal";
  /** Groups of geoms that rays see (0 to 5). Default: all. */
  readonly groups?: readonly number[];
  /** Whether they see geoms of bodies that are welded to the world. Default true. */
  readonly statics?: boolean;
  /** A body whose geoms they do not see; null for none. Default: the one that carries them. */
  readonly exclude?: Body | null;
}

const OPTIONS: readonly (keyof RaysOptions)[] = ["pattern", "most", "axes", "gives", "groups", "statics", "exclude"];
const WIDTHS = { distance: 1, height: 1, point: 3, normal: 3 } as const;
/** Rays whose results share an array: drivers compile long for a long one. */
const CHUNK = 128;

const isVector = (x: unknown): x is readonly number[] => Array.isArray(x) && x.length === 3 && x.every(isNumber);
const length = (v: readonly number[]): number => Math.hypot(...v);

function checkOptions(options: RaysOptions): void {
  const { pattern, most, axes = "body", gives = "distance", groups } = options;
  needsOptions("rays", options, OPTIONS);
  const isRay = (r: PatternRay) => isVector(r?.origin) && isVector(r?.direction) && length(r.direction) > 0;
  needs(
    Array.isArray(pattern) && pattern.length > 0 && pattern.every(isRay),
    "pattern of rays",
    pattern,
    "a list of { origin: [x, y, z], direction: [x, y, z] } with directions that are not zero",
  );
  needs(isNumber(most) && most > 0, "most of rays", most, "a number of metres above 0");
  needs(["body", "heading", "world"].includes(axes), "axes of rays", axes, `"body", "heading" or "world"`);
  needs(Object.hasOwn(WIDTHS, gives), "gives of rays", gives, `"distance", "height", "point" or "normal"`);
  const isGroup = (g: number) => Number.isInteger(g) && g >= 0 && g < GEOM_GROUPS;
  needs(
    groups === undefined || (Array.isArray(groups) && groups.every(isGroup)),
    "groups of rays",
    groups,
    `a list of whole numbers from 0 to ${GEOM_GROUPS - 1}`,
  );
}

/** The frame that carries rays, and its body. */
function carrier(s: Scene, from: Body | { readonly site: string }): { body: number; pos: Vec3; mat: Mat3 } {
  if (typeof from !== "object") {
    const id = body(s, from);
    return { body: id, pos: s.d.xpos.vec3(id), mat: s.d.xmat.mat3(id) };
  }
  const site = idOf(s.model, "site", from.site);
  return { body: s.model.site_bodyid[site], pos: s.d.site_xpos.vec3(site), mat: s.d.site_xmat.mat3(site) };
}

/** Numbers of many rays in arrays of a bounded length. */
class Results {
  readonly #chunks: LocalArray[];

  constructor(name: string, count: number) {
    this.#chunks = Array.from({ length: Math.ceil(count / CHUNK) }, (_, k) =>
      array(`${name}${k}`, Math.min(CHUNK, count - k * CHUNK)),
    );
  }

  set(i: Int, x: Scalar): void {
    const [only] = this.#chunks;
    if (this.#chunks.length === 1) {
      only.set(i, x);
      return;
    }
    const chunk = idiv(i, CHUNK);
    const place = sub(i, mul(chunk, CHUNK));
    this.#chunks.forEach((values, k) => when(eq(chunk, k), () => values.set(place, x)));
  }

  get(i: number): Scalar {
    return this.#chunks[Math.floor(i / CHUNK)].get(i % CHUNK);
  }
}

/**
 * What rays from a body or a site meet, as mj_ray finds it: a height scan, a lidar. As many numbers as `pattern` has
 * rays, or three times as many. They see what MuJoCo's rays see: every geom that is not transparent; geoms that a model
 * leaves out when it is loaded, since they only show, are not there.
 */
export const rays =
  (from: Body | { readonly site: string }, options: RaysOptions) =>
  (s: Scene): readonly Scalar[] => {
    checkOptions(options);
    const { pattern, most, axes = "body", gives = "distance", groups, statics, exclude } = options;
    const filter = {
      ...(groups ? { groups: Array.from({ length: GEOM_GROUPS }, (_, g) => groups.includes(g)) } : {}),
      ...(statics === undefined ? {} : { statics }),
    };
    checkSeen(s, filter);
    const own = carrier(s, from);
    const frame = { body: own.mat, heading: headingOf(own.mat), world: WORLD_AXES }[axes];
    const excluded = exclude === null ? -1 : exclude === undefined ? own.body : body(s, exclude);
    const column = (name: string, of: (r: PatternRay, k: number) => number) =>
      [0, 1, 2].map((k) =>
        table(
          `ray_${name}${k}`,
          pattern.map((r) => of(r, k)),
        ),
      );
    const offset = column("offset", (r, k) => r.origin[k]);
    // of unit length: then lengths of rays are metres
    const toward = column("toward", (r, k) => r.direction[k] / length(r.direction));
    const at = (columns: typeof offset, i: Int) => columns.map((c) => c(i)) as unknown as Vec3;

    const width = WIDTHS[gives];
    const results = Array.from({ length: width }, (_, k) => new Results(`rays${k}`, pattern.length));
    new RayCaster(s.m, s.d, filter).castAll(
      pattern.length,
      (i) => ({
        origin: add3(own.pos, mulMatVec(frame, at(offset, i))),
        direction: mulMatVec(frame, at(toward, i)),
        exclude: excluded,
      }),
      (i, { dist, normal }, { origin, direction }) => {
        const meets = and(ge(dist, 0), lt(dist, most));
        const reach = select(meets, dist, most);
        const end = addScaled3(origin, reach, direction);
        const values = {
          distance: () => [reach],
          height: () => [sub(end[2], own.pos[2])],
          point: () => end,
          normal: () => select3(meets, normal, [0, 0, 0]),
        }[gives]();
        values.forEach((x, k) => results[k].set(i, x));
      },
    );
    return pattern.flatMap((_, i) => results.map((values) => values.get(i)));
  };

function checkSeen({ model }: Scene, filter: Parameters<typeof unmetKinds>[1]): void {
  const [kind] = unmetKinds(model, filter);
  if (kind === undefined) return;
  const name = enumName(mjtGeom, kind).toLowerCase();
  throw new CorralError(
    "unsupported-feature",
    `rays would see a geom of type ${name}, which they cannot meet. Put such geoms into a group of their own and leave it out of groups.`,
    { feature: `rays that see a ${name}` },
  );
}

/** `count` numbers from `low` to `high`, both among them; of one number the middle. */
function steps(low: number, high: number, count: number): number[] {
  if (count === 1) return [(low + high) / 2];
  return Array.from({ length: count }, (_, i) => low + ((high - low) * i) / (count - 1));
}

export interface RayGridOptions {
  /** Extents along x and y (m), about the frame that carries the rays. */
  readonly size: readonly [number, number];
  /** Rays along x and y. */
  readonly counts: readonly [number, number];
  /** Origin of the grid's middle (m). Default: [0, 0, 0]. */
  readonly offset?: readonly [number, number, number];
  /** Where all rays go. Default: [0, 0, -1]. */
  readonly direction?: readonly [number, number, number];
}

/** Of one pattern: as many as an image of rangefinders has. Each is numbers of the observation, and text of the kernel. */
const MOST_RAYS = 16_384;

const isCounts = (x: unknown): boolean =>
  Array.isArray(x) && x.length === 2 && x.every((n) => Number.isInteger(n) && n > 0) && x[0] * x[1] <= MOST_RAYS;

/** Parallel rays from a rectangle, row by row along x: a height scan. */
export function rayGrid(options: RayGridOptions): PatternRay[] {
  const { size, counts, offset = [0, 0, 0], direction = [0, 0, -1] } = options;
  needsOptions("rayGrid", options, ["size", "counts", "offset", "direction"]);
  const isSize = Array.isArray(size) && size.length === 2 && size.every((x) => isNumber(x) && x >= 0);
  needs(isSize, "size of rayGrid", size, "two numbers of at least 0 (m)");
  needs(isCounts(counts), "counts of rayGrid", counts, `two whole numbers above 0, ${MOST_RAYS} rays at most`);
  needs(isVector(offset), "offset of rayGrid", offset, "three numbers (m)");
  needs(isVector(direction) && length(direction) > 0, "direction of rayGrid", direction, "a vector that is not zero");
  const along = (k: 0 | 1) => steps(-size[k] / 2, size[k] / 2, counts[k]);
  return along(1).flatMap((y) =>
    along(0).map((x) => ({ origin: [offset[0] + x, offset[1] + y, offset[2]] as const, direction })),
  );
}

export interface RayFanOptions {
  /** First and last angle about z, from the x axis (rad), and how many. A whole turn has its first angle once. */
  readonly azimuth: readonly [number, number, number];
  /** First and last angle above the xy plane (rad), and how many. Default: [0, 0, 1]. */
  readonly elevation?: readonly [number, number, number];
  /** Where the rays start (m). Default: [0, 0, 0]. */
  readonly offset?: readonly [number, number, number];
}

/** Rays from one point in all directions of a range, ring by ring: a lidar. */
export function rayFan(options: RayFanOptions): PatternRay[] {
  const { azimuth, elevation = [0, 0, 1], offset = [0, 0, 0] } = options;
  needsOptions("rayFan", options, ["azimuth", "elevation", "offset"]);
  const isFan = (x: unknown) => isVector(x) && Number.isInteger(x[2]) && x[2] > 0;
  const form = "[first, last, count] with angles in rad";
  needs(isFan(azimuth), "azimuth of rayFan", azimuth, form);
  needs(isFan(elevation), "elevation of rayFan", elevation, form);
  needs(isVector(offset), "offset of rayFan", offset, "three numbers (m)");
  const rays = azimuth[2] * elevation[2];
  needs(rays <= MOST_RAYS, "count of rayFan", rays, `at most ${MOST_RAYS} rays`);
  const [first, last, count] = azimuth;
  const isTurn = Math.abs(Math.abs(last - first) - 2 * Math.PI) < 1e-6;
  const around = isTurn ? steps(first, last, count + 1).slice(0, count) : steps(first, last, count);
  return steps(...elevation).flatMap((up) =>
    around.map((a) => ({
      origin: offset,
      direction: [Math.cos(up) * Math.cos(a), Math.cos(up) * Math.sin(a), Math.sin(up)] as const,
    })),
  );
}
