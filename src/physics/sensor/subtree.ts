// velocities and momenta of subtrees (mj_subtreeVel)
import { div, max, mul, type Scalar } from "../../trace/scalar.ts";
import { rotational, translational } from "../../trace/spatial.ts";
import { add3, cross, mulMatTVec, mulMatVec, scale3, sub3, MINVAL, type Vec3 } from "../../trace/vector.ts";
import { mjtObj } from "../../model/enums.ts";
import type { WorldData, ModelView } from "../view.ts";
import { attached, objectVelocity } from "./frames.ts";

/** Velocities of subtree centres and angular momenta about them (mj_subtreeVel). Writes subtree_linvel, subtree_angmom. */
export function subtreeVelocity(m: ModelView, d: WorldData): void {
  const { model } = m;
  const velocities = Array.from({ length: m.nbody }, (_, b) => objectVelocity(m, d, attached(m, d, mjtObj.BODY, b)));

  // momenta of the bodies alone
  for (let b = 0; b < m.nbody; b++) {
    d.subtree_linvel.setRow(b, scale3(translational(velocities[b]), m.body_mass.at(b)));
    const local = mulMatTVec(d.ximat.mat3(b), rotational(velocities[b]));
    const spin = local.map((w, k) => mul(w, m.body_inertia.at(3 * b + k))) as unknown as Vec3;
    d.subtree_angmom.setRow(b, mulMatVec(d.ximat.mat3(b), spin));
  }
  for (let b = m.nbody - 1; b >= 0; b--) {
    const own = d.subtree_linvel.vec3(b);
    if (b > 0) {
      const parent = model.body_parentid[b];
      d.subtree_linvel.setRow(parent, add3(d.subtree_linvel.vec3(parent), own));
    }
    d.subtree_linvel.setRow(b, scale3(own, div(1, max(MINVAL, m.body_subtreemass.at(b)))));
  }

  const shift = (b: number, arm: Vec3, speed: Vec3, mass: Scalar): void => {
    d.subtree_angmom.setRow(b, add3(d.subtree_angmom.vec3(b), cross(arm, scale3(speed, mass))));
  };
  for (let b = m.nbody - 1; b > 0; b--) {
    const parent = model.body_parentid[b];
    const own = d.subtree_linvel.vec3(b);
    const com = d.subtree_com.vec3(b);
    shift(b, sub3(d.xipos.vec3(b), com), sub3(translational(velocities[b]), own), m.body_mass.at(b));
    d.subtree_angmom.setRow(parent, add3(d.subtree_angmom.vec3(parent), d.subtree_angmom.vec3(b)));
    const arm = sub3(com, d.subtree_com.vec3(parent));
    shift(parent, arm, sub3(own, d.subtree_linvel.vec3(parent)), m.body_subtreemass.at(b));
  }
}
