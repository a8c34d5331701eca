// features of discrete actions that stand for controls
/** More controls than these have no products with each other. */
const MAX_PRODUCTS = 16;

/** What is known of each action: rows of this many numbers. */
export interface ActionFeatures {
  readonly count: number;
  readonly values: Float32Array<ArrayBuffer>;
}

/**
 * What is known of actions that stand for controls: each control, its square and the products of two, all with mean 0 and
 * deviation 1. Scores that are linear in these have one peak wherever the network puts it, as a Gaussian has.
 * By action, row-major. Controls that never change give none.
 */
export function actionFeatures(controls: readonly ArrayLike<number>[]): ActionFeatures {
  const width = controls[0].length;
  // products of standardized controls: their size does not matter
  const base = Array.from({ length: width }, (_, c) => standardized(Float64Array.from(controls, (row) => row[c])));
  const products = base.flatMap((x, c) =>
    base.slice(c, width <= MAX_PRODUCTS ? width : c + 1).map((y) => x && y && standardized(x.map((v, a) => v * y[a]))),
  );
  const columns = [...base, ...products].filter((column) => column !== undefined);
  const count = columns.length;
  const values = new Float32Array(controls.length * count);
  columns.forEach((column, f) => column.forEach((x, a) => (values[a * count + f] = x)));
  return { count, values };
}

/**
 * With a last one that is 1 for all actions, for networks of values: all others have mean 0, so that the values of a state
 * would have it too, whatever it is worth. Probabilities do not ask for it.
 */
export function withLevel({ count, values }: ActionFeatures): ActionFeatures {
  const actions = values.length / count;
  const wider = new Float32Array(actions * (count + 1)).fill(1);
  for (let a = 0; a < actions; a++) wider.set(values.subarray(a * count, (a + 1) * count), a * (count + 1));
  return { count: count + 1, values: wider };
}

/** What to say of checkpoints whose features are others. */
export const LEVEL_SINCE = "DQN and SAC of discrete actions have one feature more since 0.2.0 (train such anew)";

/** With mean 0 and deviation 1, or undefined if all numbers are the same. */
function standardized(column: Float64Array): Float64Array | undefined {
  const mean = column.reduce((sum, x) => sum + x, 0) / column.length;
  const deviation = Math.sqrt(column.reduce((sum, x) => sum + (x - mean) ** 2, 0) / column.length);
  const isConstant = !(deviation > 1e-9 * (1 + Math.abs(mean)));
  return isConstant ? undefined : column.map((x) => (x - mean) / deviation);
}
