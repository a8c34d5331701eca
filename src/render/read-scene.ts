// reads what is drawn out of MuJoCo's model
import { mjtGeom, mjtJoint } from "../model/enums.ts";
import type { MjModel } from "../model/mujoco.ts";
import { copyArray, readBools } from "../model/mujoco.ts";
import type { Lens } from "./camera.ts";
import { rotation } from "./rotation.ts";
import { readLights, readSkins, readTextures } from "./read-looks.ts";
import { SHAPE, type Four, type Part, type Scene, type Three } from "./scene.ts";
import { horizonOf } from "./textures.ts";
import { PRIMITIVES, shapeOfFaces, surface, type Shape } from "./shapes.ts";

/** An infinite plane reaches so many extents of the model. */
const PLANE_EXTENTS = 40;

const JOINTS = { [mjtJoint.FREE]: "free", [mjtJoint.BALL]: "ball", [mjtJoint.SLIDE]: "slide" } as const;

/** A picture of a camera whose intrinsics are known is as its sensor is, whatever the picture's shape. */
function lensOf(read: (name: string) => ReturnType<typeof copyArray>, camera: number): { readonly lens?: Lens } {
  const isParallel = read("cam_projection")[camera] !== 0;
  const [width, height] = row(read("cam_sensorsize"), camera, 2);
  if (!(width > 0 && height > 0)) return isParallel ? { lens: { isParallel } } : {};
  const [fx, fy, cx, cy] = row(read("cam_intrinsic"), camera, 4);
  // the principal point is right of the middle and below it
  const edges = [
    (cx - width / 2) / fx,
    (cx + width / 2) / fx,
    -(cy + height / 2) / fy,
    (height / 2 - cy) / fy,
  ] as const;
  return { lens: { isParallel, edges } };
}

/** Reads what is drawn out of MuJoCo's model. */
export function sceneOf(model: MjModel): Scene {
  const arrays = new Map<string, ReturnType<typeof copyArray>>();
  const read = (name: string) => {
    const found = arrays.get(name) ?? copyArray(model, name);
    arrays.set(name, found);
    return found;
  };
  const three = (name: string, id: number) => row(read(name), id, 3) as unknown as Three;
  const four = (name: string, id: number) => row(read(name), id, 4) as unknown as Four;
  const nameOf = (of: NamedKind, id: number) => nameIn(model, of, id);
  const names = Object.keys(SHAPE) as (keyof typeof SHAPE)[];
  const shapes = names.map((name) => PRIMITIVES[name]());
  const known = new Map<string, number>();
  const shapeNumber = (key: string, make: () => Shape): number => {
    const found = known.get(key) ?? shapes.push(make()) - 1;
    known.set(key, found);
    return found;
  };

  const { extent, meansize } = model.stat;
  const { texuniform, castshadow, active } = boolsOf(model);
  const { textures, places, sky } = readTextures(read, model.ntex);
  const skinOf = readSkins(read, places, textures, texuniform);
  const parts: Part[] = [];
  const add = (of: "geom" | "site", id: number, type: number, data: number): void => {
    const material = read(`${of}_matid`)[id];
    const rgba = material >= 0 ? four("mat_rgba", material) : four(`${of}_rgba`, id);
    if (rgba[3] === 0) return;
    const size = three(`${of}_size`, id);
    const form = formOf(type, size, extent);
    const drawn =
      form !== undefined
        ? { shape: SHAPE[form.shape], size: form.size }
        : type === mjtGeom.MESH
          ? { shape: shapeNumber(`mesh ${data}`, () => meshShape(read, data)), size: [1, 1, 1, 0] as const }
          : type === mjtGeom.HFIELD
            ? {
                shape: shapeNumber(`hfield ${data}`, () => hfieldShape(read, data)),
                size: [...row(read("hfield_size"), data, 4).slice(0, 3), 0] as unknown as Four,
              }
            : undefined;
    if (drawn === undefined) return;
    const hasCoordinates = type === mjtGeom.MESH && read("mesh_texcoordadr")[data] >= 0;
    // a plane that reaches everywhere is measured in metres
    const over = type === mjtGeom.HFIELD ? row(read("hfield_size"), data, 3) : size;
    parts.push({
      ...drawn,
      skin: skinOf(material, over, hasCoordinates),
      of,
      id,
      rgba,
      body: read(`${of}_bodyid`)[id],
      pos: three(`${of}_pos`, id),
      mat: rotation(four(`${of}_quat`, id)),
      group: read(`${of}_group`)[id],
      collides: of === "geom" && (read("geom_contype")[id] !== 0 || read("geom_conaffinity")[id] !== 0),
      checker: type === mjtGeom.PLANE,
      field: type === mjtGeom.HFIELD,
      radius: of === "geom" ? read("geom_rbound")[id] : Math.max(...size),
    });
  };
  for (let g = 0; g < model.ngeom; g++) add("geom", g, read("geom_type")[g], read("geom_dataid")[g]);
  for (let s = 0; s < model.nsite; s++) add("site", s, read("site_type")[s], -1);

  const list = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
  return {
    name: nameOfModel(read("names") as Uint8Array),
    shapes,
    parts,
    textures,
    sky,
    haze: sky < 0 ? [0, 0, 0] : horizonOf(textures[sky]),
    ...readLights(read, model, castshadow, active),
    bodies: list(model.nbody, (b) => ({
      name: b === 0 ? "world" : nameOf("body", b),
      parent: read("body_parentid")[b],
      moves: read("body_weldid")[b] !== 0,
      ipos: three("body_ipos", b),
      imat: rotation(four("body_iquat", b)),
      box: inertiaBox(read("body_mass")[b], three("body_inertia", b)),
    })),
    joints: list(model.njnt, (j) => ({
      name: nameOf("jnt", j),
      type: JOINTS[read("jnt_type")[j] as keyof typeof JOINTS] ?? "hinge",
      body: read("jnt_bodyid")[j],
      pos: three("jnt_pos", j),
      axis: three("jnt_axis", j),
    })),
    cameras: list(model.ncam, (c) => ({
      name: nameOf("cam", c),
      fovy: read("cam_fovy")[c],
      ...lensOf(read, c),
    })),
    tendons: list(model.ntendon, (t) => ({
      name: nameOf("tendon", t),
      width: read("tendon_width")[t],
      rgba: read("tendon_matid")[t] >= 0 ? four("mat_rgba", read("tendon_matid")[t]) : four("tendon_rgba", t),
    })),
    wraps: 2 * model.nwrap,
    center: row(copyArray(model.stat, "center"), 0, 3) as unknown as Three,
    extent,
    meansize,
  };
}

