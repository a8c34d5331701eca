// what a value may be: one description for options of calls, flags, and files that come from elsewhere. A kind knows its
// TypeScript type, checks a value of any origin without calling anything of it, and says what it wants in words.
import { show } from "./show.ts";

/** Where a value lies: names and indices from the outside in. */
export type Path = readonly (string | number)[];

/** A value is not what it should be. Readers turn it into an error with a code of their own. */
export class Mismatch extends Error {
  readonly path: Path;
  readonly value: unknown;
  /** "an integer from 1 to 10" */
  readonly want: string;

  constructor(path: Path, value: unknown, want: string) {
    super(`${pathText(path)} is ${show(value)}; it is ${want}`);
    this.path = path;
    this.value = value;
    this.want = want;
  }
}

/** What a value may be. */
export interface Kind<T> {
  /** In words, after "it is". */
  readonly want: string;
  /** The value, typed. Throws `Mismatch`. */
  readonly read: (value: unknown, path: Path) => T;
}

/** The type of a kind's values. */
export type Of<K> = K extends Kind<infer T> ? T : never;

/** `env.worlds[2]`, "it" for the whole. */
export function pathText(path: Path): string {
  const text = path.map((part) => (typeof part === "number" ? `[${part}]` : `.${part}`)).join("");
  return text.replace(/^\./, "") || "it";
}

const kind = <T>(want: string, isGood: (value: unknown) => boolean): Kind<T> => ({
  want,
  read(value, path) {
    if (isGood(value)) return value as T;
    throw new Mismatch(path, value, want);
  },
});

const between = (what: string, min: number, max: number): string => {
  if (min === -Infinity && max === Infinity) return what;
  if (max === Infinity) return `${what} of at least ${min}`;
  return min === -Infinity ? `${what} of at most ${max}` : `${what} from ${min} to ${max}`;
};

/** An integer that a double holds exactly; that one is too large for it is said where it is. */
export const integer = (min: number = Number.MIN_SAFE_INTEGER, max: number = Number.MAX_SAFE_INTEGER): Kind<number> => {
  const isGood = (value: unknown) =>
    Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
  const usual = kind<number>(between("an integer", min, max === Number.MAX_SAFE_INTEGER ? Infinity : max), isGood);
  const bounded = kind<number>(between("an integer", min, max), isGood);
  const isBeyond = (value: unknown) => typeof value === "number" && value > Number.MAX_SAFE_INTEGER;
  return { want: usual.want, read: (value, path) => (isBeyond(value) ? bounded : usual).read(value, path) };
};

/** A number, NaN excluded; infinities only where the bounds reach them and `finite` is false. */
export const real = (min = -Infinity, max = Infinity, finite = true): Kind<number> =>
  kind(between(finite ? "a finite number" : "a number", min, max), (value) => {
    return typeof value === "number" && value >= min && value <= max && (!finite || Number.isFinite(value));
  });

/** A finite number above 0. */
export const positive: Kind<number> = kind("a finite number above 0", (value) => {
  return typeof value === "number" && value > 0 && value < Infinity;
});

/** `[low, high]` with low <= high. */
export const range = (finite = true): Kind<readonly [number, number]> =>
  kind(
    finite ? "[low, high], finite, low <= high" : "[low, high] with low <= high; an end may be infinite",
    (value) => {
      const ends = Array.isArray(value) || ArrayBuffer.isView(value) ? Array.from(value as ArrayLike<unknown>) : [];
      const isEnd = (x: unknown) => typeof x === "number" && (finite ? Number.isFinite(x) : !Number.isNaN(x));
      return ends.length === 2 && ends.every(isEnd) && (ends[0] as number) <= (ends[1] as number);
    },
  );

/** So many finite numbers, in a list or a typed array. */
export const vector = (length: number): Kind<readonly number[]> => ({
  want: `${length} finite numbers`,
  read(value, path) {
    const found = Array.isArray(value) || ArrayBuffer.isView(value) ? Array.from(value as ArrayLike<unknown>) : [];
    if (found.length === length && found.every((x) => Number.isFinite(x))) return found as number[];
    throw new Mismatch(path, value, this.want);
  },
});

/** One of some words, or what it stands for. */
export function word<const T extends Readonly<Record<string, number>>>(words: T): Kind<number | keyof T> {
  const names = Object.keys(words);
  return {
    want: names.map((name) => show(name)).join(" or "),
    read(value, path) {
      if (typeof value === "string" && Object.hasOwn(words, value)) return words[value];
      if (typeof value === "number" && Object.values(words).includes(value)) return value;
      throw new Mismatch(path, value, this.want);
    },
  };
}

/** A value that is checked where it is used. */
export const unchecked = <T>(want: string): Kind<T> => ({ want, read: (value) => value as T });

/** A kind with other words for what it wants. */
export const described = <T>(want: string, { read }: Kind<T>): Kind<T> => ({
  want,
  read(value, path) {
    try {
      return read(value, path);
    } catch (error) {
      throw error instanceof Mismatch ? new Mismatch(path, value, want) : error;
    }
  },
});

/** One of two kinds. */
export function either<A, B>(a: Kind<A>, b: Kind<B>): Kind<A | B> {
  const want = `${a.want}, or ${b.want}`;
  return {
    want,
    read(value, path) {
      for (const kind of [a, b])
        try {
          return kind.read(value, path);
        } catch (error) {
          if (!(error instanceof Mismatch)) throw error;
        }
      throw new Mismatch(path, value, want);
    },
  };
}

