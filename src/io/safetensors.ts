// files of named arrays in the format of safetensors (huggingface.co/docs/safetensors): eight bytes with the length of a
// JSON header, the header, then the numbers, little-endian, without gaps.
import { CorralError } from "../core/errors.ts";
import { inLine, show } from "../core/show.ts";

const DTYPES = {
  F64: Float64Array,
  F32: Float32Array,
  I32: Int32Array,
  U32: Uint32Array,
  U8: Uint8Array,
} as const;

export type Dtype = keyof typeof DTYPES;
export type TensorData = Float64Array | Float32Array | Int32Array | Uint32Array | Uint8Array;

/** An array with its shape, row-major. */
export interface Tensor {
  readonly shape: readonly number[];
  readonly data: TensorData;
}

export interface SafeTensors {
  readonly tensors: ReadonlyMap<string, Tensor>;
  readonly metadata: Readonly<Record<string, string>>;
}

const LENGTH_BYTES = 8;
/** What readers of the format accept at most. */
const MAX_HEADER = 100_000_000;
const METADATA = "__metadata__";

const dtypeOf = (data: TensorData): Dtype =>
  (Object.keys(DTYPES) as Dtype[]).find((name) => data instanceof DTYPES[name])!;

const bytesOf = ({ data }: Tensor): Uint8Array => new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

/** The bytes of a file. Arrays of wide numbers come first, so that all are aligned. */
export function encodeSafetensors(
  tensors: Readonly<Record<string, Tensor>>,
  metadata: Readonly<Record<string, string>> = {},
): Uint8Array<ArrayBuffer> {
  const order = Object.entries(tensors).sort(([, a], [, b]) => b.data.BYTES_PER_ELEMENT - a.data.BYTES_PER_ELEMENT);
  const header: Record<string, unknown> = { [METADATA]: metadata };
  let at = 0;
  for (const [name, { shape, data }] of order) {
    header[name] = { dtype: dtypeOf(data), shape, data_offsets: [at, (at += data.byteLength)] };
  }

  const json = new TextEncoder().encode(JSON.stringify(header));
  const start = LENGTH_BYTES + Math.ceil(json.length / LENGTH_BYTES) * LENGTH_BYTES;
  const out = new Uint8Array(start + at);
  new DataView(out.buffer).setBigUint64(0, BigInt(start - LENGTH_BYTES), true);
  out.set(json, LENGTH_BYTES);
  out.fill(0x20, LENGTH_BYTES + json.length, start);
  let to = start;
  for (const [, tensor] of order) {
    out.set(bytesOf(tensor), to);
    to += tensor.data.byteLength;
  }
  return out;
}

interface Entry {
  readonly dtype?: unknown;
  readonly shape?: unknown;
  readonly data_offsets?: unknown;
}

const isCounts = (value: unknown): value is number[] =>
  Array.isArray(value) && value.every((n) => Number.isSafeInteger(n) && n >= 0);

/**
 * Reads a file's bytes; `what` is what errors call it. Every length and place is checked before it is used.
 * @throws CorralError bad-safetensors
 */
export function decodeSafetensors(bytes: Uint8Array, what: string): SafeTensors {
  const refuse = (text: string): CorralError =>
    new CorralError("bad-safetensors", `${what} is no whole safetensors file: ${text}.`, { what });
  if (bytes.length < LENGTH_BYTES) throw refuse(`it has ${bytes.length} bytes`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = Number(view.getBigUint64(0, true));
  const start = LENGTH_BYTES + length;
  if (length > MAX_HEADER || start > bytes.length) throw refuse(`its header of ${length} bytes is not all there`);

  let header: Record<string, Entry>;
  try {
    header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(LENGTH_BYTES, start)));
  } catch (error) {
    throw refuse(`its header cannot be read (${(error as Error).message})`);
  }
  if (typeof header !== "object" || header === null || Array.isArray(header)) throw refuse("its header is no object");

  const tensors = new Map<string, Tensor>();
  let covered = 0;
  for (const [name, entry] of Object.entries(header)) {
    if (name === METADATA) continue;
    const { dtype, shape, data_offsets: range } = entry ?? {};
    if (typeof dtype !== "string" || !Object.hasOwn(DTYPES, dtype))
      throw refuse(
        `${inLine(name)} is of type ${show(dtype)}, which is none of ${Object.keys(DTYPES).join(", ")}; save it as one of these`,
      );
    if (!isCounts(shape) || !isCounts(range) || range.length !== 2)
      throw refuse(`${inLine(name)} has no shape or no place`);
    const Kind = DTYPES[dtype as Dtype];
    const count = shape.reduce((product, n) => product * n, 1);
    const [from, to] = range;
    if (to - from !== count * Kind.BYTES_PER_ELEMENT || start + to > bytes.length)
      throw refuse(`${inLine(name)} should lie at ${from} to ${to} of ${bytes.length - start} bytes of numbers`);
    covered += to - from;
    tensors.set(name, { shape, data: new Kind(new Uint8Array(bytes.subarray(start + from, start + to)).buffer) });
  }
  if (covered !== bytes.length - start)
    throw refuse(`its arrays take ${covered} of ${bytes.length - start} bytes of numbers`);
  return { tensors, metadata: textsOf(header[METADATA]) };
}

const textsOf = (found: unknown): Record<string, string> =>
  Object.fromEntries(
    Object.entries(found ?? {}).filter((pair): pair is [string, string] => typeof pair[1] === "string"),
  );
