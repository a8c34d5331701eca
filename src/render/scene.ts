// what of a model is drawn: shapes, the geoms and sites that have them, and what else there is to point at. Plain data,
// which a page gets as it is.
import type { Lens } from "./camera.ts";
import type { Matrix } from "./rotation.ts";
import { SURFACE, type Shape } from "./shapes.ts";
import type { Texture } from "./textures.ts";

/** Groups of geoms and sites that MuJoCo shows unless told otherwise: 0 to 2. */
export const SHOWN_GROUPS = 3;

export type Four = readonly [number, number, number, number];
export type Three = readonly [number, number, number];

/** Numbers of the pose of a light: position, and where it shines. */
export const LIGHT_FLOATS = 6;
/** A light of a model. */
export interface SceneLight {
  readonly id: number;
  readonly type: "directional" | "spot" | "point";
  readonly ambient: Three;
  readonly diffuse: Three;
  readonly specular: Three;
  readonly attenuation: Three;
  /** Half angle of its cone (degrees), and how it fades towards its edge. */
  readonly cutoff: number;
  readonly exponent: number;
  readonly casts: boolean;
}

/** What a part is made of, beside its colour. */
export interface Skin {
  /** Index of its texture in the scene; -1 without one. */
  readonly texture: number;
  /** Over its x and y (1/m); 0 where vertices have coordinates. Of a cube 1 if directions are in metres. */
  readonly scale: readonly [number, number];
  readonly specular: number;
  readonly shininess: number;
  readonly emission: number;
}

/** Without a material. */
export const PLAIN: Skin = { texture: -1, scale: [0, 0], specular: 0.25, shininess: 0.4, emission: 0 };

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
  readonly skin: Skin;
  readonly group: number;
  /** Whether it can touch anything. */
  readonly collides: boolean;
  /** A plane, which is drawn with a checker unless it has a texture. */
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
  readonly textures: readonly Texture[];
  /** The texture of the sky, -1 without one, and its colour at the horizon (linear). */
  readonly sky: number;
  readonly haze: Three;
  /** Lights that are on, and whether there are any, on or off. */
  readonly lights: readonly SceneLight[];
  readonly hasLights: boolean;
  /** Ambient light and half the diffuse one of MuJoCo's headlight; usual: as MuJoCo has it by itself. */
  readonly headlight: { readonly isActive: boolean; readonly isUsual: boolean; readonly light: Three };
  readonly bodies: readonly SceneBody[];
  readonly joints: readonly SceneJoint[];
  readonly cameras: readonly { readonly name: string; readonly fovy: number; readonly lens?: Lens }[];
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

export const surfaceOf = ({ texture }: Skin): number => (texture < 0 ? SURFACE.plain : SURFACE.texture + texture);

/** The exponent of a gloss. */
export const glossOf = ({ shininess }: Skin): number => Math.max(1, 128 * shininess);
