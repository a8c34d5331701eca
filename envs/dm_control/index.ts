// tasks of dm_control's suite
import { fingers } from "./finger.ts";
import { fish } from "./fish.ts";
import { humanoids } from "./humanoid.ts";
import { manipulators } from "./manipulator.ts";
import { runners } from "./runners.ts";
import { simple } from "./simple.ts";
import { swimmers } from "./swimmer.ts";

export const dmControl = [...simple, ...fingers, ...fish, ...runners, ...swimmers, ...humanoids, ...manipulators];
