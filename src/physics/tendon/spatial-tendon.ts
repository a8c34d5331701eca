// tendons that run through sites, over pulleys and around spheres and cylinders (mj_tendon, mj_tendonDot)
import { add, div, lt, max, mul, neg, select, type Scalar } from "../../trace/scalar.ts";
import {
  addScaled3,
  cross,
  dot3,
  neg3,
  normalize3,
  scale3,
  select3,
  sub3,
  MINVAL,
  type Vec3,
} from "../../trace/vector.ts";
import { mjtGeom, mjtWrap } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import { bodyDofs } from "../constraint/body-dofs.ts";
import { biasAcceleration, motionAtPoint } from "../smooth/jac.ts";
import type { Arm } from "./moment-arms.ts";
import type { WorldData, ModelView } from "../view.ts";
import { add6, dot6, spatial, translational, ZERO6, type Spatial } from "../../trace/spatial.ts";
import { wrap } from "./wrap.ts";

/** A stretch of a tendon between two sites, straight or around a geom. */
interface Stretch {
  readonly sites: readonly [number, number];
  /** What its length counts for: 1 / divisor of the pulley before it. */
  readonly share: number;
  readonly geom?: number;
  /** The site that tells the side of the geom to pass, -1: none. */
  readonly side: number;
}

/** The stretches of a spatial tendon. */
function stretches(model: Model, t: number): Stretch[] {
  const first = model.tendon_adr[t];
  const last = first + model.tendon_num[t] - 1;
  const { wrap_type: type, wrap_objid: id, wrap_prm: prm } = model;
  const out: Stretch[] = [];
  let share = 1;
  for (let w = first; w < last;) {
    if (type[w] === mjtWrap.PULLEY) share = 1 / prm[w];
    if (type[w] === mjtWrap.PULLEY || type[w + 1] === mjtWrap.PULLEY) {
      w++;
    } else if (type[w + 1] === mjtWrap.SITE) {
      out.push({ sites: [id[w], id[w + 1]], share, side: -1 });
      w++;
    } else {
      out.push({ sites: [id[w], id[w + 2]], share, geom: id[w + 1], side: Math.round(prm[w + 1]) });
      w += 2;
    }
  }
  return out;
}

/** Whether no joint is between two bodies, so that their points keep their distance: rounding would leave them some motion. */
const isRigid = ({ body_weldid: weld }: Model, a: number, b: number): boolean => weld[a] === weld[b];

/** Whether each stretch of a tendon is between sites of one rigid body, so that nothing moves it unless it bends around a geom. */
export const isLoose = (model: Model, t: number): boolean =>
  stretches(model, t).every(({ sites: [a, b] }) => isRigid(model, model.site_bodyid[a], model.site_bodyid[b]));

/** A point of a body that a tendon pulls at: the rate of its length per unit velocity of the point. */
interface Pull {
  readonly body: number;
  readonly pos: Vec3;
  readonly pull: Vec3;
}

/** A straight stretch: its length, and the points it pulls at. */
function straight(m: ModelView, d: WorldData, { sites }: Stretch): { length: Scalar; pulls: Pull[] } {
  const [a, b] = sites.map((s) => d.site_xpos.vec3(s));
  const [bodyA, bodyB] = sites.map((s) => m.model.site_bodyid[s]);
  const { unit, length } = normalize3(sub3(b, a));
  if (isRigid(m.model, bodyA, bodyB)) return { length, pulls: [] };
  return {
    length,
    pulls: [
      { body: bodyA, pos: a, pull: neg3(unit) },
      { body: bodyB, pos: b, pull: unit },
    ],
  };
}

/** A stretch that may bend around a geom. */
function bent(m: ModelView, d: WorldData, { sites, geom, side }: Stretch): { length: Scalar; pulls: Pull[] } {
  const { model } = m;
  const g = geom!;
  const [a, b] = sites.map((s) => d.site_xpos.vec3(s));
  const [bodyA, bodyB] = sites.map((s) => model.site_bodyid[s]);
  const bodyG = model.geom_bodyid[g];
  const w = wrap(
    {
      isSphere: model.geom_type[g] === mjtGeom.SPHERE,
      pos: d.geom_xpos.vec3(g),
      mat: d.geom_xmat.mat3(g),
      radius: model.geom_size[3 * g],
    },
    a,
    b,
    side < 0 ? undefined : { pos: d.site_xpos.vec3(side), ...sideDistance(m, g, side) },
  );
  const start = normalize3(sub3(select3(w.wraps, w.from, b), a));
  const end = normalize3(sub3(b, select3(w.wraps, w.to, a)));
  // a straight way between points of one body does not change; nor does one from a site to a geom of its body
  const free = isRigid(model, bodyA, bodyB) ? 0 : 1;
  const [overA, overB] = [bodyA, bodyB].map((body) => (isRigid(model, body, bodyG) ? 0 : 1));
  const pull = (body: number, pos: Vec3, direction: Vec3, wrapped: number, not: number): Pull => ({
    body,
    pos,
    pull: scale3(direction, select(w.wraps, wrapped, not)),
  });
  return {
    length: select(w.wraps, add(add(start.length, w.length), end.length), start.length),
    pulls: [
      pull(bodyA, a, neg3(start.unit), overA, free),
      pull(bodyG, w.from, start.unit, overA, 0),
      pull(bodyG, w.to, neg3(end.unit), overB, 0),
      pull(bodyB, b, end.unit, overB, free),
    ],
  };
}

