// `corral train`: an agent learns an environment on the device
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { CorralError } from "../core/errors.ts";
import { taskOf } from "../env/registry.ts";
import { computeWithoutThreads } from "../gpu/driver-threads.ts";
import { isShort } from "../runs/defaults.ts";
import { assertNewFolder } from "../runs/folder.ts";
import { CONFIG_FILE } from "../runs/run-config.ts";
import { ALGORITHMS, RUN_OPTIONS, show, trainOptions } from "../runs/options.ts";
import { TrainingRun } from "../runs/train.ts";
import type { TrainResult } from "../runs/progress.ts";
import { EXIT, isGone, onLostOutput, parse, print, printJson, progress, UsageError } from "./io.ts";
import { reasonOf } from "../core/write-bytes.ts";
import { LiveLine } from "./live.ts";
import { onlyArgument } from "./target.ts";
import { assertTeacher, idOfNamed, isTaskFile, modulesOf, taskFileOf } from "./task-file.ts";
import { answered, flagLines, flags, settingsOf, TRAIN_FLAGS } from "./train-flags.ts";
import { assertResumable, holdFolder, notSaved, openFolder, replayIn } from "./train-folder.ts";
import { openingOf } from "./train-opening.ts";
import { openPage, shownOf, VIEW_FLAGS, type Shows } from "./train-page.ts";
import { stagesOf, trainStages, type RunEnd, type RunRequest } from "./train-stages.ts";
import { watch } from "./train-watch.ts";

export const summary = "an agent learns an environment on the device";

export const help = `
Usage: corral train ENV [--envs N] [--steps M] [--seed S] [--algo NAME] [--out DIR] [--json]
       corral train [ENV] --from DIR|POLICY.safetensors [--envs N] [--set NAME=VALUE] [--out DIR]
       corral train --resume DIR

Trains an agent: environments, policy and learner all on the device. A line shows progress; DIR gets
config.json (flat, for --config), log.jsonl (a line for every update), TensorBoard's events (under
the names of Stable-Baselines3), checkpoints (safetensors) and report.html. Ends with an evaluation
of the policy's most likely actions: one episode in each of 32 other worlds, or as many as train.

A run that was killed goes on with --resume to the same bits on the same device; all else comes from
its config.json, and only steps, until, what is done every so many updates, adapter, threads and
budget may be given anew. One that was killed before its first checkpoint is started again by the
command that began it. One process at a time trains in DIR. A lost device is survived by itself,
once.

With --from another run has learnt already: policy, value function and normalisers (with SAC critics
and temperature) come from its last checkpoint, or from the one named, and so do the algorithm and
the shape of the networks. Worlds, parameters of the task, rewards and hyperparameters may be
others; env steps and optimizers begin anew. Without ENV the rest comes from that run's config. With
PPO the task may show more, its parts told by their names, and a policy of corral export is a start
too. What does not fit is refused by name. A config file may have "stages", a list of objects: runs
in DIR/stage-1, ..., each from the one before it; one that does not reach its until is the last.
Settings that are true or false may stand alone, for true.

${flagLines(RUN_OPTIONS)}
  --from DIR                start from what another run has learnt: its folder, or a checkpoint
  --algo NAME               ppo (default), sac (continuous actions, from a replay), sac-discrete or
                            dqn (discrete actions, tens of thousands too, from a replay)
  --out DIR                 folder of the run [runs/ENV-ALGO-seedS]
  --resume DIR              go on with the run in a folder, from its last checkpoint
  --config FILE             values by name from a flat JSON file; flags come before them
  --set NAME=VALUE          an option of the environment, as in reset_noise_scale=0.1; may be
                            repeated
  --device NAME             auto (default): a GPU or a fast software driver of the system where
                            there is one, else wasm; gpu; or wasm (WebAssembly SIMD, no driver)
  --threads N               threads of wasm (as many as cores)
  --adapter NAME            auto (default), gpu, system, embedded, or an index or name of corral
                            doctor
  --budget BYTES            what environments, evaluation and learner may hold together: 2GiB, or
                            0.5 of what is there; corral plan ENV --train says what they take
  --view                    a page on this machine with curves, throughput, memory and some worlds,
                            to be opened and closed while it trains; --port N, --no-open as for
                            corral view
  --json                    one JSON document on stdout

PPO [default; environments have their own, which config.json records]
${flagLines(ALGORITHMS.ppo)}

SAC; with --storage file its replay is DIR/replay.bin
${flagLines(ALGORITHMS.sac)}

SAC of discrete actions; the same
${flagLines(ALGORITHMS["sac-discrete"])}

DQN; the same
${flagLines(ALGORITHMS.dqn)}

Ctrl-C, SIGTERM, SIGHUP (a terminal that was closed) and a closed pipe on stdout (| head) stop a
run after the update under way, with a checkpoint. Where the disk is full the run goes on, and
tries again at the next checkpoint.

Exit codes: 0 done, 1 --until was not reached, the update was stopped or the run was, or its folder
or its end could not be written, 2 bad usage, 3 no device or no memory.
`;

