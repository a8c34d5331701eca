// numbers as a host passes them (typed arrays, plain arrays, or one array a world), and their validation
import { CorralError } from "../../core/errors.ts";
import { show } from "../../core/show.ts";
import { countOf } from "../../core/units.ts";

/** Values of a space: flat and row-major, or an array with one entry (or one array of entries) a world. */
export type HostValues =
  | Float32Array
  | Float64Array
  | Int8Array
  | Int16Array
  | Int32Array
  | Uint8Array
  | Uint8ClampedArray
  | Uint16Array
  | Uint32Array
  | readonly number[]
  | readonly ArrayLike<number>[];

const KINDS: Record<string, "float" | "integer"> = {
  Float32Array: "float",
  Float64Array: "float",
  Int8Array: "integer",
  Int16Array: "integer",
  Int32Array: "integer",
  Uint8Array: "integer",
  Uint8ClampedArray: "integer",
  Uint16Array: "integer",
  Uint32Array: "integer",
};

/** What sort of numbers these are; `other` for anything that is not an array of numbers. */
function kindOf(values: unknown): "float" | "integer" | "array" | "other" {
  if (Array.isArray(values)) return "array";
  if (!ArrayBuffer.isView(values)) return "other";
  // the tag, because a typed array of another realm is no instance of ours
  return KINDS[(values as unknown as Record<symbol, string>)[Symbol.toStringTag]] ?? "other";
}

/** The values flat, [rows * width] long; or, if the shape is another, a text that says which. */
function flatten(values: HostValues, rows: number, width: number): ArrayLike<number> | string {
  if (kindOf(values) !== "array") {
    return values.length === rows * width
      ? (values as ArrayLike<number>)
      : `actions have ${countOf(values.length, "value")}`;
  }

  const nested = (values as readonly unknown[]).some((row) => typeof row === "object" && row !== null);
  return nested
    ? flattenRows(values as readonly unknown[], rows, width)
    : flattenNumbers(values as readonly unknown[], rows * width);
}

function flattenNumbers(values: readonly unknown[], length: number): readonly number[] | string {
  if (values.length !== length) return `actions have ${countOf(values.length, "value")}`;
  // an index loop: holes are undefined too
  for (let i = 0; i < length; i++) {
    if (typeof values[i] !== "number") return `value ${i} of the actions is ${show(values[i])}, not a number`;
  }
  return values as readonly number[];
}

function flattenRows(values: readonly unknown[], rows: number, width: number): readonly number[] | string {
  if (values.length !== rows) return `actions have ${countOf(values.length, "row")}`;
  const flat: number[] = [];
  for (let world = 0; world < rows; world++) {
    const row = values[world];
    if (kindOf(row) === "other") return `the action of world ${world} is no array`;
    const { length } = row as ArrayLike<unknown>;
    if (length !== width) return `the action of world ${world} has ${length} entries`;
    for (let i = 0; i < width; i++) {
      const x = (row as ArrayLike<unknown>)[i];
      if (typeof x !== "number") return `entry ${i} of the action of world ${world} is ${show(x)}, not a number`;
      flat.push(x);
    }
  }
  return flat;
}

/** The part of a space that validation uses. */
interface Checker {
  readonly dtype: "float32" | "int32";
  readonly shape: readonly number[];
  readonly size: number;
  firstBad(values: ArrayLike<number>): number;
  expects(entry: number): string;
  toString(): string;
}

/** The values as a flat array, if they are good for `numEnvs` worlds; throws `bad-action`. */
export function checkValues(space: Checker, numEnvs: number, values: HostValues): ArrayLike<number> {
  const kind = kindOf(values);
  if (kind !== "array" && kind !== (space.dtype === "float32" ? "float" : "integer")) {
    throw badAction(`actions are ${describe(values)}; ${wanted(space, numEnvs)}`);
  }

  const flat = flatten(values, numEnvs, space.size);
  if (typeof flat === "string") throw badAction(`${flat}; ${wanted(space, numEnvs)}`);

  const bad = space.firstBad(flat);
  if (bad < 0) return flat;

  const [world, entry] = [Math.floor(bad / space.size), bad % space.size];
  throw badAction(
    `world ${world}, entry ${entry} of the action is ${flat[bad]}; it must be ${space.expects(entry)}. Pass such a value; no world was stepped.`,
    { world, index: entry, value: flat[bad] },
  );
}

/** The second half of an error text: what a space takes, and what to pass. */
function wanted(space: Checker, numEnvs: number): string {
  const array = space.dtype === "float32" ? "a Float32Array" : "an Int32Array";
  const shape = [numEnvs, ...space.shape].join(", ");
  return `${String(space)} takes ${space.dtype} values of shape [${shape}]. Pass ${array} of ${numEnvs * space.size} values.`;
}

/** Whether the values are good for `numEnvs` worlds and `bounded` holds for each (value, flat index). */
export function isInside(
  space: Checker,
  numEnvs: number,
  values: unknown,
  bounded: (x: number, i: number) => boolean,
): boolean {
  try {
    return Array.prototype.every.call(checkValues(space, numEnvs, values as HostValues), bounded);
  } catch (error) {
    if (error instanceof CorralError && error.code === "bad-action") return false;
    throw error;
  }
}

function describe(values: unknown): string {
  if (typeof values !== "object" || values === null) return show(values);
  return `of type ${Object.prototype.toString.call(values).slice(8, -1)}`;
}

function badAction(text: string, details: Record<string, unknown> = {}): CorralError {
  return new CorralError("bad-action", text, details);
}
