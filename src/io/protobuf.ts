// messages of Protocol Buffers, field by field: as much of the wire format as ONNX and TensorBoard need

/** A field: its number, and its bytes with the tag before them. */
export type Field = Uint8Array;

const WIRE = { varint: 0, bytes: 2, fixed32: 5, fixed64: 1 } as const;

/** An unsigned integer in groups of seven bits, least first; negative ones as 64 bits in two's complement. */
function varint(value: number | bigint): number[] {
  let left = BigInt.asUintN(64, BigInt(value));
  const bytes: number[] = [];
  do {
    const low = Number(left & 127n);
    left >>= 7n;
    bytes.push(left > 0n ? low | 128 : low);
  } while (left > 0n);
  return bytes;
}

const tag = (number: number, wire: number): number[] => varint(number * 8 + wire);

/** Joins fields to a message. */
export function message(...fields: readonly (Field | readonly Field[])[]): Uint8Array<ArrayBuffer> {
  const parts = fields.flat() as Uint8Array[];
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

/** int32, int64, uint64, bool and enum. */
export const integer = (number: number, value: number | bigint): Field =>
  Uint8Array.from([...tag(number, WIRE.varint), ...varint(value)]);

/** bytes, and messages within messages. */
export const bytes = (number: number, value: Uint8Array): Field =>
  message(Uint8Array.from([...tag(number, WIRE.bytes), ...varint(value.length)]), value);

export const text = (number: number, value: string): Field => bytes(number, new TextEncoder().encode(value));

export function float32(number: number, value: number): Field {
  const field = Uint8Array.from([...tag(number, WIRE.fixed32), 0, 0, 0, 0]);
  new DataView(field.buffer).setFloat32(field.length - 4, value, true);
  return field;
}

export function float64(number: number, value: number): Field {
  const field = Uint8Array.from([...tag(number, WIRE.fixed64), 0, 0, 0, 0, 0, 0, 0, 0]);
  new DataView(field.buffer).setFloat64(field.length - 8, value, true);
  return field;
}