export async function run(args: string[]): Promise<number> {
  const { values: all, positionals } = parse(
    answered(args),
    { ...TRAIN_FLAGS, ...flags("out", "resume"), ...VIEW_FLAGS },
    1,
  );
  const { shows, values } = shownOf(all);
  const given = values as Readonly<Record<string, string | undefined>>;
  const resumes = given.resume;
  if (resumes === "") throw new UsageError("--resume is '': pass the folder of a run.");
  if (resumes !== undefined) assertResumable(resumes, Object.keys(values), positionals);

  const { config } = settingsOf(
    given,
    values.set,
    resumes === undefined ? given.config : join(resumes, CONFIG_FILE),
    positionals,
  );
  const json = values.json ?? false;
  const say = json ? progress : print;
  const namedBy = resumes === undefined ? (given.config ?? startOf(given.from)) : join(resumes, CONFIG_FILE);
  const stages = stagesOf(config);
  const idFor = (of: RunRequest["config"], own = false) => idOf(of, own ? [] : positionals, namedBy);
  for (const { teacher } of [config, ...(stages ?? [])]) assertTeacher(teacher, given.teacher, namedBy);
  const train = (each: RunRequest) => trainOne(each, say, json, shows);
  // the stages of a config may each name their own
  const id = stages ? undefined : await idFor(config);
  const folder =
    resumes ?? given.out ?? join("runs", nameOf(config, id ?? (await idFor({ ...config, ...stages![0] }))));
  const request = { config: { ...config, ...namedOf(positionals) }, folder, resumes: resumes !== undefined };
  const { code, document } = await (stages
    ? trainStages(request, stages, { say, idFor, train })
    : train({ ...request, id: id!, config }));
  if (json) printJson(document);
  return code;
}

/** The file that names the task of a run to start from: a folder has its config, a checkpoint its own. */
const startOf = (from = "the config"): string => (existsSync(join(from, CONFIG_FILE)) ? join(from, CONFIG_FILE) : from);

const nameOf = ({ algo = "ppo", seed = 0 }: Readonly<Record<string, unknown>>, id: string): string =>
  `${id.replace(/[^\w.-]/g, "_")}-${show(algo)}-seed${show(seed)}`;