/** Any number of float64, NaN included. */
export const anyNumber: Kind<number> = kind("a number", (value) => typeof value === "number");

export const boolean: Kind<boolean> = kind("true or false", (value) => typeof value === "boolean");

/** Text of a most length that fits a pattern. */
export const text = (most = 4096, pattern?: RegExp, want = `text of at most ${most} characters`): Kind<string> =>
  kind(want, (value) => typeof value === "string" && value.length <= most && (pattern?.test(value) ?? true));

/** Names that code is made of, and nothing else: letters, digits, `_`, of which the first is no digit. */
export const identifier: Kind<string> = text(128, /^[A-Za-z_][A-Za-z0-9_]*$/, "a name of letters, digits and _");

export const oneOf = <const T extends string | number | boolean>(...words: readonly T[]): Kind<T> =>
  kind(words.map((word) => show(word)).join(" or "), (value) => words.includes(value as T));

/** A list whose items are all of a kind. */
export function list<T>(item: Kind<T>, { min = 0, max = 2 ** 24 } = {}): Kind<readonly T[]> {
  const want = between("a list", min, max).replace(/ (from|of at)/, ", items $1");
  return {
    want,
    read(value, path) {
      if (!Array.isArray(value) || value.length < min || value.length > max) throw new Mismatch(path, value, want);
      return value.map((each, i) => item.read(each, [...path, i]));
    },
  };
}

/** A list of a fixed number of items, each of its own kind. */
export function tuple<const K extends readonly Kind<unknown>[]>(
  ...kinds: K
): Kind<{ -readonly [I in keyof K]: Of<K[I]> }> {
  const want = `a list of ${kinds.length}`;
  return {
    want,
    read(value, path) {
      if (!Array.isArray(value) || value.length !== kinds.length) throw new Mismatch(path, value, want);
      return value.map((each, i) => kinds[i].read(each, [...path, i])) as never;
    },
  };
}

const isPlain = (value: unknown): value is Record<string, unknown> => {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

/** Entries that a value has of its own. Throws `Mismatch`. */
function entriesOf(value: unknown, path: Path, want: string): [string, unknown][] {
  if (isPlain(value)) return Object.entries(value);
  throw new Mismatch(path, value, want);
}

/** An object with these fields and no others; a field whose kind is `optional` may be left out. */
export function object<T extends object>(fields: { readonly [K in keyof T]-?: Kind<T[K]> }): Kind<T> {
  const kinds = new Map(Object.entries<Kind<unknown>>(fields as never));
  const want = `an object of ${[...kinds.keys()].join(", ")}`;
  return {
    want,
    read(value, path) {
      const given = new Map(entriesOf(value, path, want));
      for (const name of given.keys())
        if (!kinds.has(name)) throw new Mismatch([...path, name], given.get(name), "nothing that is known");
      const out: [string, unknown][] = [];
      for (const [name, field] of kinds) {
        const found = field.read(given.get(name), [...path, name]);
        if (found !== undefined || given.has(name)) out.push([name, found]);
      }
      return Object.fromEntries(out) as T;
    },
  };
}

/** An object from names of a kind to values of another. */
export function record<T>(name: Kind<string>, of: Kind<T>, { max = 65_536 } = {}): Kind<Readonly<Record<string, T>>> {
  const want = `an object of at most ${max} entries`;
  return {
    want,
    read(value, path) {
      const entries = entriesOf(value, path, want);
      if (entries.length > max) throw new Mismatch(path, value, want);
      return Object.fromEntries(
        entries.map(([key, each]) => [name.read(key, [...path, "(a name)"]), of.read(each, [...path, key])]),
      );
    },
  };
}

export function optional<T>(of: Kind<T>): Kind<T | undefined> {
  return { want: of.want, read: (value, path) => (value === undefined ? undefined : of.read(value, path)) };
}

export function nullable<T>(of: Kind<T>): Kind<T | null> {
  return { want: `${of.want}, or null`, read: (value, path) => (value === null ? null : of.read(value, path)) };
}

/** A typed array of one of some types, of any length or of one. */
export function numbers<T extends ArrayBufferView>(
  types: readonly (new (length: number) => T)[],
  length?: number,
): Kind<T> {
  const names = types.map((type) => type.name).join(" or ");
  return kind(length === undefined ? names : `${names} of length ${length}`, (value) => {
    return types.some(
      (type) =>
        value instanceof type && (length === undefined || (value as never as ArrayLike<number>).length === length),
    );
  });
}

/** Plain data without functions, nested at most so deep. */
export function plain(depth = 8): Kind<unknown> {
  const want = `plain data, nested at most ${depth} deep`;
  const read = (value: unknown, path: Path, left: number): unknown => {
    if (value === null || ["string", "number", "boolean", "bigint", "undefined"].includes(typeof value)) return value;
    if (ArrayBuffer.isView(value)) return value;
    if (left === 0) throw new Mismatch(path, value, want);
    if (Array.isArray(value)) return value.map((each, i) => read(each, [...path, i], left - 1));
    return Object.fromEntries(
      entriesOf(value, path, want).map(([key, each]) => [key, read(each, [...path, key], left - 1)]),
    );
  };
  return { want, read: (value, path) => read(value, path, depth) };
}
