// what rays need of geoms that no formula gives: triangles of meshes, elevations of height fields
import { Mismatch, numbers, object, type Kind } from "../core/schema.ts";
import { mjtGeom } from "./enums.ts";
import { copyArray, type MjModel } from "./mujoco.ts";

/** Triangles and elevations, in the frames of their meshes and height fields. */
export interface Surfaces {
  /** First triangle and number of triangles of each mesh; none of a mesh that no geom shows. */
  readonly faceadr: Int32Array;
  readonly facenum: Int32Array;
  /** Corners (m), nine numbers for each triangle. */
  readonly corners: Float32Array;
  /** Rows and columns of each height field, and where its elevations begin. */
  readonly nrow: Int32Array;
  readonly ncol: Int32Array;
  readonly fieldadr: Int32Array;
  /** Half extents along x and y, elevation of 1, thickness below 0 (m): four numbers for each height field. */
  readonly fieldsize: Float64Array;
  /** Elevations, 0 to 1, row by row. */
  readonly elevations: Float32Array;
}

const ints: Kind<Int32Array> = numbers([Int32Array]);
const floats: Kind<Float32Array> = numbers([Float32Array]);
const arrays: Kind<Surfaces> = object<Surfaces>({
  faceadr: ints,
  facenum: ints,
  corners: floats,
  nrow: ints,
  ncol: ints,
  fieldadr: ints,
  fieldsize: numbers([Float64Array]),
  elevations: floats,
});

/** Surfaces whose numbers lead to what is there. */
export const surfaceKind: Kind<Surfaces> = {
  want: "surfaces of meshes and height fields",
  read(value, path) {
    const surfaces = arrays.read(value, path);
    const { faceadr, facenum, corners, nrow, ncol, fieldadr, fieldsize, elevations } = surfaces;
    const fail = (name: keyof Surfaces, at: number | "length", want: string): never => {
      throw new Mismatch([...path, name, at], surfaces[name][at as number], want);
    };
    if (facenum.length !== faceadr.length) fail("facenum", "length", String(faceadr.length));
    facenum.forEach((n, i) => {
      const room = corners.length / 9 - faceadr[i];
      if (n < 0 || (n > 0 && (faceadr[i] < 0 || n > room))) fail("facenum", i, "a count of triangles that are there");
    });
    for (const name of ["ncol", "fieldadr"] as const)
      if (surfaces[name].length !== nrow.length) fail(name, "length", String(nrow.length));
    if (fieldsize.length !== 4 * nrow.length) fail("fieldsize", "length", String(4 * nrow.length));
    nrow.forEach((rows, i) => {
      if (rows < 2) fail("nrow", i, "at least 2");
      if (ncol[i] < 2) fail("ncol", i, "at least 2");
      if (fieldadr[i] < 0 || fieldadr[i] + rows * ncol[i] > elevations.length)
        fail("fieldadr", i, "where so many elevations begin");
    });
    return surfaces;
  },
};

/** The surfaces of a compiled model; undefined if its geoms are all given by formulas. */
export function readSurfaces(model: MjModel): Surfaces | undefined {
  const ints = (name: string) => copyArray(model, name) as Int32Array;
  const [type, data] = [ints("geom_type"), ints("geom_dataid")];
  const used = (kind: number) => new Set(Array.from(data).filter((id, g) => type[g] === kind && id >= 0));
  const [meshes, fields] = [used(mjtGeom.MESH), used(mjtGeom.HFIELD)];
  if (meshes.size + fields.size === 0) return undefined;

  const none = new Int32Array();
  const ofMeshes = ["mesh_faceadr", "mesh_facenum", "mesh_face", "mesh_vertadr"];
  const [adr, num, face, vertadr] = ofMeshes.map((name) => (model.nmesh ? ints(name) : none));
  const vert = model.nmesh ? copyArray(model, "mesh_vert") : none;
  const facenum = Int32Array.from({ length: model.nmesh }, (_, m) => (meshes.has(m) ? num[m] : 0));
  const faceadr = starts(facenum);
  const corners = new Float32Array(9 * facenum.reduce((n, x) => n + x, 0));
  for (const m of meshes) {
    for (let k = 0; k < 3 * num[m]; k++) {
      const from = 3 * (vertadr[m] + face[3 * adr[m] + k]);
      for (let c = 0; c < 3; c++) corners[9 * faceadr[m] + 3 * k + c] = vert[from + c];
    }
  }

  const ofFields = ["hfield_nrow", "hfield_ncol", "hfield_adr"];
  const [nrow, ncol, dataadr] = ofFields.map((name) => (model.nhfield ? ints(name) : none));
  const numbersOf = (name: string) => (model.nhfield ? copyArray(model, name) : none);
  return {
    faceadr,
    facenum,
    corners,
    nrow,
    ncol,
    fieldadr: dataadr,
    fieldsize: Float64Array.from(numbersOf("hfield_size")),
    elevations: Float32Array.from(numbersOf("hfield_data")),
  };
}

/** Where each of several runs begins. */
function starts(counts: Int32Array): Int32Array {
  let at = 0;
  return counts.map((n) => {
    at += n;
    return at - n;
  });
}
