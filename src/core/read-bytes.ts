// bytes out of files that may come from anyone: of bounded size, and of real files only
import { closeSync, constants, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { formatBytes } from "./units.ts";

/** Why a file is not read, as `reasonOf` tells it. */
const refusal = (code: string): Error => Object.assign(new Error(code), { code });

/**
 * Reads a whole file. Pipes, devices and folders, at which a read may wait forever or never end, are refused, as are
 * files of more bytes than `most`.
 * Throws what the file system throws, or an error whose code says what was refused.
 */
export function readBytes(path: string, most = 2 ** 32): Uint8Array<ArrayBuffer> {
  // a pipe without a writer would block here
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stat = fstatSync(file);
    if (stat.isDirectory()) throw refusal("EISDIR");
    if (!stat.isFile()) throw refusal("no regular file");
    if (stat.size > most) throw refusal(`${formatBytes(stat.size)}, at most ${formatBytes(most)} are read`);
    const bytes = new Uint8Array(stat.size);
    let done = 0;
    while (done < bytes.length) {
      const now = readSync(file, bytes, done, bytes.length - done, done);
      if (now === 0) throw refusal("it grew shorter while it was read");
      done += now;
    }
    return bytes;
  } finally {
    closeSync(file);
  }
}

/** The text of a file in UTF-8, without the byte order mark that some editors begin it with. Throws as `readFileSync`. */
export const readText = (path: string): string => new TextDecoder().decode(readFileSync(path));

/** What a small file may unpack to, and beyond that how many times its own size: real ones stay below a tenth of it. */
const SMALL = 2 ** 24;
const MOST_RATIO = 32;

/**
 * Unpacks gzip to `most` bytes or what is plausible for its own size, whichever is less.
 * Throws what zlib throws, or an error whose code says what was refused.
 */
export function unzip(bytes: Uint8Array, most = Infinity): Uint8Array {
  const bound = Math.min(most, SMALL + MOST_RATIO * bytes.length);
  try {
    return gunzipSync(bytes, { maxOutputLength: Math.ceil(bound) });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_BUFFER_TOO_LARGE") throw error;
    throw refusal(`it unpacks to more than ${formatBytes(bound)}`);
  }
}
