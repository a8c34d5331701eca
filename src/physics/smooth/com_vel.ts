// velocities of bodies (mj_comVel)
import { each, when } from "../../trace/control.ts";
import { add, and, eq, ge, not, or, select } from "../../trace/scalar.ts";
import { crossMotion, scale6, ZERO6 } from "../../trace/spatial.ts";
import { mjtJoint } from "../../model/enums.ts";
import { eachBodyDown, eachJoint, movingSpatial } from "./each-body.ts";
import { isJoint } from "./kinematics.ts";
import type { WorldData, ModelView } from "../view.ts";

/**
 * Body velocities and the rates of the motion axes, about the trees' centres of mass (mj_comVel).
 * Reads cdof, qvel; writes cvel, cdof_dot.
 */
export function comVel(m: ModelView, d: WorldData): void {
  d.cvel.setRow(0, ZERO6);

  eachBodyDown(m, (i, parent) => {
    const v = movingSpatial("cvel", d.cvel.spatial(parent));
    eachJoint(m, i, (j) => {
      const type = m.jnt_type.at(j);
      const dof = m.jnt_dofadr.at(j);

      const free = isJoint(m, type, mjtJoint.FREE);
      const turns = or(free, isJoint(m, type, mjtJoint.BALL));
      // the rotations of a ball turn together: their axes move with the velocity before any of them
      const base = movingSpatial("cvel_base", v.get());
      each(select(free, 6, select(turns, 3, 1, "i32"), "i32"), (k) => {
        const rotates = or(not(free), ge(k, 3));
        when(and(free, eq(k, 3)), () => base.set(v.get()));
        const axis = d.cdof.spatial(add(dof, k));
        const rate = crossMotion(base.get(), axis);
        d.cdof_dot.setRow(
          add(dof, k),
          rate.map((x) => select(rotates, x, 0)),
        );
        v.add(scale6(axis, d.qvel.at(add(dof, k))));
      });
    });
    d.cvel.setRow(i, v.get());
  });
}
