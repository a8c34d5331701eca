// zips unpacked at once
import { crc32, inflateRawSync } from "node:zlib";
import { inLine } from "../core/show.ts";
import { unreadable, zipEntries } from "./archive.ts";

/**
 * Files of a zip by path, with "/" and without "." and "..".
 * @throws CorralError bad-archive
 */
export function unpackZip(bytes: Uint8Array, name: string): Record<string, Uint8Array> {
  try {
    const files = zipEntries(bytes, name).map(({ path, data, isDeflated, size, crc }): [string, Uint8Array] => {
      const most = Math.max(1, size);
      const content = isDeflated ? new Uint8Array(inflateRawSync(data, { maxOutputLength: most })) : data.slice();
      if (crc32(content) !== crc) throw new Error(`${inLine(path)} has other bytes than were packed`);
      return [path, content];
    });
    return Object.fromEntries(files);
  } catch (error) {
    throw unreadable(error, name);
  }
}
