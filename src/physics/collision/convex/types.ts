// what the collider of convex shapes takes and gives
import type { Int, Scalar } from "../../../trace/scalar.ts";
import type { Vec3 } from "../../../trace/vector.ts";
import type { Candidate, Shape } from "../colliders/types.ts";

/**
 * Convex hulls that shapes read, in tables of the caller's making (shared by all worlds, or a few points computed where
 * they are read). Every index is one of the whole table, not of one hull.
 */
export interface HullTables {
  /** Corner `i` of a hull in its geom's frame, m. Points inside of the hull are left out. */
  vertex(i: Int): Vec3;
  /** Most vertices that a hull of these has; up to `CLIMB_ABOVE` no code that climbs is emitted. */
  readonly mostVertices: number;
  /** Most corners that a polygon of these has, 0 if there are no polygons: then a hull gives one contact. */
  readonly mostCorners: number;
  /** Where the neighbours of vertex `i` begin; read if some hull has more than `CLIMB_ABOVE` vertices. */
  firstNeighbour?(i: Int): Int;
  /** Neighbours one after another, each a vertex; -1 follows the last of a vertex. */
  neighbour?(at: Int): Int;
  /** A vertex to begin a climb at, by cell of the direction (`startCell`), from the hull's `firstStart` on. */
  start?(at: Int): Int;
  /** Vertices by cell of directions, where there is room for them. */
  readonly cells?: SupportCells;
  /** Outward unit normal of polygon `i` in the geom's frame (mesh_polynormal). */
  polygonNormal?(i: Int): Vec3;
  /** Where the corners of polygon `i` begin, and how many there are. */
  firstCorner?(i: Int): Int;
  cornerCount?(i: Int): Int;
  /** Corners one after another in the order of mesh_polyvert, each a vertex. */
  corner?(at: Int): Int;
  /** Of planes: where the numbers of polygon `i` begin in `wide`, if some polygon has more than four corners. */
  firstWide?(i: Int): Int;
  /** For each corner of such a polygon three others, each a vertex (`wideCorners`). */
  wide?(at: Int): Int;
  /** Likewise of faces that lie whole on another's: where they begin in `kept`, -1: nowhere (`keptCorners`). Absent in float64. */
  firstKept?(i: Int): Int;
  kept?(at: Int): Int;
  /** Where the polygons about a vertex begin in `polygon`, and how many they are. */
  firstPolygonOf?(vertex: Int): Int;
  polygonCountOf?(vertex: Int): Int;
  polygon?(at: Int): Int;
}

/** Of each cell of directions (`cellOf`) the vertices among which the farthest is, one after another. */
export interface SupportCells {
  /** A list of vertices of all that there are (`CellLists`). */
  list(cell: Int): Int;
  /** Whether some cell has none of its own. */
  readonly hasLong: boolean;
  /** A vertex at a place in these lists, and where it is in its geom's frame, m. */
  vertex(place: Int): Int;
  point(place: Int): Vec3;
}

/** Hulls with more vertices than this are climbed along their edges, smaller ones searched vertex by vertex. */
export const CLIMB_ABOVE = 64;

/** One hull of the tables. Its vertices and its polygons are consecutive. */
export interface Hull {
  readonly tables: HullTables;
  readonly firstVertex: Int;
  readonly vertexCount: Int;
  /** Read if `tables.start` is there: where the hull's begin. */
  readonly firstStart?: Int;
  /** The vertex at which MuJoCo begins a climb, by its cell of 27 of the direction; -1: it looks at all vertices. */
  extreme?(cell: Int): Int;
  /** Read if `tables.cells` is there: the hull's first cell, and how many lie along each edge of its cube. */
  readonly firstCell?: Int;
  readonly cellsAlong?: Scalar;
  /** Read if `tables.mostCorners` is not 0. */
  readonly firstPolygon: Int;
  readonly polygonCount: Int;
}

/**
 * What is under a triangle of a height field, in the shape's frame: the triangle's corners, straight above a base at one
 * height (m).
 */
export interface Prism {
  readonly corners: readonly [Vec3, Vec3, Vec3];
  readonly base: Scalar;
}

/** A sphere, capsule, ellipsoid, cylinder, box, hull or prism. */
export interface ConvexShape extends Shape {
  /** mjtGeom; a number where it is known while tracing. */
  readonly type: Int;
  /** The mjtGeom values that a `type` known only at run time may take: no code is emitted for others. By default all but HFIELD. */
  readonly kinds?: readonly number[];
  /** Read if the type is or may be MESH. `size` is ignored there, but for `radius`. */
  readonly hull?: Hull;
  /** Read if the type is or may be HFIELD, as which prisms go; `size` is ignored there. */
  readonly prism?: Prism;
  /** What surrounds the shape on all sides, m; none by default. */
  readonly inflate?: Scalar;
  /** Radius of a sphere about `pos` that holds the shape, m (geom_rbound); the scale of all tolerances. */
  readonly radius: Scalar;
}

/** Two shapes that are searched, and the distance up to which they make contacts, m. */
export interface SearchedShapes {
  readonly a: ConvexShape;
  readonly b: ConvexShape;
  readonly reach: Scalar;
}

/** MuJoCo's options of the search. */
export interface ConvexOptions {
  /** ccd_iterations: a bound on the iterations of each part of the search. */
  readonly iterations: number;
  /** ccd_tolerance, m: what is known better than this is not searched further. */
  readonly tolerance: number;
  /** Whether some pair of boxes, hulls and cylinders has a margin: those are searched by MuJoCo's own steps. */
  readonly margins?: boolean;
  /** Whether some cylinder may meet a box, a hull or another without a margin: those are searched so too. */
  readonly rounds?: boolean;
  /** Whether boxes and hulls may meet without a margin, in float64: so are those. */
  readonly flats?: boolean;
  /** Whether an ellipsoid may meet a cylinder, a box, a hull or another, in float64: those are searched so too. */
  readonly ovals?: boolean;
  /** Whether a sphere or a capsule may be so deep in an ellipsoid or a hull that its centre or axis is, in float64: so are those. */
  readonly shrunk?: boolean;
  /** Whether a capsule may be so deep in a cylinder that its axis is: in float64 those are searched so too. */
  readonly capsules?: boolean;
  /** Several contacts where faces meet (mjDSBL_MULTICCD is not set). */
  readonly multiccd: boolean;
  /** False where it is known that no pair is turned for further contacts (`mayTurn`). */
  readonly turns?: boolean;
}

/** Contacts that a search found, in arrays that the next search writes again. */
export interface ConvexContacts {
  /** How many there are, 0 to `MOST_CONVEX_CONTACTS`. All of them lie within reach. */
  readonly count: Int;
  /** Contact `i` below `count`, at an index known while tracing or only at run time. */
  at(i: Int): Candidate;
}

/** The most contacts of one pair. */
export const MOST_CONVEX_CONTACTS = 5;

/** Nearest points of two convex shapes, or those at the ends of their least overlap (mj_geomDistance). */
export interface ConvexDistance {
  /** Signed, m. */
  readonly dist: Scalar;
  /** Unit, from the first to the second. */
  readonly normal: Vec3;
  /** On the surface of the first and of the second, global, m. */
  readonly from: Vec3;
  readonly to: Vec3;
}
