// the folder of a run that `corral train` begins or goes on with
import { existsSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { CorralError } from "../core/errors.ts";
import { formatCount } from "../core/units.ts";
import { makeRunFolder, notWritten, RunFolder } from "../runs/folder.ts";
import { lockRun, type RunLock } from "../runs/lock.ts";
import { flagOf, isFree, SETTING_NAMES } from "../runs/options.ts";
import { assertRun, CONFIG_FILE } from "../runs/run-config.ts";
import type { TrainingRun } from "../runs/train.ts";
import { UsageError } from "./io.ts";

/** What ends a message about a run that the disk did not take whole. */
export const notSaved = ({ missing, folder }: RunFolder): string =>
  missing.length === 0 ? "" : ` Not written to ${folder}: ${missing.join(", ")}. Free the disk, then go on.`;

/** Makes the folder of a run and holds it; if the run fails to start, an empty one is removed again. */
export function holdFolder(folder: string): RunLock {
  const isNew = !existsSync(folder);
  makeRunFolder(folder);
  const lock = ((): RunLock => {
    try {
      return lockRun(folder);
    } catch (error) {
      throw error instanceof CorralError ? error : notWritten(folder, error);
    }
  })();
  return {
    tookOver: lock.tookOver,
    [Symbol.dispose]: () => {
      lock[Symbol.dispose]();
      if (isNew && readdirSync(folder).length === 0) rmdirSync(folder);
    },
  };
}

/** Where the replay of a run lies, if it is in a file. Throws `bad-replay` if a run has lost its own. */
export function replayIn(
  folder: string,
  resumes: boolean,
  tookOver: boolean,
): { replayFile: string; reuseReplay: boolean } {
  const replayFile = join(folder, "replay.bin");
  // that of a run which was killed before its first checkpoint is of no use
  if (!resumes && (tookOver || existsSync(join(folder, CONFIG_FILE)))) rmSync(replayFile, { force: true });
  if (resumes && !existsSync(replayFile)) {
    throw new CorralError(
      "bad-replay",
      `${replayFile} is not there, and the run does not go on without its replay. Begin another run, with another --out.`,
      { path: replayFile },
    );
  }
  return { replayFile, reuseReplay: resumes };
}

/** Opens the folder of a run: a new one, or the one it is resumed from. */
export async function openFolder(
  made: TrainingRun,
  folder: string,
  resumes: boolean,
  say: (line: string) => void,
  options: Parameters<typeof RunFolder.create>[2],
): Promise<RunFolder> {
  if (!resumes) return RunFolder.create(folder, made, options);
  const { opened, notes, iteration, envSteps } = await RunFolder.resume(folder, made, options);
  for (const line of notes) say(line);
  const message = `goes on after update ${iteration}, ${formatCount(envSteps)} env steps`;
  say(message);
  opened.event({ event: "resumed", iteration, envSteps, message });
  return opened;
}

/** Throws `UsageError` if `--resume` comes with what it would change, `no-run` if there is none. */
export function assertResumable(folder: string, flags: readonly string[], positionals: readonly string[]): void {
  if (positionals.length > 0) {
    throw new UsageError(
      `--resume takes the environment from ${folder}; '${positionals[0]}' is one argument too many.`,
    );
  }
  const free = new Set([
    "resume",
    "json",
    ...[...SETTING_NAMES, "adapter", "threads", "budget"].filter(isFree).map(flagOf),
  ]);
  const wrong = flags.filter((flag) => !free.has(flag));
  if (wrong.length > 0) {
    throw new UsageError(
      `--resume takes --${wrong.join(", --")} from ${join(folder, CONFIG_FILE)}. It can be given ${[...free].map((flag) => `--${flag}`).join(", ")}.`,
    );
  }
  assertRun(folder);
}
