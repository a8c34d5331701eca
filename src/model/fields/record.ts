// the ring of the flight recorder
import { group, row } from "./row.ts";

export const RECORD_FIELDS = group("record", [
  row("record_qpos", "f32", ["nrecord", "nq"], "m, rad", "recorded positions"),
  row("record_qvel", "f32", ["nrecord", "nv"], "m/s, rad/s", "recorded velocities"),
  row("record_action", "f32", ["nrecord", "naction"], "", "recorded actions"),
]);
