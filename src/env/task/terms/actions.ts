// discrete actions that stand for rows of controls
import { CorralError } from "../../../core/errors.ts";
import { checked } from "../../../core/options.ts";
import { integer, real } from "../../../core/schema.ts";
import { show } from "../../../core/show.ts";
import { table } from "../../../trace/control.ts";
import { add, clamp, isNode, mul, type Scalar } from "../../../trace/scalar.ts";
import type { Model } from "../../../model/model.ts";
import { Discrete } from "../../space/spaces.ts";
import type { Scene } from "../task.ts";

/**
 * A Discrete action space whose ids stand for rows of controls, to be spread into a task: `...actionTable(rows)`. The
 * table lies once in a buffer on the device, which the plan shows; actions stay ids of four bytes. A function makes the
 * rows when an environment is made: a task with many then costs its import nothing.
 * @throws CorralError bad-action-table
 */
export function actionTable(rows: Rows | (() => Rows)) {
  let made: ReturnType<typeof tableFrom> | undefined;
  const tableOf = () => (made ??= tableFrom(typeof rows === "function" ? rows() : rows));
  if (typeof rows !== "function") tableOf();
  return {
    actionSpace: (model: Model): Discrete => {
      const { all, width } = tableOf();
      if (width === model.nu) return new Discrete(all.length, 0, all);
      throw new CorralError(
        "bad-action-table",
        `rows of the action table have ${width} numbers; the model has ${model.nu} controls. Give one for each.`,
        { width, nu: model.nu },
      );
    },
    control: ({ action: [id] }: Scene): readonly Scalar[] => {
      const { flat, width } = tableOf();
      const at = table("action_table", flat);
      const start = mul(id, width);
      // an id that a kernel wrote may be anything: its world says BAD_CTRL, and nothing beyond the table is read
      const inside = isNode(start) ? clamp(start, 0, flat.length - width) : start;
      return Array.from({ length: width }, (_, k) => at(add(inside, k)));
    },
  };
}

type Rows = readonly ArrayLike<number>[];

const hasLength = (x: unknown): boolean => typeof (x as { length?: unknown } | null | undefined)?.length === "number";
const isListOf = (x: unknown, fits: (row: unknown) => boolean): boolean => Array.isArray(x) && x.every(fits);

function tableFrom(all: Rows) {
  if (!isListOf(all, hasLength))
    throw new CorralError(
      "bad-action-table",
      `an action table is ${show(all)}. Give a list with one row of controls for each action.`,
    );
  const width = all[0]?.length ?? 0;
  const bad = all.findIndex((row) => row.length !== width || !Array.prototype.every.call(row, Number.isFinite));
  if (width === 0 || bad >= 0) {
    const what =
      width === 0 ? "an action table is empty" : `row ${bad} of an action table is no ${width} finite numbers`;
    throw new CorralError("bad-action-table", `${what}. Give one row of controls for each action.`, { row: bad });
  }
  return { all, width, flat: all.flatMap((row) => Array.from(row)) };
}

/** The most actions of a table: its rows are lists. */
const MOST_ACTIONS = 2 ** 22;

/**
 * All combinations of levels, the last changing fastest: 30 levels of three joints are 27,000 actions.
 * @throws CorralError bad-action-table, of more than 4,194,304 too
 */
export function combinations(levels: readonly (readonly number[])[]): number[][] {
  if (!isListOf(levels, Array.isArray))
    throw new CorralError(
      "bad-action-table",
      `the levels to combine are ${show(levels)}. Give a list of numbers for each control.`,
    );
  const count = levels.reduce((product, list) => product * list.length, 1);
  if (count > MOST_ACTIONS)
    throw new CorralError(
      "bad-action-table",
      `the levels to combine make ${count} actions, of ${levels.map((list) => list.length).join(" x ")} levels; an action table has at most ${MOST_ACTIONS}. Take fewer levels, or a MultiDiscrete space with a choice for each control.`,
      { count },
    );
  return levels.reduce<number[][]>((rows, list) => rows.flatMap((row) => list.map((x) => [...row, x])), [[]]);
}

/**
 * Numbers from one end to the other, both included.
 * @throws CorralError bad-option
 */
export function evenly(from: number, to: number, count: number): number[] {
  checked("from", real(), from);
  checked("to", real(), to);
  checked("count", integer(1, MOST_ACTIONS), count);
  return Array.from({ length: count }, (_, i) => from + ((to - from) * i) / Math.max(1, count - 1));
}
