// values and texts as errors and terminals show them

const MOST_TEXT = 200;
const DEEPEST = 4;

/** A value as it would be written, NaN and infinities included; cut if it is long. */
export function show(value: unknown): string {
  const text = written(value, 0);
  return text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}...` : text;
}

function written(value: unknown, depth: number): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return String(value);
  const of = (x: unknown) => (depth < DEEPEST ? written(x, depth + 1) : "...");
  if (Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView)))
    return `[${Array.from(value as ArrayLike<unknown>, of).join(",")}]`;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    const name = value.constructor?.name || "object";
    return `${/^[AEIO]/i.test(name) ? "an" : "a"} ${name}`;
  }
  const entries = Object.entries(value).map(([key, x]) => `${JSON.stringify(key)}:${of(x)}`);
  return `{${entries.join(",")}}`;
}

/** What a terminal takes for a command, or reads backwards: control characters, and marks that turn text around. */
const UNSEEN = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

const hex = (c: string, digits: number): string => c.charCodeAt(0).toString(16).padStart(digits, "0");

/**
 * Text that only shows on a terminal, whoever wrote it: what would move the cursor, change colours or hide is written out.
 * Ends of lines and tabs stay.
 */
export const printable = (text: string): string =>
  text.replace(UNSEEN, (c) => (c === "\n" || c === "\t" ? c : c <= "\u00ff" ? `\\x${hex(c, 2)}` : `\\u${hex(c, 4)}`));

const ENDS_LINE = /[\n\t\p{Zl}\p{Zp}]/gu;

/** A name as it stands in a sentence or a table: what would end the line is written out too. */
export const inLine = (name: string): string =>
  printable(name).replace(ENDS_LINE, (c) => (c === "\n" ? "\\n" : c === "\t" ? "\\t" : `\\u${hex(c, 4)}`));

/** Names in a sentence. */
export const listed = (names: readonly string[]): string => names.map(inLine).join(", ");

/** Text that stays in its line, whatever ends a line in WGSL or JavaScript. */
export const oneLine = (text: string): string => text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "?");

/** JSON text that only shows on a terminal, and reads the same. */
export const printableJson = (json: string): string =>
  json.replace(UNSEEN, (c) => (c === "\n" || c === "\t" ? c : `\\u${hex(c, 4)}`));
