// ids of the environments that corral ships: other files of the same process may have registered their own
import { tasks } from "../../envs/index.ts";

export const SHIPPED: readonly string[] = tasks.map(({ id }) => id).sort();
