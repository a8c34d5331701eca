// what constraints read of the metric of the integrator `discrete`: its diagonal, and factors on the sparsity of M
import { increase, variable } from "../../trace/control.ts";
import { div, gt, mul, select, square, type Int, type Scalar } from "../../trace/scalar.ts";
import { MINVAL } from "../../trace/vector.ts";
import { mjtIntegrator } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import type { Factored } from "../smooth/sparsity.ts";
import type { Field, WorldData } from "../view.ts";

/** Whether constraints are solved at the end of the step, in M + h D + h² K (mj_isMetric). */
export const isDiscrete = ({ opt }: Model): boolean => opt.integrator === mjtIntegrator.DISCRETE;

export interface MetricWeights {
  /** 1 / the diagonals of M and of the metric, where they differ. */
  readonly inverses: { readonly M: Field; readonly metric: Field } | undefined;
  /** Factors of what of the metric lies on the sparsity of M; its whole diagonal does. None of articulated bodies. */
  readonly backbone?: Factored;
}

/** Of each world whose metric is made. */
const weightsOf = new WeakMap<WorldData, MetricWeights>();

export const keepWeights = (d: WorldData, weights: MetricWeights): void => void weightsOf.set(d, weights);

function metricWeights(d: WorldData): MetricWeights {
  const weights = weightsOf.get(d);
  if (!weights) throw new Error("the metric of a world is made before its constraints");
  return weights;
}

/** Factors that stand for those of M. */
export const backboneOf = (d: WorldData): Factored => metricWeights(d).backbone!;

/** A row as far as its weight goes: calls back with each of its dofs. */
type EachDof = (visit: (dof: Int, value: Scalar) => void) => void;

/** How much less a row's diagonal of A is in the metric than in M, by the diagonals of both (mj_regularizeConstraint). */
export function weightRatio(d: WorldData, eachDof: EachDof): Scalar {
  const { inverses } = metricWeights(d);
  if (!inverses) return 1;
  const [ours, theirs] = [variable("weight_metric", 0), variable("weight_M", 0)];
  eachDof((dof, value) => {
    increase(ours, mul(square(value), inverses.metric.at(dof)));
    increase(theirs, mul(square(value), inverses.M.at(dof)));
  });
  const moves = gt(theirs.get(), MINVAL);
  return select(moves, div(ours.get(), select(moves, theirs.get(), 1)), 1);
}
