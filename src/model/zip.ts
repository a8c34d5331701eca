// zips unpacked at once
import { inflateRawSync } from "node:zlib";
import { unreadable, zipEntries } from "./archive.ts";

/**
 * Files of a zip by path, with "/" and without "." and "..".
 * @throws CorralError bad-archive
 */
export function unpackZip(bytes: Uint8Array, name: string): Record<string, Uint8Array> {
  try {
    const files = zipEntries(bytes, name).map(({ path, data, isDeflated, size }): [string, Uint8Array] => [
      path,
      isDeflated ? new Uint8Array(inflateRawSync(data, { maxOutputLength: Math.max(1, size) })) : data.slice(),
    ]);
    return Object.fromEntries(files);
  } catch (error) {
    throw unreadable(error, name);
  }
}
