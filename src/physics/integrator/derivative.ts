// derivatives of smooth forces by velocity (mjd_smooth_vel)
import { add, ge, le, mul, neg, or, select, type Bool, type Scalar } from "../../trace/scalar.ts";
import { mjtBias, mjtDisableBit, mjtGain, mjtIntegrator, mjtJoint, mjtTrn } from "../../model/enums.ts";
import { jointOf, type Model } from "../../model/model.ts";
import {
  dofDamping,
  isZero,
  polySlope,
  tendonArmature,
  tendonDamped,
  tendonDamping,
  tendonSprung,
  type Drawn,
} from "../smooth/coefficients.ts";
import { actuatorDisabled, actuatorInput } from "../actuator/actuation.ts";
import { fluidEntries, hasFluid } from "../smooth/fluid.ts";
import { motorSlope } from "../actuator/dc-motor.ts";
import { muscleGain } from "../actuator/muscle.ts";
import { isDiscrete } from "../constraint/metric-weights.ts";
import type { Sparsity } from "../smooth/sparsity.ts";
import { ellipsoidBlocks, type FluidBlock } from "./ellipsoid-derivative.ts";
import { isOfFreeBody } from "./standalone.ts";
import { outerProduct, type Entry } from "../tendon/moment-arms.ts";
import { tendonArms, tendonDofs } from "../tendon/tendon.ts";
import { moment } from "../actuator/transmission.ts";
import type { WorldData, ModelView } from "../view.ts";

/**
 * Entries of d(qfrc_passive + qfrc_actuator)/d(qvel) on the mass matrix's sparsity, undefined if there are none.
 * Euler takes joint damping alone; implicitfast (mjd_smooth_vel without the bias forces) takes actuators,
 * fluid forces on boxes and tendons too.
 */
export function derivativeEntries(m: ModelView, d: WorldData, sparsity: Sparsity): Entry[] | undefined {
  const { model } = m;
  const off = (bit: number) => (m.opt.disableflags & bit) !== 0;
  const fast = m.opt.integrator === mjtIntegrator.IMPLICITFAST || m.opt.integrator === mjtIntegrator.IMPLICIT;
  const entries: Entry[] = [];

  const damped = !off(mjtDisableBit.DAMPER) && (fast || !off(mjtDisableBit.EULERDAMP));
  for (let i = 0; i < m.nv; i++) {
    const damping = dofDamping(m, i);
    if (damped && !isZero(damping)) {
      entries.push({ entry: sparsity.index(i, i), value: neg(polySlope(damping, d.qvel.at(i), true)) });
    }
  }
  if (fast) {
    if (!off(mjtDisableBit.ACTUATION)) entries.push(...actuatorEntries(m, d, sparsity));
    if (hasFluid(model)) entries.push(...fluidEntries(m, d, sparsity));
    if (m.opt.integrator === mjtIntegrator.IMPLICITFAST) entries.push(...ellipsoidEntries(m, d, sparsity));
    if (damped) entries.push(...tendonEntries(m, d, sparsity));
    return entries.length || hasDofs(m) ? entries : undefined;
  }
  return entries.length ? entries : undefined;
}

const hasDofs = (m: ModelView): boolean => m.nv > 0;

/** Ellipsoids in the medium; those of free bodies and of the integrator implicit are not symmetric, and not among these. */
const ellipsoidEntries = (m: ModelView, d: WorldData, sparsity: Sparsity): Entry[] =>
  blockEntries(
    ellipsoidBlocks(m, d, (b) => !isOfFreeBody(m.model, b), true),
    sparsity,
  );

/** The drag of the medium on all bodies, without lift and added mass (mj_effShift). */
export function dragEntries(m: ModelView, d: WorldData, sparsity: Sparsity): Entry[] {
  if (!hasFluid(m.model)) return [];
  const ofEllipsoids = ellipsoidBlocks(m, d, () => true, true, true);
  return [...fluidEntries(m, d, sparsity), ...blockEntries(ofEllipsoids, sparsity)];
}

function blockEntries(blocks: readonly FluidBlock[], sparsity: Sparsity): Entry[] {
  return blocks.flatMap(({ dofs, at }) =>
    dofs.flatMap((row, i) =>
      dofs.slice(0, i + 1).flatMap((column, j) => {
        return sparsity.has(row, column) ? [{ entry: sparsity.index(row, column), value: at(i, j) }] : [];
      }),
    ),
  );
}

/** Damping of tendons. */
function tendonEntries(m: ModelView, d: WorldData, sparsity: Sparsity): Entry[] {
  return Array.from({ length: m.ntendon }, (_, t) => t).flatMap((t) => {
    const damping = tendonDamping(m, t);
    if (isZero(damping)) return [];
    return outerProduct(tendonArms(m, d, t), neg(polySlope(damping, d.ten_velocity.at(t), true)), sparsity);
  });
}

