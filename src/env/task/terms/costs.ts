// what moving costs
import { abs, mul, sub, sum, type Scalar } from "../../../trace/scalar.ts";
import type { Scene } from "../task.ts";
import { sumOfSquares } from "./basics.ts";
import { dofsOf, needs } from "./source.ts";

const ALL_OF_ACTION = "it is of the whole action; velocityCost and torqueCost take joints";

/** Throws `bad-term` for what a cost would ignore. */
function takesNothing(name: string, given: readonly unknown[], why: string): void {
  needs(given.length === 0, `what ${name} was given`, given[0], `nothing: ${why}`);
}

/** Sum of the squares of the action. */
export const controlCost =
  (...given: never[]) =>
  (s: Scene): Scalar => {
    takesNothing("controlCost", given, ALL_OF_ACTION);
    return sumOfSquares(s.action);
  };

/** Sum of the squares of the change of the action since the control step before; the first is measured from zero. */
export const actionRateCost =
  (...given: never[]) =>
  (s: Scene): Scalar => {
    takesNothing("actionRateCost", given, ALL_OF_ACTION);
    const last = s.previous("action", (t) => t.action);
    return sumOfSquares(s.action.map((x, i) => sub(x, last[i])));
  };

/** Sum of the squares of joint accelerations, of all joints or of those named. */
export const accelerationCost =
  (joints?: readonly string[]) =>
  (s: Scene): Scalar =>
    sumOfSquares(dofsOf(s, joints).map((i) => s.d.qacc.at(i)));

/** Sum of the squares of joint velocities, of all joints or of those named. */
export const velocityCost =
  (joints?: readonly string[]) =>
  (s: Scene): Scalar =>
    sumOfSquares(dofsOf(s, joints).map((i) => s.d.qvel.at(i)));

/** Sum of the squares of what actuators do at joints (N, N m), of all joints or of those named. */
export const torqueCost =
  (joints?: readonly string[]) =>
  (s: Scene): Scalar =>
    sumOfSquares(dofsOf(s, joints).map((i) => s.d.qfrc_actuator.at(i)));

/** Mechanical power of the actuators, each taken without its sign (W). */
export const powerCost =
  (...given: never[]) =>
  (s: Scene): Scalar => {
    takesNothing("powerCost", given, "it is of all actuators; velocityCost and torqueCost take joints");
    return sum(s.d.actuator_force.all().map((f, i) => abs(mul(f, s.d.actuator_velocity.at(i)))));
  };
