// ids of the environments that corral ships: other files of the same process may have registered their own
import { tasks } from "../../envs/index.ts";
import { isFull, sweep } from "./sweep.ts";

export const SHIPPED: readonly string[] = tasks.map(({ id }) => id).sort();

/** Where others have the same robot or the same kind of ground, at less cost. */
const FURTHER = /^(G1|BipedRough$|Go1GetUp$|ArmPlace$|ArmReach$)/;

const domainOf = (id: string): string => (id.startsWith("dm-") ? id.slice(0, id.lastIndexOf("-")) : id);

/** All but further tasks of a robot, or of a domain of dm_control; all of them with `test:full`. */
export const ONE_OF_EACH: readonly string[] = SHIPPED.filter(
  (id, i) => isFull || (!FURTHER.test(id) && (i === 0 || domainOf(id) !== domainOf(SHIPPED[i - 1]))),
);

/** One of each kind of plan and kernel: of Gymnasium, of terrain, with a gait, a table of actions, objects, a chain of 15. */
export const ONE_OF_EACH_KIND: readonly string[] = sweep(ONE_OF_EACH, [
  "Ant-v5",
  "ArmTable",
  "CartPole",
  "Go1Rough",
  "HandTurnCube",
  "HumanoidStandup-v5",
  "PickAndPlace",
  "Pusher-v5",
  "dm-swimmer-swimmer15",
]);
