// numbers of a model that no float32 holds: kernels would read infinity, and go on with what is not a number
import { isHeld } from "../core/float32.ts";
import type { ModelArrays, SizeName } from "./fields.ts";
import { describe, type Model, type ObjectKind } from "./model.ts";

/** What steps compute with. Ranges are not among it: a bound that is never reached may be as large as one likes. */
const OF_OBJECTS: readonly (readonly [ObjectKind, SizeName, readonly (keyof ModelArrays)[]])[] = [
  ["body", "nbody", ["body_mass", "body_inertia", "body_pos", "body_ipos"]],
  ["joint", "njnt", ["jnt_pos", "jnt_stiffness"]],
  ["geom", "ngeom", ["geom_pos", "geom_size", "geom_friction"]],
  ["site", "nsite", ["site_pos"]],
  ["tendon", "ntendon", ["tendon_stiffness", "tendon_damping", "tendon_armature", "tendon_frictionloss"]],
  ["actuator", "nactuator", ["actuator_gainprm", "actuator_biasprm", "actuator_dynprm"]],
];
const OF_DOFS = ["dof_armature", "dof_damping", "dof_frictionloss"] as const;
const OF_ALL = ["gravity", "wind", "density", "viscosity", "timestep"] as const;

/** A field with such numbers, the object that has one, and the number. */
export interface NotHeld {
  readonly field: string;
  readonly object: string;
  readonly value: number;
}

/** Every number of a model that is finite, and infinity as a float32. */
export function numbersNotHeld(model: Model): NotHeld[] {
  const found: NotHeld[] = [];
  const look = (field: string, values: ArrayLike<number>, count: number, object: (id: number) => string) => {
    const width = values.length / count;
    for (let i = 0; i < values.length; i++) {
      if (Number.isFinite(values[i]) && !isHeld(values[i]))
        found.push({ field, object: object(Math.floor(i / width)), value: values[i] });
    }
  };
  for (const [kind, size, fields] of OF_OBJECTS) {
    for (const field of fields) look(field, model[field], model[size], (id) => describe(model, kind, id));
  }
  for (const field of OF_DOFS)
    look(field, model[field], model.nv, (dof) => describe(model, "joint", model.dof_jntid[dof]));
  const jointAt = (q: number) => model.jnt_qposadr.findLastIndex((from) => from <= q);
  look("qpos0", model.qpos0, model.nq, (q) => describe(model, "joint", jointAt(q)));
  for (const field of OF_ALL) look(field, [model.opt[field]].flat(), 1, () => "<option>");
  return found;
}
