// forces on bodies, taken along the dofs that move them
import { each } from "../../trace/control.ts";
import { sub } from "../../trace/scalar.ts";
import { add6, dot6, spatial, type Spatial } from "../../trace/spatial.ts";
import { add3, cross, sub3, type Vec3 } from "../../trace/vector.ts";
import type { Int } from "../../trace/scalar.ts";
import type { WorldData, Field, ModelView } from "../view.ts";

/** A torque and a force at `point` as a force about the centre of mass of the body's tree (global). */
export function aboutTree(
  m: ModelView,
  d: WorldData,
  body: Int,
  torque: Vec3,
  force: Vec3,
  point: Vec3,
  centre: Vec3 = d.subtree_com.vec3(m.body_rootid.at(body)),
): Spatial {
  const arm = sub3(point, centre);
  return spatial(add3(torque, cross(arm, force)), force);
}

/** Sums forces on bodies, [nbody, 6] about their trees' centres, up the trees, and takes them along each dof. */
export function alongDofs(m: ModelView, d: WorldData, forces: Field, qfrc: Field): void {
  each(m.nbody - 1, (up) => {
    const b = sub(m.nbody - 1, up);
    const parent = m.body_parentid.at(b);
    forces.setRow(parent, add6(forces.spatial(parent), forces.spatial(b)));
  });
  each(m.nv, (i) => qfrc.set(i, dot6(d.cdof.spatial(i), forces.spatial(m.dof_bodyid.at(i)))));
}
