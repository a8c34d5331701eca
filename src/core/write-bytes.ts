// bytes to files, all of them
import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";

/** Writes all bytes, at the file's own position or at a given one. Throws what the file system throws. */
export function writeAll(file: number, bytes: Uint8Array, position?: number): void {
  for (let done = 0; done < bytes.length;) {
    const at = position === undefined ? null : position + done;
    done += writeSync(file, bytes, done, bytes.length - done, at);
  }
}

/** Writes a file that is on the disk when this returns. Throws what the file system throws. */
export function writeSynced(path: string, flags: "w" | "wx", bytes: Uint8Array): void {
  const file = openSync(path, flags);
  try {
    writeAll(file, bytes);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Why the file system refused, in a word: `ENOSPC`. */
export const reasonOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? (error as Error).message;

/** Whether a disk took no more. */
export const isFull = (error: unknown): boolean => ["ENOSPC", "EDQUOT", "EFBIG"].includes(reasonOf(error));

/** What to do if the file system refused: a full disk wants room, anything else another place. */
export const remedyOf = (error: unknown, place: string): string =>
  isFull(error) ? `Free the disk, or ${place}.` : `${place[0].toUpperCase()}${place.slice(1)}.`;
