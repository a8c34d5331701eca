// tables of options. A row says what an option may be, its default and what it means: types, checks, `--help` and
// docs/options.md come from it.
import { CorralError } from "./errors.ts";
import { alternatives } from "./names.ts";
import { boolean, described, integer, list, Mismatch, oneOf, pathText, real, text, type Kind } from "./schema.ts";
import { inLine, show } from "./show.ts";

/** One option. */
export interface OptionRow {
  readonly doc: string;
  /** Left out where there is none, or where it depends on the model or the environment. */
  readonly default?: unknown;
  /** What it may be; of plain numbers, words, switches and widths of layers the fields below and the default say it. */
  readonly kind?: Kind<unknown>;
  readonly min?: number;
  readonly max?: number;
  readonly integer?: boolean;
  readonly oneOf?: readonly string[];
  /** Code of the error, if it is another than the table's. */
  readonly code?: string;
}

export type OptionTable = Readonly<Record<string, OptionRow>>;

type ValueOf<R> = R extends { readonly kind: Kind<infer T> }
  ? T
  : R extends { readonly oneOf: readonly (infer W)[] }
    ? W
    : R extends { readonly default: infer D }
      ? D extends boolean
        ? boolean
        : D extends number
          ? number
          : readonly number[]
      : number;

/** Values of a table's options by name, as they are given. */
export type Given<T extends OptionTable> = { readonly [K in keyof T]?: ValueOf<T[K]> };

type WithDefault<T> = { [K in keyof T]: T[K] extends { readonly default: unknown } ? K : never }[keyof T];

/** Values of a table's options by name, with their defaults. */
export type ConfigOf<T extends OptionTable> = { readonly [K in WithDefault<T>]: ValueOf<T[K]> } & {
  readonly [K in Exclude<keyof T, WithDefault<T>>]?: ValueOf<T[K]>;
};

/** Widest hidden layer, and most of them. */
const MAX_WIDTH = 8192;
const MAX_LAYERS = 16;

const WIDTHS = described(
  `up to ${MAX_LAYERS} widths from 1 to ${MAX_WIDTH}, such as [64, 64]`,
  list(integer(1, MAX_WIDTH), { max: MAX_LAYERS }),
);

/** What an option may be. */
export function kindOf<const R extends OptionRow>(row: R): Kind<ValueOf<R>> {
  const { kind, oneOf: words, default: usual, min, max } = row;
  const plain = (): Kind<unknown> => {
    if (words) return oneOf(...words);
    if (typeof usual === "boolean") return boolean;
    if (Array.isArray(usual)) return WIDTHS;
    return row.integer ? integer(min, max) : real(min, max, false);
  };
  return (kind ?? plain()) as Kind<ValueOf<R>>;
}

/** The error of a value that an option cannot have; `want` is the remedy. */
export const badOption = (name: string, value: unknown, want: string, code = "bad-option"): CorralError =>
  new CorralError(code, `${name} is ${show(value)}; ${want}.`, { name, value });

/** A value of a kind. Throws `bad-option`, or another code, with the place in the value. */
export function checked<T>(name: string, kind: Kind<T>, value: unknown, code?: string): T {
  try {
    return kind.read(value, [name]);
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error;
    throw badOption(pathText(error.path), error.value, `pass ${error.want}`, code);
  }
}

/** Names of fields, outputs and the like, of which a table says later which there are. */
export const NAMES: Kind<readonly string[]> = described('a list of names, such as ["qpos"]', list(text()));

/** Items that can be gone through: a list, or numbers of a typed array. Throws `bad-option`. */
export function listOf<T>(name: string, value: readonly T[]): readonly T[] {
  if (Array.isArray(value) || (ArrayBuffer.isView(value) && !((value as unknown) instanceof DataView))) return value;
  throw badOption(name, value, "pass a list");
}

/** Throws `bad-option` for what holds no numbers. */
export function assertNumbers(name: string, value: unknown): void {
  const has = typeof value === "object" && value !== null && "length" in value;
  if (!has) throw badOption(name, value, "pass its numbers, row after row, in a list or a typed array");
}

/** The error of a name that a table has not. */
export function unknownOption(of: string, name: string, names: readonly string[], code = "unknown-option") {
  const { hint, nearest } = alternatives(name, names);
  return new CorralError(code, `${of} has no option "${inLine(name)}"; ${hint}.`, { name, nearest });
}

/** Options as they were given. Throws `bad-option` if they are no object. */
export function optionsOf<T extends object>(given: T, name = "options"): T {
  if (typeof given === "object" && (given as T | null) !== null && !Array.isArray(given)) return given;
  throw badOption(
    name,
    given,
    given !== undefined && name.startsWith("options") ? "pass an object, or leave it out" : "pass an object",
  );
}

/** Options by names alone. @throws CorralError bad-option if they are no object, unknown-option with the nearest names */
export function onlyOptions(of: string, given: object, names: readonly string[]): void {
  const other = Object.keys(optionsOf(given, `options of ${of}`)).find((name) => !names.includes(name));
  if (other !== undefined) throw unknownOption(of, other, names);
}

/** How a table is read: the name of what has the options, and what stands before their names in errors. */
export interface Reading {
  readonly of: string;
  readonly nameOf?: (name: string) => string;
}

/**
 * Checks options and fills in a table's defaults; undefined counts as not given.
 * @throws CorralError unknown-option with the nearest names, bad-option
 */
export function fillIn<T extends OptionTable>(
  table: T,
  given: Given<T>,
  { of, nameOf = (name) => name }: Reading,
): ConfigOf<T> {
  const config: Record<string, unknown> = {};
  for (const [name, row] of Object.entries(table)) if ("default" in row) config[name] = row.default;
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (!Object.hasOwn(table, name)) throw unknownOption(of, name, Object.keys(table));
    config[name] = checked(nameOf(name), kindOf(table[name]), value, table[name].code);
  }
  return config as ConfigOf<T>;
}

/** A value of a plain option from text, as flags have it; undefined if the text is of another type. */
export function parseOption(row: OptionRow, text: string): unknown {
  const { default: usual, oneOf: words } = row;
  const numberOf = (part: string) => (part.trim() === "" ? Number.NaN : Number(part));
  if (words) return text;
  if (typeof usual === "boolean") return { true: true, false: false }[text];
  const isList = Array.isArray(usual);
  const numbers = isList ? (text === "" ? [] : text.split(",").map(numberOf)) : [numberOf(text)];
  if (numbers.some(Number.isNaN)) return undefined;
  return isList ? numbers : numbers[0];
}

/** Values that are given, those of a table and others. */
export function sortOut<T extends OptionTable>(table: T, given: object): { own: Given<T>; others: object } {
  const of = (isOwn: boolean) =>
    Object.fromEntries(
      Object.entries(given).filter(([name, v]) => v !== undefined && Object.hasOwn(table, name) === isOwn),
    );
  return { own: of(true) as Given<T>, others: of(false) };
}

/** The options of a part of an object, such as `recorder.keep`. Throws what `fillIn` throws. */
export function fillInPart<T extends OptionTable>(part: string, table: T, given: unknown): ConfigOf<T> {
  const names = Object.keys(table).join(", ");
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw badOption(part, given, `pass an object of ${names}`);
  return fillIn(table, given as Given<T>, { of: part, nameOf: (name) => `${part}.${name}` });
}
