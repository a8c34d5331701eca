// mjSTATE_INTEGRATION: all that the next step depends on
import { group, row } from "./row.ts";

export const STATE_FIELDS = group("state", [
  row("time", "f32", [1], "s", "simulated time"),
  row("qpos", "f32", ["nq"], "m, rad", "positions"),
  row("qvel", "f32", ["nv"], "m/s, rad/s", "velocities"),
  row("act", "f32", ["na"], "", "actuator activations"),
  row("qacc_warmstart", "f32", ["nv"], "m/s^2, rad/s^2", "acceleration that starts the constraint solver"),
  row("ctrl", "f32", ["nu"], "", "controls"),
  row("qfrc_applied", "f32", ["nv"], "N, N m", "applied generalized force"),
  row("xfrc_applied", "f32", ["nbody", 6], "N, N m", "applied Cartesian force and torque at the body's centre of mass"),
  row("eq_active", "f32", ["neq"], "", "is the equality constraint active: 1, or 0"),
  row("mocap_pos", "f32", ["nmocap", 3], "m", "positions of mocap bodies"),
  row("mocap_quat", "f32", ["nmocap", 4], "", "orientations of mocap bodies"),
  row(
    "energy_vel",
    "f32",
    [2],
    "J",
    "kinetic energy of the evaluation before, and 1 where there was one (energy flag)",
  ),
  row(
    "history",
    "f32",
    ["nhistory"],
    "steps, ...",
    "samples of controls and sensors with a history: for each, its last tick, 0, times, values; times in steps from now",
  ),
  row("userdata", "f32", ["nuserdata"], "", "user data, not touched by the engine"),
]);
