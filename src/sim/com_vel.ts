import { each, when } from "../trace/control.ts";
import { add, eq, or, type Int } from "../trace/scalar.ts";
import { add6, crossMotion, scale6, ZERO6, type Spatial } from "../trace/spatial.ts";
import { variable } from "../trace/control.ts";
import { mjtJoint } from "../model/enums.ts";
import type { DataView, ModelView } from "./view.ts";

/** A spatial vector that grows dof by dof. */
export function movingSpatial(name: string, initial: Spatial) {
  const parts = initial.map((x, k) => variable(`${name}_${k}`, x));
  return {
    get: () => parts.map((v) => v.get()) as unknown as Spatial,
    set: (s: Spatial) => s.forEach((x, k) => parts[k].set(x)),
  };
}

/**
 * Body velocities and the rates of the motion axes, about the trees' centres of mass (mj_comVel).
 * Reads cdof, qvel; writes cvel, cdof_dot.
 */
export function comVel(m: ModelView, d: DataView): void {
  d.cvel.setRow(0, ZERO6);

  each(
    m.nbody,
    (i) => {
      const v = movingSpatial("cvel", d.cvel.spatial(m.body_parentid.at(i)));
      const advance = (dof: Int) => v.set(add6(v.get(), scale6(d.cdof.spatial(dof), d.qvel.at(dof))));

      const first = m.body_jntadr.at(i);
      each(
        add(first, m.body_jntnum.at(i)),
        (j) => {
          const type = m.jnt_type.at(j);
          const dof = m.jnt_dofadr.at(j);

          // the rotations of a ball turn together: their axes move with the velocity before any of them
          const ball = (start: Int) => {
            for (let k = 0; k < 3; k++) {
              d.cdof_dot.setRow(add(start, k), crossMotion(v.get(), d.cdof.spatial(add(start, k))));
            }
            for (let k = 0; k < 3; k++) advance(add(start, k));
          };

          when(eq(type, mjtJoint.FREE), () => {
            for (let k = 0; k < 3; k++) {
              d.cdof_dot.setRow(add(dof, k), ZERO6);
              advance(add(dof, k));
            }
            ball(add(dof, 3));
          });
          when(eq(type, mjtJoint.BALL), () => ball(dof));
          when(
            or(eq(type, mjtJoint.FREE), eq(type, mjtJoint.BALL)),
            () => {},
            () => {
              d.cdof_dot.setRow(dof, crossMotion(v.get(), d.cdof.spatial(dof)));
              advance(dof);
            },
          );
        },
        { start: first },
      );

      d.cvel.setRow(i, v.get());
    },
    { start: 1 },
  );
}
