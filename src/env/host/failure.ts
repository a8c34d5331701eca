// the error of a step in which worlds failed, if the policy is to throw
import { CorralError } from "../../core/errors.ts";
import { statusNames } from "../../physics/status.ts";
import type { Infos } from "./infos.ts";
import { CONTACTS_NEEDED } from "../kernel/layout.ts";

/** What a step left. */
export interface StepFailure {
  readonly infos: Infos;
  /** Status bits that throw. */
  readonly throws: number;
  readonly worldIds: ArrayLike<number>;
  /** The step of its episode that a world has made. */
  readonly step: (world: number) => number;
  readonly nconmax: number;
}

/** Throws `overflow` or `non-finite`, naming the worlds, the step and what was needed, if any world failed. */
export function throwIfFailed({ infos, throws, worldIds, step, nconmax }: StepFailure): void {
  const worlds = infos.worldsWithStatus(throws);
  if (worlds.length === 0) return;
  const [first] = worlds;
  const names = statusNames(infos.status(first) & throws);
  const more = worlds.length > 1 ? ` and ${worlds.length - 1} more worlds` : "";
  const at = step(first);
  const what = `world ${first} (id ${worldIds[first]})${more} failed in step ${at} of its episode: ${names.join(", ")}`;
  const needed = infos.has(CONTACTS_NEEDED) ? infos.get(CONTACTS_NEEDED)?.values : undefined;
  if (names.every((name) => name.endsWith("OVERFLOW")) && needed) {
    const most = worlds.reduce((n, world) => Math.max(n, needed[world]), 0);
    const details = { worlds, names, nconmax, needed: worlds.map((world) => needed[world]), step: at };
    throw new CorralError(
      "overflow",
      `${what}: ${most} contacts, nconmax is ${nconmax}. Pass nconmax: ${most} or more.`,
      details,
    );
  }
  throw new CorralError(
    "non-finite",
    `${what}. Its episode has ended; look at its actions and the model's timestep, or pass onNonFinite: "terminate" to go on.`,
    { worlds, names, step: at },
  );
}
