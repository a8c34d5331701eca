// what constraints read of the metric of the integrator `discrete`: its diagonal, and factors on the sparsity of M
import { add, div, gt, mul, select, square, type Int, type Scalar } from "../../trace/scalar.ts";
import { MINVAL } from "../../trace/vector.ts";
import { mjtIntegrator } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import type { Factored } from "../smooth/sparsity.ts";
import type { Field, WorldData } from "../view.ts";

/** Whether constraints are solved at the end of the step, in M + h D + h² K (mj_isMetric). */
export const isDiscrete = ({ opt }: Model): boolean => opt.integrator === mjtIntegrator.DISCRETE;

export interface MetricWeights {
  /** 1 / the diagonals of M and of the metric. */
  readonly inverseM: Field;
  readonly inverseMetric: Field;
  /** Factors of what of the metric lies on the sparsity of M; its whole diagonal does. */
  readonly backbone: Factored;
}

/** Of each world whose metric is made. */
const weightsOf = new WeakMap<WorldData, MetricWeights>();

export const keepWeights = (d: WorldData, weights: MetricWeights): void => void weightsOf.set(d, weights);

export function metricWeights(d: WorldData): MetricWeights {
  const weights = weightsOf.get(d);
  if (!weights) throw new Error("the metric of a world is made before its constraints");
  return weights;
}

/** How much less a row's diagonal of A is in the metric than in M, by the diagonals of both (mj_regularizeConstraint). */
export function weightRatio(d: WorldData, jac: readonly { readonly dof: Int; readonly value: Scalar }[]): Scalar {
  const { inverseM, inverseMetric } = metricWeights(d);
  const total = (weight: Field): Scalar =>
    jac.reduce<Scalar>((sum, { dof, value }) => add(sum, mul(square(value), weight.at(dof))), 0);
  const [ours, theirs] = [total(inverseMetric), total(inverseM)];
  const moves = gt(theirs, MINVAL);
  return select(moves, div(ours, select(moves, theirs, 1)), 1);
}
