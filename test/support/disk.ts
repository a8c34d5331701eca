/** A disk with so much room: for `vi.mock("node:fs", limitedDisk)`. */
export const disk = { room: Infinity };

type Fs = typeof import("node:fs");

/** The file system, whose `writeSync` refuses what goes beyond the room; files that are removed give theirs back. */
export async function limitedDisk(original: () => Promise<unknown>): Promise<Fs> {
  const fs = (await original()) as Fs;
  const writeSync = ((file: number, bytes: Uint8Array, at: number, ...rest: [number, number | null]) => {
    const size = bytes.length - at;
    if (size > disk.room) throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    disk.room -= size;
    return fs.writeSync(file, bytes, at, ...rest);
  }) as Fs["writeSync"];
  const rmSync = ((path: string, options) => {
    const found = fs.statSync(path, { throwIfNoEntry: false });
    fs.rmSync(path, options);
    if (found?.isFile()) disk.room += found.size;
  }) as Fs["rmSync"];
  return { ...fs, writeSync, rmSync };
}
