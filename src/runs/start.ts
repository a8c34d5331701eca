// starting a run from another: its policy, value function and normalisers, with other worlds, tasks and settings
import { existsSync, statSync } from "node:fs";
import { CorralError } from "../core/errors.ts";
import type { Algo, Algorithm, AlgorithmSnapshot } from "../rl/algorithm.ts";
import { Ppo } from "../rl/ppo.ts";
import { LEVEL_SINCE } from "../rl/networks/action-features.ts";
import { shapesOf, type NamedArray } from "../rl/networks/networks.ts";
import type { Checkpoint } from "./checkpoint.ts";
import { lastCheckpoint, readCheckpoint } from "./checkpoints.ts";
import { columnsIn, seenBy, type Seen } from "./columns.ts";
import { exportedPolicy, type PolicyFile } from "./policy-file.ts";
import { assertRun, withInfinities } from "./run-config.ts";
import { ALGORITHMS, show, type TrainOptions } from "./options.ts";

/** Settings that a policy's parameters depend on: a run takes them from the run it starts from, unless they are given. */
const MEANING = [
  "hidden",
  "activation",
  "layerNorm",
  "recurrent",
  "recurrentSize",
  "squash",
  "actionBlock",
  "actionEmbedding",
];
const NORMALISED = "normalizeObservations";

/** What a run would start from: its settings, and how errors name both. */
export interface StartFacts {
  readonly path: string;
  readonly config: Readonly<Record<string, unknown>>;
  /** Default: "a run". */
  readonly who?: string;
  /** Updates in which its value function learns alone first: that of a policy which comes without one. */
  readonly valueWarmup?: number;
}

/** A checkpoint to start from, or a policy; `path` is its file. */
export interface Start extends StartFacts {
  readonly named: Readonly<Record<string, NamedArray>>;
  /** Undefined of a policy, which holds no value function. */
  readonly checkpoint: Checkpoint | undefined;
}

type Shapes = ReturnType<Algorithm["shapes"]>;

/** Updates in which a value function learns alone where a policy comes without one. */
const WARMUP = 16;

/**
 * Reads the last readable checkpoint of a run's folder, one checkpoint, or a policy that was exported.
 * @throws CorralError no-run, no-checkpoint, checkpoint-corrupt, checkpoint-newer, bad-policy
 */
export function readStart(from: string): Start {
  const isFile = existsSync(from) && statSync(from).isFile();
  if (!isFile) assertRun(from);
  const file = isFile ? exportedPolicy(from) : undefined;
  if (file)
    return { path: from, config: configOf(file), named: completed(file), checkpoint: undefined, valueWarmup: WARMUP };
  const checkpoint = isFile ? readCheckpoint(from) : lastCheckpoint(from).checkpoint;
  const { path, about, policy } = checkpoint;
  const named = Object.fromEntries(policy) as Start["named"];
  // its value function has learnt by now
  const { valueWarmup: _, ...config } = withInfinities(about.config);
  return { path, config, named, checkpoint };
}

/** Env steps that a normaliser counts for where its file does not say, and the bound of what it clips to where it does not. */
const SEEN = 1e6;
const UNCLIPPED = 1e6;

/** Whether observations are divided by anything. */
function isNormalised({ named }: PolicyFile): boolean {
  const is = (name: string, usual: number) => named[name]?.data.every((x) => x === usual) ?? true;
  return !is("normalizer.mean", 0) || !is("normalizer.inverse_std", 1);
}

/** Arrays with those that files of other learners have not: how far observations spread follows from what divides them. */
function completed({ named }: PolicyFile): PolicyFile["named"] {
  const inverse = named["normalizer.inverse_std"];
  if (inverse === undefined || Object.hasOwn(named, "normalizer.variance")) return named;
  const variance = { shape: inverse.shape, data: inverse.data.map((x) => 1 / (x * x)) };
  return { ...named, "normalizer.variance": variance, "normalizer.count": { shape: [1], data: Float32Array.of(SEEN) } };
}

/** Settings that a policy's file tells of. */
function configOf(file: PolicyFile): Record<string, unknown> {
  const { env, named, metadata } = file;
  const {
    algo = "unknown",
    activation,
    squash = "false",
    layers = "",
    recurrent = "none",
    recurrent_size: size,
  } = metadata;
  const clip = Number(metadata.clip_observations ?? Infinity);
  const normalises = clip < Infinity || isNormalised(file);
  const widths = layers.split(",").map(Number);
  return {
    env,
    // of what other learners trained (sb3-ppo, rsl_rl-ppo) PPO takes the network
    algo: Object.hasOwn(ALGORITHMS, algo) ? algo : "ppo",
    hidden: widths.slice(0, -1),
    ...(activation === "none" ? {} : { activation }),
    layerNorm: Object.hasOwn(named, "policy.0.norm.weight"),
    recurrent,
    ...(size === undefined ? {} : { recurrentSize: Number(size) }),
    squash: squash === "true",
    normalizeObservations: normalises,
    ...(normalises ? { clipObservations: Math.min(clip, UNCLIPPED) } : {}),
  };
}

const doesNotFit = ({ path, who = "a run" }: StartFacts, why: string, details: object): CorralError =>
  new CorralError("does-not-fit", `${who} cannot start from ${path}: ${why}.`, { path, ...details });

/** Throws `does-not-fit` if something else learns. */
export function assertAlgo(start: StartFacts, algo: string): asserts algo is Algo {
  const { algo: was } = start.config;
  if (algo !== was) throw doesNotFit(start, `it was trained with ${show(was)}, not ${algo}`, { algo: was });
}

/**
 * Options of a run that starts there: the algorithm and the shape of networks are its own if nothing is said.
 * @throws CorralError does-not-fit for what is said otherwise
 */
