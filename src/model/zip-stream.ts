// zips packed, and unpacked by what every browser has
import { altered, unreadable, zipEntries, type Wanted } from "./archive.ts";

/** The CRC-32 of each byte, its bits reflected. */
const CRC_OF_BYTE = Int32Array.from({ length: 256 }, (_, byte) => {
  for (let bit = 0; bit < 8; bit++) byte = (byte >>> 1) ^ (byte & 1 && 0xedb88320);
  return byte;
});

function crc32(bytes: Uint8Array): number {
  let crc = -1;
  for (const byte of bytes) crc = (crc >>> 8) ^ CRC_OF_BYTE[(crc ^ byte) & 255];
  return ~crc >>> 0;
}

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
 * Files of a zip by path, with "/" and without "." and "..", or those of them that are wanted.
 * @throws CorralError bad-archive
 */
export async function unpackZip(bytes: Uint8Array, name: string, wanted?: Wanted): Promise<Record<string, Uint8Array>> {
  try {
    const files = zipEntries(bytes, name, wanted).map(
      async ({ path, data, isDeflated, size, crc }): Promise<[string, Uint8Array]> => {
        const content = isDeflated ? await inflate(data, size) : data.slice();
        if (crc32(content) !== crc) throw altered(path);
        return [path, content];
      },
    );
    return Object.fromEntries(await Promise.all(files));
  } catch (error) {
    throw unreadable(error, name);
  }
}

/** By the clock of wherever it runs, so that the same files are the same bytes everywhere. */
const DATE = new Date(2020, 0, 1);

/** A zip of files by path, deflated. What it takes is less than 4 GiB. */
export async function packZip(files: Readonly<Record<string, Uint8Array>>): Promise<Uint8Array<ArrayBuffer>> {
  // pages that pack nothing need not load it
  const { zipSync } = await import("fflate");
  return zipSync(files, { mtime: DATE });
}
