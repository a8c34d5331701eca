// G1Velocity: a G1-like humanoid follows a joystick on level ground
import { defineTask } from "../../src/env/index.ts";
import { G1 } from "./shared.ts";

export const g1 = defineTask({ ...G1, id: "G1Velocity" });
