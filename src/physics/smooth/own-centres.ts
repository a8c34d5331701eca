// M of composite bodies about their own centres of mass, for dofs that are light beside their distance from the tree's
import { each, table } from "../../trace/control.ts";
import { add, dotn, eq, mul, select, sub, type Int, type Scalar } from "../../trace/scalar.ts";
import { addInertia, inertCom, rotational, translational, type SpatialInertia } from "../../trace/spatial.ts";
import { cross, scale3, sub3, type Vec3 } from "../../trace/vector.ts";
import { mjtJoint } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import { Field, type WorldData, type ModelView } from "../view.ts";
import { eachBodyUp } from "./each-body.ts";

/**
 * Composite inertias about the tree's centre of mass (mj_crb) hold mass times distance squared, which cancels where M is
 * taken about an axis. Beyond this many times of what resists the dof (the inverse of `dof_invweight0`: less than its own
 * inertia where what it is held by gives way), float32 (eps 6e-8) keeps five digits of an acceleration at most: the last
 * joint of an arm keeps four, and a motor that turns it at 1e5 rad/s² leaves 1e-3 in `qvel`.
 */
const LEVER_RATIO = 128;

/** Whether some dof of the model turns an inertia that float32 loses in that of its lever. */
export function hasLightDofs(model: Model): boolean {
  const reach = new Float64Array(model.nbody);
  for (let i = 1; i < model.nbody; i++) {
    const parent = model.body_parentid[i];
    const [x, y, z] = model.body_pos.subarray(3 * i);
    reach[i] = parent === 0 ? 0 : reach[parent] + Math.hypot(x, y, z);
  }
  return Array.from({ length: model.nv }, (_, dof) => dof).some((dof) => {
    const body = model.dof_bodyid[dof];
    const lever = model.body_subtreemass[body] * reach[body] ** 2;
    return !slides(model, dof) && lever * model.dof_invweight0[dof] > LEVER_RATIO;
  });
}

/** Whether a dof translates its body: a slide joint, or the first three of a free joint. */
export function slides(model: Model, dof: number): boolean {
  const joint = model.dof_jntid[dof];
  const type = model.jnt_type[joint];
  return type === mjtJoint.SLIDE || (type === mjtJoint.FREE && dof - model.jnt_dofadr[joint] < 3);
}

/** The momentum that a dof gives to the bodies that it moves, and what another dof makes of it. */
export interface CompositeMotion {
  /** M(i, j) for the dof j, which moves body i. */
  along(j: Int): Scalar;
}

/**
 * What dof i does to the composite body that it moves, about the centre of mass of that body: sums of squares alone, so
 * that nothing cancels. Reads ximat, xipos, xanchor, subtree_com, cdof.
 */
export function compositeMotions(m: ModelView, d: WorldData): (i: Int) => CompositeMotion {
  const centre = d.subtree_com.vec3;
  const composite = new Field("own_crb", 10 * m.nbody, 10);
  each(m.nbody, (i) => composite.setRow(i, Array(10).fill(0)));
  eachBodyUp(m, (i, parent) => {
    const own = inertCom(m.body_inertia.vec3(i), d.ximat.mat3(i), sub3(d.xipos.vec3(i), centre(i)), m.body_mass.at(i));
    const all = addInertia(own, composite.inertia(i));
    composite.setRow(i, all);
    const moved = atOffset(all, sub3(centre(i), centre(parent)), m.body_subtreemass.at(i));
    composite.setRow(parent, addInertia(composite.inertia(parent), moved));
  });

  const slide = table(
    "dof_slides",
    Array.from(m.model.dof_jntid, (_, dof) => Number(slides(m.model, dof))),
    "i32",
  );
  const velocity = (dof: Int, point: Vec3): Vec3 => {
    const motion = d.cdof.spatial(dof);
    const turned = cross(rotational(motion), sub3(point, d.xanchor.vec3(m.dof_jntid.at(dof))));
    const moves = eq(slide(dof), 1);
    return translational(motion).map((x, k) => select(moves, x, turned[k])) as unknown as Vec3;
  };

  return (i) => {
    const body = m.dof_bodyid.at(i);
    const [xx, yy, zz, xy, xz, yz] = composite.inertia(body);
    const w = rotational(d.cdof.spatial(i));
    const angular: Vec3 = [dotn([xx, xy, xz], w), dotn([xy, yy, yz], w), dotn([xz, yz, zz], w)];
    const linear = scale3(velocity(i, centre(body)), m.body_subtreemass.at(body));
    return {
      along: (j) => add(dotn(rotational(d.cdof.spatial(j)), angular), dotn(velocity(j, centre(body)), linear)),
    };
  };
}

/** An inertia about a point at `-offset` from its centre of mass. */
function atOffset(inertia: SpatialInertia, offset: Vec3, mass: Scalar): SpatialInertia {
  const [x, y, z] = offset;
  const [xx, yy, zz, xy, xz, yz] = inertia;
  const squares = [mul(x, x), mul(y, y), mul(z, z)];
  return [
    add(xx, mul(mass, add(squares[1], squares[2]))),
    add(yy, mul(mass, add(squares[0], squares[2]))),
    add(zz, mul(mass, add(squares[0], squares[1]))),
    sub(xy, mul(mass, mul(x, y))),
    sub(xz, mul(mass, mul(x, z))),
    sub(yz, mul(mass, mul(y, z))),
    ...scale3(offset, mass),
    mass,
  ];
}
