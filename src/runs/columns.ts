// which column of a task's observations is which of another's, by the names of their parts
import { defineVec } from "../env/make.ts";
import { isRegistered } from "../env/registry.ts";
import type { TaskShape } from "../env/task/shape.ts";
import { trainOptions } from "./options.ts";

/** What a learner sees: parts of observations in their order. */
export type Seen = Pick<TaskShape, "observation" | "groups" | "nobs">;

/** What a run's settings say that it saw; undefined if its task is not known here. */
export async function seenBy(config: Readonly<Record<string, unknown>>): Promise<Seen | undefined> {
  const { env: id } = config;
  if (typeof id !== "string" || !isRegistered(id)) return undefined;
  const { budget: _, ...env } = trainOptions(config).env as Record<string, unknown>;
  return (await defineVec(id, { ...env, autoreset: "next-step", numEnvs: 1 })).definition.spec.shape;
}

/** The column here of each column there, counted from 0; or why there is none. */
export function columnsIn(there: Seen, here: Seen): readonly number[] | string {
  if (Object.keys({ ...there.groups, ...here.groups }).length > 0)
    return "observations in groups are taken only where they are the same";
  const firsts = new Map<string, number>();
  let at = 0;
  for (const { name, size } of here.observation) {
    firsts.set(name, at);
    at += size;
  }
  const sizes = new Map(here.observation.map(({ name, size }) => [name, size]));
  const columns: number[] = [];
  for (const { name, size } of there.observation) {
    const now = sizes.get(name);
    if (now !== size)
      return `it sees ${size} numbers called ${name}, of which there are ${now === undefined ? "none" : now} here`;
    columns.push(...Array.from({ length: size }, (_, i) => firsts.get(name)! + i));
  }
  return columns;
}
