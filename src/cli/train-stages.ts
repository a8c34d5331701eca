// a config with stages: runs one after the other, each from what the one before has learnt
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CorralError } from "../core/errors.ts";
import { writeWhole } from "../io/write-whole.ts";
import { listCheckpoints } from "../runs/checkpoints.ts";
import { LOG_FILE, makeRunFolder, notWritten, toJson } from "../runs/folder.ts";
import { CONFIG_FILE, readConfig } from "../runs/run-config.ts";
import { isFree, trainOptions } from "../runs/options.ts";
import { assertStages } from "../runs/stages.ts";
import { EXIT } from "./io.ts";

type Config = Readonly<Record<string, unknown>>;

/** One run: its environment, its settings, its folder, and whether it is resumed. */
export interface RunRequest {
  readonly id: string;
  readonly config: Config;
  readonly folder: string;
  readonly resumes: boolean;
}

/** How a run has ended: the exit code, and what `--json` prints of it. */
export interface RunEnd {
  readonly code: number;
  readonly document: object;
}

export const STAGES = "stages";

/** The stages of a config; undefined if it has none. Throws `bad-config`. */
export function stagesOf({ [STAGES]: stages }: Config): readonly Config[] | undefined {
  if (stages === undefined) return undefined;
  const isStage = (stage: unknown) => typeof stage === "object" && stage !== null && !Array.isArray(stage);
  if (Array.isArray(stages) && stages.length > 0 && stages.every(isStage)) return stages as Config[];
  throw new CorralError(
    "bad-config",
    `"${STAGES}" is no list of objects: pass such as [{ "steps": 1000 }, { "numEnvs": 512 }].`,
  );
}

const stageFolder = (folder: string, i: number): string => join(folder, `stage-${i + 1}`);

/** Whether a stage has finished, and whether it reached its `until`. */
function hasEnded(folder: string): boolean {
  const log = join(folder, LOG_FILE);
  if (!existsSync(log)) return false;
  const last = readFileSync(log, "utf8").trimEnd().split("\n").at(-1) ?? "";
  try {
    const { end, error, reached } = JSON.parse(last) as { end?: boolean; error?: object; reached?: boolean };
    return end === true && error === undefined && reached !== false;
  } catch {
    return false;
  }
}

/** The settings of a stage: those of the file, and its own before them. */
function settingsOf(config: Config, stage: Config): Config {
  const { [STAGES]: _, ...base } = config;
  // the file of a task is that of the environment beside it
  const { task: __, ...rest } = base;
  return { ...("env" in stage ? rest : base), ...stage };
}

/** What the command line does for stages. */
export interface Stages {
  say(line: string): void;
  /** The environment of a stage; `own`: that which it names itself. */
  idFor(config: Config, own: boolean): Promise<string>;
  train(request: RunRequest): Promise<RunEnd>;
}

/**
 * Trains the stages that have not ended, in DIR/stage-1, DIR/stage-2, ...; ends early if one does not reach its
 * `until`.
 * @throws CorralError bad-config for any stage, and what `assertStages` throws, before the first begins; run-exists; what
 *   `train` throws
 */
export async function trainStages(
  { config, folder, resumes }: Omit<RunRequest, "id">,
  stages: readonly Config[],
  { say, idFor, train }: Stages,
): Promise<RunEnd> {
  const configs = stages.map((stage) => settingsOf(config, stage));
  const folders = stages.map((__, i) => stageFolder(folder, i));
  const options = configs.map((each) => trainOptions(each));
  const ids: string[] = [];
  for (const [i, each] of configs.entries()) ids.push(await idFor(each, "env" in stages[i]));
  await assertStages(options.map((each, i) => ({ name: `stage ${i + 1}`, id: ids[i], options: each })));
  if (!resumes) begin(folder, folders, config);

  const documents: object[] = [];
  for (const [i, at] of folders.entries()) {
    if (resumes && hasEnded(at)) continue;
    const from = i === 0 ? {} : { from: folders[i - 1] };
    const goesOn = resumes && listCheckpoints(at).length > 0;
    const changed = Object.entries(configs[i]).filter(([name]) => isFree(name));
    const own = goesOn
      ? { ...readConfig(join(at, CONFIG_FILE)), ...Object.fromEntries(changed) }
      : { ...configs[i], ...from };
    say(`stage ${i + 1} of ${stages.length}`);
    const { code, document } = await train({ id: ids[i], config: own, folder: at, resumes: goesOn }).catch(
      (error: unknown) => {
        throw ofStages(error, at, folder);
      },
    );
    documents.push(document);
    if (code !== EXIT.done) return { code, document: { folder, stages: documents } };
  }
  return { code: EXIT.done, document: { folder, stages: documents } };
}

/** Writes the config of all stages, with which they can be made again. Throws `run-exists`, `run-not-written`. */
function begin(folder: string, folders: readonly string[], config: Config): void {
  if (folders.some((each) => listCheckpoints(each).length > 0)) {
    throw new CorralError(
      "run-exists",
      `${folder} holds stages already. Pass --resume ${folder} to go on with them, another --out, or remove it.`,
      { folder },
    );
  }
  makeRunFolder(folder);
  try {
    writeWhole(join(folder, CONFIG_FILE), new TextEncoder().encode(`${toJson(config, 2)}\n`));
  } catch (cause) {
    throw notWritten(folder, cause);
  }
}

/** A stage that was stopped is resumed, and the later stages follow. */
function ofStages(error: unknown, stage: string, folder: string): unknown {
  if (!(error instanceof CorralError) || error.code !== "stopped") return error;
  const text = error.message.replace("[stopped] ", "").replace(`--resume ${stage}`, `--resume ${folder}`);
  return new CorralError("stopped", text, { ...error.details });
}
