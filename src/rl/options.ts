// tables of hyperparameters: defaults, bounds, and what each means
import { CorralError } from "../core/errors.ts";
import { nearest } from "../core/names.ts";

/** One hyperparameter. */
export interface OptionRow {
  readonly default: number | boolean | string | readonly number[];
  readonly doc: string;
  readonly min?: number;
  readonly max?: number;
  readonly integer?: boolean;
  readonly oneOf?: readonly string[];
}

/** Of every algorithm: AdamW. */
export const WEIGHT_DECAY = {
  default: 0,
  min: 0,
  max: 1,
  doc: "part of weights and biases that each step of Adam takes off, times the learning rate (AdamW); log standard deviations and the temperature keep theirs",
} as const satisfies OptionRow;

type ValueOf<T> = T extends boolean
  ? boolean
  : T extends number
    ? number
    : T extends string
      ? string
      : readonly number[];

/** Values of a table's options by name. */
export type ConfigOf<T extends Readonly<Record<string, OptionRow>>> = {
  readonly [K in keyof T]: ValueOf<T[K]["default"]>;
};

const show = (value: unknown): string =>
  Array.isArray(value) ? `[${value.join(", ")}]` : (JSON.stringify(value) ?? String(value));

/** The error of a value that an option cannot have. */
export const badOption = (name: string, value: unknown, want: string): CorralError =>
  new CorralError("bad-option", `${name} is ${typeof value === "number" ? String(value) : show(value)}; ${want}.`, {
    name,
    value,
  });

/** Options as they were given. Throws `bad-option` if they are no object. */
export function optionsOf<T extends object>(given: T): T {
  if (typeof given === "object" && (given as T | null) !== null) return given;
  throw badOption("options", given, "pass an object, such as { seed: 1 }, or leave it out");
}

/** Widest hidden layer, and most of them. */
const MAX_WIDTH = 8192;
const MAX_LAYERS = 16;

/** Fills in a table's defaults. Throws unknown-option with the nearest names, bad-option. */
export function fillIn<T extends Readonly<Record<string, OptionRow>>>(
  algorithm: string,
  table: T,
  given: Partial<ConfigOf<T>>,
): ConfigOf<T> {
  const names = Object.keys(table);
  const config: Record<string, unknown> = Object.fromEntries(
    Object.entries(table).map(([name, row]) => [name, row.default]),
  );
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (!Object.hasOwn(table, name)) {
      const near = nearest(name, names);
      const hint = near.length ? `nearest: ${near.join(", ")}` : `there are: ${names.join(", ")}`;
      throw new CorralError("unknown-option", `${algorithm} has no option "${name}"; ${hint}.`, {
        name,
        nearest: near,
      });
    }
    check(name, value, table[name]);
    config[name] = value;
  }
  return config as ConfigOf<T>;
}

function check(name: string, value: unknown, row: OptionRow): void {
  const { default: usual, min = -Infinity, max = Infinity, integer, oneOf } = row;
  if (oneOf) {
    if (!oneOf.includes(value as string))
      throw badOption(name, value, `pass ${oneOf.map((word) => `"${word}"`).join(" or ")}`);
  } else if (typeof usual === "boolean") {
    if (typeof value !== "boolean") throw badOption(name, value, "pass true or false");
  } else if (typeof usual === "number") {
    const fits = typeof value === "number" && value >= min && value <= max && (!integer || Number.isInteger(value));
    if (!fits) throw badOption(name, value, `pass ${integer ? "an integer" : "a number"} from ${min} to ${max}`);
  } else {
    const widths = value as readonly unknown[];
    const fits =
      Array.isArray(value) &&
      widths.length <= MAX_LAYERS &&
      widths.every((n) => Number.isInteger(n) && (n as number) >= 1 && (n as number) <= MAX_WIDTH);
    if (!fits) throw badOption(name, value, `pass up to ${MAX_LAYERS} widths from 1 to ${MAX_WIDTH}, such as [64, 64]`);
  }
}

/** Throws bad-option if the bounds of the log standard deviation are the wrong way round. */
export function assertLogStds({
  minLogStd,
  maxLogStd,
}: {
  readonly minLogStd: number;
  readonly maxLogStd: number;
}): void {
  if (minLogStd > maxLogStd) throw badOption("minLogStd", minLogStd, `at most maxLogStd, ${maxLogStd}`);
}
