// what goes over a wire: one JSON document a line. Numbers that JSON has no words for are objects of one field.
import { CorralError } from "../core/errors.ts";
import * as schema from "../core/schema.ts";
import { printableJson } from "../core/show.ts";

/** Version of the protocol. A peer of another one is refused when it says hello. */
export const PROTOCOL = 2;

/** A call of an object that the service holds, or of the service itself. */
export interface ServeRequest {
  readonly id: number;
  readonly call: string;
  /** The handle of the object. */
  readonly of?: number | undefined;
  readonly with?: Readonly<Record<string, unknown>> | undefined;
}

const REQUEST: schema.Kind<ServeRequest> = schema.object<ServeRequest>({
  id: schema.integer(0),
  call: schema.identifier,
  of: schema.optional(schema.integer(0)),
  with: schema.optional(schema.record(schema.text(256), schema.plain(16))),
});

/** The longest line that is taken: arrays go through the mapped file. */
export const LONGEST_LINE = 2 ** 26;

const SPECIAL = new Map<string, number>([
  ["NaN", Number.NaN],
  ["Infinity", Infinity],
  ["-Infinity", -Infinity],
]);

/** A document on one line; typed arrays become lists. */
export function encode(value: unknown): string {
  const json = JSON.stringify(value, (_, x: unknown) => {
    if (typeof x === "bigint") return { $integer: String(x) };
    if (typeof x === "number" && !Number.isFinite(x)) return { $number: String(x) };
    if (ArrayBuffer.isView(x)) return Array.from(x as unknown as ArrayLike<number>);
    return x;
  });
  return printableJson(json).replaceAll("\n", " ");
}

/** The value of a line. Throws `SyntaxError`. */
function decode(line: string): unknown {
  return JSON.parse(line, (_, x: unknown) => {
    if (typeof x !== "object" || x === null || Array.isArray(x)) return x;
    const { $number, $integer } = x as { readonly $number?: unknown; readonly $integer?: unknown };
    if (typeof $number === "string" && SPECIAL.has($number)) return SPECIAL.get($number);
    if (typeof $integer === "string" && /^-?\d{1,40}$/.test($integer)) return BigInt($integer);
    return x;
  });
}

/** A call without arguments, as of a step: read as it stands. */
const PLAIN = /^\{"id":(\d{1,15}),"call":"([A-Za-z]{1,32})","of":(\d{1,9})\}$/;

/**
 * A request as it came.
 * @throws CorralError bad-request
 */
export function readRequest(line: string): ServeRequest {
  const plain = PLAIN.exec(line);
  if (plain) return { id: Number(plain[1]), call: plain[2], of: Number(plain[3]) };
  try {
    return REQUEST.read(decode(line), []);
  } catch (error) {
    throw new CorralError(
      "bad-request",
      `a request cannot be read: ${(error as Error).message}. Pass { id, call, of, with } on one line.`,
    );
  }
}

/** Answers that are frozen, in text: that to a step is mostly the one before. */
const said = new WeakMap<object, string>();

/** The line that answers a call. */
export function okReply(id: number, ok: unknown): string {
  const kept = typeof ok === "object" && ok !== null && Object.isFrozen(ok) ? ok : {};
  let text = said.get(kept);
  if (text === undefined) said.set(kept, (text = encode(ok)));
  return `{"id":${id},"ok":${text}}\n`;
}

/** The line that says that the first arrays of a call are there, before the one that answers it. */
export const partReply = (id: number): string => `+${id}\n`;

/** What an error says on the wire. */
export function errorReply(id: number, error: unknown): object {
  if (!(error instanceof CorralError)) {
    const message = error instanceof Error ? error.message : String(error);
    return { id, error: { code: "internal", message, details: {} } };
  }
  return { id, error: { code: error.code, message: error.message, details: plainOf(error.details) } };
}

/** Details that are plain data. */
function plainOf(details: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kind = schema.plain(4);
  const entries = Object.entries(details).filter(([, value]) => {
    try {
      kind.read(value, []);
      return true;
    } catch {
      return false;
    }
  });
  return Object.fromEntries(entries);
}
