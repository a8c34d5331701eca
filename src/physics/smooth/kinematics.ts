// global frames from joint positions (mj_kinematics)
import { each, table, variable, when } from "../../trace/control.ts";
import { add, eq, mul, sub, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import { sincos } from "../../trace/math.ts";
import {
  add3,
  addScaled3,
  mulQuat,
  normalizeQuat,
  quatToMat,
  rotate,
  sub3,
  type Mat3,
  type Quat,
  type Vec3,
} from "../../trace/vector.ts";
import { mjtJoint } from "../../model/enums.ts";
import { carried } from "./carried.ts";
import { leaveOutFixed } from "./fixed-geoms.ts";
import { eachBodyDown, eachJoint } from "./each-body.ts";
import type { WorldData, ModelView } from "../view.ts";

/** Whether a joint is of a kind; known if a model has none of that kind. */
export const isJoint = ({ model }: ModelView, type: Int, kind: number): Bool =>
  model.jnt_type.includes(kind) ? eq(type, kind) : false;

/** A frame that joints move, one after the other. */
function movingFrame() {
  const parts = Array.from({ length: 7 }, (_, k) => variable(`frame_${k}`));
  return {
    get pos(): Vec3 {
      return parts.slice(0, 3).map((v) => v.get()) as unknown as Vec3;
    },
    get quat(): Quat {
      return parts.slice(3).map((v) => v.get()) as unknown as Quat;
    },
    set(pos: Vec3, quat: Quat) {
      [...pos, ...quat].forEach((x, k) => parts[k].set(x));
    },
  };
}

/** The rotation about a unit axis (mju_axisAngle2Quat). */
export function axisAngle(axis: Vec3, angle: Scalar): Quat {
  const [s, c] = sincos(mul(angle, 0.5));
  return [c, mul(axis[0], s), mul(axis[1], s), mul(axis[2], s)];
}

/**
 * Global frames of bodies, inertial frames, geoms, sites, joint anchors and axes (mj_kinematics).
 * Reads qpos, mocap_pos, mocap_quat; writes xpos, xquat, xmat, xipos, ximat, xanchor, xaxis, geom_x*, site_x*.
 */
export function kinematics(m: ModelView, d: WorldData): void {
  d.xpos.setRow(0, [0, 0, 0]);
  d.xquat.setRow(0, [1, 0, 0, 0]);
  d.xmat.setRow(0, [1, 0, 0, 0, 1, 0, 0, 0, 1]);

  eachBodyDown(m, (i, parent) => bodyFrame(m, d, i, parent));

  each(m.nbody, (i) => {
    d.xipos.setRow(i, add3(d.xpos.vec3(i), carried(d.xquat.quat(i), m.body_ipos.vec3(i))));
    d.ximat.setRow(i, quatToMat(mulQuat(d.xquat.quat(i), m.body_iquat.quat(i))));
  });
  const moving = leaveOutFixed(m, d);
  const geom = moving.length < m.ngeom ? table("moving_geom", moving, "i32") : (i: Int) => i;
  attach(moving.length, geom, m.geom_bodyid.at, m.geom_pos.vec3, m.geom_quat.quat, d.geom_xpos, d.geom_xmat, d);
  attach(m.nsite, (i) => i, m.site_bodyid.at, m.site_pos.vec3, m.site_quat.quat, d.site_xpos, d.site_xmat, d);
}

/** Global frames of things fixed to bodies (mj_local2Global). */
function attach(
  count: number,
  idOf: (place: Int) => Int,
  bodyid: (i: Int) => Int,
  pos: (i: Int) => Vec3,
  quat: (i: Int) => Quat,
  xpos: WorldData["geom_xpos"],
  xmat: WorldData["geom_xmat"],
  d: WorldData,
): void {
  each(count, (place) => {
    const i = idOf(place);
    const body = bodyid(i);
    const at = attached(d.xpos.vec3(body), d.xquat.quat(body), pos(i), quat(i));
    xpos.setRow(i, at.pos);
    xmat.setRow(i, at.mat);
  });
}

/** The frame of what has a place and a quaternion beside its body. */
export const attached = (xpos: Vec3, xquat: Quat, pos: Vec3, quat: Quat): { pos: Vec3; mat: Mat3 } => ({
  pos: add3(xpos, carried(xquat, pos)),
  mat: quatToMat(mulQuat(xquat, quat)),
});

function bodyFrame(m: ModelView, d: WorldData, i: Int, parent: Int): void {
  const frame = movingFrame();
  const mocap = m.body_mocapid.at(i);

  const fixed = () => {
    const quat = d.xquat.quat(parent);
    // those that worlds draw are no unit quaternions
    const own = m.body_quat.isOwn ? normalizeQuat(m.body_quat.quat(i)) : m.body_quat.quat(i);
    frame.set(add3(d.xpos.vec3(parent), carried(quat, m.body_pos.vec3(i))), mulQuat(quat, own));
  };
  if (m.nmocap === 0) fixed();
  else {
    when(eq(mocap, -1), fixed, () => {
      frame.set(d.mocap_pos.vec3(mocap), normalizeQuat(d.mocap_quat.quat(mocap)));
    });
  }

  eachJoint(m, i, (j) => {
    const type = m.jnt_type.at(j);
    const adr = m.jnt_qposadr.at(j);

    when(
      isJoint(m, type, mjtJoint.FREE),
      () => {
        const pos = d.qpos.run(adr, 3) as unknown as Vec3;
        frame.set(pos, normalizeQuat(d.qpos.run(add(adr, 3), 4) as unknown as Quat));
        d.xanchor.setRow(j, pos);
        d.xaxis.setRow(j, m.jnt_axis.vec3(j));
      },
      () => {
        const anchor = add3(frame.pos, rotate(frame.quat, m.jnt_pos.vec3(j)));
        const axis = rotate(frame.quat, m.jnt_axis.vec3(j));
        d.xanchor.setRow(j, anchor);
        d.xaxis.setRow(j, axis);

        when(isJoint(m, type, mjtJoint.SLIDE), () => {
          const moved = sub(d.qpos.at(adr), m.qpos0.at(adr));
          frame.set(addScaled3(frame.pos, moved, axis), frame.quat);
        });
        // rotate about the anchor
        const turn = (local: Quat) => {
          const quat = mulQuat(frame.quat, local);
          frame.set(sub3(anchor, rotate(quat, m.jnt_pos.vec3(j))), quat);
        };
        when(isJoint(m, type, mjtJoint.HINGE), () => {
          turn(axisAngle(m.jnt_axis.vec3(j), sub(d.qpos.at(adr), m.qpos0.at(adr))));
        });
        when(isJoint(m, type, mjtJoint.BALL), () => {
          turn(normalizeQuat(d.qpos.run(adr, 4) as unknown as Quat));
        });
      },
    );
  });

  // products of unit quaternions stay unit to rounding: only those from the state are normalised
  d.xpos.setRow(i, frame.pos);
  d.xquat.setRow(i, frame.quat);
  d.xmat.setRow(i, quatToMat(frame.quat));
}
