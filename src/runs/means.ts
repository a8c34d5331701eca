// means of episodes, and how far they may be off
export const sumOf = (values: ArrayLike<number>): number => Array.from(values).reduce((sum, x) => sum + x, 0);

export const meanOf = (values: ArrayLike<number>): number => sumOf(values) / values.length;

export function stderrOf(values: ArrayLike<number>): number {
  const mean = meanOf(values);
  const squares = sumOf(Array.from(values, (x) => (x - mean) ** 2));
  return values.length > 1 ? Math.sqrt(squares / (values.length - 1) / values.length) : 0;
}
