// rotations as row-major matrices, as MuJoCo has them

/** Nine numbers, row by row. */
export type Matrix = readonly number[];

/** The matrix of a quaternion (w, x, y, z), which need not be of unit length. */
export function rotation([w, x, y, z]: readonly number[]): Matrix {
  const s = 2 / (w * w + x * x + y * y + z * z || 1);
  return [
    1 - s * (y * y + z * z),
    s * (x * y - w * z),
    s * (x * z + w * y),
    s * (x * y + w * z),
    1 - s * (x * x + z * z),
    s * (y * z - w * x),
    s * (x * z - w * y),
    s * (y * z + w * x),
    1 - s * (x * x + y * y),
  ];
}

/** a b */
export function multiply(a: Matrix, b: Matrix): Matrix {
  const out: number[] = [];
  for (let i = 0; i < 9; i += 3)
    for (let j = 0; j < 3; j++) out.push(a[i] * b[j] + a[i + 1] * b[3 + j] + a[i + 2] * b[6 + j]);
  return out;
}

/** m v */
export const turned = (m: Matrix, [x, y, z]: readonly number[]): [number, number, number] => [
  m[0] * x + m[1] * y + m[2] * z,
  m[3] * x + m[4] * y + m[5] * z,
  m[6] * x + m[7] * y + m[8] * z,
];

/** A frame whose z axis is a direction. */
export function alongZ([x, y, z]: readonly number[]): Matrix {
  const length = Math.hypot(x, y, z) || 1;
  const [a, b, c] = [x / length, y / length, z / length];
  // the shortest turn that takes z there; upside down if it points down
  if (c < -0.999999) return [1, 0, 0, 0, -1, 0, 0, 0, -1];
  const k = 1 / (1 + c);
  return [1 - a * a * k, -a * b * k, a, -a * b * k, 1 - b * b * k, b, -a, -b, c];
}
