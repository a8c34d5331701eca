// values as error texts show them

const MOST_TEXT = 200;
const DEEPEST = 4;

/** A value as it would be written, numbers that are none included; cut where it is long. */
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
  if (prototype !== Object.prototype && prototype !== null) return `a ${value.constructor?.name || "object"}`;
  const entries = Object.entries(value).map(([key, x]) => `${JSON.stringify(key)}:${of(x)}`);
  return `{${entries.join(",")}}`;
}
