// BipedVelocity: two legs and a trunk follow a joystick on level ground
import { defineTask } from "../../src/env/index.ts";
import { BIPED } from "./shared.ts";

export const biped = defineTask({ ...BIPED, id: "BipedVelocity" });
