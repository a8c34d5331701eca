// servos that time steps cannot follow: a robot with such is thrown about before it learns anything
import { inLine } from "../core/show.ts";
import { jointOf, nameOf, type Model } from "../model/model.ts";

/** Euler's and Runge and Kutta's: they take what servos damp from the start of a step. */
const EXPLICIT: readonly number[] = [0, 1];
/** What a damper may take of a dof's speed in a step: beyond it the speed grows. */
const MOST = 2;

/** What servos damp more than a step can follow, in words. */
export function stiffServos(model: Model): string[] {
  const { opt, actuator_biasprm: bias, actuator_gear: gear, dof_invweight0: invweight } = model;
  if (!EXPLICIT.includes(opt.integrator)) return [];
  const stiff = Array.from({ length: model.nu }, (_, i) => i).filter((i) => {
    const joint = jointOf(model, i);
    if (joint < 0) return false;
    const damping = -bias[10 * i + 2] * gear[6 * i] ** 2;
    return damping * invweight[model.jnt_dofadr[joint]] * opt.timestep > MOST;
  });
  if (stiff.length === 0) return [];
  const [first] = stiff.map(
    (i) => nameOf(model, "actuator", i) || nameOf(model, "joint", jointOf(model, i)) || String(i),
  );
  const which = stiff.length > 1 ? `${inLine(first)} and ${stiff.length - 1} more` : inLine(first);
  return [
    `${which} damp${stiff.length > 1 ? "" : "s"} (kv) more than steps of ${opt.timestep} s can follow, and may throw the robot: set integrator="implicitfast" in its <option>, or a smaller kv.`,
  ];
}
