// the points that motions, forces and inertias of bodies are held about, in solves over bodies
import { each } from "../../trace/control.ts";
import type { Int } from "../../trace/scalar.ts";
import {
  inertCom,
  motionAt,
  rotational,
  spatial,
  translational,
  type Spatial,
  type SpatialInertia,
} from "../../trace/spatial.ts";
import { add3, cross, sub3, ZERO3, type Vec3 } from "../../trace/vector.ts";
import { Field, type WorldData, type ModelView } from "../view.ts";
import { hasLightDofs } from "./own-centres.ts";

export interface BodyFrames {
  /** The point of a body, global. */
  centre(body: Int): Vec3;
  /** About the body's point, as all that follows. */
  inertia(body: Int): SpatialInertia;
  axis(dof: Int): Spatial;
  /** From the point of a body's parent to the body's; undefined where all bodies of a tree share one. */
  readonly fromParent?: (body: Int) => Vec3;
}

/** MuJoCo's: all bodies of a tree share its centre of mass, so that nothing is transformed between them. */
export const treeFrames = (m: ModelView, d: WorldData): BodyFrames => ({
  centre: (body) => d.subtree_com.vec3(m.body_rootid.at(body)),
  inertia: d.cinert.inertia,
  axis: d.cdof.spatial,
});

/**
 * Each body about the centre of mass of its own subtree: what a light body far from the tree's centre resists is not the
 * difference of large numbers. Reads ximat, xipos, subtree_com, cdof.
 */
function ownFrames(m: ModelView, d: WorldData): BodyFrames {
  const centre = d.subtree_com.vec3;
  const inertia = new Field("own_inertia", 10 * m.nbody, 10);
  const axis = new Field("own_axis", 6 * m.nv, 6);
  const offset = new Field("own_offset", 3 * m.nbody, 3);
  offset.setRow(0, ZERO3);
  each(
    m.nbody,
    (b) => {
      const arm = sub3(d.xipos.vec3(b), centre(b));
      inertia.setRow(b, inertCom(m.body_inertia.vec3(b), d.ximat.mat3(b), arm, m.body_mass.at(b)));
      offset.setRow(b, sub3(centre(b), centre(m.body_parentid.at(b))));
    },
    { start: 1 },
  );
  each(m.nv, (dof) => {
    const body = m.dof_bodyid.at(dof);
    axis.setRow(dof, motionAt(d.cdof.spatial(dof), centre(body), centre(m.body_rootid.at(body))));
  });
  return { centre, inertia: inertia.inertia, axis: axis.spatial, fromParent: offset.vec3 };
}

/** Own points where some dof is light beside its lever, else the trees'. */
export const bodyFrames = (m: ModelView, d: WorldData): BodyFrames =>
  hasLightDofs(m.model) ? ownFrames(m, d) : treeFrames(m, d);

/** What a motion about the parent's point is about the body's. */
export function motionFromParent({ fromParent }: BodyFrames, body: Int, v: Spatial): Spatial {
  if (!fromParent) return v;
  const w = rotational(v);
  return spatial(w, add3(translational(v), cross(w, fromParent(body))));
}

/** What a force about the body's point is about its parent's. */
export function forceToParent({ fromParent }: BodyFrames, body: Int, f: Spatial): Spatial {
  if (!fromParent) return f;
  const force = translational(f);
  return spatial(add3(rotational(f), cross(fromParent(body), force)), force);
}
