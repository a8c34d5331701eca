// forces on bodies, taken along the dofs that move them
import { each } from "../../trace/control.ts";
import { add6, dot6, spatial, type Spatial } from "../../trace/spatial.ts";
import { add3, cross, sub3, type Vec3 } from "../../trace/vector.ts";
import type { Int, Scalar } from "../../trace/scalar.ts";
import { forceToParent, treeFrames, type BodyFrames } from "./body-frames.ts";
import { eachBodyUp } from "./each-body.ts";
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

/**
 * The force on each dof of spatial forces on the bodies, [nbody, 6] about their points (default: their trees' centres),
 * handed to `put`. The forces are summed up the trees in place.
 */
export function alongDofs(
  m: ModelView,
  d: WorldData,
  forces: Field,
  put: (dof: Int, force: Scalar) => void,
  frames: BodyFrames = treeFrames(m, d),
): void {
  eachBodyUp(m, (i, parent) => {
    forces.setRow(parent, add6(forces.spatial(parent), forceToParent(frames, i, forces.spatial(i))));
  });
  each(m.nv, (dof) => put(dof, dot6(frames.axis(dof), forces.spatial(m.dof_bodyid.at(dof)))));
}
