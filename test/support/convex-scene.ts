// pairs of convex geoms at poses of the test's choice: their contacts by MuJoCo, and by the collider of convex shapes
import { mjtDisableBit, mjtGeom } from "../../src/model/enums.ts";
import { getMuJoCo, type MainModule, type MjData, type MjModel } from "../../src/model/mujoco.ts";
import { climbStarts } from "../../src/physics/collision/convex/starts.ts";
import { CLIMB_ABOVE, type ConvexShape, type HullTables } from "../../src/physics/collision/convex/types.ts";
import { table } from "../../src/trace/control.ts";
import { toI32, type Scalar } from "../../src/trace/scalar.ts";
import { unit } from "./collider-poses.ts";
import type { Random } from "./mjcf-random.ts";

export type Kind = "sphere" | "capsule" | "ellipsoid" | "cylinder" | "box" | "mesh";

/** geom_size, or the corners of a mesh. */
export interface Body {
  readonly kind: Kind;
  readonly size: readonly number[];
  readonly points?: readonly number[];
}

export interface Contact {
  readonly dist: number;
  readonly pos: readonly number[];
  readonly normal: readonly number[];
}

/** Position (3) and rotation (9) of each geom, all numbers of float32. */
export type Frames = readonly number[];

const TYPES: Record<Kind, number> = {
  sphere: mjtGeom.SPHERE,
  capsule: mjtGeom.CAPSULE,
  ellipsoid: mjtGeom.ELLIPSOID,
  cylinder: mjtGeom.CYLINDER,
  box: mjtGeom.BOX,
  mesh: mjtGeom.MESH,
};
const SIZES: Record<Kind, number> = { sphere: 1, capsule: 2, ellipsoid: 3, cylinder: 2, box: 3, mesh: 0 };

/** A body of sizes up to `scale`, one to four; a mesh of `vertices` is a prism, or points on an ellipsoid. */
export function randomBody(r: Random, kind: Kind, scale: number, vertices = 8): Body {
  const size = [0, 1, 2].map(() => Math.fround(scale * r.between(0.25, 1)));
  if (kind !== "mesh") return { kind, size };
  const isPrism = vertices === 8 || (vertices <= 64 && r.chance(0.5));
  const points: number[] = [];
  if (isPrism) {
    const sides = vertices / 2;
    const turns = Array.from({ length: sides }, (_, i) => i + (vertices === 8 ? 0 : r.between(-0.2, 0.2)));
    for (const z of [-1, 1])
      for (const t of turns) {
        const angle = (2 * Math.PI * t) / sides;
        points.push(size[0] * Math.cos(angle), size[1] * Math.sin(angle), z * size[2]);
      }
  } else {
    for (let i = 0; i < vertices; i++) points.push(...unit(r, 3).map((x, k) => x * size[k]));
  }
  return { kind, size: [0, 0, 0], points };
}

/** MuJoCo's model of two geoms that collide with each other alone. */
export class ConvexScene implements Disposable {
  readonly bodies: readonly [Body, Body];
  readonly mujoco: MainModule;
  readonly model: MjModel;
  readonly data: MjData;

  /** `first`: what takes the place of the first body. */
  constructor(mujoco: MainModule, bodies: readonly [Body, Body], first?: { asset: string; geom: string }) {
    this.bodies = bodies;
    this.mujoco = mujoco;
    const meshes = bodies.map(({ points }, i) =>
      points ? `<mesh name="m${i}" inertia="convex" vertex="${points.join(" ")}"/>` : "",
    );
    const geoms = bodies.map(({ kind, size }, i) => {
      if (first && i === 0) return first.geom;
      const form = kind === "mesh" ? `mesh="m${i}"` : `size="${size.slice(0, SIZES[kind]).join(" ")}"`;
      return `<body mocap="true" pos="0 0 ${i}"><geom name="g${i}" type="${kind}" ${form} contype="0" conaffinity="0"/></body>`;
    });
    this.model = mujoco.MjModel.from_xml_string(
      `<mujoco><size memory="1M"/><option ccd_tolerance="1e-12" ccd_iterations="200"/><asset>${first?.asset ?? ""}${meshes.join("")}</asset><worldbody>` +
        `${geoms.join("")}</worldbody><contact><pair geom1="g0" geom2="g1"/></contact></mujoco>`,
    )!;
    this.data = new mujoco.MjData(this.model);
    mujoco.mj_kinematics(this.model, this.data);
    mujoco.mj_comPos(this.model, this.data);
  }

  static async create(bodies: readonly [Body, Body]): Promise<ConvexScene> {
    return new ConvexScene(await getMuJoCo(), bodies);
  }