/** One run from beginning to end. */
async function trainOne(
  { id, config, folder, resumes }: RunRequest,
  say: (line: string) => void,
  json: boolean,
  shows: Shows | undefined,
): Promise<RunEnd> {
  const train = trainOptions(config);
  if (!resumes) assertNewFolder(folder);
  using held = holdFolder(folder);
  // what was checked before may have changed until now
  if (!resumes) assertNewFolder(folder);
  const replay: ReturnType<typeof replayIn> | undefined =
    config.storage === "file" ? replayIn(folder, resumes, held.tookOver) : undefined;

  const own = taskFileOf(id);
  const modules = modulesOf(id);
  if (isShort(id, train)) computeWithoutThreads();
  const replayWas = replay !== undefined && existsSync(replay.replayFile);
  let running: TrainingRun | undefined;
  let lost: NodeJS.ErrnoException | undefined;
  onLostOutput((error) => {
    lost ??= error;
    if (isGone(error)) running?.stop();
  });
  const fewer: string[] = [];
  const onShrink = (message: string): void => {
    fewer.push(message);
    say(message);
  };
  // a run that goes on has the worlds that it had
  const fitting = { onOverBudget: resumes ? ("throw" as const) : ("shrink" as const), onShrink };
  await using made = await TrainingRun.create(id, {
    ...fitting,
    ...train,
    ...replay,
    modules,
    resumes,
  }).catch((error: unknown) => {
    // the same command can be given again
    if (replay !== undefined && !replayWas) rmSync(replay.replayFile, { force: true });
    throw error;
  });
  running = made;
  if (lost && isGone(lost)) made.stop();
  const live = new LiveLine(say, json);
  const note = (line: string): void => live.note(line);
  const folderOptions = { onFailure: note, ...(own === undefined ? {} : { task: own }) };
  const { from } = made.settings;
  if (from !== undefined && !resumes) say(`starts from ${from}`);
  for (const line of openingOf(made, folder)) say(line);
  const log = await openFolder(made, folder, resumes, say, folderOptions);
  await using page = shows && (await openPage(made, shows, modules, note));
  for (const message of fewer) log.event({ event: "fewer-worlds", iteration: 0, envSteps: 0, message });
  const stop = () => made.stop();
  for (const signal of STOPS) process.once(signal, stop);
  let result: TrainResult;
  try {
    result = await watch(made, say, live, {
      onProgress: (p) => {
        log.progress(p);
        page?.progress(p);
      },
      ...(page && { onBetween: () => page.look(made.env, () => made.algorithm.policy()) }),
      onCheckpoint: (state) => log.checkpoint(state),
      onNonFinite: (evidence, error) => log.evidence(evidence, error),
      onEvent: (event) => {
        log.event(event);
        page?.event(event.message);
        note(event.message);
      },
    });
    log.result(result);
  } catch (error) {
    log.failure(error);
    if (!(error instanceof CorralError) || error.code !== "stopped") throw error;
    const why = lost ? ` Its output could not be written (${reasonOf(lost)}).` : "";
    throw new CorralError("stopped", `${error.message.replace("[stopped] ", "")}${why}${notSaved(log)} ${log.goesOn}`);
  } finally {
    for (const signal of STOPS) process.off(signal, stop);
    log.report();
    log.close();
  }

  if (log.missing.length > 0) progress(`[run-not-saved] the run has ended.${notSaved(log)} ${log.goesOn}`);
  // errors of the last writes arrive a moment later
  await new Promise((resolve) => setImmediate(resolve));
  if (lost && !isGone(lost))
    progress(`[output-not-written] stdout took no more (${reasonOf(lost)}); the run is in ${folder}.`);
  const { returns, ...evaluation } = result.evaluation;
  const end = { ...result, evaluation: { ...evaluation, returns: [...returns] } };
  return {
    code: result.reached === false || log.missing.length > 0 || lost ? EXIT.failed : EXIT.done,
    document: { id, folder, bytes: made.bytes, config: log.config, ...end, notWritten: log.missing },
  };
}

/** What ends a run after the update under way, saved. */
const STOPS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The environment of the command line, or of the config. */
async function idOf(
  config: Readonly<Record<string, unknown>>,
  positionals: readonly string[],
  by: string,
): Promise<string> {
  if (positionals.length > 0 || typeof config.env !== "string") {
    const env = onlyArgument(positionals, "ENV");
    if (existsSync(join(env, CONFIG_FILE)))
      throw new UsageError(`'${env}' is a run: --resume ${env} goes on with it, --from ${env} from what it learnt.`);
    return taskOf(env).id;
  }
  const file = typeof config.task === "string" ? config.task : isTaskFile(config.env) ? config.env : undefined;
  return taskOf(file === undefined ? config.env : await idOfNamed(file, by)).id;
}

/** The environment of the command line as a config says it, with the file of its task. */
function namedOf([env]: readonly string[]): { readonly env?: string; readonly task?: string } {
  const task = env === undefined ? undefined : taskFileOf(env);
  return { ...(env === undefined ? {} : { env }), ...(task === undefined ? {} : { task }) };
}
