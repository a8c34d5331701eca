// light limbs that no foot hangs from, as fingers: a robot that learns to walk keeps them still
import { actuatorNames, jointOf, type Model } from "../model/model.ts";
import { isBelow } from "./motors.ts";
import type { Base, Robot } from "./robot.ts";

/** Part of a robot's mass below which what an actuator moves does nothing for its walk. */
const LIGHT = 0.01;

/** Whether names tell actuators apart, so that a task can have actions of some. */
export function areToldApart(model: Model): boolean {
  const names = actuatorNames(model);
  return new Set(names).size === names.length && !names.includes("");
}

/** Actuators whose servos hold light limbs where they are. None where names do not tell actuators apart. */
export function heldOf({ model, motors }: Robot, { body, feet }: Base): ReadonlySet<number> {
  if (feet.length === 0 || !areToldApart(model)) return new Set();
  const most = LIGHT * model.body_subtreemass[body];
  const isLight = (root: number): boolean =>
    isBelow(model, root, body) &&
    model.body_subtreemass[root] < most &&
    !feet.some((foot) => isBelow(model, foot, root) || isBelow(model, root, foot));
  return new Set(
    motors.flatMap(({ isPosition }, i) => (isPosition && isLight(model.jnt_bodyid[jointOf(model, i)]) ? [i] : [])),
  );
}

/** A base whose `posed` and `turned` leave out the joints that are held. */
export function withoutHeld(base: Base, { model }: Robot, held: ReadonlySet<number>): Base {
  const joints = [...held].map((i) => jointOf(model, i));
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