  get radius(): [number, number] {
    return Array.from(this.model.geom_rbound as Float64Array) as [number, number];
  }

  get size(): number {
    return this.radius[0] + this.radius[1];
  }

  /** MuJoCo's contacts. */
  contacts(frames: Frames, margin = 0, multiccd = true): Contact[] {
    const { mujoco, model, data } = this;
    model.pair_margin.set([margin]);
    (model.opt as { disableflags: number }).disableflags = multiccd ? 0 : mjtDisableBit.MULTICCD;
    data.geom_xpos.set([...frames.slice(0, 3), ...frames.slice(12, 15)]);
    data.geom_xmat.set([...frames.slice(3, 12), ...frames.slice(15, 24)]);
    mujoco.mj_collision(model, data);
    const list = data.contact;
    const out: Contact[] = [];
    for (let i = 0; i < list.size(); i++) {
      const c = list.get(i)!;
      out.push({ dist: c.dist, pos: Array.from<number>(c.pos), normal: Array.from<number>(c.frame).slice(0, 3) });
      c.delete();
    }
    list.delete();
    return out;
  }

  [Symbol.dispose](): void {
    this.data.delete();
    this.model.delete();
  }
}

const rotated = (m: readonly number[], v: readonly number[]): number[] =>
  [0, 1, 2].map((i) => m[3 * i] * v[0] + m[3 * i + 1] * v[1] + m[3 * i + 2] * v[2]);
const dot = (a: readonly number[], b: readonly number[]): number => a.reduce((s, x, k) => s + x * b[k], 0);
const crossed = (a: readonly number[], b: readonly number[]): number[] => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];
const scaled = (v: readonly number[], s: number): number[] => v.map((x) => x * s);

/** How far a geom reaches along a direction from its centre, m, in float64. */
export function reachOf(scene: ConvexScene, geom: 0 | 1, frames: Frames, n: readonly number[]): number {
  const mat = frames.slice(12 * geom + 3, 12 * geom + 12);
  const l = [0, 1, 2].map((k) => mat[k] * n[0] + mat[3 + k] * n[1] + mat[6 + k] * n[2]);
  const [x, y, z] = Array.from(scene.model.geom_size as Float64Array).slice(3 * geom, 3 * geom + 3);
  switch (scene.bodies[geom].kind) {
    case "sphere":
      return x;
    case "capsule":
      return x + y * Math.abs(l[2]);
    case "ellipsoid":
      return Math.hypot(x * l[0], y * l[1], z * l[2]);
    case "cylinder":
      return x * Math.hypot(l[0], l[1]) + y * Math.abs(l[2]);
    case "box":
      return x * Math.abs(l[0]) + y * Math.abs(l[1]) + z * Math.abs(l[2]);
    case "mesh":
      return vertices(scene, geom).reduce((most, v) => Math.max(most, dot(v, l)), -Infinity);
  }
}

/** Overlap along a unit direction from the first geom to the second, m: the least over all directions is the depth. */
export function overlap(scene: ConvexScene, frames: Frames, n: readonly number[]): number {
  const offset = [0, 1, 2].map((k) => frames[12 + k] - frames[k]);
  return reachOf(scene, 0, frames, n) + reachOf(scene, 1, frames, scaled(n, -1)) - dot(offset, n);
}

const meshOf = (scene: ConvexScene, geom: number): number => scene.model.geom_dataid[geom];

function vertices(scene: ConvexScene, geom: number): number[][] {
  const { model } = scene;
  const mesh = meshOf(scene, geom);
  const [from, count] = [model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]];
  return Array.from({ length: count }, (_, i) =>
    Array.from<number>(model.mesh_vert.slice(3 * (from + i), 3 * (from + i) + 3)),
  );
}

/** Normals of the flat faces of a geom, or of places of its surface. */
function someNormal(r: Random, scene: ConvexScene, geom: 0 | 1): number[] {
  const { kind } = scene.bodies[geom];
  const angle = r.between(0, 2 * Math.PI);
  const radial = [Math.cos(angle), Math.sin(angle), 0];
  const axis = r.whole(0, 2);
  if (kind === "box") return [0, 1, 2].map((k) => (k === axis ? r.pick([-1, 1]) : 0));
  if (kind === "cylinder") return r.chance(0.6) ? [0, 0, r.pick([-1, 1])] : radial;
  if (kind === "capsule") return radial;
  if (kind !== "mesh") return unit(r, 3);
  const { model } = scene;
  const mesh = meshOf(scene, geom);
  const i = model.mesh_polyadr[mesh] + r.whole(0, model.mesh_polynum[mesh] - 1);
  return Array.from(model.mesh_polynormal.slice(3 * i, 3 * i + 3)) as number[];
}