const nameOfModel = (names: Uint8Array): string => new TextDecoder().decode(names.subarray(0, names.indexOf(0)));

function boolsOf(model: MjModel) {
  const { mat_texuniform: texuniform, light_castshadow: castshadow, light_active: active } = readBools(model);
  return { texuniform, castshadow, active };
}

const row = (values: ArrayLike<number>, id: number, width: number): number[] =>
  Array.from({ length: width }, (_, i) => values[id * width + i]);

type NamedKind = "body" | "jnt" | "cam" | "tendon" | "actuator" | "key" | "hfield";

/** The name of an object, "" if it has none: MuJoCo's own call returns a null pointer then, which its bindings read. */
export function nameIn(model: MjModel, of: NamedKind, id: number): string {
  const names = copyArray(model, "names") as Uint8Array;
  const from = copyArray(model, `name_${of}adr`)[id];
  return new TextDecoder().decode(names.subarray(from, names.indexOf(0, from)));
}

/** Half sizes of the solid box that has a mass and principal moments of inertia: I_x = m (b_y^2 + b_z^2) / 3. */
function inertiaBox(mass: number, [x, y, z]: Three): Three {
  const half = (sum: number) => (mass > 0 ? Math.sqrt(Math.max(0, (1.5 * sum) / mass)) : 0);
  return [half(y + z - x), half(x + z - y), half(x + y - z)];
}

interface Form {
  readonly shape: keyof typeof SHAPE;
  readonly size: Four;
}

/** The shape of a primitive and its size; undefined for what is none. */
function formOf(type: number, [a, b, c]: Three, extent: number): Form | undefined {
  const { PLANE, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX } = mjtGeom;
  const far = PLANE_EXTENTS * extent;
  if (type === PLANE) return { shape: "plane", size: [a || far, b || far, 1, 0] };
  if (type === SPHERE) return { shape: "round", size: [a, a, a, 0] };
  if (type === CAPSULE) return { shape: "round", size: [a, a, a, b] };
  if (type === ELLIPSOID) return { shape: "round", size: [a, b, c, 0] };
  if (type === CYLINDER) return { shape: "cylinder", size: [a, a, b, 0] };
  return type === BOX ? { shape: "box", size: [a, b, c, 0] } : undefined;
}

type Read = (name: string) => ReturnType<typeof copyArray>;

function meshShape(read: Read, mesh: number): Shape {
  const [vertex, normal, face, faceNormal] = ["mesh_vert", "mesh_normal", "mesh_face", "mesh_facenormal"].map(read);
  const at = (name: string) => read(name)[mesh];
  const faces = [3 * at("mesh_faceadr"), 3 * (at("mesh_faceadr") + at("mesh_facenum"))] as const;
  const texture = at("mesh_texcoordadr");
  const coordinates = {
    uv: read("mesh_texcoord").subarray(2 * texture),
    faces: read("mesh_facetexcoord").subarray(...faces),
  };
  return shapeOfFaces(
    vertex.subarray(3 * at("mesh_vertadr"), 3 * (at("mesh_vertadr") + at("mesh_vertnum"))),
    normal.subarray(3 * at("mesh_normaladr"), 3 * (at("mesh_normaladr") + at("mesh_normalnum"))),
    face.subarray(...faces),
    faceNormal.subarray(...faces),
    texture < 0 ? undefined : coordinates,
  );
}

function hfieldShape(read: Read, field: number): Shape {
  const [rows, columns, from] = ["hfield_nrow", "hfield_ncol", "hfield_adr"].map((name) => read(name)[field]);
  const heights = read("hfield_data").subarray(from, from + rows * columns);
  return surface(heights, rows, columns, row(read("hfield_size"), field, 4));
}
