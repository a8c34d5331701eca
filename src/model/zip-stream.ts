// zips unpacked by what every browser has
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
