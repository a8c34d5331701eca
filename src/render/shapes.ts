// triangle meshes of MuJoCo's shapes, of unit size

/**
 * Vertices of nine floats: position, normal, the end (-1, 0, 1) that half a capsule's length moves it towards, and the
 * texture's coordinates, 0 where the shape has none. Faces are counter-clockwise seen from outside.
 */
export interface Shape {
  readonly vertices: Float32Array<ArrayBuffer>;
  readonly indices: Uint32Array<ArrayBuffer>;
}

/** Instances of one shape that follow each other. */
export interface Draw {
  readonly shape: number;
  readonly first: number;
  readonly count: number;
  readonly clear: boolean;
  /** What it is drawn with: SURFACE, or SURFACE.texture and more for a texture. */
  readonly surface: number;
  readonly casts: boolean;
}

/** Surfaces of shapes: a colour, a checker, and from the last on each texture of the scene. */
export const SURFACE = { plain: 0, checker: 1, texture: 2 } as const;

export const VERTEX_FLOATS = 9;

/** Segments around an axis, and rings from pole to pole (an even count). */
const SEGMENTS = 24;
const RINGS = 12;

/** A grid of (rows + 1) by (columns + 1) vertices. */
function grid(
  rows: number,
  columns: number,
  vertex: (row: number, column: number) => readonly number[],
  flipped = false,
): Shape {
  const vertices: number[] = [];
  const indices: number[] = [];
  for (let i = 0; i <= rows; i++) for (let j = 0; j <= columns; j++) vertices.push(...vertex(i, j), 0, 0);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      const a = i * (columns + 1) + j;
      const b = a + columns + 1;
      if (flipped) indices.push(a, a + 1, b, a + 1, b + 1, b);
      else indices.push(a, b, a + 1, a + 1, b, b + 1);
    }
  }
  return { vertices: Float32Array.from(vertices), indices: Uint32Array.from(indices) };
}

function joined(parts: readonly Shape[]): Shape {
  const vertices = parts.flatMap((part) => [...part.vertices]);
  const indices: number[] = [];
  let first = 0;
  for (const part of parts) {
    for (const index of part.indices) indices.push(first + index);
    first += part.vertices.length / VERTEX_FLOATS;
  }
  return { vertices: Float32Array.from(vertices), indices: Uint32Array.from(indices) };
}

const around = (column: number, segments: number): [number, number] => {
  const angle = (column / segments) * 2 * Math.PI;
  return [Math.cos(angle), Math.sin(angle)];
};

/** Two half spheres, whose seam a capsule pulls apart: sphere, ellipsoid and capsule alike. */
function round(segments = SEGMENTS, rings = RINGS): Shape {
  return grid(rings + 1, segments, (row, column) => {
    const lower = row > rings / 2;
    const angle = ((lower ? row - 1 : row) / rings) * Math.PI;
    const [x, y] = around(column, segments);
    const n = [Math.sin(angle) * x, Math.sin(angle) * y, Math.cos(angle)];
    return [...n, ...n, lower ? -1 : 1];
  });
}

function cylinder(segments = SEGMENTS): Shape {
  const side = grid(1, segments, (row, column) => {
    const [x, y] = around(column, segments);
    return [x, y, 1 - 2 * row, x, y, 0, 0];
  });
  const caps = [1, -1].map((z) =>
    grid(
      1,
      segments,
      (row, column) => {
        const [x, y] = around(column, segments);
        return [row * x, row * y, z, 0, 0, z, 0];
      },
      z < 0,
    ),
  );
  return joined([side, ...caps]);
}

function box(): Shape {
  const faces = [0, 1, 2].flatMap((axis) =>
    [1, -1].map((sign) =>
      grid(
        1,
        1,
        (row, column) => {
          const p = [0, 0, 0];
          const n = [0, 0, 0];
          p[axis] = n[axis] = sign;
          p[(axis + 1) % 3] = 2 * row - 1;
          p[(axis + 2) % 3] = 2 * column - 1;
          return [...p, ...n, 0];
        },
        sign < 0,
      ),
    ),
  );
  return joined(faces);
}

const plane = (): Shape => grid(1, 1, (row, column) => [2 * row - 1, 2 * column - 1, 0, 0, 0, 1, 0]);

export const PRIMITIVES = { round: () => round(), cylinder: () => cylinder(), box, plane } as const;

/**
 * What is small in a picture is drawn with fewer faces: segments and rings of what is not larger than so many pixels to
 * each side. Its outline is off by less than a pixel; a processor takes longer for small faces than for what they cover.
 */
export const COARSE = [
  { pixels: 48, segments: 20, rings: 10 },
  { pixels: 24, segments: 14, rings: 6 },
  { pixels: 12, segments: 10, rings: 4 },
  { pixels: 6, segments: 6, rings: 2 },
] as const;

/** Round shapes and cylinders in less detail, each finer first. */
export const coarse = (): Shape[] => [
  ...COARSE.map(({ segments, rings }) => round(segments, rings)),
  ...COARSE.map(({ segments }) => cylinder(segments)),
];

/**
 * Triangles with a normal at each corner: positions and normals [n, 3], and their indices for each corner of each face;
 * with coordinates of a texture [n, 2] and theirs, if there are any.
 */
export function shapeOfFaces(
  positions: ArrayLike<number>,
  normals: ArrayLike<number>,
  faces: ArrayLike<number>,
  faceNormals: ArrayLike<number>,
  coordinates?: { readonly uv: ArrayLike<number>; readonly faces: ArrayLike<number> },
): Shape {
  const vertices = new Float32Array(faces.length * VERTEX_FLOATS);
  for (let corner = 0; corner < faces.length; corner++) {
    for (let k = 0; k < 3; k++) {
      vertices[corner * VERTEX_FLOATS + k] = positions[3 * faces[corner] + k];
      vertices[corner * VERTEX_FLOATS + 3 + k] = normals[3 * faceNormals[corner] + k];
    }
    if (coordinates !== undefined)
      for (let k = 0; k < 2; k++)
        vertices[corner * VERTEX_FLOATS + 7 + k] = coordinates.uv[2 * coordinates.faces[corner] + k];
  }
  return { vertices, indices: Uint32Array.from(faces, (_, i) => i) };
}

/** A surface over [-1, 1] by [-1, 1], from heights [rows, columns] in [0, 1]; normals are those of the scaled surface. */
export function surface(heights: ArrayLike<number>, rows: number, columns: number, size: readonly number[]): Shape {
  const [sx, sy, sz] = size;
  const at = (i: number, j: number) =>
    heights[Math.min(rows - 1, Math.max(0, i)) * columns + Math.min(columns - 1, Math.max(0, j))];
  const vertex = (i: number, j: number) => {
    const dx = ((at(i, j + 1) - at(i, j - 1)) * sz * (columns - 1)) / (4 * sx);
    const dy = ((at(i + 1, j) - at(i - 1, j)) * sz * (rows - 1)) / (4 * sy);
    // the renderer divides normals by the size
    const n = [-dx * sx, -dy * sy, sz];
    return [(2 * j) / (columns - 1) - 1, (2 * i) / (rows - 1) - 1, at(i, j), ...n, 0];
  };
  return grid(rows - 1, columns - 1, vertex, true);
}

/** Radius of a sphere around the middle that holds a shape of unit size; of what has halves, of one of them. */
export function radiusOf({ vertices }: Shape): number {
  let most = 0;
  for (let at = 0; at < vertices.length; at += VERTEX_FLOATS)
    most = Math.max(most, Math.hypot(vertices[at], vertices[at + 1], vertices[at + 2]));
  return most;
}
