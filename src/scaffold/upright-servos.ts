// how stiff servos of legs are at least, so that two ankles hold upright what stands on them
import type { Model } from "../model/model.ts";
import { bodyOf, isBelow, servoWithin, type Motor } from "./motors.ts";

/**
 * Of a robot on two feet, the part of its weight times its height that each servo of its legs is at least as stiff as: two ankles
 * that together are softer than all of it let what they hold upright fall over, however strong they are; half as much again stands.
 */
const UPRIGHT = 0.75;

/** N m/rad of each servo of its legs at least, of what `carries` its weight times its height (N m) on feet. */
export const leastOf = (feet: readonly number[], carries: number): number =>
  feet.length === 2 ? UPRIGHT * carries : 0;

/** Motors of which tasks make servos, with those of legs as stiff as hold it upright. */
export function upright(
  model: Model,
  motors: readonly Motor[],
  feet: readonly number[],
  carries: number,
): readonly Motor[] {
  const least = leastOf(feet, carries);
  return motors.map((motor, i) =>
    motor.servo && motor.servo.stiffness < least && feet.some((foot) => isBelow(model, foot, bodyOf(model, i)))
      ? { ...motor, servo: servoWithin(model, i, least) }
      : motor,
  );
}
