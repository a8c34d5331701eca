// every environment of the package, registered by its id
import { register } from "../src/env/index.ts";
import { ant } from "./ant/task.ts";
import { armLift } from "./panda/lift.ts";
import { armPlace } from "./panda/place.ts";
import { armReach } from "./panda/reach.ts";
import { armTable } from "./arm_table/task.ts";
import { dmControl } from "./dm_control/index.ts";
import { biped } from "./biped/task.ts";
import { bipedRough } from "./biped/rough.ts";
import { cartpole } from "./cartpole/task.ts";
import { g1 } from "./g1/task.ts";
import { g1Rough } from "./g1/rough.ts";
import { go1 } from "./go1/task.ts";
import { go1GetUp } from "./go1/get-up.ts";
import { go1Rough } from "./go1/rough.ts";
import { halfCheetah } from "./half_cheetah/task.ts";
import { handTurnCube } from "./hand/task.ts";
import { hopper } from "./hopper/task.ts";
import { humanoid } from "./humanoid/task.ts";
import { humanoidStandup } from "./humanoid_standup/task.ts";
import { invertedDoublePendulum } from "./inverted_double_pendulum/task.ts";
import { invertedPendulum } from "./inverted_pendulum/task.ts";
import { pickAndPlace } from "./pick_and_place/task.ts";
import { pusher } from "./pusher/task.ts";
import { quadruped } from "./quadruped/task.ts";
import { reacher } from "./reacher/task.ts";
import { swimmer } from "./swimmer/task.ts";
import { walker2d } from "./walker2d/task.ts";

export const tasks = [
  ant,
  armLift,
  armPlace,
  armReach,
  armTable,
  biped,
  bipedRough,
  cartpole,
  ...dmControl,
  g1,
  g1Rough,
  go1,
  go1GetUp,
  go1Rough,
  halfCheetah,
  handTurnCube,
  hopper,
  humanoid,
  humanoidStandup,
  invertedDoublePendulum,
  invertedPendulum,
  pickAndPlace,
  pusher,
  quadruped,
  reacher,
  swimmer,
  walker2d,
] as const;

for (const task of tasks) register(task as never);
