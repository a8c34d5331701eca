// tasks of dm_control's suite
import { runners } from "./runners.ts";
import { simple } from "./simple.ts";

export const dmControl = [...simple, ...runners];
