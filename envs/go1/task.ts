// Go1Velocity: a Go1-like quadruped follows a joystick on level ground
import { defineTask } from "../../src/env/index.ts";
import { JOYSTICK } from "./shared.ts";

export const go1 = defineTask({
  ...JOYSTICK,
  id: "Go1Velocity",
  terminated: { fallen: "xpos(body.trunk).z < 0.15 || down.z > -0.5" },
});
