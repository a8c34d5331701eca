// plain data as JSON that keeps what JSON loses: typed arrays, NaN, infinities, -0, big integers

/** Arrays by the names that they have there. */
export const ARRAYS = {
  f32: Float32Array,
  f64: Float64Array,
  i32: Int32Array,
  u32: Uint32Array,
  u8: Uint8Array,
} as const;

export type Kind = keyof typeof ARRAYS;

const kindOf = (value: unknown): Kind | undefined =>
  (Object.keys(ARRAYS) as Kind[]).find((kind) => value instanceof ARRAYS[kind]);

export const MARK = "$corral";

/** Bytes that become text in one call: as many as a call takes arguments, and a multiple of three. */
const CHUNK = 3 * 2 ** 13;

function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += CHUNK) text += btoa(String.fromCharCode(...bytes.subarray(at, at + CHUNK)));
  return text;
}

function replace(value: unknown): unknown {
  if (typeof value === "bigint") return { [MARK]: "n", of: String(value) };
  if (typeof value === "number" && (!Number.isFinite(value) || Object.is(value, -0)))
    return { [MARK]: "x", of: Object.is(value, -0) ? "-0" : String(value) };
  const kind = kindOf(value);
  if (kind === undefined) return value;
  const view = value as ArrayBufferView;
  return { [MARK]: kind, of: base64(new Uint8Array(view.buffer, view.byteOffset, view.byteLength)) };
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
