// actuators that a policy is not asked for: of light limbs that no foot hangs from, as fingers, and beside servos
import { actuatorNames, jointOf, type Model } from "../model/model.ts";
import { isBelow } from "./motors.ts";
import type { Base, Robot } from "./robot.ts";

/** Part of a robot's mass below which what an actuator moves does nothing for its walk. */
const LIGHT = 0.01;

/** Whether actions can be said to be of some of the actuators. */
export function areToldApart(model: Model): boolean {
  const names = actuatorNames(model);
  return new Set(names).size === names.length && !names.includes("");
}

/** Actuators of joints that a servo of position turns, as the servo of velocity that damps it: both at once would be two actions for one joint. */
export function besideServos({ model, motors }: Robot): number[] {
  const turned = new Set(motors.flatMap(({ isPosition }, i) => (isPosition ? [jointOf(model, i)] : [])));
  return motors.flatMap(({ isPosition }, i) => (!isPosition && turned.has(jointOf(model, i)) ? [i] : []));
}

/** Actuators whose servos hold light limbs where they are, and those beside servos. None where names do not tell actuators apart. */
export function heldOf(robot: Robot, { body, feet }: Base): ReadonlySet<number> {
  const { model, motors } = robot;
  if (!areToldApart(model)) return new Set();
  const beside = besideServos(robot);
  if (feet.length === 0) return new Set(beside);
  const most = LIGHT * model.body_subtreemass[body];
  const isLight = (root: number): boolean =>
    isBelow(model, root, body) &&
    model.body_subtreemass[root] < most &&
    !feet.some((foot) => isBelow(model, foot, root) || isBelow(model, root, foot));
  const light = motors.flatMap(({ isPosition }, i) =>
    isPosition && isLight(model.jnt_bodyid[jointOf(model, i)]) ? [i] : [],
  );
  return new Set([...beside, ...light]);
}

/** A base whose `posed` and `turned` leave out the joints that are held. */
export function withoutHeld(base: Base, { model, motors }: Robot, held: ReadonlySet<number>): Base {
  const joints = [...held].filter((i) => motors[i].isPosition).map((i) => jointOf(model, i));
  const [positions, dofs] = [
    new Set(joints.map((j) => model.jnt_qposadr[j])),
    new Set(joints.map((j) => model.jnt_dofadr[j])),
  ];
  return {
    ...base,
    posed: base.posed.filter((k) => !positions.has(k)),
    turned: base.turned.filter((k) => !dofs.has(k)),
  };
}
