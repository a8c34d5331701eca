// servos that time steps cannot follow: a robot with such is thrown about before it learns anything
import { inLine } from "../core/show.ts";
import { mjtBias, mjtDisableBit, mjtIntegrator } from "../model/enums.ts";
import { jointOf, nameOf, type Model } from "../model/model.ts";

/** What a damper may take of a dof's speed in a step, by integrator: beyond it the speed grows. */
const MOST: Readonly<Record<number, number>> = { [mjtIntegrator.EULER]: 2, [mjtIntegrator.RK4]: 2.785 };

/** What servos damp more than a step can follow, in words. */
export function stiffServos(model: Model): string[] {
  const { opt, actuator_biasprm: bias, actuator_gear: gear, dof_invweight0: invweight } = model;
  const most: number | undefined = MOST[opt.integrator];
  if (most === undefined) return [];
  // Euler takes what joints damp themselves from the end of a step
  const isImplicit = opt.integrator === mjtIntegrator.EULER && (opt.disableflags & mjtDisableBit.EULERDAMP) === 0;
  const stiff = Array.from({ length: model.nu }, (_, i) => i).filter((i) => {
    const joint = jointOf(model, i);
    if (joint < 0 || model.actuator_biastype[i] !== mjtBias.AFFINE) return false;
    const dof = model.jnt_dofadr[joint];
    const taken = (damping: number) => damping * invweight[dof] * opt.timestep;
    const own = taken(model.dof_damping[dof]);
    const servo = taken(-bias[10 * i + 2] * gear[6 * i] ** 2);
    return servo > 0 && servo > (isImplicit ? most + own : most - own);
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
