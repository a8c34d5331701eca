// mutants of good files: what strangers, bad disks and fuzzers make of JSON, bytes and names
import fc from "fast-check";

/** Set by code that a crafted file has run. */
export const RAN = "__corral_ran__";

const CODE = `x;globalThis.${RAN}=1;//`;

/** Values that are none of what a format defines, and some that may be. */
export const NASTY: readonly unknown[] = [
  null,
  true,
  -1,
  0,
  1,
  3,
  0.5,
  1e9,
  2 ** 31,
  2 ** 53,
  1e300,
  -1e300,
  "",
  "all",
  CODE,
  `\n${CODE}\n`,
  `"];globalThis.${RAN}=1;["`,
  "../../evil",
  "/etc/passwd",
  "\u001B[2J\u001B]0;evil\u0007\u009B31m",
  "\u202Egnp.exe",
  "x".repeat(5000),
  [],
  {},
  [[]],
  [CODE],
  { $corral: "x", of: "NaN" },
  { $corral: "x", of: "-Infinity" },
  { $corral: "n", of: "9".repeat(400) },
  { $corral: "f64", of: "AAAA" },
  { $corral: "f64", of: "AAAAAAAAAAA=" },
  { $corral: "f64", of: { length: 1e9 } },
  { $corral: "constructor", of: "AAAA" },
  { $array: "nothing", as: "Float32Array" },
  { $array: "__proto__", as: "Function" },
];

const KEYS = ["__proto__", "constructor", "toString", "length", "$corral", CODE, "../../evil", "\u001B[31m", ""];

/** A change to JSON: where (a number picks a place), what, and with what. */
export interface Change {
  readonly at: number;
  readonly how: "replace" | "remove" | "add" | "rename" | "repeat" | "scale" | "swap" | "deepen";
  readonly pick: number;
}

export const change: fc.Arbitrary<Change> = fc.record({
  at: fc.nat(),
  how: fc.constantFrom("replace", "replace", "remove", "add", "rename", "repeat", "scale", "swap", "deepen"),
  pick: fc.nat(),
});

type Holder = Record<string | number, unknown>;

/** Places of values in JSON, breadth first so that the few that matter most are as likely as the many. */
function places(root: unknown, most = 20_000): [Holder, string | number][] {
  const found: [Holder, string | number][] = [];
  const open: unknown[] = [root];
  while (open.length > 0 && found.length < most) {
    const value = open.shift();
    if (typeof value !== "object" || value === null) continue;
    for (const key of Array.isArray(value) ? value.keys() : Object.keys(value)) {
      found.push([value as Holder, key]);
      open.push((value as Holder)[key]);
    }
  }
  return found;
}

const put = (holder: Holder, key: string | number, value: unknown): void => {
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });
};

/** Makes a change in JSON, in place. The first hundred places are half of all. */
export function mutate(root: unknown, { at, how, pick }: Change): void {
  const all = places(root);
  if (all.length === 0) return;
  const among = at % 2 === 0 ? Math.min(all.length, 100) : all.length;
  const [holder, key] = all[Math.floor(at / 2) % among];
  const value = holder[key];
  const nasty = structuredClone(NASTY[pick % NASTY.length]);
  switch (how) {
    case "replace":
      return put(holder, key, nasty);
    case "remove":
      if (Array.isArray(holder)) holder.splice(Number(key), 1);
      else delete holder[key];
      return;
    case "add":
      if (Array.isArray(holder)) holder.push(nasty);
      else put(holder, KEYS[pick % KEYS.length], nasty);
      return;
    case "rename":
      if (Array.isArray(holder)) return put(holder, key, nasty);
      delete holder[key];
      return put(holder, KEYS[pick % KEYS.length], value);
    case "repeat":
      if (Array.isArray(value)) value.push(...structuredClone(value.slice(0, 1000)));
      else put(holder, key, [value, value]);
      return;
    case "scale":
      return put(holder, key, typeof value === "number" ? value * [-1, 2, 1e9, 0.5][pick % 4] : [value]);
    case "swap": {
      const [other, name] = all[pick % all.length];
      const was = other[name];
      // a value within itself would be no JSON
      if (typeof was === "object" || typeof value === "object") return;
      put(holder, key, was);
      return put(other, name, value);
    }
    case "deepen": {
      let deep: unknown = value;
      // three of them are as deep as JSON.stringify goes
      for (let i = 0; i < 1000; i++) deep = [deep];
      return put(holder, key, deep);
    }
  }
}

/** A change to bytes. */
export interface ByteChange {
  readonly at: number;
  readonly how: "flip" | "cut" | "grow" | "zero" | "insert";
  readonly pick: number;
}

export const byteChange: fc.Arbitrary<ByteChange> = fc.record({
  at: fc.nat(),
  how: fc.constantFrom("flip", "cut", "grow", "zero", "insert"),
  pick: fc.nat(),
});

export function mutateBytes(bytes: Uint8Array, { at, how, pick }: ByteChange): Uint8Array<ArrayBuffer> {
  const place = bytes.length === 0 ? 0 : at % bytes.length;
  const copy = Uint8Array.from(bytes);
  switch (how) {
    case "flip":
      if (copy.length > 0) copy[place] ^= 1 << (pick % 8);
      return copy;
    case "cut":
      return copy.slice(0, place);
    case "grow":
      return Uint8Array.from([...copy, ...copy.slice(0, pick % 4096)]);
    case "zero":
      return copy.fill(0, place, place + (pick % 64));
    case "insert":
      return Uint8Array.from([...copy.slice(0, place), ...Buffer.from(CODE), ...copy.slice(place)]);
  }
}

/** Mutants of each kind: thousands if all is tested. */
export const MUTANTS = process.env.CORRAL_FULL ? 3000 : 100;
