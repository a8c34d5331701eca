// the points that tactile sensors measure at, and which meshes MuJoCo knows distances from
import { Mismatch, numbers, object, type Kind } from "../core/schema.ts";
import { mjtSensor } from "./enums.ts";
import { copyArray, type MjModel } from "./mujoco.ts";

/** Points of all tactile sensors, one after the other. */
export interface Taxels {
  /** First point of each sensor, -1: not a tactile one. */
  readonly adr: Int32Array;
  /** Points in the frame of the sensor's geom (m), three numbers each. */
  readonly pos: Float64Array;
  /** Two tangents of each point in that frame, six numbers; zero where the mesh has none. */
  readonly tangents: Float64Array;
  /** Meshes with an octree of distances. */
  readonly octrees: Int32Array;
}

const arrays: Kind<Taxels> = object<Taxels>({
  adr: numbers([Int32Array]),
  pos: numbers([Float64Array]),
  tangents: numbers([Float64Array]),
  octrees: numbers([Int32Array]),
});

/** Points that are there. */
export const taxelKind: Kind<Taxels> = {
  want: "points of tactile sensors",
  read(value, path) {
    const taxels = arrays.read(value, path);
    const count = taxels.pos.length / 3;
    if (taxels.tangents.length !== 6 * count)
      throw new Mismatch([...path, "tangents", "length"], taxels.tangents.length, String(6 * count));
    taxels.adr.forEach((x, i) => {
      if (x < -1 || x > count) throw new Mismatch([...path, "adr", i], x, `a place below ${count}`);
    });
    return taxels;
  },
};

/** The points of a compiled model's tactile sensors; undefined without any. */
export function readTaxels(model: MjModel): Taxels | undefined {
  const types = model.nsensor ? copyArray(model, "sensor_type") : new Int32Array();
  if (!types.includes(mjtSensor.TACTILE)) return undefined;
  const meshes = copyArray(model, "sensor_objid");
  const [vertadr, vertnum, normaladr, normalnum] = ["vertadr", "vertnum", "normaladr", "normalnum"].map((name) =>
    copyArray(model, `mesh_${name}`),
  );
  const [vert, normal] = ["vert", "normal"].map((name) => copyArray(model, `mesh_${name}`));
  const [pos, tangents]: number[][] = [[], []];
  const adr = Int32Array.from(types, (type, sensor) => {
    if (type !== mjtSensor.TACTILE) return -1;
    const first = pos.length / 3;
    const mesh = meshes[sensor];
    // a frame at each vertex: its normal and two tangents
    const hasFrame = normalnum[mesh] === 3 * vertnum[mesh];
    for (let j = 0; j < vertnum[mesh]; j++) {
      const at = 3 * (vertadr[mesh] + j);
      pos.push(vert[at], vert[at + 1], vert[at + 2]);
      const from = 3 * (normaladr[mesh] + 3 * j);
      // after the normal
      tangents.push(...(hasFrame ? normal.subarray(from + 3, from + 9) : [0, 0, 0, 0, 0, 0]));
    }
    return first;
  });
  const octrees = Array.from(copyArray(model, "mesh_octadr")).flatMap((x, mesh) => (x < 0 ? [] : [mesh]));
  return {
    adr,
    pos: Float64Array.from(pos),
    tangents: Float64Array.from(tangents),
    octrees: Int32Array.from(octrees),
  };
}