/** momentᵀ (d force / d velocity) moment of each actuator. */
function actuatorEntries(m: ModelView, d: WorldData, sparsity: Sparsity): Entry[] {
  const { model } = m;
  const entries: Entry[] = [];
  for (let i = 0; i < model.nactuator; i++) {
    if (actuatorDisabled(model, i)) continue;
    const slope = withinRange(m, d, i, velocitySlope(m, d, i));
    if (slope !== 0) entries.push(...outerProduct(moment(m, d, i), slope, sparsity));
  }
  return entries;
}

/** d force / d velocity of an actuator (actuatorVelDeriv). */
export function velocitySlope(m: ModelView, d: WorldData, i: number): Scalar {
  const { model } = m;
  let slope: Scalar = 0;
  if (model.actuator_biastype[i] === mjtBias.AFFINE) slope = m.actuator_biasprm.at(10 * i + 2);
  if (model.actuator_gaintype[i] === mjtGain.AFFINE) {
    slope = add(slope, mul(m.actuator_gainprm.at(10 * i + 2), actuatorInput(m, d, i)));
  }
  if (model.actuator_gaintype[i] === mjtGain.MUSCLE) {
    const muscle = muscleGain(m, i, d.actuator_length.at(i), d.actuator_velocity.at(i));
    slope = add(slope, mul(muscle.slope, actuatorInput(m, d, i)));
  }
  if (model.actuator_gaintype[i] === mjtGain.DCMOTOR) slope = motorSlope(m, d, i);
  return slope;
}

/** A slope of an actuator's force, which has none where it is saturated. */
export const withinRange = (m: ModelView, d: WorldData, i: number, slope: Scalar): Scalar =>
  slope !== 0 && m.model.actuator_forcelimited[i] ? select(saturated(m, d, i), 0, slope) : slope;

function saturated(m: ModelView, d: WorldData, i: number): Bool {
  const [low, high] = [m.actuator_forcerange.at(2 * i), m.actuator_forcerange.at(2 * i + 1)];
  const force = d.actuator_force.at(i);
  return or(le(force, low), ge(force, high));
}

/** Parameters of actuators and tendons by index, of which worlds may have their own. */
export type OwnParameters = Readonly<
  Record<"actuator_gainprm" | "actuator_biasprm" | "tendon_damping" | "tendon_stiffness", Drawn>
>;

/** Whether no dof of a tendon moves another's body: then its derivatives are on the diagonal of M's sparsity alone, as of a gripper's fingers. */
function isAcross(model: Model, t: number): boolean {
  const dofs = tendonDofs(model, t);
  return dofs.every((dof) => {
    for (let i = model.dof_parentid[dof]; i >= 0; i = model.dof_parentid[i]) if (dofs.includes(i)) return false;
    return true;
  });
}

/**
 * Whether tendons, actuators or a fluid couple dofs beyond what bodies do: in M (armature of tendons), or in the velocity
 * derivatives of implicitfast, implicit and discrete. Known from the model and which of these parameters worlds draw. `apart`: tendons
 * across branches, and what bias forces couple under implicit, are not counted.
 */
export function couplesDofs(model: Model, own: OwnParameters, apart: "couples" | "apart" = "couples"): boolean {
  const all = Array.from({ length: model.ntendon }, (_, t) => t);
  if (all.some((t) => tendonArmature(model, t) !== 0)) return true;
  const isImplicit = model.opt.integrator === mjtIntegrator.IMPLICIT;
  if (isImplicit && apart === "couples") return true;
  const discrete = isDiscrete(model);
  if (!discrete && !isImplicit && model.opt.integrator !== mjtIntegrator.IMPLICITFAST) return false;
  const isOut = (t: number) => apart === "apart" && !discrete && isAcross(model, t);
  const tendons = all.filter((t) => !isOut(t));
  const isDamped = (t: number) => tendonDamped(model, t, own.tendon_damping);
  const isSprung = (t: number) => discrete && tendonSprung(model, t, own.tendon_stiffness);
  if (tendons.some((t) => isDamped(t) || isSprung(t))) return true;
  // the drag of a fluid on a body depends on all dofs that move it
  if (model.opt.density > 0 || model.opt.viscosity > 0) return true;
  return Array.from({ length: model.nactuator }, (_, i) => i).some((i) => {
    const joint = jointOf(model, i);
    const type = joint >= 0 ? model.jnt_type[joint] : mjtJoint.FREE;
    if (type === mjtJoint.HINGE || type === mjtJoint.SLIDE) return false;
    if (model.actuator_trntype[i] === mjtTrn.TENDON && isOut(model.actuator_trnid[2 * i])) return false;
    // forces that do not depend on velocity, nor on length where that counts
    const gain = model.actuator_gaintype[i];
    const bias = model.actuator_biastype[i];
    const steady = (isAffine: boolean, prm: Drawn) =>
      isAffine && prm.at(10 * i + 2) === 0 && !(discrete && prm.at(10 * i + 1) !== 0);
    return !(
      (gain === mjtGain.FIXED || steady(gain === mjtGain.AFFINE, own.actuator_gainprm)) &&
      (bias === mjtBias.NONE || steady(bias === mjtBias.AFFINE, own.actuator_biasprm))
    );
  });
}
