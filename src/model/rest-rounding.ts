// how far float32 alone throws a model where it starts: forces that cancel, places far off, friction too stiff for it, ties
import type { Model } from "./model-data.ts";
import { ofContacts } from "./contact-list.ts";
import { mjtCone, mjtDisableBit, mjtGeom, mjtJoint } from "./enums.ts";
import { thrownOnTheWay } from "./flailing.ts";
import { searchedIn, thrownByTurns } from "./jumping-contacts.ts";
import { listen, type MainModule, type MjData, type MjModel } from "./mujoco.ts";
import { geomPairs } from "./pairs.ts";
import { areTwins, type Touch } from "./twin-faces.ts";

/** Poses of keyframes that are tried, the first of them. */
const MOST_KEYS = 16;

/** Half a last place of float32, of 1. */
const HALF_PLACE = 2 ** -24;

/** R of a contact, as a part of J M⁻¹ Jᵀ, below which float32 raises it, and as far as it keeps less beside a lever of its own. */
const RAISED = { below: 2e-7, beside: 1e-2, keptTo: 2e-8 };

/** What places lose is told from here on, m/s or rad/s. */
const TOLD = 1e-5;

/** What forces at other places throw at the least (m/s, rad/s): those at the start need not be those of later. */
const ELSEWHERE_THROWS = 1e-3;

/** A contact's first row, and its number of rows. */
interface Start {
  readonly address: number;
  readonly rows: number;
}

const touchesOf = (data: MjData): Touch[] =>
  ofContacts(data, (contact) => {
    const [pos, frame] = [contact.pos, contact.frame].map((list) => Array.from(list as Float64Array));
    return { dist: contact.dist, geoms: [contact.geom1, contact.geom2], pos, normal: frame.slice(0, 3) };
  });

const rowsOf = (data: MjData, isPyramidal: boolean): Start[] =>
  ofContacts(data, ({ dim, efc_address: address }) => ({
    address,
    rows: isPyramidal && dim > 1 ? 2 * (dim - 1) : dim,
  }));

/** Whether hulls of one outline lie on each other. */
function hasTwins(model: Model, data: MjData): boolean {
  if (!model.hulls) return false;
  const first = new Map(touchesOf(data).map((contact) => [contact.geoms.join(), contact]));
  return [...first.values()].some((contact) => areTwins(model, data, contact));
}

/** Whether the axis of a capsule is in a cylinder, as in elbows: which of several places MuJoCo's search ends at float32 does not tell. */
function hasSunkCapsules({ geom_type, geom_size, opt }: Model, data: MjData): boolean {
  const kinds = [mjtGeom.CAPSULE, mjtGeom.CYLINDER];
  if ((opt.disableflags & mjtDisableBit.MULTICCD) !== 0 || !kinds.every((t) => geom_type.includes(t))) return false;
  // the lower type is the first
  return ofContacts(data, ({ geom1, geom2, dist }) => ({ geoms: [geom1, geom2], dist })).some(
    ({ geoms, dist }) => geoms.every((g, k) => geom_type[g] === kinds[k]) && dist < -geom_size[3 * geoms[0]],
  );
}

/** By how much weights turn joints about anchors that float32 places to half a last place: what is far from the origin, and light. */
function lostInPlaces(mj: MjModel, data: MjData, model: Model): number {
  const weight = Math.hypot(...model.opt.gravity);
  const [places, mass] = [data.xpos as Float64Array, mj.body_subtreemass as Float64Array];
  let most = 0;
  for (let j = 0; j < model.njnt; j++) {
    const type = model.jnt_type[j];
    if (type !== mjtJoint.HINGE && type !== mjtJoint.BALL) continue;
    const body = model.jnt_bodyid[j];
    const far = Math.max(...[0, 1, 2].map((k) => Math.abs(places[3 * body + k])));
    most = Math.max(most, mass[body] * weight * far * model.dof_invweight0[model.jnt_dofadr[j]]);
  }
  return most * model.opt.timestep * HALF_PLACE;
}

