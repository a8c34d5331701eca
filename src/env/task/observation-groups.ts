// observations in groups: what policies see, what only critics see, and others; kernels see one row, group after group
import type { ObservationGroups, Scene, Task, Terms } from "./task.ts";
import { inLine } from "../../core/show.ts";
import { badTerm, isPlainObject, OPTION_NAMES, placeOf, termsIn } from "./term-value.ts";

/** Where a group lies in each row of observations. */
export interface ObservationGroup {
  readonly from: number;
  readonly size: number;
}

/** A group of terms, not a term: that would have a value. */
const isGroup = (x: unknown): boolean => typeof x === "function" || (isPlainObject(x) && !Object.hasOwn(x, "value"));

/** Whether observations come in groups: all that is in them is terms by name, those of the policy among them. */
const isGrouped = <O extends object>(observe: unknown): observe is ObservationGroups<O> =>
  isPlainObject(observe) && isPlainObject(observe.policy) && Object.values(observe).every(isGroup);

/** The names of groups in the order of a row; none where observations come in none. */
const groupNames = (observe: unknown): string[] =>
  isGrouped(observe) ? ["policy", ...Object.keys(observe).filter((name) => name !== "policy")] : [];

/** @throws CorralError bad-term for groups beside terms, or none of which is the policy's */
function refuseHalfGroups({ id, observe }: Pick<Task<never>, "id" | "observe">): void {
  if (!isPlainObject(observe)) return;
  const looksGrouped = (x: unknown): boolean =>
    isPlainObject(x) && Object.keys(x).length > 0 && !Object.keys(x).some((key) => OPTION_NAMES.includes(key));
  const name = Object.keys(observe).find((key) => looksGrouped(observe[key]));
  if (name === undefined) return;
  const others = Object.keys(observe).filter((key) => !isGroup(observe[key]));
  const but = others.length === 0 ? "" : ` (${others.map(inLine).join(", ")} is none)`;
  const text = `it is a group (${Object.keys(observe[name] as object).join(", ")}), not a term; where observations come in groups all are groups${but}, and one is named policy`;
  throw badTerm(placeOf({ id }, "observe", name), text);
}

/** The terms of all groups, by the name of the group and their own: "critic.friction". */
export function rowOf<O extends object>(task: Pick<Task<O>, "id" | "observe">): Terms<O> {
  const { observe } = task;
  if (!isGrouped<O>(observe)) {
    refuseHalfGroups(task);
    return observe;
  }
  return (scene: Scene<O>) =>
    Object.fromEntries(
      groupNames(observe).flatMap((group) =>
        Object.entries(termsIn(observe[group], scene, placeOf(task, "observe", group))).map(([name, term]) => [
          `${group}.${name}`,
          term,
        ]),
      ),
    );
}

/** Where each group lies, from the parts of a row. */
export function groupsOf(
  observe: unknown,
  parts: readonly { readonly name: string; readonly size: number }[],
): Readonly<Record<string, ObservationGroup>> {
  const sizeOf = (group: string): number =>
    parts.filter(({ name }) => name.startsWith(`${group}.`)).reduce((sum, { size }) => sum + size, 0);
  let from = 0;
  return Object.fromEntries(
    groupNames(observe).map((group) => {
      const size = sizeOf(group);
      from += size;
      return [group, { from: from - size, size }];
    }),
  );
}
