/** The folder of a run: `config.json`, flat, with which it can be made again, and `log.jsonl`, a line for every update. */
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { CorralError } from "../core/errors.ts";
import type { TrainingRun, TrainProgress, TrainResult } from "./train.ts";

export const CONFIG_FILE = "config.json";
export const LOG_FILE = "log.jsonl";

/** Infinity is no number of JSON. */
const plain = (_: string, value: unknown): unknown =>
  typeof value === "number" && !Number.isFinite(value) ? (Number.isNaN(value) ? null : String(value)) : value;

export const toJson = (value: unknown, space?: number): string => JSON.stringify(value, plain, space);

/** The flat config of a run. */
export function configOf(run: TrainingRun): Record<string, unknown> {
  return { env: run.id, algo: "ppo", ...run.settings, ...run.ppo.config };
}

/** Values of a flat config file, by name. Throws `bad-config`. */
export function readConfig(file: string): Record<string, unknown> {
  let found: unknown;
  try {
    found = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    const [why] = (error as Error).message.split("\n");
    throw new CorralError(
      "bad-config",
      `${file} cannot be read (${why}). Pass a flat JSON file, such as a run's ${CONFIG_FILE}.`,
    );
  }
  if (typeof found !== "object" || found === null || Array.isArray(found)) {
    throw new CorralError(
      "bad-config",
      `${file} holds no object. Pass a flat JSON file, such as a run's ${CONFIG_FILE}.`,
    );
  }
  const numbers: Record<string, number> = { Infinity, "-Infinity": -Infinity };
  return Object.fromEntries(
    Object.entries(found).map(([name, value]) => [name, typeof value === "string" ? (numbers[value] ?? value) : value]),
  );
}

/** Throws `run-exists` where a folder holds a run. */
export function assertNewFolder(folder: string): void {
  if (!existsSync(join(folder, LOG_FILE))) return;
  throw new CorralError("run-exists", `${folder} holds a run already. Pass another --out, or remove it.`, { folder });
}

/** The log of a run, open. Every line is written when it is told. */
export class RunFolder {
  readonly folder: string;
  readonly #log: number;

  /** Makes the folder and its config. Throws `run-exists`, and what the file system throws. */
  constructor(folder: string, run: TrainingRun) {
    assertNewFolder(folder);
    this.folder = folder;
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, CONFIG_FILE), `${toJson(configOf(run), 2)}\n`);
    this.#log = openSync(join(folder, LOG_FILE), "wx");
  }

  progress({ metrics, evaluation, evaluated, ...numbers }: TrainProgress): void {
    const told =
      evaluated && evaluation ? { evalReturn: evaluation.meanReturn, evalLength: evaluation.meanLength } : {};
    this.#line({ ...numbers, ...metrics, ...told });
  }

  result({ evaluation, ...numbers }: TrainResult): void {
    const { returns: _, ...means } = evaluation;
    this.#line({ end: true, ...numbers, ...means });
  }

  /** Why a run ended before its end. */
  failure(error: unknown): void {
    const { code = "internal", message } = error as { code?: string; message: string };
    this.#line({ end: true, error: { code, message } });
  }

  #line(values: object): void {
    writeSync(this.#log, `${toJson(values)}\n`);
  }

  close(): void {
    closeSync(this.#log);
  }
}
