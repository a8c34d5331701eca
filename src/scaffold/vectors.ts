// vectors of three numbers, as MuJoCo's kinematics has them
export type Vector = readonly [number, number, number];

/** The vector at a place of a list of them. */
export const vectorAt = (of: ArrayLike<number>, i: number): Vector => [of[3 * i], of[3 * i + 1], of[3 * i + 2]];
export const minus = (a: Vector, b: Vector): Vector => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const dot = (a: Vector, b: Vector): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const cross = ([a0, a1, a2]: Vector, [b0, b1, b2]: Vector): Vector => [
  a1 * b2 - a2 * b1,
  a2 * b0 - a0 * b2,
  a0 * b1 - a1 * b0,
];

/** A vector turned by a quaternion: v + 2 w (u × v) + 2 u × (u × v). */
export function turned(v: Vector, [w, x, y, z]: ArrayLike<number> & Iterable<number>): Vector {
  const once = cross([x, y, z], v);
  const twice = cross([x, y, z], once);
  const at = (k: 0 | 1 | 2) => v[k] + 2 * (w * once[k] + twice[k]);
  return [at(0), at(1), at(2)];
}

/** What of a vector is across an axis. */
export const across = (a: Vector, axis: Vector): Vector => {
  const along = dot(a, axis);
  return [a[0] - along * axis[0], a[1] - along * axis[1], a[2] - along * axis[2]];
};

/** rad between two vectors. */
export const angle = (a: Vector, b: Vector): number =>
  Math.acos(Math.max(-1, Math.min(1, dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b)))));

/** Whether two axes are parallel, either way round, up to 35 degrees: hips are canted, by 30 in some. */
export const areParallel = (a: Vector, b: Vector): boolean => Math.abs(dot(a, b)) > Math.cos((35 * Math.PI) / 180);

/** Solves a small system by elimination, in place; its last column is the right side. */
export function solve(rows: number[][]): number[] {
  const n = rows.length;
  for (let i = 0; i < n; i++) {
    const best = rows.reduce((at, row, k) => (k > i && Math.abs(row[i]) > Math.abs(rows[at][i]) ? k : at), i);
    [rows[i], rows[best]] = [rows[best], rows[i]];
    for (const [k, row] of rows.entries()) {
      if (k === i || row[i] === 0) continue;
      const factor = row[i] / rows[i][i];
      for (let c = i; c <= n; c++) row[c] -= factor * rows[i][c];
    }
  }
  return rows.map((row, i) => row[n] / row[i]);
}
