// what of a model is drawn: shapes, the geoms and sites that have them, and what else there is to point at. Plain data,
// which a page gets as it is.
import type { Matrix } from "./rotation.ts";
import type { Shape } from "./shapes.ts";

/** Groups of geoms and sites that MuJoCo shows unless told otherwise: 0 to 2. */
export const SHOWN_GROUPS = 3;

export type Four = readonly [number, number, number, number];
export type Three = readonly [number, number, number];

/** One thing that is drawn in each world. */
export interface Part {
  /** Index of its shape in the scene. */
  readonly shape: number;
  readonly of: "geom" | "site";
  readonly id: number;
  readonly body: number;
  /** In the frame of its body: position, and axes as a row-major matrix. */
  readonly pos: Three;
  readonly mat: Matrix;
  /** Half sizes along its axes, and what moves the ends of a capsule apart. */
  readonly size: Four;
  readonly rgba: Four;
  readonly group: number;
  /** Whether it can touch anything. */
  readonly collides: boolean;
  /** Drawn with a checker. */
  readonly checker: boolean;
  /** A height field. */
  readonly field: boolean;
  /** Radius of a sphere around it (m). */
  readonly radius: number;
}

export interface SceneBody {
  readonly name: string;
  readonly parent: number;
  /** Whether a joint moves it. */
  readonly moves: boolean;
  /** Centre of mass and principal axes in its frame, half sizes of the box of the same inertia. */
  readonly ipos: Three;
  readonly imat: Matrix;
  readonly box: Three;
}

export interface SceneJoint {
  readonly name: string;
  readonly type: "free" | "ball" | "slide" | "hinge";
  readonly body: number;
  readonly pos: Three;
  readonly axis: Three;
}

export interface Scene {
  readonly name: string;
  readonly shapes: readonly Shape[];
  readonly parts: readonly Part[];
  readonly bodies: readonly SceneBody[];
  readonly joints: readonly SceneJoint[];
  readonly cameras: readonly { readonly name: string; readonly fovy: number }[];
  readonly tendons: readonly { readonly name: string; readonly width: number; readonly rgba: Four }[];
  /** Most points of tendons of a world. */
  readonly wraps: number;
  /** mjModel.stat: where a model is, how large, and the mean size of its bodies (m). */
  readonly center: Three;
  readonly extent: number;
  readonly meansize: number;
}

/** Places in `shapes` of what every scene has. */
export const SHAPE = { round: 0, cylinder: 1, box: 2, plane: 3 } as const;
