// mirror symmetry: which column of observations and actions is which in the mirror, and the names that it comes from
import { badOption, checked, NAMES, optionsOf, unknownOption } from "../../core/options.ts";
import { CorralError } from "../../core/errors.ts";
import { fits } from "../../core/names.ts";
import { Mismatch, type Kind } from "../../core/schema.ts";
import type { EnvShape } from "../device/env-shape.ts";

/** Columns in the mirror, counted from 1, negative where the sign changes too. */
export const MIRROR_COLUMNS: Kind<readonly number[]> = {
  want: "a list of columns counted from 1, negative where the sign changes, each of which is its own partner's partner",
  read(value, path) {
    const list = Array.isArray(value) || ArrayBuffer.isView(value) ? Array.from(value as ArrayLike<number>) : undefined;
    // of a pair both have the sign, or neither
    const isPartner = (to: number, i: number): boolean => {
      const partner = Math.abs(to);
      return (
        Number.isInteger(to) &&
        partner >= 1 &&
        partner <= list!.length &&
        list![partner - 1] === Math.sign(to) * (i + 1)
      );
    };
    if (list?.every(isPartner)) return list;
    throw new Mismatch(path, value, this.want);
  },
};

interface MirrorConfig {
  readonly mirrorObservations: readonly number[];
  readonly mirrorActions: readonly number[];
  readonly recurrent: string;
}

/**
 * Whether rollouts are mirrored. Throws `bad-option` for lists of other lengths, columns of another group, and where
 * there is nothing to mirror.
 */
export function mirrors(env: EnvShape, { mirrorObservations, mirrorActions, recurrent }: MirrorConfig): boolean {
  if (mirrorObservations.length === 0 && mirrorActions.length === 0) return false;
  if (env.head !== "gaussian")
    throw badOption("mirrorActions", mirrorActions, `the actions of ${env.id} are discrete: leave both lists out`);
  if (recurrent !== "none")
    throw badOption(
      "mirrorObservations",
      mirrorObservations,
      `the states of a ${recurrent} have no mirror image: pass recurrent "none", or leave both lists out`,
    );
  const sizes = [
    ["mirrorObservations", mirrorObservations, env.observations],
    ["mirrorActions", mirrorActions, env.actions],
  ] as const;
  for (const [i, [name, list, size]] of sizes.entries()) {
    if (list.length === size) continue;
    const alone = list.length === 0 ? `, since ${sizes[1 - i][0]} is given and both belong together` : "";
    throw badOption(name, list, `${env.id} has ${size} columns: pass as many${alone}`);
  }
  const groupOf = (column: number) =>
    Object.entries(env.groups ?? {}).find(([, { from, size }]) => column >= from && column < from + size)?.[0];
  const stray = mirrorObservations.findIndex((to, i) => groupOf(Math.abs(to) - 1) !== groupOf(i));
  if (stray === -1) return true;
  const partner = Math.abs(mirrorObservations[stray]);
  const [own, its] = [groupOf(stray), groupOf(partner - 1)].map((group) => group ?? "another group");
  throw badOption(
    "mirrorObservations",
    mirrorObservations,
    `column ${stray + 1} is of ${own}, and ${partner}, which it is in the mirror, of ${its}: pass for each one of its own group`,
  );
}

/** How far a bound may be from its mirror image, as a part of the range. */
const SAME_BOUND = 1e-3;

/**
 * Squashed actions are mirrored within their bounds, which have to be mirror images too. Throws `bad-option` where they are not.
 */
export function assertMirroredBounds(
  low: ArrayLike<number>,
  high: ArrayLike<number>,
  columns: readonly number[],
): void {
  columns.forEach((to, i) => {
    const partner = Math.abs(to) - 1;
    const image = to > 0 ? [low[partner], high[partner]] : [-high[partner], -low[partner]];
    const far = Math.max(Math.abs(image[0] - low[i]), Math.abs(image[1] - high[i]));
    if (far <= SAME_BOUND * (high[i] - low[i])) return;
    throw badOption(
      "mirrorActions",
      columns,
      `action ${i + 1} is from ${low[i]} to ${high[i]}, and in the mirror, of action ${partner + 1}, from ${image[0]} to ${image[1]}, which squashed actions follow: make the bounds mirror images, or leave squash out`,
    );
  });
}

