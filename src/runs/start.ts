// starting a run from another: its policy, value function and normalisers, with other worlds, tasks and settings
import { existsSync, statSync } from "node:fs";
import { CorralError } from "../core/errors.ts";
import type { Algo, Algorithm, AlgorithmSnapshot } from "../rl/algorithm.ts";
import type { Checkpoint } from "./checkpoint.ts";
import { lastCheckpoint, readCheckpoint } from "./checkpoints.ts";
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
}

/** A checkpoint to start from; `path` is its file. */
export interface Start extends StartFacts {
  readonly checkpoint: Checkpoint;
}

type Shapes = ReturnType<Algorithm["shapes"]>;

/**
 * Reads the last readable checkpoint of a run's folder, or one checkpoint.
 * @throws CorralError no-run, no-checkpoint, checkpoint-corrupt, checkpoint-newer
 */
export function readStart(from: string): Start {
  const isFile = existsSync(from) && statSync(from).isFile();
  if (!isFile) assertRun(from);
  const checkpoint = isFile ? readCheckpoint(from) : lastCheckpoint(from).checkpoint;
  return { path: checkpoint.path, config: withInfinities(checkpoint.about.config), checkpoint };
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
  const given = (options.config ?? {}) as Readonly<Record<string, unknown>>;
  const table: object = ALGORITHMS[algo];
  const config: Record<string, unknown> = { ...given };
  for (const name of [...MEANING, NORMALISED]) {
    if (!Object.hasOwn(table, name) || start.config[name] === undefined) continue;
    const [there, here] = [start.config[name], given[name] ?? start.config[name]];
    if (show(there) !== show(here))
      throw doesNotFit(start, `${name} is ${show(there)} there and ${show(here)} here. Leave it out`, { name });
    config[name] = there;
  }
  return { ...options, algo, config, from: start.path };
}

/** Takes over what was learnt. Throws `does-not-fit` with the first array whose shape is another. */
export async function adoptStart(algorithm: Algorithm, start: Start): Promise<void> {
  const { state, policy } = start.checkpoint;
  assertSame(start, shapesIn(policy), algorithm.shapes(), algorithm.env.id);
  await algorithm.adopt(state.snapshot satisfies AlgorithmSnapshot);
}

/** Shapes of a checkpoint's arrays. */
export const shapesIn = (policy: Checkpoint["policy"]): Shapes =>
  Object.fromEntries([...policy].map(([name, { shape }]) => [name, shape]));

/** Throws `does-not-fit` with the first array whose shape would be another here. */
export function assertSame(start: StartFacts, there: Shapes, here: Shapes, id: string): void {
  const other = firstOther(there, here);
  if (!other) return;
  const { name, was, is } = other;
  const why = `${name} is ${was} there and would be ${is} for ${id} here`;
  throw doesNotFit(start, `${why}: observations, actions and hidden layers must be as many`, other);
}

/** The first array whose shape is another now. */
export function firstOther(
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
