// every environment of the package, registered by its id
import { register } from "../src/env/index.ts";
import { ant } from "./ant/task.ts";
import { cartpole } from "./cartpole/task.ts";
import { halfCheetah } from "./half_cheetah/task.ts";
import { hopper } from "./hopper/task.ts";
import { invertedPendulum } from "./inverted_pendulum/task.ts";
import { walker2d } from "./walker2d/task.ts";

for (const task of [ant, cartpole, halfCheetah, hopper, invertedPendulum, walker2d] as const) register(task as never);

export { ant, cartpole, halfCheetah, hopper, invertedPendulum, walker2d };
