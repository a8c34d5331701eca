// the folder of a run: `config.json`, flat, with which it can be made again; `log.jsonl`, a line for every update;
// TensorBoard's event files; `report.html`, its curves; `checkpoints`, from which it is resumed. A failed write is reported, and the run continues.
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { CorralError } from "../core/errors.ts";
import { makeFolder, makeOutputFolder } from "../core/make-folder.ts";
import { AppendFile } from "../io/append-file.ts";
import { eventFile, restartRecord, scalarsRecord, versionRecord } from "../io/tensorboard.ts";
import { reasonOf, remedyOf } from "../core/write-bytes.ts";
import { writeWhole } from "../io/write-whole.ts";
import { encodeCheckpoint, type Checkpoint } from "./checkpoint.ts";
import { dropCheckpointsAfter, lastCheckpoint, listCheckpoints, saveCheckpoint } from "./checkpoints.ts";
import { differences, envConfig } from "./options.ts";
import { CONFIG_FILE } from "./run-config.ts";
import { reportPage } from "./report.ts";
import { assertFits } from "./start.ts";
import { scalarsOf } from "./scalars.ts";
import { writeUpdateBundle } from "./update-bundle.ts";
import type { TrainingRun } from "./train.ts";
import type { RunEvent, RunState, TrainProgress, TrainResult } from "./progress.ts";
import type { AnyEvidence } from "../rl/algorithm.ts";

export const LOG_FILE = "log.jsonl";
const REPORT_FILE = "report.html";
export const BUNDLES = "bundles";

/** Characters of the log that wait for room on the disk; then they are dropped. */
const MOST_WAITING = 2 ** 24;

/** Infinity is no number of JSON. */
const plain = (_: string, value: unknown): unknown =>
  typeof value === "number" && !Number.isFinite(value) ? (Number.isNaN(value) ? null : String(value)) : value;

export const toJson = (value: unknown, space?: number): string => JSON.stringify(value, plain, space);

/** The flat config of a run; `task` is the file of its task, if that is the user's own. */
function configOf(run: TrainingRun, task?: string): Record<string, unknown> {
  const which = { env: run.id, ...(task === undefined ? {} : { task }), algo: run.algorithm.algo };
  return { ...which, ...run.settings, ...run.algorithm.config, ...envConfig(run.envOptions) };
}

/** Throws `run-exists` if a folder holds a run that has saved something; one that has not is started again. */
export function assertNewFolder(folder: string): void {
  const isRun = existsSync(join(folder, CONFIG_FILE));
  if (!existsSync(join(folder, LOG_FILE)) || (isRun && listCheckpoints(folder).length === 0)) return;
  throw new CorralError(
    "run-exists",
    `${folder} holds a run already. Pass --resume ${folder} to go on with it, another --out, or remove it.`,
    { folder },
  );
}

/** Bytes of a log up to an update: without what came later, without an end, without a line that was cut off. */
function logUpTo(path: string, iteration: number): number {
  if (!existsSync(path)) return 0;
  const text = readFileSync(path, "utf8");
  let kept = 0;
  for (let end; (end = text.indexOf("\n", kept)) >= 0; kept = end + 1) {
    let line: { readonly iteration?: number; readonly end?: boolean } | null;
    try {
      line = JSON.parse(text.slice(kept, end));
    } catch {
      break;
    }
    if (line === null || line.end || (line.iteration ?? 0) > iteration) break;
  }
  return Buffer.byteLength(text.slice(0, kept));
}

function newEventFile(folder: string, now: number): string {
  for (let count = 0; ; count++) {
    const path = join(folder, eventFile(now, hostname(), process.pid, count));
    if (!existsSync(path)) return path;
  }
}

/** Removes the curves of a run that is started again. */
function dropEventFiles(folder: string): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder))
    if (name.startsWith("events.out.tfevents.")) rmSync(join(folder, name), { force: true });
}

export const notWritten = (folder: string, cause: unknown): CorralError =>
  new CorralError(
    "run-not-written",
    `the run's folder '${folder}' cannot be written (${reasonOf(cause)}). ${remedyOf(cause, "pass another --out")}`,
    { folder, reason: reasonOf(cause) },
    { cause },
  );

/** Throws `run-not-written`. */
export function makeRunFolder(folder: string): void {
  try {
    makeOutputFolder(folder);
  } catch (cause) {
    throw notWritten(folder, cause);
  }
}

