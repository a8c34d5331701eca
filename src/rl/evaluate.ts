// episodes that are played to see how good a policy is
import { CorralError } from "../core/errors.ts";
import type { LearnerEnv, LearnerStep } from "./device/learner-env.ts";
import { act, type Actor } from "./device/act.ts";
import type { Bound } from "./device/bind-env.ts";
import { Flag } from "./tables/device-tables.ts";

export interface EvaluateOptions {
  /** Draw actions as in training. */
  readonly sample?: boolean;
  /** Of the start states. */
  readonly seed?: number | bigint;
  /** Number of the first draw of actions; one a control step. Evaluations that share none draw independently. Default 0. */
  readonly firstDraw?: number;
  /** Is called once episodes have started. */
  readonly onStart?: () => void | Promise<void>;
  /** Is given every control step, before the next one. */
  readonly onStep?: (step: PlayedStep) => void | Promise<void>;
}

/** A control step of an evaluation. What is not copied is overwritten by the next one. */
export interface PlayedStep {
  /** What the policy saw, and what it did: [numEnvs, ...]. */
  readonly observations: Float32Array | Float64Array;
  readonly actions: Float32Array | Int32Array;
  /** What came of it. */
  readonly result: LearnerStep;
  /** 1 if the step is of the world's first episode. */
  readonly playing: Uint8Array;
  /** Whether the evaluation stops here: episodes that go on are cut. */
  readonly cuts: boolean;
}

/** The first episode of each world. */
export interface Evaluation {
  readonly episodes: number;
  readonly meanReturn: number;
  readonly meanLength: number;
  readonly returns: Float64Array;
  /** Episodes that were cut after `ENDLESS_STEPS`, in environments without a limit of control steps. */
  readonly cut: number;
}

/** Control steps after which an evaluation cuts episodes that have no limit of their own. */
export const ENDLESS_STEPS = 1000;

/** Plays until the first episode of each world has ended; `act` fills the actions on the device, or returns them. */
export async function firstEpisodes(
  env: LearnerEnv,
  seed: number | bigint,
  act: (t: number) => Promise<void | readonly number[]>,
  { onStart, onStep }: Pick<EvaluateOptions, "onStart" | "onStep"> = {},
): Promise<Evaluation> {
  await env.reset({ seed });
  await onStart?.();
  const open = new Uint8Array(env.numEnvs).fill(1);
  const returns = new Float64Array(env.numEnvs);
  const lengths = new Uint32Array(env.numEnvs);
  const most = env.maxEpisodeSteps < Infinity ? Infinity : ENDLESS_STEPS;
  let left = env.numEnvs;
  for (let t = 0; left > 0 && t < most; t++) {
    const given = await act(t);
    const observations = onStep && env.observations.slice();
    // those that were given are on the device once it has stepped
    let actions = onStep && !given ? await env.readActions() : undefined;
    const result = await env.step(given ?? (env.gpu ?? env.wasm)!.actions);
    if (onStep) actions ??= await env.readActions();
    const cuts = t === most - 1;
    if (onStep) await onStep({ observations: observations!, actions: actions!, result, playing: open, cuts });
    const { episode } = result.infos;
    for (let w = 0; w < env.numEnvs; w++) {
      if (open[w] === 0) continue;
      returns[w] += result.rewards[w];
      lengths[w] = t + 1;
      if (!episode || episode.mask[w] === 0) continue;
      open[w] = 0;
      left--;
      returns[w] = episode.r[w];
      lengths[w] = episode.l[w];
    }
  }
  const mean = (of: Iterable<number>) => [...of].reduce((sum, x) => sum + x, 0) / env.numEnvs;
  return { episodes: env.numEnvs, meanReturn: mean(returns), meanLength: mean(lengths), returns, cut: left };
}

/** Plays a learner's policy in a peer of the environment that it was trained in. Throws `bad-peer`. */
export async function evaluatePolicy(
  learner: Actor & { bindEnv(env: LearnerEnv): Promise<Bound> },
  env: LearnerEnv,
  trained: LearnerEnv,
  { sample = false, seed = 0, firstDraw = 0, ...limits }: EvaluateOptions,
  flags = 0,
): Promise<Evaluation> {
  const bound = await learner.bindEnv(checkPeer(env, trained));
  const all = flags | (sample ? 0 : Flag.deterministic);
  // draws that no rollout makes
  const step = (t: number) => act(learner, bound, { t: 0, draw: 2 ** 31 + firstDraw + t, flags: all });
  return firstEpisodes(env, seed, step, limits);
}

/** The environment, if a learner of another one can act in it. Throws `bad-peer`. */
function checkPeer(env: LearnerEnv, trained: LearnerEnv): LearnerEnv {
  const same =
    env.id === trained.id &&
    env.singleObservationSpace.size === trained.singleObservationSpace.size &&
    env.singleActionSpace.size === trained.singleActionSpace.size &&
    env.gpu?.device === trained.gpu?.device;
  if (same && env.numEnvs <= trained.numEnvs) return env;
  throw new CorralError(
    "bad-peer",
    `cannot evaluate on ${env.numEnvs} worlds of ${env.id}: the learner is of ${trained.numEnvs} worlds of ${trained.id}. Pass as many or fewer worlds of the same environment, on the same device.`,
    { id: env.id, numEnvs: env.numEnvs },
  );
}