/** How far a side site is from the centre of the geom, if both are on one body. */
function sideDistance({ model }: ModelView, geom: number, site: number): { distance?: number } {
  if (model.geom_bodyid[geom] !== model.site_bodyid[site]) return {};
  return { distance: Math.hypot(...[0, 1, 2].map((k) => model.site_pos[3 * site + k] - model.geom_pos[3 * geom + k])) };
}

/** Length of a spatial tendon, and the points it pulls at. Reads site_xpos, geom_xpos, geom_xmat. */
export function spatialTendon(m: ModelView, d: WorldData, t: number): { length: Scalar; pulls: Pull[] } {
  let length: Scalar = 0;
  const pulls: Pull[] = [];
  for (const stretch of stretches(m.model, t)) {
    const own = stretch.geom === undefined ? straight(m, d, stretch) : bent(m, d, stretch);
    length = add(length, mul(stretch.share, own.length));
    pulls.push(...own.pulls.map((p) => ({ ...p, pull: scale3(p.pull, stretch.share) })));
  }
  return { length, pulls };
}

/**
 * What those points' velocities make of the dofs' (the row of ten_J): what pulls at a body's points is one force and one
 * moment about the centre of mass of its tree, and what a dof moves is the sum of those of the bodies it carries. Reads cdof,
 * subtree_com.
 */
export function pullArms(m: ModelView, d: WorldData, pulls: readonly Pull[]): Arm[] {
  const { model } = m;
  const forces = new Map<number, Spatial>();
  const onto = (body: number, force: Spatial) => forces.set(body, add6(forces.get(body) ?? ZERO6, force));
  for (const { body, pos, pull } of pulls) {
    if (bodyDofs(model, body).length === 0) continue;
    const arm = sub3(pos, d.subtree_com.vec3(model.body_rootid[body]));
    onto(body, spatial(cross(arm, pull), pull));
  }
  const arms: Arm[] = [];
  // parents have lower ids than their children
  for (let body = model.nbody - 1; body > 0; body--) {
    const force = forces.get(body);
    if (force === undefined) continue;
    for (let k = 0; k < model.body_dofnum[body]; k++) {
      const dof = model.body_dofadr[body] + k;
      arms.push({ dof, coef: dot6(d.cdof.spatial(dof), force) });
    }
    if (model.body_parentid[body] > 0) onto(model.body_parentid[body], force);
  }
  return arms;
}

/**
 * The rate of a spatial tendon's Jacobian times qvel (mj_tendonDot), along straight stretches. Reads site_xpos, cvel,
 * cdof_dot, qvel, subtree_com.
 */
export function spatialTendonBias(m: ModelView, d: WorldData, t: number): Scalar {
  let rate: Scalar = 0;
  for (const { sites, share } of stretches(m.model, t)) {
    const bodies = sites.map((s) => m.model.site_bodyid[s]);
    if (isRigid(m.model, bodies[0], bodies[1])) continue;
    const points = sites.map((s) => d.site_xpos.vec3(s));
    const { unit, length } = normalize3(sub3(points[1], points[0]));
    const velocities = bodies.map((b, k) => translational(motionAtPoint(m, d, d.cvel.spatial(b), b, points[k])));
    const accelerations = bodies.map((b, k) => biasAcceleration(m, d, b, points[k]).trans);
    const velocity = sub3(velocities[1], velocities[0]);
    // the direction turns with what of the velocity is across it
    const across = addScaled3(velocity, neg(dot3(unit, velocity)), unit);
    const turn = scale3(across, select(lt(length, MINVAL), 0, div(1, max(length, MINVAL))));
    const own = add(dot3(unit, sub3(accelerations[1], accelerations[0])), dot3(turn, velocity));
    rate = add(rate, mul(share, own));
  }
  return rate;
}
