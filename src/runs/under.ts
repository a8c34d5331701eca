// one policy in the same worlds three ways: corral's physics, MuJoCo's in float64, and as the exported ONNX; and the gap
import { availableParallelism } from "node:os";
import { CorralError } from "../core/errors.ts";
import { checked } from "../core/options.ts";
import { integer } from "../core/schema.ts";
import { taskOf } from "../env/registry.ts";
import { assertUnderMuJoCo } from "../env/mujoco-vec.ts";
import { meanOf, stderrOf, sumOf } from "./means.ts";
import type { Part } from "./under-job.ts";
import { partsOf, playInThreads, playInTurns, Progress } from "./under-threads.ts";
import type { Policy } from "../rl/networks/policy.ts";
import {
  assertInstalled,
  joinPlayed,
  mostWorlds,
  openUnder,
  policyFrom,
  UNDERS,
  type Played,
  type PlayedSoFar,
  type Under,
} from "./under-worlds.ts";

export { UNDERS, type PlayedSoFar, type Under } from "./under-worlds.ts";

export interface UnderOptions {
  /** The first is what the others are compared with. Default: all three. */
  readonly under?: readonly Under[];
  /** Of each. Default 16. */
  readonly episodes?: number;
  /** Worlds that play at the same time, at most. Default: all, under MuJoCo as many as 1 GiB holds. */
  readonly worlds?: number;
  /** Of starts and draws, the same for all. Default 0. */
  readonly seed?: number;
  /** Options of the environments beside those of the run, such as device and parameters. */
  readonly env?: object;
  /**
   * Modules that register a task of the user's own, as URLs; none of one that all threads know. With it MuJoCo's worlds
   * play in as many threads as `env.threads` says, or cores, which hold as many worlds together as one would.
   */
  readonly modules?: (id: string) => readonly string[];
  /** The bytes of a policy as ONNX. */
  readonly encode: (policy: Policy) => Uint8Array;
  /** Is told under which, how many of the episodes are over, and with each control step how far those that play are. */
  readonly onProgress?: (under: Under, done: number, playing?: PlayedSoFar) => void;
}

/** Episodes under one of them, and how far they are from the first, episode by episode from the same starts. */
export interface UnderResult {
  readonly under: Under;
  readonly device: string;
  readonly returns: readonly number[];
  readonly meanReturn: number;
  readonly stderrReturn: number;
  readonly meanLength: number;
  readonly terminated: number;
  readonly success: number | undefined;
  /** The part of episodes that each condition of `terminated` ended, by its name; several may end one. */
  readonly endedBy: Readonly<Record<string, number>>;
  /** Means over all control steps of the numbers that the task reports (`info`), by name. */
  readonly infos: Readonly<Record<string, number>>;
  /** Means of them over the last steps of episodes: what sums up, such as an angle turned, is read here. */
  readonly lasts: Readonly<Record<string, number>>;
  /** Mean and standard error of the difference of returns from the first; undefined of the first. */
  readonly gap: { readonly mean: number; readonly stderr: number } | undefined;
  /** The largest difference of an action from that of the policy in float64 for the same observation, in parts of its range. */
  readonly actions: number | undefined;
}

export interface UnderReport {
  readonly id: string;
  readonly checkpoint: string;
  readonly episodes: number;
  readonly seed: number;
  readonly results: readonly UnderResult[];
}

/**
 * Plays the most likely actions of a policy from the same starts, with the same draws, under each of `under`.
 * @throws CorralError bad-option; not-under-mujoco where MuJoCo cannot make the task's steps; no-onnxruntime; what making
 *   environments and reading policies throw
 */
export async function evaluateUnder(source: string, options: UnderOptions): Promise<UnderReport> {
  const { under = UNDERS, episodes = 16, seed = 0, env: given = {}, encode, onProgress } = options;
  checked("episodes", integer(1), episodes);
  const wrong = under.find((one) => !UNDERS.includes(one));
  if (under.length === 0 || wrong !== undefined || new Set(under).size < under.length)
    throw new CorralError("bad-option", `under is ${under.join(",")}; it is some of ${UNDERS.join(", ")}, each once.`);
  await assertInstalled(under);
  const { policy, id, options: own, checkpoint } = await policyFrom(source, given);
  const made = { ...own, seed };
  if (under.includes("mujoco")) await assertUnderMuJoCo(id, { ...made, numEnvs: 1 });

  const results: UnderResult[] = [];
  for (const one of under) {
    onProgress?.(one, 0);
    const most = Math.min(episodes, options.worlds ?? (await mostWorlds(one, id)));
    const threads = one === "mujoco" ? threadsOf(own, id, most, options.modules) : 1;
    const parts = partsOf(episodes, Math.min(episodes, threads * Math.ceil(episodes / most)));
    const progress = new Progress((over, playing) => onProgress?.(one, over, playing));
    const here = async (worldIds: readonly number[], told: (so: PlayedSoFar) => void): Promise<Part> => {
      const some = { ...made, numEnvs: worldIds.length, worldIds };
      await using worlds = await openUnder(one, id, some, { policy, encode });
      return { device: worlds.device, played: await worlds.play(seed, told), actions: worlds.actions() };
    };
    const setup = { source, given, seed, modules: options.modules?.(id) ?? [] };
    const played =
      threads > 1 ? await playInThreads(setup, parts, threads, progress) : await playInTurns(parts, here, progress);
    results.push(resultOf(one, joined(played), results[0]));
  }
  return { id, checkpoint, episodes, seed, results };
}

/** Control steps that a thread has to make at least: to start one takes as long. */
const LEAST_STEPS = 8000;

/** Threads of MuJoCo's worlds: one where options or the task may be known here alone. */
function threadsOf(own: object, id: string, most: number, modules: UnderOptions["modules"]): number {
  const { threads = availableParallelism(), budget } = own as { readonly threads?: number; readonly budget?: unknown };
  if (modules === undefined || budget !== undefined) return 1;
  const { maxEpisodeSteps } = taskOf(id);
  return Math.max(1, Math.min(threads, most, Math.floor((most * maxEpisodeSteps) / LEAST_STEPS)));
}

function joined(parts: readonly Part[]): Part {
  const actions = parts.flatMap((part) => part.actions ?? []);
  return {
    device: parts[0].device,
    played: joinPlayed(parts.map(({ played }) => played)),
    actions: actions.length > 0 ? Math.max(...actions) : undefined,
  };
}

function resultOf(under: Under, { device, played, actions }: Part, first: UnderResult | undefined): UnderResult {
  const { returns, lengths, terminated, success, endedBy, infos, lasts } = played;
  const steps = sumOf(lengths);
  const meansOf = (of: Played["infos"], count: number) =>
    Object.fromEntries(Object.entries(of).map(([name, values]) => [name, sumOf(values) / count]));
  const differences = first && returns.map((x, i) => x - first.returns[i]);
  return {
    under,
    device,
    returns: [...returns],
    meanReturn: meanOf(returns),
    stderrReturn: stderrOf(returns),
    meanLength: meanOf(lengths),
    terminated: meanOf(terminated),
    success: success && meanOf(success.map((x) => Number(x !== 0))),
    endedBy: Object.fromEntries(Object.entries(endedBy).map(([name, count]) => [name, count / returns.length])),
    infos: meansOf(infos, steps),
    lasts: meansOf(lasts, returns.length),
    gap: differences && { mean: meanOf(differences), stderr: stderrOf(differences) },
    actions,
  };
}
