// potential and kinetic energy (mj_energyPos, mj_energyVel)
import { each, increase, variable } from "../../trace/control.ts";
import { add, eq, gt, lt, mul, neg, select, sqrt, square, sub, sum, type Scalar } from "../../trace/scalar.ts";
import { dot6, mulInertVec } from "../../trace/spatial.ts";
import { dot3, mulQuat, negQuat, normalizeQuat, type Quat } from "../../trace/vector.ts";
import { mjtDisableBit, mjtJoint } from "../../model/enums.ts";
import {
  dofArmatures,
  isZero,
  jointStiffness,
  tendonArmature,
  tendonStiffness,
  type Poly,
} from "../smooth/coefficients.ts";
import { ballRotation } from "../constraint/rows.ts";
import type { WorldData, ModelView } from "../view.ts";

/** What a spring stretched by x holds (mju_polyPotential). */
const stored = ({ linear, poly }: Poly<Scalar>, x: Scalar): Scalar =>
  mul(square(x), add(mul(0.5, linear), mul(x, add(mul(poly[0], 1 / 3), mul(mul(poly[1], 0.25), x)))));

/** Energy of gravity and springs, J. Reads qpos, xipos, ten_length. */
export function potentialEnergy(m: ModelView, d: WorldData): Scalar {
  const { model } = m;
  const off = (bit: number) => (m.opt.disableflags & bit) !== 0;
  const energy = variable("potential", 0);
  const gain = (x: Scalar) => increase(energy, x);
  if (!off(mjtDisableBit.GRAVITY)) {
    for (let b = 1; b < m.nbody; b++) gain(mul(neg(m.body_mass.at(b)), dot3(m.gravity, d.xipos.vec3(b))));
  }
  if (off(mjtDisableBit.SPRING)) return energy.get();

  for (let j = 0; j < m.njnt; j++) {
    const k = jointStiffness(m, j);
    if (isZero(k)) continue;
    const [pos, type] = [model.jnt_qposadr[j], model.jnt_type[j]];
    const offset = (c: number) => sub(d.qpos.at(pos + c), model.qpos_spring[pos + c]);
    if (type === mjtJoint.SLIDE || type === mjtJoint.HINGE) gain(stored(k, offset(0)));
    if (type === mjtJoint.FREE) gain(stored(k, sqrt(sum([0, 1, 2].map((c) => square(offset(c)))))));
    if (type === mjtJoint.FREE || type === mjtJoint.BALL) {
      const at = type === mjtJoint.FREE ? pos + 3 : pos;
      const own = normalizeQuat(d.qpos.run(at, 4) as unknown as Quat);
      const rest = Array.from(model.qpos_spring.subarray(at, at + 4)) as unknown as Quat;
      gain(stored(k, ballRotation(mulQuat(negQuat(rest), own)).angle));
    }
  }
  for (let t = 0; t < m.ntendon; t++) {
    const k = tendonStiffness(m, t);
    if (isZero(k)) continue;
    const [low, high] = [model.tendon_lengthspring[2 * t], model.tendon_lengthspring[2 * t + 1]];
    const length = d.ten_length.at(t);
    gain(stored(k, select(gt(length, high), sub(length, high), select(lt(length, low), sub(length, low), 0))));
  }
  return energy.get();
}

/** Energy of motion, J, armature's included. Reads cvel, cinert, qvel, ten_velocity. */
export function kineticEnergy(m: ModelView, d: WorldData): Scalar {
  const twice = variable("kinetic", 0);
  const gain = (x: Scalar) => increase(twice, x);
  each(
    m.nbody,
    (b) => {
      const v = d.cvel.spatial(b);
      gain(dot6(v, mulInertVec(d.cinert.inertia(b), v)));
    },
    { start: 1 },
  );
  const armature = dofArmatures(m);
  each(m.nv, (i) => gain(mul(armature(i), square(d.qvel.at(i)))));
  for (let t = 0; t < m.ntendon; t++) {
    const own = tendonArmature(m.model, t);
    if (own !== 0) gain(mul(own, square(d.ten_velocity.at(t))));
  }
  return mul(0.5, twice.get());
}

/** What an e_kinetic sensor reads with the energy flag: the energy of the evaluation before. Reads energy_vel. */
export const rememberedEnergy = (m: ModelView, d: WorldData): Scalar =>
  select(eq(d.energy_vel.at(1), 0), kineticEnergy(m, d), d.energy_vel.at(0));

/** Keeps the kinetic energy of this evaluation for the next one's sensors. Writes energy_vel. */
export function keepEnergy(m: ModelView, d: WorldData): void {
  d.energy_vel.set(0, kineticEnergy(m, d));
  d.energy_vel.set(1, 1);
}
