// what of a model is drawn: shapes, and the geoms and sites that have them
import type { MjModel } from "../model/mujoco.ts";
import { copyArray } from "../model/mujoco.ts";
import { mjtGeom } from "../model/enums.ts";
import { PRIMITIVES, shapeOfFaces, surface, type Shape } from "./shapes.ts";

/** Groups of geoms and sites that MuJoCo shows unless told otherwise: 0 to 2. */
const SHOWN_GROUPS = 3;

/** An infinite plane reaches so many extents of the model. */
const PLANE_EXTENTS = 40;

/** One thing that is drawn in each world. */
export interface Part {
  /** Index of its shape in the scene. */
  readonly shape: number;
  readonly of: "geom" | "site";
  readonly id: number;
  /** Half sizes along its axes, and what moves the ends of a capsule apart. */
  readonly size: readonly [number, number, number, number];
  readonly rgba: readonly [number, number, number, number];
  /** Drawn with a checker. */
  readonly checker: boolean;
}

export interface Scene {
  readonly shapes: readonly Shape[];
  readonly parts: readonly Part[];
  /** mjModel.stat: where a model is, and how large (m). */
  readonly center: readonly [number, number, number];
  readonly extent: number;
}

export interface SceneOptions {
  /** Draw geoms of all groups, those that only collide among them. */
  readonly allGroups?: boolean;
}

/** Reads what is drawn out of MuJoCo's model. */
export function sceneOf(model: MjModel, { allGroups = false }: SceneOptions = {}): Scene {
  const read = (name: string) => copyArray(model, name);
  const shapes: Shape[] = [];
  const known = new Map<string, number>();
  const shapeNumber = (key: string, make: () => Shape): number => {
    const found = known.get(key);
    if (found !== undefined) return found;
    known.set(key, shapes.length);
    return shapes.push(make()) - 1;
  };
  const extent = model.stat.extent;
  const parts: Part[] = [];
  const materials = read("mat_rgba");
  const add = (of: "geom" | "site", id: number, type: number, size: readonly number[], data: number): void => {
    const group = read(`${of}_group`)[id];
    const material = read(`${of}_matid`)[id];
    const colour = material >= 0 ? row(materials, material, 4) : row(read(`${of}_rgba`), id, 4);
    const rgba = colour as [number, number, number, number];
    if ((group >= SHOWN_GROUPS && !allGroups) || rgba[3] === 0) return;
    const form = formOf(type, size, extent);
    if (form === undefined && type !== mjtGeom.MESH && type !== mjtGeom.HFIELD) return;
    const part = { of, id, rgba, checker: type === mjtGeom.PLANE };
    if (form) parts.push({ ...part, shape: shapeNumber(form.shape, PRIMITIVES[form.shape]), size: form.size });
    else if (type === mjtGeom.MESH)
      parts.push({ ...part, shape: shapeNumber(`mesh ${data}`, () => meshShape(model, data)), size: [1, 1, 1, 0] });
    else {
      const [sx, sy, sz] = row(read("hfield_size"), data, 4);
      const shape = shapeNumber(`hfield ${data}`, () => hfieldShape(model, data));
      parts.push({ ...part, shape, size: [sx, sy, sz, 0] });
    }
  };
  const [geomType, geomSize, geomData] = ["geom_type", "geom_size", "geom_dataid"].map(read);
  for (let g = 0; g < model.ngeom; g++) add("geom", g, geomType[g], row(geomSize, g, 3), geomData[g]);
  const [siteType, siteSize] = ["site_type", "site_size"].map(read);
  for (let s = 0; s < model.nsite; s++) add("site", s, siteType[s], row(siteSize, s, 3), -1);
  const center = copyArray(model.stat, "center");
  return { shapes, parts, center: [center[0], center[1], center[2]], extent };
}

const row = (values: ArrayLike<number>, id: number, width: number): number[] =>
  Array.from({ length: width }, (_, i) => values[id * width + i]);

interface Form {
  readonly shape: keyof typeof PRIMITIVES;
  readonly size: [number, number, number, number];
}

/** The shape of a primitive and its size; undefined for what is none. */
function formOf(type: number, [a, b, c]: readonly number[], extent: number): Form | undefined {
  const { PLANE, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX } = mjtGeom;
  const far = PLANE_EXTENTS * extent;
  if (type === PLANE) return { shape: "plane", size: [a || far, b || far, 1, 0] };
  if (type === SPHERE) return { shape: "round", size: [a, a, a, 0] };
  if (type === CAPSULE) return { shape: "round", size: [a, a, a, b] };
  if (type === ELLIPSOID) return { shape: "round", size: [a, b, c, 0] };
  if (type === CYLINDER) return { shape: "cylinder", size: [a, a, b, 0] };
  return type === BOX ? { shape: "box", size: [a, b, c, 0] } : undefined;
}

function meshShape(model: MjModel, mesh: number): Shape {
  const read = (name: string) => copyArray(model, name);
  const [vertex, normal, face, faceNormal] = ["mesh_vert", "mesh_normal", "mesh_face", "mesh_facenormal"].map(read);
  const at = (name: string) => read(name)[mesh];
  const faces = [3 * at("mesh_faceadr"), 3 * (at("mesh_faceadr") + at("mesh_facenum"))] as const;
  return shapeOfFaces(
    vertex.subarray(3 * at("mesh_vertadr"), 3 * (at("mesh_vertadr") + at("mesh_vertnum"))),
    normal.subarray(3 * at("mesh_normaladr"), 3 * (at("mesh_normaladr") + at("mesh_normalnum"))),
    face.subarray(...faces),
    faceNormal.subarray(...faces),
  );
}

function hfieldShape(model: MjModel, field: number): Shape {
  const read = (name: string) => copyArray(model, name);
  const [rows, columns, from] = ["hfield_nrow", "hfield_ncol", "hfield_adr"].map((name) => read(name)[field]);
  const heights = read("hfield_data").subarray(from, from + rows * columns);
  return surface(heights, rows, columns, row(read("hfield_size"), field, 4));
}
