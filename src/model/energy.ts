// the kinetic energy that MuJoCo carries from one evaluation to the next
import { mjtEnableBit, mjtSensor } from "./enums.ts";
import type { Model } from "./model.ts";

/**
 * Whether a step of the model reads the kinetic energy of the evaluation before it: with <flag energy="enable"/> an
 * e_kinetic sensor, which belongs to the position stage, is given what mj_energyVel left there last.
 */
export const remembersEnergy = ({ opt, sensor_type }: Pick<Model, "opt" | "sensor_type">): boolean =>
  (opt.enableflags & mjtEnableBit.ENERGY) !== 0 && sensor_type.includes(mjtSensor.E_KINETIC);
