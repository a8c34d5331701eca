// what a robot that learns to walk keeps still: light limbs that no foot hangs from, as fingers, and what is no part of it
import { actuatorNames, jointOf, type Model } from "../model/model.ts";
import { drivenBases } from "./feet.ts";
import { linkagesOf } from "./linkages.ts";
import { bodyOf, isBelow } from "./motors.ts";
import type { Base, Robot } from "./robot.ts";

/** Part of a robot's mass below which what an actuator moves does nothing for its walk. */
const LIGHT = 0.01;

/** Whether names tell actuators apart, so that a task can have actions of some. */
export function areToldApart(model: Model): boolean {
  const names = actuatorNames(model);
  return new Set(names).size === names.length && !names.includes("");
}

/** Whether an actuator moves what stands about, and is part of nothing that floats: another robot is left to who writes its terms. */
function isApart(model: Model, actuator: number, body: number): boolean {
  const on = bodyOf(model, actuator);
  const bases = [body, ...drivenBases(model).map((joint) => model.jnt_bodyid[joint])];
  return on > 0 && !bases.some((base) => isBelow(model, on, base));
}

/**
 * Actuators that stay where they are: servos of light limbs, and what moves nothing that floats. None where names do not tell
 * actuators apart.
 */
export function heldOf({ model, motors }: Robot, { body, feet }: Base): ReadonlySet<number> {
  if (!areToldApart(model)) return new Set();
  const most = LIGHT * model.body_subtreemass[body];
  const isLight = (root: number): boolean =>
    isBelow(model, root, body) &&
    model.body_subtreemass[root] < most &&
    !feet.some((foot) => isBelow(model, foot, root) || isBelow(model, root, foot));
  // what turns a leg by a rod may be light
  const pulling = new Set(
    linkagesOf(model)
      .filter(({ joints }) => joints.some((j) => feet.some((foot) => isBelow(model, foot, model.jnt_bodyid[j]))))
      .flatMap(({ joints }) => joints),
  );
  const isHeld = (isPosition: boolean, i: number): boolean => {
    const joint = jointOf(model, i);
    if (isApart(model, i, body)) return true;
    return feet.length > 0 && isPosition && !pulling.has(joint) && isLight(model.jnt_bodyid[joint]);
  };
  return new Set(motors.flatMap(({ isPosition }, i) => (isHeld(isPosition, i) ? [i] : [])));
}

/** What is held, in words. */
export const heldWords = ({ model }: Robot, { body }: Base, held: ReadonlySet<number>): string =>
  `what is light and no foot hangs from${[...held].some((i) => isApart(model, i, body)) ? ", or no part of the robot," : ""}`;

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
