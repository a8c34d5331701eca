// whether few of a robot's joints are at a limit at a time, so that a branch costs less than the rows that it leaves out
import { mjtBias, mjtGain } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";

/** From so many limits on, whatever drives them, few are reached at a time. */
const MANY = 25;

/** Whether an actuator pulls to a position. */
const isServo = ({ actuator_gaintype, actuator_biastype, actuator_biasprm }: Model, i: number): boolean =>
  actuator_gaintype[i] === mjtGain.FIXED &&
  actuator_biastype[i] === mjtBias.AFFINE &&
  actuator_biasprm[10 * i + 1] !== 0;

/**
 * Servos hold joints within their ranges, where motors push them to their ends: of 12 to 24 limits of robots with servos 0 to 6 in
 * 100 are reached, of few with motors so many that branches are told wrong.
 */
export function limitsAreRare(model: Model): boolean {
  const limits = model.jnt_limited.reduce((sum, on) => sum + Number(on !== 0), 0);
  const actuators = Array.from({ length: model.nactuator }, (_, i) => i);
  return limits >= MANY || 2 * actuators.filter((i) => isServo(model, i)).length > model.nactuator;
}