/** What a folder is opened with, beside the run. */
export interface FolderOptions {
  /** The file of the task, if it is the user's own. */
  readonly task?: string;
  /** Called with what could not be written, once per kind of file until a write succeeds again. */
  readonly onFailure?: (message: string) => void;
}

/**
 * Puts a run where the newest checkpoint left it that can be read and whose rows are in the replay's file, and returns it
 * with what there is to say. Throws what the newest one throws if none serves.
 */
async function resumeLast(folder: string, run: TrainingRun, config: Record<string, unknown>) {
  const refused: { readonly path: string; readonly error: CorralError }[] = [];
  for (;;) {
    const paths = refused.map(({ path }) => path);
    if (refused.length > 0 && listCheckpoints(folder).every((path) => paths.includes(path))) throw refused[0].error;
    const { checkpoint, damaged } = lastCheckpoint(folder, paths);
    assertSameRun(checkpoint, config);
    assertFits(checkpoint, run.algorithm.env.id, run.algorithm.shapes());
    try {
      const said = await run.resume(checkpoint.state);
      const errors = [...damaged, ...refused.map(({ error }) => error)];
      return { checkpoint, notes: [...errors.map(({ message }) => message), ...said] };
    } catch (error) {
      if (!(error instanceof CorralError) || !["bad-snapshot", "bad-replay"].includes(error.code)) throw error;
      refused.push({ path: checkpoint.path, error });
    }
  }
}

/** The folder of a run, open. */
export class RunFolder {
  readonly folder: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly #run: TrainingRun;
  readonly #log: AppendFile;
  readonly #events: AppendFile;
  readonly #onFailure: (message: string) => void;
  /** Lines of the log that wait for room on the disk. */
  #waiting = "";
  /** What could not be written by its kind, until it can. */
  readonly #missing = new Map<string, string>();
  #saved: number | undefined;

  private constructor(folder: string, run: TrainingRun, { task, onFailure }: FolderOptions, logBytes: number) {
    this.folder = folder;
    this.#run = run;
    this.#onFailure = onFailure ?? (() => {});
    this.config = JSON.parse(toJson(configOf(run, task))) as Record<string, unknown>;
    const now = Date.now() / 1000;
    try {
      makeFolder(folder);
      writeWhole(join(folder, CONFIG_FILE), new TextEncoder().encode(`${toJson(this.config, 2)}\n`));
      this.#log = new AppendFile(join(folder, LOG_FILE), logBytes);
      this.#events = new AppendFile(newEventFile(folder, now));
      this.#events.append(versionRecord(now));
    } catch (cause) {
      throw notWritten(folder, cause);
    }
  }

  /** Makes the folder of a new run and its config. Throws `run-exists`, `run-not-written`. */
  static create(folder: string, run: TrainingRun, options: FolderOptions = {}): RunFolder {
    assertNewFolder(folder);
    dropEventFiles(folder);
    return new RunFolder(folder, run, options, 0);
  }

  /**
   * Puts a run where the last readable checkpoint of a folder left it, and cuts the log back to that. Returns the folder
   * and what there is to say about it.
   * @throws CorralError no-checkpoint, checkpoint-corrupt, checkpoint-newer, other-run, bad-snapshot, run-not-written
   */
  static async resume(folder: string, run: TrainingRun, options: FolderOptions = {}) {
    const now = JSON.parse(toJson(configOf(run, options.task))) as Record<string, unknown>;
    const { checkpoint, notes } = await resumeLast(folder, run, now);
    const { about } = checkpoint;
    const opened = new RunFolder(folder, run, options, logUpTo(join(folder, LOG_FILE), about.iteration));
    dropCheckpointsAfter(folder, about.iteration);
    opened.#saved = about.iteration;
    opened.#restart(about.envSteps);
    if (about.device !== run.env.deviceName)
      notes.push(`it ran on ${about.device} before and goes on here: other bits than there`);
    return { opened, notes, iteration: about.iteration, envSteps: about.envSteps };
  }

  progress(progress: TrainProgress): void {
    const { metrics, evaluation, evaluated, ...numbers } = progress;
    const evalScores =
      evaluated && evaluation ? { evalReturn: evaluation.meanReturn, evalLength: evaluation.meanLength } : {};
    this.#line({ ...numbers, ...metrics, ...evalScores });
    const scalars = scalarsRecord(Date.now() / 1000, progress.envSteps, scalarsOf(progress));
    this.#write("TensorBoard file", "events", () => this.#events.append(scalars));
  }