export const quatToMat = ([w, x, y, z]: readonly number[]): number[] => [
  w * w + x * x - y * y - z * z,
  2 * (x * y - w * z),
  2 * (x * z + w * y),
  2 * (x * y + w * z),
  w * w - x * x + y * y - z * z,
  2 * (y * z - w * x),
  2 * (x * z - w * y),
  2 * (y * z + w * x),
  w * w - x * x - y * y + z * z,
];

/** The rotation that takes one direction to another. */
function turning(from: readonly number[], to: readonly number[]): number[] {
  const c = crossed(from, to);
  const sine = Math.hypot(...c);
  if (sine < 1e-12) return [1, 0, 0, 0, 1, 0, 0, 0, 1];
  const half = Math.atan2(sine, dot(from, to)) / 2;
  return quatToMat([Math.cos(half), ...scaled(c, Math.sin(half) / sine)]);
}

const product = (a: readonly number[], b: readonly number[]): number[] =>
  [0, 1, 2].flatMap((i) => [0, 1, 2].map((j) => a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j]));

export type Depth = "apart" | "shallow" | "middle" | "deep";
export type Meeting = "any" | "face" | "level";

/** A pose where the geoms overlap along some direction by about what `depth` says, of the smaller one's radius. */
export function randomFrames(r: Random, scene: ConvexScene, depth: Depth, meeting: Meeting): Frames {
  const small = Math.min(...scene.radius);
  const mats = [0, 1].map(() => quatToMat(unit(r, 4)));
  const first = r.chance(0.5) || meeting === "level";
  let n =
    meeting === "any"
      ? unit(r, 3)
      : first
        ? rotated(mats[0], someNormal(r, scene, 0))
        : scaled(rotated(mats[1], someNormal(r, scene, 1)), -1);
  if (meeting === "level") {
    const theirs = rotated(mats[1], someNormal(r, scene, 1));
    const tilt = r.chance(0.3) ? 0 : 10 ** r.between(-7, -1.5);
    const about = crossed(n, unit(r, 3));
    const [ax, length] = [about, Math.hypot(...about)];
    const to = n.map((x, k) => -x * Math.cos(tilt) + (crossed(ax, scaled(n, -1))[k] / length) * Math.sin(tilt));
    mats[1] = product(turning(theirs, to), mats[1]);
  }
  const target = {
    apart: -(10 ** r.between(-4, -2)),
    shallow: 10 ** r.between(-6, -3),
    middle: 10 ** r.between(-3, -1.5),
    deep: r.between(0.03, 0.3),
  }[depth];
  const rounded = mats.map((m) => m.map(Math.fround));
  const at = [0, 1, 2].map(() => small * r.between(-3, 3));
  const zero = [0, 0, 0, ...rounded[0], 0, 0, 0, ...rounded[1]];
  const side = unit(r, 3);
  const lateral = scaled(
    side.map((x, k) => x - n[k] * dot(side, n)),
    small * r.between(0, 0.5),
  );
  const along = overlap(scene, zero, n) - target * small;
  n = n.map((x) => x * along);
  const to = at.map((x, k) => x + lateral[k] + n[k]);
  return [...at.map(Math.fround), ...rounded[0], ...to.map(Math.fround), ...rounded[1]];
}

/** Hulls of many scenes in one set of tables, and where each begins. */
export interface PackedHulls {
  tables(): HullTables;
  /** First vertex, vertices, first polygon, polygons and first start of a geom; zeros for others. */
  of(scene: ConvexScene, geom: number): number[];
}

