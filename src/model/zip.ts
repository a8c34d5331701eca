// zips unpacked at once
import { crc32, inflateRawSync } from "node:zlib";
import { altered, unreadable, zipEntries, type Wanted } from "./archive.ts";

/**
 * Files of a zip by path, with "/" and without "." and "..", or those of them that are wanted.
 * @throws CorralError bad-archive
 */
export function unpackZip(bytes: Uint8Array, name: string, wanted?: Wanted): Record<string, Uint8Array> {
  try {
    const files = zipEntries(bytes, name, wanted).map(({ path, data, isDeflated, size, crc }): [string, Uint8Array] => {
      const most = Math.max(1, size);
      const content = isDeflated ? new Uint8Array(inflateRawSync(data, { maxOutputLength: most })) : data.slice();
      if (crc32(content) !== crc) throw altered(path);
      return [path, content];
    });
    return Object.fromEntries(files);
  } catch (error) {
    throw unreadable(error, name);
  }
}
