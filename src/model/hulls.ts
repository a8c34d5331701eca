// convex hulls of the meshes that geoms can touch with, packed
import { mjtGeom, mjtObj, mjtSensor } from "./enums.ts";
import { copyArray, type MjModel } from "./mujoco.ts";

/**
 * Convex hulls, in the frames of their meshes. Vertices and polygons are numbered through all hulls. A hull of no
 * polygons is that of a mesh for which MuJoCo made none: its vertices are all of the mesh's.
 */
export interface Hulls {
  /** The hull of each mesh, -1: no geom can touch with it. */
  readonly mesh: Int32Array;
  /** First vertex and number of vertices of each hull. */
  readonly vertadr: Int32Array;
  readonly vertnum: Int32Array;
  /** Vertices (m), three numbers each. */
  readonly vert: Float64Array;
  /** Where the neighbours of each vertex begin in `edge`; they end with -1. */
  readonly edgeadr: Int32Array;
  readonly edge: Int32Array;
  /** Of each hull the vertices at which MuJoCo begins a climb, one of each of 27 cells of directions; -1 for hulls whose vertices it all looks at; bundles of earlier versions have none. */
  readonly extrema?: Int32Array;
  /** First polygon and number of polygons of each hull. */
  readonly polyadr: Int32Array;
  readonly polynum: Int32Array;
  /** Outward unit normals of polygons, three numbers each. */
  readonly polynormal: Float64Array;
  /** Where the vertices of each polygon begin in `polyvert`, and how many they are, counter-clockwise from outside. */
  readonly polyvertadr: Int32Array;
  readonly polyvertnum: Int32Array;
  readonly polyvert: Int32Array;
  /** Where the polygons of each vertex begin in `polymap`, and how many they are. */
  readonly polymapadr: Int32Array;
  readonly polymapnum: Int32Array;
  readonly polymap: Int32Array;
}

export const HULL_FLOATS = ["vert", "polynormal"] as const;
export const HULL_INTS = [
  "mesh",
  "vertadr",
  "vertnum",
  "edgeadr",
  "edge",
  "polyadr",
  "polynum",
  "polyvertadr",
  "polyvertnum",
  "polyvert",
  "polymapadr",
  "polymapnum",
  "polymap",
] as const;

type Ints = Int32Array;

/** Cells of directions of a hull, and vertices of a mesh from which MuJoCo climbs over its hull (mjMESH_HILLCLIMB_MIN). */
export const EXTREMA = 27;
const FEWEST_CLIMBED = 10;

/** Meshes of geoms that can touch, or whose distance is measured. */
function touchingMeshes(model: MjModel): Set<number> {
  const read = (name: string) => copyArray(model, name) as Ints;
  const [type, data, body] = [read("geom_type"), read("geom_dataid"), read("geom_bodyid")];
  const [contype, conaffinity] = [read("geom_contype"), read("geom_conaffinity")];
  const named = new Set([...read("pair_geom1"), ...read("pair_geom2")]);
  const bodies = new Set<number>();
  const [sensor, objtype, objid, reftype, refid] = ["type", "objtype", "objid", "reftype", "refid"].map((name) =>
    read(`sensor_${name}`),
  );
  sensor.forEach((kind, s) => {
    if (kind < mjtSensor.GEOMDIST || kind > mjtSensor.GEOMFROMTO) return;
    (objtype[s] === mjtObj.BODY ? bodies : named).add(objid[s]);
    (reftype[s] === mjtObj.BODY ? bodies : named).add(refid[s]);
  });
  const meshes = new Set<number>();
  type.forEach((kind, g) => {
    const touches = (contype[g] | conaffinity[g]) !== 0 || named.has(g) || bodies.has(body[g]);
    if (kind === mjtGeom.MESH && data[g] >= 0 && touches) meshes.add(data[g]);
  });
  return meshes;
}

/** The hulls of a compiled model; undefined if no mesh can touch anything. */
export function readHulls(model: MjModel): Hulls | undefined {
  const meshes = touchingMeshes(model);
  if (meshes.size === 0) return undefined;
  const read = (name: string) => copyArray(model, `mesh_${name}`) as Ints;
  const [graphadr, graph, meshVertadr, meshVertnum] = ["graphadr", "graph", "vertadr", "vertnum"].map(read);
  const extrema = read("extrema");
  const [polynum, polyadr, polyvertadr, polyvertnum, polyvert] = [
    "polynum",
    "polyadr",
    "polyvertadr",
    "polyvertnum",
    "polyvert",
  ].map(read);
  const [vert, normal] = ["mesh_vert", "mesh_polynormal"].map((name) => copyArray(model, name) as Float64Array);

  const out = Object.fromEntries(
    [...HULL_FLOATS, ...HULL_INTS, "extrema"].map((name) => [name, [] as number[]]),
  ) as Record<keyof Hulls, number[]>;
  for (let mesh = 0; mesh < model.nmesh; mesh++) {
    if (!meshes.has(mesh)) {
      out.mesh.push(-1);
      continue;
    }
    out.mesh.push(out.vertadr.length);
    const first = out.edgeadr.length;
    const at = graphadr[mesh];
    const count = at < 0 ? meshVertnum[mesh] : graph[at];
    const ids = Array.from({ length: count }, (_, i) => (at < 0 ? i : graph[at + 2 + count + i]));
    const places = new Map(ids.map((id, i) => [id, first + i]));
    out.vertadr.push(first);
    out.vertnum.push(count);
    const isClimbed = at >= 0 && meshVertnum[mesh] >= FEWEST_CLIMBED;
    const starts = extrema.subarray(EXTREMA * mesh, EXTREMA * (mesh + 1));
    for (const vertex of starts) out.extrema.push(isClimbed ? first + vertex : -1);
    ids.forEach((id, i) => {
      const from = 3 * (meshVertadr[mesh] + id);
      out.vert.push(vert[from], vert[from + 1], vert[from + 2]);
      out.edgeadr.push(out.edge.length);
      if (at >= 0) {
        for (let e = at + 2 + 2 * count + graph[at + 2 + i]; graph[e] >= 0; e++) out.edge.push(first + graph[e]);
      }
      out.edge.push(-1);
    });

    const polygons: number[][] = ids.map(() => []);
    const ofHull = at < 0 ? 0 : polynum[mesh];
    out.polyadr.push(out.polyvertadr.length);
    out.polynum.push(ofHull);
    for (let p = polyadr[mesh]; p < polyadr[mesh] + ofHull; p++) {
      const corners = Array.from(polyvert.subarray(polyvertadr[p], polyvertadr[p] + polyvertnum[p]), (id) =>
        places.get(id)!,
      );
      for (const v of corners) polygons[v - first].push(out.polyvertadr.length);
      out.polynormal.push(normal[3 * p], normal[3 * p + 1], normal[3 * p + 2]);
      out.polyvertadr.push(out.polyvert.length);
      out.polyvertnum.push(corners.length);
      out.polyvert.push(...corners);
    }
    for (const list of polygons) {
      out.polymapadr.push(out.polymap.length);
      out.polymapnum.push(list.length);
      out.polymap.push(...list);
    }
  }
  const typed = Object.entries(out).map(([name, values]) => [
    name,
    (HULL_FLOATS as readonly string[]).includes(name) ? Float64Array.from(values) : Int32Array.from(values),
  ]);
  return Object.fromEntries(typed);
}
