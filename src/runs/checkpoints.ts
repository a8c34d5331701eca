// the checkpoints of a run: the last few, each whole or not there
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { CorralError } from "../core/errors.ts";
import { readBytes } from "../core/read-bytes.ts";
import { isFull, reasonOf } from "../core/write-bytes.ts";
import { removePartial, writeWhole } from "../io/write-whole.ts";
import { decodeCheckpoint, USE_BEFORE, type Checkpoint } from "./checkpoint.ts";

export const CHECKPOINTS = "checkpoints";
/** How many are kept: if the last cannot be read there is one before it. */
const KEPT = 3;
const NAME = /^update-(\d+)\.safetensors$/;

const nameOf = (iteration: number): string => `update-${String(iteration).padStart(8, "0")}.safetensors`;

/** Paths of a run's checkpoints, the newest first. */
export function listCheckpoints(run: string): string[] {
  const folder = join(run, CHECKPOINTS);
  if (!existsSync(folder)) return [];
  const updateOf = (name: string) => Number(NAME.exec(name)![1]);
  const names = readdirSync(folder).filter((name) => NAME.test(name));
  return names.sort((a, b) => updateOf(b) - updateOf(a)).map((name) => join(folder, name));
}

/**
 * Writes one, then removes those that are too many; if the disk is full, all but the newest make room for it. Returns
 * its path. Throws what the file system throws; the newest of the others is as it was.
 */
export function saveCheckpoint(run: string, iteration: number, bytes: Uint8Array): string {
  const folder = join(run, CHECKPOINTS);
  mkdirSync(folder, { recursive: true });
  const path = join(folder, nameOf(iteration));
  const keep = (count: number): void => {
    for (const old of listCheckpoints(run).slice(count)) rmSync(old, { force: true });
  };
  removePartial(folder);
  try {
    writeWhole(path, bytes);
  } catch (error) {
    if (!isFull(error)) throw error;
    keep(1);
    writeWhole(path, bytes);
  }
  keep(KEPT);
  return path;
}

/**
 * The newest checkpoint of a run that can be read, and what was wrong with newer ones; `but` are paths to leave out.
 * @throws CorralError no-checkpoint, checkpoint-newer; checkpoint-corrupt if none can be read
 */
export function lastCheckpoint(
  run: string,
  but: readonly string[] = [],
): {
  readonly checkpoint: Checkpoint;
  readonly damaged: readonly CorralError[];
} {
  const paths = listCheckpoints(run).filter((path) => !but.includes(path));
  if (paths.length === 0) {
    const found = existsSync(run) ? (statSync(run).isFile() ? "is a file" : "holds no checkpoint") : "is not there";
    throw new CorralError(
      "no-checkpoint",
      `${run} ${found}. Pass the folder of a run that corral train has made; one that ended before its first checkpoint is started again by the command that began it.`,
      { run },
    );
  }
  const damaged: CorralError[] = [];
  for (const path of paths) {
    try {
      return { checkpoint: readCheckpoint(path), damaged };
    } catch (error) {
      if (!(error instanceof CorralError) || error.code !== "checkpoint-corrupt") throw error;
      damaged.push(error);
    }
  }
  const [{ message, details }] = damaged;
  const what = message.replace("[checkpoint-corrupt] ", "").replace(USE_BEFORE, "");
  const rest = damaged.length === 1 ? "It is the only one" : `So are the ${damaged.length - 1} before it`;
  throw new CorralError("checkpoint-corrupt", `${what} ${rest}: start the run again, with another --out.`, details, {
    cause: damaged[0],
  });
}

/** Reads one checkpoint. Throws `checkpoint-corrupt`, `checkpoint-newer`. */
export const readCheckpoint = (path: string): Checkpoint => decodeCheckpoint(read(path), path);

/** The bytes of a checkpoint. Throws `checkpoint-corrupt`. */
function read(path: string): Uint8Array {
  try {
    return readBytes(path);
  } catch (cause) {
    const text = `${path} cannot be read (${reasonOf(cause)}).${USE_BEFORE}`;
    throw new CorralError("checkpoint-corrupt", text, { path }, { cause });
  }
}

/** Removes checkpoints that are newer than an update: they are damaged, and the run is resumed from an older one. */
export function dropCheckpointsAfter(run: string, iteration: number): void {
  for (const path of listCheckpoints(run)) if (path > join(run, CHECKPOINTS, nameOf(iteration))) rmSync(path);
}