export function packHulls(scenes: readonly ConvexScene[]): PackedHulls {
  const points: number[] = [];
  const firstNeighbour: number[] = [];
  const neighbour: number[] = [];
  const normals: number[] = [];
  const firstCorner: number[] = [];
  const cornerCount: number[] = [];
  const corners: number[] = [];
  const firstPolygonOf: number[] = [];
  const polygonCountOf: number[] = [];
  const polygons: number[] = [];
  const starts: number[] = [];
  const places = new Map<ConvexScene, number[][]>();
  let [mostVertices, mostCorners] = [0, 0];
  const numbers = (of: ArrayLike<number>) => Array.from(of);
  for (const scene of scenes) {
    const { model } = scene;
    places.set(
      scene,
      [0, 1].map((geom) => {
        if (scene.bodies[geom].kind !== "mesh") return [0, 0, 0, 0, 0];
        const mesh = meshOf(scene, geom);
        const [first, firstPolygon] = [points.length / 3, firstCorner.length];
        const list = vertices(scene, geom);
        points.push(...list.flat());
        mostVertices = Math.max(mostVertices, list.length);
        const graph = numbers(model.mesh_graph.slice(model.mesh_graphadr[mesh]));
        const count = graph[0];
        const ids = graph.slice(2 + count, 2 + 2 * count);
        const base = neighbour.length;
        const local = graph.slice(2 + 2 * count, 2 + 2 * count + count + 3 * graph[1]);
        neighbour.push(...local.map((i) => (i < 0 ? -1 : first + ids[i])));
        const byVertex = Array(list.length).fill(base);
        ids.forEach((id, i) => (byVertex[id] = base + graph[2 + i]));
        firstNeighbour.push(...byVertex);
        for (let i = 0; i < model.mesh_polynum[mesh]; i++) {
          const p = model.mesh_polyadr[mesh] + i;
          normals.push(...model.mesh_polynormal.slice(3 * p, 3 * p + 3));
          firstCorner.push(corners.length);
          cornerCount.push(model.mesh_polyvertnum[p]);
          mostCorners = Math.max(mostCorners, model.mesh_polyvertnum[p]);
          const from = model.mesh_polyvertadr[p];
          corners.push(
            ...Array.from(
              model.mesh_polyvert.slice(from, from + model.mesh_polyvertnum[p]),
              (v) => first + (v as number),
            ),
          );
        }
        list.forEach((_, v) => {
          const place = model.mesh_vertadr[mesh] + v;
          const [from, count] = [model.mesh_polymapadr[place], model.mesh_polymapnum[place]];
          firstPolygonOf.push(polygons.length);
          polygonCountOf.push(count);
          polygons.push(...numbers(model.mesh_polymap.slice(from, from + count)).map((i) => firstPolygon + i));
        });
        const firstStart = starts.length;
        if (list.length > CLIMB_ABOVE) starts.push(...climbStarts(list.flat()).map((v) => first + v));
        return [first, list.length, firstPolygon, model.mesh_polynum[mesh], firstStart];
      }),
    );
  }
  return {
    of: (scene, geom) => places.get(scene)![geom],
    tables() {
      const three = (name: string, values: number[]) => {
        const columns = [0, 1, 2].map((k) =>
          table(
            `${name}${k}`,
            values.filter((_, i) => i % 3 === k),
          ),
        );
        return (i: Scalar) => columns.map((c) => c(i)) as never;
      };
      const whole = (name: string, values: number[]) => table(name, values, "i32");
      return {
        mostVertices,
        mostCorners,
        vertex: three("vertex", points),
        firstNeighbour: whole("first_neighbour", firstNeighbour),
        neighbour: whole("neighbour", neighbour),
        ...(starts.length > 0 && { start: whole("start", starts) }),
        polygonNormal: three("polygon_normal", normals),
        firstCorner: whole("first_corner", firstCorner),
        cornerCount: whole("corner_count", cornerCount),
        corner: whole("corner", corners),
        firstPolygonOf: whole("first_polygon_of", firstPolygonOf),
        polygonCountOf: whole("polygon_count_of", polygonCountOf),
        polygon: whole("polygon", polygons),
      };
    },
  };
}

/** Numbers of one geom in a row of inputs: frame, size, radius, type, and where its hull is. */
export const SHAPE_INPUTS = 22;

export const shapeRow = (scene: ConvexScene, geom: 0 | 1, frames: Frames, hulls: PackedHulls): number[] => [
  ...frames.slice(12 * geom, 12 * geom + 12),
  ...Array.from(scene.model.geom_size as Float64Array).slice(3 * geom, 3 * geom + 3),
  scene.radius[geom],
  TYPES[scene.bodies[geom].kind],
  ...hulls.of(scene, geom),
];

/** The shape that a row of inputs describes; its type is known at run time alone. */
export function shapeOf(x: readonly Scalar[], tables: HullTables | undefined, kinds: readonly Kind[]): ConvexShape {
  const [firstVertex, vertexCount, firstPolygon, polygonCount, firstStart] = x.slice(17, 22).map(toI32);
  return {
    pos: x.slice(0, 3) as never,
    mat: x.slice(3, 12) as never,
    size: x.slice(12, 15) as never,
    radius: x[15],
    type: kinds.length === 1 ? TYPES[kinds[0]] : toI32(x[16]),
    kinds: kinds.map((k) => TYPES[k]),
    hull: tables && { tables, firstVertex, vertexCount, firstPolygon, polygonCount, firstStart },
  };
}
