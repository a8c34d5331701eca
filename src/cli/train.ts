// `corral train`: an agent learns an environment on the device
import { existsSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { CorralError } from "../core/errors.ts";
import { countOf, fixed, formatCount } from "../core/units.ts";
import { taskOf } from "../env/registry.ts";
import { computeWithoutThreads } from "../gpu/driver-threads.ts";
import { isShort } from "../runs/defaults.ts";
import { assertNewFolder, makeRunFolder, notWritten, RunFolder } from "../runs/folder.ts";
import { assertRun, CONFIG_FILE } from "../runs/run-config.ts";
import { ALGORITHMS, flagOf, isFree, RUN_OPTIONS, SETTING_NAMES, show, trainOptions } from "../runs/options.ts";
import { lockRun, type RunLock } from "../runs/lock.ts";
import { TrainingRun } from "../runs/train.ts";
import type { TrainListener, TrainProgress, TrainResult } from "../runs/progress.ts";
import { EXIT, isGone, onLostOutput, parse, print, printJson, progress, UsageError } from "./io.ts";
import { reasonOf } from "../core/write-bytes.ts";
import { LiveLine } from "./live.ts";
import { rate, sparkline } from "./table.ts";
import { onlyArgument } from "./target.ts";
import { assertTeacher, idOfNamed, isTaskFile, taskFileOf } from "./task-file.ts";
import { answered, flagLines, flags, settingsOf, TRAIN_FLAGS } from "./train-flags.ts";
import { openingOf } from "./train-opening.ts";
import { openPage, shownOf, VIEW_FLAGS, type Shows } from "./train-page.ts";
import { stagesOf, trainStages, type RunEnd, type RunRequest } from "./train-stages.ts";

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
  const modules = own === undefined ? [] : [pathToFileURL(own).href];
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

const notSaved = ({ missing, folder }: RunFolder): string =>
  missing.length === 0 ? "" : ` Not written to ${folder}: ${missing.join(", ")}. Free the disk, then go on.`;

/** Makes the folder of a run and holds it; if the run fails to start, an empty one is removed again. */
function holdFolder(folder: string): RunLock {
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
function replayIn(folder: string, resumes: boolean, tookOver: boolean): { replayFile: string; reuseReplay: boolean } {
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
async function openFolder(
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
function assertResumable(folder: string, flags: readonly string[], positionals: readonly string[]): void {
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

/** Trains with a live line, and says at the end what came of it. */
export async function watch(
  run: TrainingRun,
  say: (line: string) => void,
  live: LiveLine,
  listener: TrainListener = {},
): Promise<TrainResult> {
  const returns: number[] = [];
  const onProgress = (p: TrainProgress) => {
    listener.onProgress?.(p);
    if (p.metrics.episodes > 0) returns.push(p.metrics.episodeReturn);
    live.show(trainLine(p), p.seconds);
  };
  const result = await run.train({ ...listener, onProgress }).finally(() => live.end());
  if (returns.length > 0) say(`returns while it learned: ${sparkline(returns)}`);
  say(outcome(result, run.settings.until));
  return result;
}

/** One update in a line. */
function trainLine(p: TrainProgress): string {
  const { metrics: m } = p;
  const parts = [
    `${formatCount(p.envSteps).padStart(11)} steps`,
    `${rate(p.envStepsPerSec).padStart(8)} env steps/s`,
    m.episodes > 0 ? `return ${fixed(m.episodeReturn, 1)} length ${m.episodeLength.toFixed(0)}` : "no episode ended",
    ...(p.evaluation ? [`evaluation ${fixed(p.evaluation.meanReturn, 1)}`] : []),
    `loss ${fixed((m.policyLoss ?? 0) + m.valueLoss, 3)}`,
    ...(m.kl === undefined ? [] : [`kl ${fixed(m.kl, 4)}`]),
    ...(m.temperature === undefined ? [] : [`temperature ${m.temperature.toFixed(3)}`]),
    ...(m.epsilon === undefined ? [] : [`epsilon ${m.epsilon.toFixed(3)}`]),
    `${Math.ceil(p.secondsLeft)} s left`,
    ...warnings(p),
  ];
  return parts.join("  ");
}

/** Extreme values that were clipped: visible, as they say that something is off. */
export function warnings({ metrics: m }: Pick<TrainProgress, "metrics">): string[] {
  const {
    rewardsClipped = 0,
    rewardsLeftOut = 0,
    observationsClipped = 0,
    ratiosClipped = 0,
    stdAtBound = 0,
    badSteps,
  } = m;
  return [
    ...(rewardsClipped > 0 ? [`${countOf(rewardsClipped, "reward")} clipped`] : []),
    ...(rewardsLeftOut > 0 ? [`${countOf(rewardsLeftOut, "reward")} too large for normalisation`] : []),
    ...(observationsClipped > 0 ? [`${countOf(observationsClipped, "observation")} clipped`] : []),
    ...(ratiosClipped > 0 ? [`${countOf(ratiosClipped, "ratio")} clipped`] : []),
    ...(stdAtBound > 0 ? [`${countOf(stdAtBound, "deviation")} at a bound`] : []),
    ...(badSteps > 0 ? [countOf(badSteps, "bad step")] : []),
  ];
}

function outcome({ envSteps, seconds, evaluation, reached }: TrainResult, until: number | undefined): string {
  const { meanReturn, meanLength, episodes, cut } = evaluation;
  const were = cut > 0 ? `, ${formatCount(cut)} cut` : "";
  const end = `return ${fixed(meanReturn, 1)}, length ${meanLength.toFixed(0)} (mean of ${countOf(episodes, "episode")}${were})`;
  const took = `after ${formatCount(envSteps)} env steps in ${seconds.toFixed(1)} s`;
  const goal = reached === undefined ? "" : reached ? `: ${until} reached` : `: ${until} NOT reached`;
  return `${end} ${took}${goal}`;
}
