// one policy in the same worlds three ways: corral's physics, MuJoCo's in float64, and as the exported ONNX; and the gap
import { join } from "node:path";
import { CorralError } from "../core/errors.ts";
import { checked } from "../core/options.ts";
import { integer } from "../core/schema.ts";
import { withDevice } from "../batch/devices.ts";
import { makeVec, type NamedOptions } from "../env/make.ts";
import { makeMuJoCoVec } from "../env/mujoco-vec.ts";
import type { VectorEnv } from "../env/host/vector-env.ts";
import { AppliedPolicy } from "../rl/networks/apply-policy.ts";
import { ENDLESS_STEPS } from "../rl/evaluate.ts";
import type { Policy } from "../rl/networks/policy.ts";
import { lastCheckpoint } from "./checkpoints.ts";
import { OnnxActor } from "./onnx-actor.ts";
import { trainOptions } from "./options.ts";
import { isPolicyFile, policyFile, readPolicy } from "./policy-file.ts";
import { policyOfRun } from "./policy.ts";
import { assertRun, CONFIG_FILE, readConfig } from "./run-config.ts";

export const UNDERS = ["corral", "mujoco", "onnx"] as const;
/** Whose physics and whose policy: corral's worlds are those of "onnx" too. */
export type Under = (typeof UNDERS)[number];

export interface UnderOptions {
  /** The first is what the others are compared with. Default: all three. */
  readonly under?: readonly Under[];
  /** Of each. Default 16. */
  readonly episodes?: number;
  /** Of starts and draws, the same for all. Default 0. */
  readonly seed?: number;
  /** Options of the environments beside those of the run, such as device and parameters. */
  readonly env?: object;
  /** The bytes of a policy as ONNX. */
  readonly encode: (policy: Policy) => Uint8Array;
  readonly onProgress?: (under: Under) => void;
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
  /** Means over all control steps of the numbers that the task reports (`info`), by name. */
  readonly infos: Readonly<Record<string, number>>;
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

type Act = (observations: ArrayLike<number>) => Promise<readonly number[]> | readonly number[];

interface Played {
  readonly returns: Float64Array;
  readonly lengths: Float64Array;
  readonly terminated: Uint8Array;
  readonly success: Float64Array | undefined;
  readonly infos: Readonly<Record<string, number>>;
}

/** The first episode of each world, of which those that are over are begun anew and not counted. */
async function playFirst(env: VectorEnv, seed: number, act: Act): Promise<Played> {
  const n = env.numEnvs;
  await env.reset({ seed });
  const open = new Uint8Array(n).fill(1);
  const [returns, lengths, terminated] = [new Float64Array(n), new Float64Array(n), new Uint8Array(n)];
  const success = env.spec.shape.infos.includes("success") ? new Float64Array(n) : undefined;
  const sums = new Map(env.spec.shape.infos.filter((name) => name !== "success").map((name) => [name, 0]));
  const most = env.maxEpisodeSteps < Infinity ? env.maxEpisodeSteps : ENDLESS_STEPS;
  for (let t = 0; t < most && open.includes(1); t++) {
    const result = await env.step(Array.from(await act(env.observations)));
    const told = success && result.infos.get("success")?.values;
    for (const name of sums.keys()) {
      const values = result.infos.get(name)?.values;
      if (values?.length !== n) sums.delete(name);
      else sums.set(name, sums.get(name)! + Array.from(values).reduce((sum, x, w) => sum + open[w] * x, 0));
    }
    const over = Uint8Array.from(result.terminated, (x, w) => x | result.truncated[w]);
    for (let w = 0; w < n; w++) {
      if (open[w] === 0) continue;
      returns[w] += result.rewards[w];
      lengths[w] = t + 1;
      terminated[w] = result.terminated[w];
      if (told) success[w] = told[w];
      open[w] = over[w] ? 0 : 1;
    }
    if (over.includes(1) && open.includes(1)) await env.reset({ options: { mask: over } });
  }
  const steps = lengths.reduce((sum, x) => sum + x, 0);
  const infos = Object.fromEntries([...sums].map(([name, sum]) => [name, sum / steps]));
  return { returns, lengths, terminated, success, infos };
}

const meanOf = (values: ArrayLike<number>): number => Array.from(values).reduce((sum, x) => sum + x, 0) / values.length;

function stderrOf(values: ArrayLike<number>): number {
  const mean = meanOf(values);
  const squares = Array.from(values, (x) => (x - mean) ** 2).reduce((sum, x) => sum + x, 0);
  return values.length > 1 ? Math.sqrt(squares / (values.length - 1) / values.length) : 0;
}

/** How far an action is from another, in parts of the range; of a choice 1 where it is another. */
function apart({ head }: Policy, got: readonly number[], want: readonly number[]): number {
  const width = (i: number) => {
    if (head.kind === "categorical") return 0;
    const range = head.high[i % head.actions] - head.low[i % head.actions];
    return Number.isFinite(range) && range > 0 ? range : 1;
  };
  return want.reduce((most, x, i) => {
    const far = head.kind === "categorical" ? Number(got[i] !== x) : Math.abs(got[i] - x) / width(i);
    return Math.max(most, far);
  }, 0);
}

/** The policy, and how to make its environment. */
async function policyFrom(source: string, given: object) {
  if (isPolicyFile(source)) {
    const { env, ...options } = given as { readonly env?: string };
    return { policy: await readPolicy(source), id: env ?? policyFile(source).env, options, checkpoint: source };
  }
  assertRun(source);
  const settings = readConfig(join(source, CONFIG_FILE));
  const { env: trained } = trainOptions(settings);
  const options = { ...trained, ...given };
  const { checkpoint } = lastCheckpoint(source);
  return { policy: await policyOfRun(source), id: String(settings.env), options, checkpoint: checkpoint.path };
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
  const { policy, id, options: own, checkpoint } = await policyFrom(source, given);
  const made = { ...own, numEnvs: episodes, seed, autoreset: "disabled", recorder: false } as NamedOptions;

  const results: UnderResult[] = [];
  for (const one of under) {
    onProgress?.(one);
    await using worlds =
      one === "mujoco" ? await makeMuJoCoVec(id, made) : await inCorral(id, (await withDevice(made)) as NamedOptions);
    const applied = new AppliedPolicy(policy, episodes);
    let actions: number | undefined;
    let act: Act = (observations) => applied.act(observations);
    await using actor = one === "onnx" ? await OnnxActor.create(encode(policy), policy, episodes) : undefined;
    if (actor)
      act = async (observations) => {
        const [got, want] = [await actor.act(observations), applied.act(observations)];
        actions = Math.max(actions ?? 0, apart(policy, got, want));
        return got;
      };
    const played = await playFirst(worlds.env, seed, act);
    results.push(
      resultOf(one, one === "mujoco" ? "MuJoCo (float64)" : worlds.env.deviceName, played, actions, results[0]),
    );
  }
  return { id, checkpoint, episodes, seed, results };
}

async function inCorral(id: string, options: NamedOptions) {
  const env = await makeVec(id, options);
  return { env, [Symbol.asyncDispose]: () => env.close() };
}

function resultOf(
  under: Under,
  device: string,
  { returns, lengths, terminated, success, infos }: Played,
  actions: number | undefined,
  first: UnderResult | undefined,
): UnderResult {
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
    infos,
    gap: differences && { mean: meanOf(differences), stderr: stderrOf(differences) },
    actions,
  };
}
