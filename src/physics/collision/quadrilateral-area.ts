// areas by which the host picks four of a polygon's corners

/**
 * Twice the area of the quadrilateral of four points, where they begin in `points` [3 * points]: by its diagonals, each rounded
 * step as in MuJoCo, since areas tie to the last place of float64. Hulls have many corners, so that no list is made of them.
 */
export function quadrilateralArea(points: Float64Array, a: number, b: number, c: number, d: number): number {
  const [x, y, z] = [points[a] - points[c], points[a + 1] - points[c + 1], points[a + 2] - points[c + 2]];
  const [u, v, w] = [points[b] - points[d], points[b + 1] - points[d + 1], points[b + 2] - points[d + 2]];
  const [p, q, r] = [y * w - z * v, z * u - x * w, x * v - y * u];
  return Math.sqrt(p * p + q * q + r * r);
}
