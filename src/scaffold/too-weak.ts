// efforts of a URDF that could not hold the robot, whatever wrote them
import { mjtJoint } from "../model/enums.ts";
import { wheelsOf } from "./motors.ts";
import type { Robot } from "./robot.ts";
import { drivenIn } from "./scene-servos.ts";

/** The part of its weight times its height that the strongest joint of a robot has at least: of those that stand 0.2 and more. */
const STRONGEST = 0.1;

/**
 * Whether each hinge says how strong it is, and none is strong enough, as where what wrote the URDF says 1 N m of all. Wheels hold
 * nothing up, and are not asked. Limbs of what is mounted carry but themselves: there all say the same besides.
 */
export function isTooWeak({ model, carries }: Robot, isFree: boolean): boolean {
  const wheels = wheelsOf(model);
  const hinges = drivenIn(model).filter((j) => model.jnt_type[j] === mjtJoint.HINGE && !wheels.has(j));
  const said = hinges.map((j) => (model.jnt_actfrclimited[j] > 0 ? model.jnt_actfrcrange[2 * j + 1] : Infinity));
  const strongest = Math.max(...said);
  return strongest > 0 && strongest < STRONGEST * carries && (isFree || said.every((force) => force === strongest));
}
