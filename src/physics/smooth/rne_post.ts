// accelerations of bodies and forces on them after the solve (mj_rnePostConstraint)
import { add, eq, isNode, select, type Int, type Scalar } from "../../trace/scalar.ts";
import {
  add6,
  crossForce,
  forceAt,
  mulInertVec,
  scale6,
  spatial,
  sub6,
  ZERO6,
  type Spatial,
} from "../../trace/spatial.ts";
import { mulMatTVec, type Vec3 } from "../../trace/vector.ts";
import { geomPairs } from "../../model/pairs.ts";
import { eachBodyDown, eachDof, movingSpatial, sumUp } from "./each-body.ts";
import type { ConstraintForces } from "../constraint/constraint-forces.ts";
import { holdingForces } from "../constraint/equality.ts";
import { worldAcceleration } from "./rne.ts";
import { tendonPulls } from "../tendon/tension.ts";
import type { WorldData, ModelView } from "../view.ts";

/**
 * Accelerations of bodies and the forces on them once qacc is known (mj_rnePostConstraint).
 * Reads cdof, cdof_dot, cvel, cinert, qvel, qacc, xfrc_applied, constraint forces; writes cacc, cfrc_ext, cfrc_int.
 */
export function rnePost(m: ModelView, d: WorldData, forces: ConstraintForces): void {
  externalForces(m, d, forces);

  d.cacc.setRow(0, worldAcceleration(m));
  d.cfrc_int.setRow(0, ZERO6);
  eachBodyDown(m, (i, parent) => {
    const a = movingSpatial("cacc", d.cacc.spatial(parent));
    eachDof(m, i, (dof) => {
      const bias = scale6(d.cdof_dot.spatial(dof), d.qvel.at(dof));
      a.add(add6(bias, scale6(d.cdof.spatial(dof), d.qacc.at(dof))));
    });
    d.cacc.setRow(i, a.get());

    const inertia = d.cinert.inertia(i);
    const v = d.cvel.spatial(i);
    const body = add6(mulInertVec(inertia, a.get()), crossForce(v, mulInertVec(inertia, v)));
    d.cfrc_int.setRow(i, sub6(body, d.cfrc_ext.spatial(i)));
  });
  sumUp(m, d.cfrc_int);
}

/** Wrenches on each body that are applied or come from contacts, connects, welds and spatial tendons, about its tree's centre of mass. */
function externalForces(m: ModelView, d: WorldData, forces: ConstraintForces): void {
  const { model } = m;
  const com = (b: number): Vec3 => d.subtree_com.vec3(model.body_rootid[b]);
  for (let b = 0; b < m.nbody; b++) {
    const applied = d.xfrc_applied.spatial(b);
    const wrench = [...applied.slice(3), ...applied.slice(0, 3)] as unknown as Spatial;
    const none = b === 0 || wrench.every((x) => x === 0);
    d.cfrc_ext.setRow(b, none ? ZERO6 : forceAt(wrench, com(b), d.xipos.vec3(b)));
  }

  const touching = bodiesInContact(m);
  forces.contacts.each(({ pos, frame, force, body1, body2 }) => {
    const [normal, turn] = [force.slice(0, 3), force.slice(3)] as unknown as [Vec3, Vec3];
    const wrench = spatial(mulMatTVec(frame, turn), mulMatTVec(frame, normal));
    const push = (b: Int, sign: Scalar) => {
      const about = forceAt(wrench, d.subtree_com.vec3(m.body_rootid.at(b)), pos);
      d.cfrc_ext.setRow(b, add6(d.cfrc_ext.spatial(b), scale6(about, sign)));
    };
    if (d.cfrc_ext.isIndexed) {
      push(body1, -1);
      push(body2, 1);
      return;
    }
    for (const b of touching) {
      const sign = share(b, body1, body2);
      if (sign !== 0) push(b, sign);
    }
  });
  for (const { body, pos, wrench } of [...holdingForces(m, d, forces), ...tendonPulls(m, d, forces)]) {
    d.cfrc_ext.setRow(body, add6(d.cfrc_ext.spatial(body), forceAt(wrench, com(body), pos)));
  }
  d.cfrc_ext.setRow(0, ZERO6);
}

/** +1 if the contact pushes body `b`, -1 if it pushes back on it, 0 if it is elsewhere. */
function share(b: number, body1: Int, body2: Int): Scalar {
  const back = isNode(body1) ? select(eq(body1, b), -1, 0) : body1 === b ? -1 : 0;
  const push = isNode(body2) ? select(eq(body2, b), 1, 0) : body2 === b ? 1 : 0;
  return add(back, push);
}

/** Bodies but the world that contacts can push. */
function bodiesInContact(m: ModelView): number[] {
  const bodies = new Set(
    geomPairs(m.model)
      .geoms()
      .map((g) => m.model.geom_bodyid[g]),
  );
  bodies.delete(0);
  return [...bodies].sort((a, b) => a - b);
}
