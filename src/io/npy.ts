// arrays as NumPy keeps them (NEP 1, version 1.0 and 2.0 of the format), little-endian, read by rows or by columns
import { CorralError } from "../core/errors.ts";

/** Numbers with a shape, row-major. */
export interface NpyArray {
  readonly shape: readonly number[];
  readonly values: Float64Array | Float32Array | Int32Array | Uint8Array;
}

const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];
/** Header and data begin at multiples of this. */
const ALIGN = 64;
/** Bytes of a header that is read; dtypes and shapes take a hundred. */
const MOST_HEADER = 4096;
const MOST_DIMENSIONS = 32;

const KINDS = {
  "<f8": { bytes: 8, read: (view: DataView, at: number) => view.getFloat64(at, true), make: Float64Array },
  "<f4": { bytes: 4, read: (view: DataView, at: number) => view.getFloat32(at, true), make: Float32Array },
  "<i4": { bytes: 4, read: (view: DataView, at: number) => view.getInt32(at, true), make: Int32Array },
  "<i8": { bytes: 8, read: (view: DataView, at: number) => Number(view.getBigInt64(at, true)), make: Float64Array },
  "|u1": { bytes: 1, read: (view: DataView, at: number) => view.getUint8(at), make: Uint8Array },
  "|b1": { bytes: 1, read: (view: DataView, at: number) => Number(view.getUint8(at) !== 0), make: Uint8Array },
} as const;

const descrOf = (values: NpyArray["values"]): keyof typeof KINDS =>
  values instanceof Float64Array
    ? "<f8"
    : values instanceof Float32Array
      ? "<f4"
      : values instanceof Int32Array
        ? "<i4"
        : "|u1";

/** The bytes of a .npy file. */
export function writeNpy({ shape, values }: NpyArray): Uint8Array {
  const sizes = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  const text = `{'descr': '${descrOf(values)}', 'fortran_order': False, 'shape': (${sizes}), }`;
  const start = MAGIC.length + 4;
  const total = Math.ceil((start + text.length + 1) / ALIGN) * ALIGN;
  const out = new Uint8Array(total + values.byteLength).fill(0x20, start, total);
  out.set(MAGIC);
  out.set([1, 0, (total - start) & 255, (total - start) >> 8], MAGIC.length);
  out.set(new TextEncoder().encode(text), start);
  out[total - 1] = 0x0a;
  out.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), total);
  return out;
}

/** Places by columns of numbers in their order by rows. */
function* byColumns(shape: readonly number[]): Generator<number> {
  const at = shape.map(() => 0);
  const strides = shape.map((_, k) => shape.slice(0, k).reduce((product, size) => product * size, 1));
  const count = shape.reduce((product, size) => product * size, 1);
  for (let i = 0, place = 0; i < count; i++) {
    yield place;
    for (let k = shape.length - 1; k >= 0; k--) {
      place += strides[k];
      if (++at[k] < shape[k]) break;
      place -= strides[k] * shape[k];
      at[k] = 0;
    }
  }
}

/**
 * Reads a .npy file of numbers. 64-bit integers become doubles.
 * @throws CorralError bad-npy; `name` is how it is called there
 */
export function readNpy(bytes: Uint8Array, name: string): NpyArray {
  const bad = (why: string) => new CorralError("bad-npy", `${name} is no array that is read: ${why}.`, { name });
  if (bytes.length < 12 || MAGIC.some((byte, i) => bytes[i] !== byte)) throw bad("it does not begin as one");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = bytes[6];
  if (version !== 1 && version !== 2) throw bad(`its format is version ${version}, 1 and 2 are known`);
  const [start, length] = version === 1 ? [10, view.getUint16(8, true)] : [12, view.getUint32(8, true)];
  if (length > MOST_HEADER || start + length > bytes.length) throw bad(`its header has ${length} bytes`);

  const header = new TextDecoder("latin1").decode(bytes.subarray(start, start + length)).trim();
  const found =
    /^\{\s*'descr':\s*'([^']{1,8})',\s*'fortran_order':\s*(True|False),\s*'shape':\s*\(([\d\s,]*)\),?\s*\}$/.exec(
      header,
    );
  if (!found) throw bad("its header is not what NumPy writes of numbers");
  const [, descr, fortran, sizes] = found;
  if (!Object.hasOwn(KINDS, descr)) {
    const known = Object.keys(KINDS).join(", ");
    throw bad(`its numbers are ${descr}; known are ${known}. Save it as .astype(np.float32)`);
  }
  const shape = sizes.split(",").flatMap((size) => (size.trim() === "" ? [] : [Number(size)]));
  const kind = KINDS[descr as keyof typeof KINDS];
  const count = shape.reduce((product, size) => product * size, 1);
  const data = bytes.length - start - length;
  if (shape.length > MOST_DIMENSIONS || !Number.isSafeInteger(count) || count * kind.bytes !== data)
    throw bad(`it has ${data} bytes of numbers, its shape (${shape.slice(0, 8).join(", ")}) another count`);
  const values = new kind.make(count);
  const placed = fortran === "True" ? byColumns(shape) : undefined;
  for (let i = 0; i < count; i++)
    values[i] = kind.read(view, start + length + (placed?.next().value ?? i) * kind.bytes);
  return { shape, values };
}
