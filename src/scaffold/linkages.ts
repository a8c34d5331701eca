// joints that turn together because links of a robot are closed into loops, or geared: what those that nothing drives turn by
import { mjtDisableBit, mjtEq, mjtJacobian, mjtJoint } from "../model/enums.ts";
import type { Model } from "../model/model.ts";
import { listen } from "../model/mujoco.ts";
import type { Oracle } from "../model/oracle.ts";
import { equalityBodies } from "../model/pairs.ts";
import { drivenJoints, isBelow } from "./motors.ts";
import { solve } from "./vectors.ts";

/** Equalities that share joints, and the joints that they tie. */
export interface Linkage {
  readonly ties: readonly number[];
  readonly joints: readonly number[];
}

/**
 * Steps of Gauss and Newton, where they end (m, rad), and what their matrix is raised by, in parts of its largest number. Rods
 * that are not quite in a plane, as rounded numbers have them, close by no more than a little.
 */
const STEPS = 12;
const CLOSED = 1e-10;
const NEARLY = 1e-3;
const RAISED = 1e-9;

const count = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

/** Joints that an equality ties: two by a polynomial, or those between two bodies that it holds together. */
function tiedBy(model: Model, equality: number): number[] {
  if (model.eq_type[equality] === mjtEq.JOINT) {
    const [a, b] = [model.eq_obj1id[equality], model.eq_obj2id[equality]];
    return b < 0 ? [] : [a, b];
  }
  if (model.eq_type[equality] !== mjtEq.CONNECT && model.eq_type[equality] !== mjtEq.WELD) return [];
  const [one, other] = equalityBodies(model, equality);
  return count(model.njnt).filter(
    (j) => isBelow(model, one, model.jnt_bodyid[j]) !== isBelow(model, other, model.jnt_bodyid[j]),
  );
}

/** Linkages of a robot of which something is driven and something is not. */
export function linkagesOf(model: Model): Linkage[] {
  const driven = drivenJoints(model);
  const found: Linkage[] = [];
  for (const e of count(model.neq).filter((i) => model.eq_active0[i] > 0)) {
    let linkage: Linkage = { ties: [e], joints: tiedBy(model, e) };
    // what floats is tied to nothing by a free joint
    if (linkage.joints.length === 0 || linkage.joints.some((j) => model.jnt_type[j] === mjtJoint.FREE)) continue;
    for (const other of found.filter(({ joints }) => joints.some((j) => linkage.joints.includes(j)))) {
      found.splice(found.indexOf(other), 1);
      linkage = {
        ties: [...other.ties, ...linkage.ties],
        joints: [...new Set([...other.joints, ...linkage.joints])],
      };
    }
    found.push(linkage);
  }
  return found.filter(({ joints }) => joints.some((j) => driven.has(j)) && joints.some((j) => !driven.has(j)));
}

/** The joints of linkages that follow: no actuator drives them, and no spring holds them. */
function followingOf(model: Model, linkages: readonly Linkage[]): number[] {
  const driven = drivenJoints(model);
  return linkages.flatMap(({ joints }) => joints).filter((j) => !driven.has(j) && !(model.jnt_stiffness[j] > 0));
}

/** Turns what follows in linkages, in `qpos`, until they are closed, by MuJoCo's Jacobian of their equalities; whether they are. */
export function close(
  oracle: Oracle,
  model: Model,
  linkages: readonly Linkage[],
  qpos: Float64Array,
  following: readonly number[] = followingOf(model, linkages),
): boolean {
  const { mujoco, model: mjModel, data } = oracle;
  const ties = new Set(linkages.flatMap((linkage) => linkage.ties));
  const dofs = following.flatMap((j) =>
    count(model.jnt_type[j] === mjtJoint.BALL ? 3 : 1).map((k) => model.jnt_dofadr[j] + k),
  );
  const { disableflags, jacobian } = mjModel.opt;
  mjModel.opt.disableflags = disableflags | mjtDisableBit.CONTACT;
  mjModel.opt.jacobian = mjtJacobian.DENSE;
  try {
    for (let step = 0; ; step++) {
      oracle.write("qpos", qpos);
      listen(() => {
        mujoco.mj_kinematics(mjModel, data);
        mujoco.mj_comPos(mjModel, data);
        // empties the arena that rows are made in
        mujoco.mj_collision(mjModel, data);
        mujoco.mj_makeConstraint(mjModel, data);
      });
      const [jacobians, off, ids] = [oracle.read("efc_J"), oracle.read("efc_pos"), oracle.read("efc_id")];
      const rows = count(data.ne).filter((row) => ties.has(ids[row]));
      const open = Math.max(0, ...rows.map((row) => Math.abs(off[row])));
      if (open <= CLOSED || step === STEPS) return open < NEARLY;
      // most joints move few rows of the ties
      const columns = dofs.map((dof) =>
        rows.flatMap((row) => {
          const slope = jacobians[model.nv * row + dof];
          return slope === 0 ? [] : [{ row, slope }];
        }),
      );
      const system = columns.map((column) => [
        ...dofs.map((dof) => column.reduce((sum, { row, slope }) => sum + slope * jacobians[model.nv * row + dof], 0)),
        -column.reduce((sum, { row, slope }) => sum + slope * off[row], 0),
      ]);
      const largest = Math.max(...system.map((numbers, i) => numbers[i]));
      // nothing that follows moves them
      if (!(largest > 0)) return open < NEARLY;
      system.forEach((numbers, i) => (numbers[i] += RAISED * largest));
      const turns = new Float64Array(model.nv);
      solve(system).forEach((turn, i) => (turns[dofs[i]] = turn));
      const buffer = new mujoco.DoubleBuffer(qpos.length);
      try {
        buffer.GetView().set(qpos);
        mujoco.mj_integratePos(mjModel, buffer, Array.from(turns), 1);
        qpos.set(buffer.GetView());
      } finally {
        buffer.delete();
      }
    }
  } finally {
    mjModel.opt.disableflags = disableflags;
    mjModel.opt.jacobian = jacobian;
  }
}
