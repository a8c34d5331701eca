// centres of mass, inertias and motion axes about them (mj_comPos)
import { each, when } from "../../trace/control.ts";
import { add, div, gt, isNode, max, or, select, type Int } from "../../trace/scalar.ts";
import { dofCom, dofSlide, inertCom } from "../../trace/spatial.ts";
import { column, MINVAL, scale3, sub3, type Vec3 } from "../../trace/vector.ts";
import { mjtJoint } from "../../model/enums.ts";
import { sumUp } from "./each-body.ts";
import { isJoint } from "./kinematics.ts";
import type { WorldData, ModelView } from "../view.ts";

/**
 * Centres of mass of the kinematic trees, inertias and motion axes about them (mj_comPos).
 * Reads xipos, ximat, xmat, xanchor, xaxis; writes subtree_com, cinert, cdof.
 */
export function comPos(m: ModelView, d: WorldData): void {
  subtreeCom(m, d);

  d.cinert.setRow(0, Array(10).fill(0));
  each(
    m.nbody,
    (i) => {
      const offset = sub3(d.xipos.vec3(i), d.subtree_com.vec3(m.body_rootid.at(i)));
      d.cinert.setRow(i, inertCom(m.body_inertia.vec3(i), d.ximat.mat3(i), offset, m.body_mass.at(i)));
    },
    { start: 1 },
  );

  each(m.njnt, (j) => jointAxes(m, d, j));
}

function subtreeCom(m: ModelView, d: WorldData): void {
  each(m.nbody, (i) => {
    d.subtree_com.setRow(i, scale3(d.xipos.vec3(i), m.body_mass.at(i)));
  });
  sumUp(m, d.subtree_com);
  each(m.nbody, (i) => {
    const mass = m.body_subtreemass.at(i);
    // a massless subtree has its centre at the body's own
    const inverse = isNode(mass) ? div(1, max(mass, MINVAL)) : mass < MINVAL ? 0 : 1 / mass;
    const com = scale3(d.subtree_com.vec3(i), inverse);
    const heavy = gt(mass, MINVAL);
    const own = d.xipos.vec3(i);
    d.subtree_com.setRow(
      i,
      com.map((x, k) => select(heavy, x, own[k])),
    );
  });
}

/** Motion axes of one joint's dofs about the centre of mass of its tree. */
function jointAxes(m: ModelView, d: WorldData, j: Int): void {
  const type = m.jnt_type.at(j);
  const dof = m.jnt_dofadr.at(j);
  const body = m.jnt_bodyid.at(j);
  const offset = sub3(d.subtree_com.vec3(m.body_rootid.at(body)), d.xanchor.vec3(j));
  const rotations = (first: Int) => {
    const mat = d.xmat.mat3(body);
    for (let k = 0; k < 3; k++) d.cdof.setRow(add(first, k), dofCom(column(mat, k), offset));
  };

  when(isJoint(m, type, mjtJoint.FREE), () => {
    const axes: Vec3[] = [
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ];
    axes.forEach((axis, k) => d.cdof.setRow(add(dof, k), dofSlide(axis)));
  });
  const free = isJoint(m, type, mjtJoint.FREE);
  when(or(free, isJoint(m, type, mjtJoint.BALL)), () => rotations(add(dof, select(free, 3, 0, "i32"))));
  when(isJoint(m, type, mjtJoint.SLIDE), () => d.cdof.setRow(dof, dofSlide(d.xaxis.vec3(j))));
  when(isJoint(m, type, mjtJoint.HINGE), () => d.cdof.setRow(dof, dofCom(d.xaxis.vec3(j), offset)));
}
