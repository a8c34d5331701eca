/** A disk with so much room: for `vi.mock("node:fs", limitedDisk)`. */
export const disk = { room: Infinity };

type Fs = typeof import("node:fs");

/** The file system, whose `writeSync` refuses what goes beyond the room. */
export async function limitedDisk(original: () => Promise<unknown>): Promise<Fs> {
  const fs = (await original()) as Fs;
  const writeSync = ((file: number, bytes: Uint8Array, at: number, ...rest: [number, number | null]) => {
    disk.room -= bytes.length - at;
    if (disk.room < 0) throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    return fs.writeSync(file, bytes, at, ...rest);
  }) as Fs["writeSync"];
  return { ...fs, writeSync };
}