export function startingFrom(start: StartFacts, options: TrainOptions): TrainOptions {
  const { algo = start.config.algo as Algo } = options;
  assertAlgo(start, algo);
  if (start.valueWarmup !== undefined && algo !== "ppo")
    throw doesNotFit(start, "a policy is a start for PPO only; pass the folder of the run that it is of", { algo });
  const given = (options.config ?? {}) as Readonly<Record<string, unknown>>;
  const table: object = ALGORITHMS[algo];
  const config: Record<string, unknown> = { ...given };
  for (const name of [...MEANING, NORMALISED]) {
    if (!Object.hasOwn(table, name) || start.config[name] === undefined) continue;
    const [there, here] = [start.config[name], given[name] ?? start.config[name]];
    if (show(there) !== show(here))
      throw doesNotFit(
        start,
        `${name} is ${show(there)} there and ${show(here)} here. Leave it out, and it is as there; or train anew, without the start`,
        { name },
      );
    config[name] = there;
  }
  if (start.valueWarmup !== undefined) config.valueWarmup ??= start.valueWarmup;
  return { ...options, algo, config, from: start.path };
}

/**
 * Takes over what was learnt, of an environment that is seen so.
 * @throws CorralError does-not-fit with the first array whose shape is another
 */
export async function adoptStart(algorithm: Algorithm, start: Start, seen: Seen): Promise<void> {
  const { checkpoint, named } = start;
  const columns = await columnsFrom(start, shapesOf(named), { id: algorithm.env.id, shapes: algorithm.shapes(), seen });
  const learnt = checkpoint?.state.snapshot satisfies AlgorithmSnapshot | undefined;
  if (columns === undefined && learnt) return await algorithm.adopt(learnt);
  if (!(algorithm instanceof Ppo))
    throw doesNotFit(start, "a policy is a start for PPO only", { algo: algorithm.algo });
  const all = named["normalizer.mean"].data;
  await algorithm.adoptNamed(named, columns ?? Array.from(all.keys()), learnt?.learner);
}

/** Shapes of a checkpoint's arrays. */
const shapesIn = (policy: Checkpoint["policy"]): Shapes =>
  Object.fromEntries([...policy].map(([name, { shape }]) => [name, shape]));

/** What would learn here. */
interface Learns {
  readonly id: string;
  readonly shapes: Shapes;
  readonly seen: Seen;
}

/** Arrays with a number for each observation. */
const OBSERVED = /^((policy|value)\.0\.weight|normalizer\.(mean|inverse_std|variance))$/;

/**
 * The column here of each column of observations there, where they are not the same; undefined where they are.
 * @throws CorralError does-not-fit with the first array whose shape is another, or what is not seen here
 */
export async function columnsFrom(
  start: StartFacts,
  there: Shapes,
  { id, shapes: here, seen }: Learns,
): Promise<readonly number[] | undefined> {
  // policies come without a value function, and some without a spread of their actions
  const isNew = (name: string) =>
    start.valueWarmup !== undefined &&
    (name.startsWith("value.") || (name === "log_std" && !Object.hasOwn(there, name)));
  const own = (of: Shapes) => Object.fromEntries(Object.entries(of).filter(([name]) => !isNew(name)));
  const other = firstOther(there, own(here));
  if (!other) return undefined;
  const { name, was, is } = other;
  const [before, now] = [there, here].map((of) => of["normalizer.mean"]?.[0]);
  const others = (of: Shapes) => Object.fromEntries(Object.entries(own(of)).filter(([each]) => !OBSERVED.test(each)));
  if (start.config.algo !== "ppo" || before === now || firstOther(others(there), others(here)))
    throw doesNotFit(
      start,
      `${name} is ${was} there and would be ${is} for ${id} here: observations, actions and hidden layers must be as many${said(other, start.config)}`,
      other,
    );
  const told = await seenBy(start.config);
  const columns =
    told === undefined || told.nobs !== before
      ? `it sees ${before} numbers where ${id} shows ${now}, and its task ${show(start.config.env)}, which would say what they are, ${told ? `shows ${told.nobs}` : "is not known"} here`
      : columnsIn(told, seen);
  if (typeof columns === "string") throw doesNotFit(start, columns, { before, now });
  return columns;
}

/** What changed in corral itself, where that may be why. */
const said = ({ name }: { name: string }, { algo }: Readonly<Record<string, unknown>>): string =>
  name.endsWith(".embedding") && algo !== "ppo" ? `; ${LEVEL_SINCE}` : "";

/**
 * Throws `other-run` if the policy is of other sizes than those of the environment now: the settings are the same, so the
 * environment has changed since.
 */
export function assertFits(checkpoint: Checkpoint, id: string, now: Shapes): void {
  const other = firstOther(shapesIn(checkpoint.policy), now);
  if (other === undefined) return;
  const { path } = checkpoint;
  const { name, was, is } = other;
  throw new CorralError(
    "other-run",
    `${path} does not fit ${id} as it is now: ${name} is ${was} there and would be ${is} here. Put the task back as it was, or start a new run${said(other, checkpoint.about.config)}.`,
    { path, ...other },
  );
}

/** The first array whose shape is another now. */
function firstOther(
  there: Shapes,
  now: Shapes,
): { readonly name: string; readonly was: string; readonly is: string } | undefined {
  const sizes = (shape: readonly number[] | undefined): string => (shape ? `[${shape.join(", ")}]` : "not there");
  for (const name of new Set([...Object.keys(now), ...Object.keys(there)])) {
    const [was, is] = [sizes(there[name]), sizes(now[name])];
    if (was !== is) return { name, was, is };
  }
  return undefined;
}
