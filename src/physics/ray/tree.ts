// hierarchies of boxes over the triangles of meshes, made for a walk without a stack
import type { Surfaces } from "../../model/surfaces.ts";

/**
 * Boxes of all meshes in the order of a walk, parents before children. Where a ray misses a box it goes on at `skip`;
 * where it meets one it goes on at the next, after the box's own triangles.
 */
export interface Trees {
  /** First box of each mesh, and the end of its boxes; equal for a mesh without triangles. */
  readonly root: readonly number[];
  readonly end: readonly number[];
  /** Least and largest corner of each box (m), six numbers. */
  readonly box: readonly number[];
  readonly skip: readonly number[];
  /** First triangle of each box and how many it has of its own; 0 for one with boxes in it. */
  readonly first: readonly number[];
  readonly count: readonly number[];
  /** Corners of the triangles (m), nine numbers, in the order of the boxes. */
  readonly corners: readonly number[];
  /** The most boxes of a mesh. */
  readonly most: number;
}

/** Triangles of a box that has no boxes in it. */
const LEAF = 4;
/** How far a box reaches beyond its triangles, as a part of the mesh's size: more than rounding takes from a ray. */
const SLACK = 1e-6;

const known = new WeakMap<Surfaces, Trees>();

/** The trees of a model's meshes. */
export function treesOf(surfaces: Surfaces): Trees {
  let trees = known.get(surfaces);
  if (!trees) known.set(surfaces, (trees = makeTrees(surfaces)));
  return trees;
}

function makeTrees({ faceadr, facenum, corners }: Surfaces): Trees {
  const out = { root: [], end: [], box: [], skip: [], first: [], count: [], corners: [] } as {
    [K in Exclude<keyof Trees, "most">]: number[];
  };
  faceadr.forEach((adr, mesh) => {
    out.root.push(out.skip.length);
    const faces = Int32Array.from({ length: facenum[mesh] }, (_, i) => adr + i);
    if (faces.length > 0) addTree(out, corners, faces);
    out.end.push(out.skip.length);
  });
  const most = Math.max(0, ...out.end.map((end, mesh) => end - out.root[mesh]));
  return { ...out, most };
}

/** The box of triangles: three least and three largest coordinates. */
function boxOf(corners: Float32Array, faces: Int32Array): number[] {
  const box = [Infinity, Infinity, Infinity, -Infinity, -Infinity, -Infinity];
  for (const face of faces) {
    for (let k = 0; k < 9; k++) {
      const x = corners[9 * face + k];
      box[k % 3] = Math.min(box[k % 3], x);
      box[3 + (k % 3)] = Math.max(box[3 + (k % 3)], x);
    }
  }
  return box;
}

type Lists = { readonly [K in Exclude<keyof Trees, "most">]: number[] };

function addTree(out: Lists, corners: Float32Array, all: Int32Array): void {
  const whole = boxOf(corners, all);
  const slack = SLACK * Math.max(...[0, 1, 2].map((k) => whole[3 + k] - whole[k]));
  const add = (faces: Int32Array): void => {
    const node = out.skip.length;
    const box = boxOf(corners, faces);
    out.box.push(...box.map((x, k) => (k < 3 ? x - slack : x + slack)));
    out.skip.push(0);
    const isLeaf = faces.length <= LEAF;
    out.first.push(out.corners.length / 9);
    out.count.push(isLeaf ? faces.length : 0);
    if (isLeaf) {
      for (const face of faces) out.corners.push(...corners.subarray(9 * face, 9 * face + 9));
    } else {
      const sizes = [0, 1, 2].map((k) => box[3 + k] - box[k]);
      const axis = sizes.indexOf(Math.max(...sizes));
      const middle = (face: number) =>
        corners[9 * face + axis] + corners[9 * face + 3 + axis] + corners[9 * face + 6 + axis];
      const sorted = faces.toSorted((a, b) => middle(a) - middle(b) || a - b);
      const half = sorted.length >> 1;
      add(sorted.subarray(0, half));
      add(sorted.subarray(half));
    }
    out.skip[node] = out.skip.length;
  };
  add(all);
}
