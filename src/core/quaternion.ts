// turns as quaternions (w, x, y, z)
export type Quat = readonly [number, number, number, number];

/** The second turn, then the first. */
export const product = ([a, b, c, d]: Quat, [w, x, y, z]: Quat): Quat => [
  a * w - b * x - c * y - d * z,
  a * x + b * w + c * z - d * y,
  a * y - b * z + c * w + d * x,
  a * z + b * y - c * x + d * w,
];
