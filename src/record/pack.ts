// plain data as JSON that keeps what JSON loses: typed arrays, NaN, infinities, -0, big integers
import { CorralError } from "../core/errors.ts";
import { show } from "../core/show.ts";

const ARRAYS = {
  f32: Float32Array,
  f64: Float64Array,
  i32: Int32Array,
  u32: Uint32Array,
  u8: Uint8Array,
} as const;

type Kind = keyof typeof ARRAYS;

const kindOf = (value: unknown): Kind | undefined =>
  (Object.keys(ARRAYS) as Kind[]).find((kind) => value instanceof ARRAYS[kind]);

const MARK = "$corral";

function replace(value: unknown): unknown {
  if (typeof value === "bigint") return { [MARK]: "n", of: String(value) };
  if (typeof value === "number" && (!Number.isFinite(value) || Object.is(value, -0)))
    return { [MARK]: "x", of: Object.is(value, -0) ? "-0" : String(value) };
  const kind = kindOf(value);
  if (kind === undefined) return value;
  const view = value as ArrayBufferView;
  return { [MARK]: kind, of: Buffer.from(view.buffer, view.byteOffset, view.byteLength).toString("base64") };
}

function revive(value: unknown): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, MARK)) return value;
  const { [MARK]: kind, of } = value as unknown as { [MARK]: unknown; of: unknown };
  if (typeof of !== "string") throw new Error("numbers that are no text");
  if (kind === "n" && /^-?\d{1,40}$/.test(of)) return BigInt(of);
  if (kind === "x" && ["NaN", "Infinity", "-Infinity", "-0"].includes(of)) return Number(of);
  if (typeof kind !== "string" || !Object.hasOwn(ARRAYS, kind)) throw new Error(`no numbers of kind ${show(kind)}`);
  const bytes = Uint8Array.from(Buffer.from(of, "base64"));
  return new ARRAYS[kind as Kind](bytes.buffer);
}

/** Plain data as bytes; functions and symbols are left out. */
export function pack(value: unknown, space?: number): Uint8Array {
  return new TextEncoder().encode(
    JSON.stringify(
      value,
      function (this: Record<string, unknown>, key: string) {
        return replace(this[key]);
      },
      space,
    ),
  );
}

/** @throws CorralError bundle-corrupt if it is no such data */
export function unpack(bytes: Uint8Array, what: string): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes), (_, value: unknown) => revive(value));
  } catch (cause) {
    throw new CorralError(
      "bundle-corrupt",
      `${what} cannot be read: ${(cause as Error).message}.`,
      { what },
      { cause },
    );
  }
}
