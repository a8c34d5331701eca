// zips packed and unpacked by what every browser has
import { DEFLATED, END, ENTRY, LOCAL, unreadable, zipEntries } from "./archive.ts";

async function inflate(data: Uint8Array, most: number): Promise<Uint8Array> {
  const stream = new Blob([data as Uint8Array<ArrayBuffer>])
    .stream()
    .pipeThrough(new DecompressionStream("deflate-raw"));
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for (const reader = stream.getReader(); ;) {
    const { value, done } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > most) throw new Error("a file unpacks to more than it says");
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/**
 * Files of a zip by path, with "/" and without "." and "..".
 * @throws CorralError bad-archive
 */
export async function unpackZip(bytes: Uint8Array, name: string): Promise<Record<string, Uint8Array>> {
  try {
    const files = zipEntries(bytes, name).map(
      async ({ path, data, isDeflated, size }): Promise<[string, Uint8Array]> => [
        path,
        isDeflated ? await inflate(data, size) : data.slice(),
      ],
    );
    return Object.fromEntries(await Promise.all(files));
  } catch (error) {
    throw unreadable(error, name);
  }
}

/** 1 January 2020, so that the same files are the same bytes. */
const DATE = ((2020 - 1980) << 9) | (1 << 5) | 1;
/** Version 2.0 of the format; names are UTF-8. */
const VERSION = 20;
const UTF8 = 1 << 11;

const REMAINDERS = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
  return rest;
});

function crc32(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) crc = REMAINDERS[(crc ^ byte) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}

async function deflate(data: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const packed = new Blob([data as Uint8Array<ArrayBuffer>]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(packed).arrayBuffer());
}

/** Numbers of two bytes and of four, as zips have them. */
const shorts = (...values: number[]) => new Uint8Array(Uint16Array.from(values).buffer);
const longs = (...values: number[]) => new Uint8Array(Uint32Array.from(values).buffer);

/** A zip of files by path, deflated. What it takes is less than 4 GiB. */
export async function packZip(files: Readonly<Record<string, Uint8Array>>): Promise<Uint8Array<ArrayBuffer>> {
  const bodies: Uint8Array<ArrayBuffer>[] = [];
  const directory: Uint8Array<ArrayBuffer>[] = [];
  let at = 0;
  for (const [path, content] of Object.entries(files)) {
    const [name, packed] = [new TextEncoder().encode(path), await deflate(content)];
    // what the file's own header and its entry in the directory have in common
    const common = [
      shorts(VERSION, UTF8, DEFLATED, 0, DATE),
      longs(crc32(content), packed.length, content.length),
      shorts(name.length, 0),
    ];
    const body = [longs(LOCAL), ...common, name, packed];
    directory.push(longs(ENTRY), shorts(VERSION), ...common, shorts(0, 0, 0), longs(0, at), name);
    bodies.push(...body);
    at += body.reduce((sum, { length }) => sum + length, 0);
  }
  const count = Object.keys(files).length;
  const size = directory.reduce((sum, { length }) => sum + length, 0);
  const end = [longs(END), shorts(0, 0, count, count), longs(size, at), shorts(0)];
  return new Uint8Array(await new Blob([...bodies, ...directory, ...end]).arrayBuffer());
}
