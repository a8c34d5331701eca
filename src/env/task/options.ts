// options of actions, observations and rewards, of a task or of a batch
import type { Given, OptionTable } from "../../core/options.ts";
import { boolean, described, list, range, real, text, unchecked } from "../../core/schema.ts";

/** What is done to actions before they act, in this order. All but `delay` and `hold` are of Box spaces. */
export const ACTION_OPTIONS = {
  delay: {
    default: 0,
    min: 0,
    max: 1000,
    integer: true,
    doc: "control steps that an action waits before it acts; until that many were given, the first of an episode acts",
  },
  hold: {
    default: 1,
    min: 1,
    max: 1000,
    integer: true,
    doc: "control steps that an action acts for; those given in between are passed over",
  },
  actuators: {
    kind: list(text(), { min: 1 }),
    doc: "names or patterns (`left_*`) of the actuators that actions are for, in the model's order; the others keep `others`",
  },
  others: {
    kind: unchecked<number | readonly number[]>("a number, or one for each other actuator"),
    doc: "controls of the actuators that `actuators` leaves out, 0 unless given: a number, or one for each in the model's order",
  },
  clip: { kind: range(), doc: "actions are clipped to [low, high]" },
  scale: {
    kind: unchecked<number | readonly number[] | "ctrlrange">('a number, one for each entry, or "ctrlrange"'),
    doc: 'a factor, or one for each entry; `"ctrlrange"` takes actions in [-1, 1] to the range of the controls',
  },
  offset: {
    kind: unchecked<number | readonly number[]>("a number, or one for each entry"),
    doc: "added at last, such as the joint angles that a position actuator starts from",
  },
} as const satisfies OptionTable;

/** What is done to the whole observation, after the options of its terms. */
export const OBSERVATION_OPTIONS = {
  normalize: {
    kind: boolean,
    doc: "each number less its mean, over its standard deviation, of all that this world has observed since it was seeded",
  },
  clip: { kind: range(), doc: "clipped to [low, high], after it is normalised" },
  history: {
    min: 1,
    max: 1000,
    integer: true,
    doc: "this many of the latest values of each term that names no history itself",
  },
} as const satisfies OptionTable;

export const REWARD_OPTIONS = {
  clip: { kind: range(), doc: "the sum of the terms is clipped to [low, high]; by default not" },
} as const satisfies OptionTable;

const MOST_FLOAT32 = 3.4028235677973362e38;
const FLOAT32 = described("a finite number of float32", real(-MOST_FLOAT32, MOST_FLOAT32));

/** Replacements for the numbers of a step that are not finite. */
export const FINITE_OPTIONS = {
  observation: { default: 0, kind: FLOAT32, doc: "instead of a number of the observation" },
  reward: { default: 0, kind: FLOAT32, doc: "instead of the reward" },
} as const satisfies OptionTable;

export type ActionOptions = Given<typeof ACTION_OPTIONS>;
export type ObservationOptions = Given<typeof OBSERVATION_OPTIONS>;
