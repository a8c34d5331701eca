// ids of the environments that corral ships: other files of the same process may have registered their own
import { tasks } from "../../envs/index.ts";

export const SHIPPED: readonly string[] = tasks.map(({ id }) => id).sort();

const domainOf = (id: string): string => {
  if (id.startsWith("G1")) return "G1";
  return id.startsWith("dm-") ? id.slice(0, id.lastIndexOf("-")) : id;
};

/** All but further tasks of a domain of dm_control, or of a G1 beside its terrain; all of them with `test:full`. */
export const ONE_OF_EACH: readonly string[] = SHIPPED.filter(
  (id, i) => process.env.CORRAL_FULL === "1" || i === 0 || domainOf(id) !== domainOf(SHIPPED[i - 1]),
);