/** What changes sides: "FL" and "FR", parts of names; and whose sign changes, with `*` for anything. */
export interface Mirrored {
  readonly swap?: readonly (readonly [string, string])[];
  readonly negate?: readonly string[];
}

const isPair = (x: unknown): boolean =>
  Array.isArray(x) && x.length === 2 && x.every((side) => typeof side === "string" && side !== "");

/** What is misspelt would leave columns as they are. */
function checkFits(names: readonly string[], swap: Mirrored["swap"] & object, negate: readonly string[]): void {
  const isList: boolean = Array.isArray(swap);
  if (!isList || !swap.every(isPair))
    throw badOption("swap", swap, 'pass pairs of parts of names, such as [["left", "right"]]');
  const stray =
    swap.find((pair) => !names.some((name) => pair.some((side) => name.includes(side))))?.join('" and "') ??
    negate.find((pattern) => !names.some((name) => fits(name, pattern)));
  if (stray === undefined) return;
  const text = `"${stray}" of the mirror: no name fits, of ${names.join(", ")}. Leave it out, or mend its spelling.`;
  throw new CorralError("bad-mirror", text, { stray });
}

/**
 * Columns in the mirror of what has names, joints or actuators: `mirrorColumns(["FL_hip", "FL_knee", "FR_hip", "FR_knee"],
 * { swap: [["FL", "FR"]], negate: ["*_hip"] })` is [-3, 4, -1, 2].
 * @throws CorralError bad-mirror for a name whose mirror image is none of them, and for what fits no name
 */
export function mirrorColumns(names: readonly string[], mirrored: Mirrored): number[] {
  checked("names", NAMES, names);
  const { swap = [], negate = [] } = optionsOf(mirrored, "the mirror");
  const misspelt = Object.keys(mirrored).find((name) => name !== "swap" && name !== "negate");
  if (misspelt !== undefined) throw unknownOption("the mirror", misspelt, ["swap", "negate"]);
  checked("negate", NAMES, negate);
  checkFits(names, swap, negate);
  const other = (name: string): string => {
    for (const [left, right] of swap) {
      if (name.includes(left)) return name.replace(left, right);
      if (name.includes(right)) return name.replace(right, left);
    }
    return name;
  };
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) {
    const text = `"${twice}" of the mirror is named twice: make the columns of each list of names, and join them by joinColumns.`;
    throw new CorralError("bad-mirror", text, { name: twice });
  }
  const negated = (name: string): boolean => negate.some((pattern) => fits(name, pattern));
  return names.map((name) => {
    const partner = names.indexOf(other(name));
    if (partner === -1) {
      const text = `the mirror image of "${name}" is "${other(name)}", which is none of ${names.join(", ")}. Name every pair in swap.`;
      throw new CorralError("bad-mirror", text, { name });
    }
    if (negated(name) !== negated(other(name))) {
      const text = `negate names one of "${name}" and "${other(name)}", which are each other's mirror image. Name both, as in "*_hip".`;
      throw new CorralError("bad-mirror", text, { name });
    }
    return (negated(name) ? -1 : 1) * (partner + 1);
  });
}

/**
 * Lists of columns side by side, as one.
 * @throws CorralError bad-option for a list that is no mirror image of itself
 */
export function joinColumns(...lists: readonly (readonly number[])[]): number[] {
  lists.forEach((list, i) => checked(`list ${i} of columns`, MIRROR_COLUMNS, list));
  let before = 0;
  return lists.flatMap((list) => {
    const first = before;
    before += list.length;
    return list.map((to) => to + Math.sign(to) * first);
  });
}
