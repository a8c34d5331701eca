// tasks of dm_control's suite
import { fingers } from "./finger.ts";
import { fish } from "./fish.ts";
import { runners } from "./runners.ts";
import { simple } from "./simple.ts";

export const dmControl = [...simple, ...fingers, ...fish, ...runners];