/** The part of each row's force that float32 loses: its last place, and what it yields where the R of a contact is raised. */
function raisedShares(contacts: readonly Start[], data: MjData, A: (row: number) => number): Float64Array {
  const share = new Float64Array(data.nefc).fill(HALF_PLACE);
  const D = data.efc_D as Float64Array;
  for (const { address, rows } of contacts) {
    if (address < 0 || rows < 2) continue;
    const own = Array.from({ length: rows }, (_, k) => A(address + k));
    const stiffest = own.reduce((most, a, k) => Math.max(most, D[address + k] * a), 0);
    const isKept = own[0] > RAISED.beside * Math.max(own[1], own[2] ?? 0) && stiffest < 1 / RAISED.keptTo;
    const raised = isKept ? 0 : Math.min(1, Math.max(0, RAISED.below * stiffest - 1));
    for (let k = 0; k < rows; k++) share[address + k] += raised;
  }
  return share;
}

/**
 * What rounding leaves of a velocity (m/s, rad/s) after the first step from qpos0 or a keyframe, whichever is most: by how
 * much each force of MuJoCo's constraints pulls at a dof, in float32's last place, all added up, and as far as a contact is
 * stiffer than float32 has it; what a turn of searched geoms by a half last place changes (`thrownByTurns`), there and some
 * steps of random controls later (`thrownOnTheWay`);
 * and `ELSEWHERE_THROWS` where hulls of one outline lie on each other or a capsule's axis is in a cylinder. Undefined if no
 * contact starts inside of anything and places lose little, or MuJoCo cannot say.
 */
export function restRounding(mujoco: MainModule, mj: MjModel, model: Model): number | undefined {
  try {
    const collides = geomPairs(model).length > 0;
    const isPyramidal = model.opt.cone === mjtCone.PYRAMIDAL;
    const data = new mujoco.MjData(mj);
    try {
      let most: number | undefined;
      for (let key = -1; key < Math.min(model.nkey, MOST_KEYS); key++) {
        if (key >= 0) mujoco.mj_resetDataKeyframe(mj, data, key);
        mujoco.mj_kinematics(mj, data);
        const inPlaces = lostInPlaces(mj, data, model);
        if (inPlaces > TOLD) most = Math.max(most ?? 0, inPlaces);
        if (!collides) continue;
        mujoco.mj_collision(mj, data);
        if (!ofContacts(data, ({ dist }) => dist).some((dist) => dist < 0)) continue;
        if (hasTwins(model, data) || hasSunkCapsules(model, data)) most = Math.max(most ?? 0, ELSEWHERE_THROWS);
        listen(() => mujoco.mj_forward(mj, data));
        const pulls = new Float64Array(model.nv);
        const [jacobian, force] = [data.efc_J as Float64Array, data.efc_force as Float64Array];
        const isSparse = mujoco.mj_isSparse(mj) !== 0;
        const [address, count, column] = isSparse
          ? [data.efc_J_rowadr, data.efc_J_rownnz, data.efc_J_colind].map((list) => list as Int32Array)
          : [];
        const eachDof = (row: number, take: (dof: number, value: number) => void) => {
          const from = isSparse ? address[row] : row * model.nv;
          for (let k = 0; k < (isSparse ? count[row] : model.nv); k++)
            take(isSparse ? column[from + k] : k, jacobian[from + k]);
        };
        const share = raisedShares(rowsOf(data, isPyramidal), data, (row) => {
          let A = 0;
          eachDof(row, (dof, value) => (A += value * value * model.dof_invweight0[dof]));
          return A;
        });
        for (let row = 0; row < data.nefc; row++)
          eachDof(row, (dof, value) => (pulls[dof] += Math.abs(value * force[row]) * share[row]));
        const lost = pulls.map((pull, dof) => pull * model.dof_invweight0[dof] * model.opt.timestep);
        most = lost.reduce((a, b) => (b > a ? b : a), most ?? 0);
        const searched = searchedIn(model, data);
        if (searched.size > 0)
          most = Math.max(most ?? 0, listen(() => thrownByTurns(mujoco, mj, data, searched)).result);
      }
      if (!collides || (most ?? 0) >= ELSEWHERE_THROWS) return most;
      const later = listen(() => thrownOnTheWay(mujoco, mj, data, model, ELSEWHERE_THROWS)).result;
      return later > TOLD ? Math.max(most ?? 0, later) : most;
    } finally {
      data.delete();
    }
  } catch {
    // too many pairs, or too little memory: told where a batch is made
    return undefined;
  }
}