  /** Has TensorBoard drop its points after a step, from which the run continues. */
  #restart(envSteps: number): void {
    const restart = restartRecord(Date.now() / 1000, envSteps + 1);
    this.#write("TensorBoard file", "events", () => this.#events.append(restart));
  }

  /** Removes what was written of later updates, where a run is resumed from an earlier one with other bits. */
  event(event: RunEvent): void {
    if (event.event === "rate-lowered") {
      const log = join(this.folder, LOG_FILE);
      this.#write("log", "log", () => this.#log.cut(logUpTo(log, event.iteration)));
      this.#restart(event.envSteps);
      dropCheckpointsAfter(this.folder, event.iteration);
    }
    this.#line(event);
  }

  /** Keeps what a stopped update leaves. Returns its path. */
  evidence(evidence: AnyEvidence, error: CorralError): string | undefined {
    let path: string | undefined;
    this.#write("bundle of the stopped update", "bundle", () => {
      path = writeUpdateBundle(join(this.folder, BUNDLES), evidence, {
        message: error.message,
        device: this.#run.env.deviceName,
      });
    });
    return path;
  }

  result({ evaluation, warnings: _w, ...numbers }: TrainResult): void {
    const { returns: _, ...means } = evaluation;
    this.#line({ end: true, ...numbers, ...means });
  }

  /** Why a run ended before its end. */
  failure(error: unknown): void {
    const { code = "internal", message } = error as { code?: string; message: string };
    this.#line({ end: true, error: { code, message } });
  }

  /** Saves a checkpoint. The log is flushed to the disk first. */
  checkpoint(state: RunState): void {
    const { iteration, envSteps } = state.snapshot;
    const about = { device: this.#run.env.deviceName, iteration, envSteps, config: this.config };
    const policy = this.#run.algorithm.named(state.snapshot);
    this.#write(`checkpoint of update ${iteration}`, "checkpoint", () => {
      this.#log.sync();
      saveCheckpoint(this.folder, iteration, encodeCheckpoint(about, state, policy));
      this.#saved = iteration;
    });
  }

  /** What could not be written and is not there, with the reason of each. */
  get missing(): readonly string[] {
    return [...this.#missing.values()];
  }

  /** How to resume the run from what was saved, as a sentence. */
  get goesOn(): string {
    return this.#saved === undefined
      ? "Nothing was saved: give the same command again."
      : `corral train --resume ${this.folder} goes on after update ${this.#saved}.`;
  }

  #line(values: object): void {
    if (this.#waiting.length > MOST_WAITING) this.#waiting = "";
    this.#waiting += `${toJson(values)}\n`;
    this.#write("log", "log", () => {
      this.#log.append(Buffer.from(this.#waiting));
      this.#waiting = "";
    });
  }

  #write(what: string, kind: string, write: () => void): void {
    try {
      write();
      this.#missing.delete(kind);
    } catch (error) {
      if (!this.#missing.has(kind))
        this.#onFailure(`the ${what} was not written to ${this.folder} (${reasonOf(error)}); the run goes on`);
      this.#missing.set(kind, `the ${what} (${reasonOf(error)})`);
    }
  }

  /** Writes the page with the curves of the whole run. */
  report(): void {
    this.#write("report", "report", () => {
      const text = readFileSync(join(this.folder, LOG_FILE), "utf8");
      const { deviceName } = this.#run.env;
      const html = reportPage(text, { config: this.config, device: deviceName, memory: this.#run.memory });
      writeWhole(join(this.folder, REPORT_FILE), new TextEncoder().encode(html));
    });
  }

  close(): void {
    this.#log.close();
    this.#events.close();
  }
}

/** Throws `other-run` if a checkpoint is of a run with other settings. */
export function assertSameRun({ path, about }: Checkpoint, now: Readonly<Record<string, unknown>>): void {
  const other = differences(about.config, now);
  if (other.length === 0) return;
  throw new CorralError(
    "other-run",
    `${path} is of a run with other settings: ${other.join("; ")}. Put ${CONFIG_FILE} back as it was, or start a new run.`,
    { path, differences: other },
  );
}
