// what the two humanoids observe and report alike
import { positionsAndVelocities, type Scene, type Task } from "../../src/env/index.ts";
import type { Scalar } from "../../src/trace/scalar.ts";

export const observationDefaults = {
  exclude_current_positions_from_observation: true,
  include_cinert_in_observation: true,
  include_cvel_in_observation: true,
  include_qfrc_actuator_in_observation: true,
  include_cfrc_ext_in_observation: true,
};

export type Observed = Scene<typeof observationDefaults>;

/** Derived fields that observation and infos read; `cfrc_ext` is in the reward too. */
export const bodyOutputs: NonNullable<Task<typeof observationDefaults>["outputs"]> = (o) => [
  ...(o.include_cinert_in_observation ? ["cinert" as const] : []),
  ...(o.include_cvel_in_observation ? ["cvel" as const] : []),
  ...(o.include_qfrc_actuator_in_observation ? ["qfrc_actuator" as const] : []),
  "cfrc_ext",
  "ten_length",
  "ten_velocity",
];

/** Positions, velocities, and of the last evaluation: inertia, velocity and external force of each body but the world. */
export function observeBody(s: Observed): Record<string, Scalar[]> {
  const { d, options: o } = s;
  return {
    ...positionsAndVelocities(s, o.exclude_current_positions_from_observation ? 2 : 0),
    cinert: o.include_cinert_in_observation ? d.cinert.all().slice(10) : [],
    cvel: o.include_cvel_in_observation ? d.cvel.all().slice(6) : [],
    qfrc_actuator: o.include_qfrc_actuator_in_observation ? d.qfrc_actuator.all().slice(6) : [],
    cfrc_ext: o.include_cfrc_ext_in_observation ? d.cfrc_ext.all().slice(6) : [],
  };
}

/** Length and velocity of the tendons from hip to knee, left and right, as the last evaluation left them. */
export const tendons = ({ d }: Scene) => ({
  tendon_length_0: d.ten_length.at(0),
  tendon_length_1: d.ten_length.at(1),
  tendon_velocity_0: d.ten_velocity.at(0),
  tendon_velocity_1: d.ten_velocity.at(1),
});
