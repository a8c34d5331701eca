// actuators with several inputs: setpoints of position and velocity, feedforward, voltage
import { add, clamp, ge, le, max, min, mul, round, select, sub, type Scalar } from "../../trace/scalar.ts";
import type { Model } from "../../model/model.ts";
import type { ModelView } from "../view.ts";

/** Bits of actuator_ctrlspec (mjtCtrlInput), in the order of the controls. */
export const INPUT = { POS: 1, VEL: 2, FF: 4, VOLTAGE: 8 } as const;

/** Position, velocity, feedforward and voltage among an actuator's controls; 0 where there is none. */
export function servoInputs(model: Model, i: number, controls: readonly Scalar[]): Scalar[] {
  let next = 0;
  return Object.values(INPUT).map((bit) => (model.actuator_ctrlspec[i] & bit ? controls[next++] : 0));
}

/** The representative of a setpoint that is nearest to `to`, of those that a turn of `period` apart mean the same. */
export const nearestTurn = (setpoint: Scalar, to: Scalar, period: number): Scalar =>
  period === 0 ? setpoint : sub(setpoint, mul(period, round(mul(sub(setpoint, to), 1 / period))));

/** A setpoint that moves by `rate` a second at most from where it was. */
export function slewed(m: ModelView, setpoint: Scalar, before: Scalar, rate: number, period: number): Scalar {
  const most = mul(rate, m.timestep);
  return clamp(nearestTurn(setpoint, before, period), sub(before, most), add(before, most));
}

/** The rate of an integral that does not grow beyond its bound; 0: none. */
export function bounded(rate: Scalar, integral: Scalar, bound: number): Scalar {
  if (!(bound > 0)) return rate;
  return select(ge(integral, bound), min(rate, 0), select(le(integral, -bound), max(rate, 0), rate));
}
