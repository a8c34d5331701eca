// layer norm (Ba, Kiros and Hinton 2016) between a dense layer and its activation: y = f(gain (h - mean h) / deviation h + shift)

/** Added to the variance, as PyTorch's `nn.LayerNorm` does. */
export const NORM_EPSILON = 1e-5;

/** Normalises a row in its place. */
export function normalise(row: number[] | Float64Array, gains: ArrayLike<number>, shifts: ArrayLike<number>): void {
  const { length } = row;
  let mean = 0;
  for (let i = 0; i < length; i++) mean += row[i] / length;
  let variance = 0;
  for (let i = 0; i < length; i++) variance += (row[i] - mean) ** 2 / length;
  const factor = 1 / Math.sqrt(variance + NORM_EPSILON);
  for (let i = 0; i < length; i++) row[i] = (row[i] - mean) * factor * gains[i] + shifts[i];
}
