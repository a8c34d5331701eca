// zips packed, and unpacked by what every browser has
import { unreadable, zipEntries } from "./archive.ts";

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

/** By the clock of wherever it runs, so that the same files are the same bytes everywhere. */
const DATE = new Date(2020, 0, 1);

/** A zip of files by path, deflated. What it takes is less than 4 GiB. */
export async function packZip(files: Readonly<Record<string, Uint8Array>>): Promise<Uint8Array<ArrayBuffer>> {
  // pages that pack nothing need not load it
  const { zipSync } = await import("fflate");
  return zipSync(files, { mtime: DATE });
}
