// one policy and its worlds, on corral's physics, on MuJoCo's in float64, or as the exported ONNX in corral's
import { join } from "node:path";
import { withDevice } from "../batch/devices.ts";
import { makeVec, type NamedOptions } from "../env/make.ts";
import { makeMuJoCoVec } from "../env/mujoco-vec.ts";
import type { Infos } from "../env/host/infos.ts";
import type { VectorEnv } from "../env/host/vector-env.ts";
import { taskOf } from "../env/registry.ts";
import { loadTaskModel } from "../env/task/load.ts";
import type { Task } from "../env/task/task.ts";
import { oracleBytes } from "../model/oracle.ts";
import { FAILED } from "../physics/status.ts";
import { AppliedPolicy } from "../rl/networks/apply-policy.ts";
import { ENDLESS_STEPS } from "../rl/evaluate.ts";
import type { Policy } from "../rl/networks/policy.ts";
import { sumOf } from "./means.ts";
import { lastCheckpoint } from "./checkpoints.ts";
import { OnnxActor, onnxruntime } from "./onnx-actor.ts";
import { trainOptions } from "./options.ts";
import { envOfPolicy, isPolicyFile, policyFile, readPolicy } from "./policy-file.ts";
import { policyOfRun } from "./policy.ts";
import { assertRun, CONFIG_FILE, readConfig } from "./run-config.ts";

export const UNDERS = ["corral", "mujoco", "onnx"] as const;
/** Whose physics and whose policy: corral's worlds are those of "onnx" too. */
export type Under = (typeof UNDERS)[number];

/**
 * Says before anything is played what is missing.
 * @throws CorralError no-onnxruntime
 */
export async function assertInstalled(under: readonly Under[]): Promise<void> {
  if (under.includes("onnx")) await onnxruntime();
}

type Act = (observations: ArrayLike<number>) => Promise<readonly number[]> | readonly number[];

export interface Played {
  readonly returns: Float64Array;
  readonly lengths: Float64Array;
  readonly terminated: Uint8Array;
  /** Those of which a step failed. */
  readonly failed: Uint8Array;
  readonly success: Float64Array | undefined;
  /** Episodes that each condition of `terminated` ended, by its name. */
  readonly endedBy: Readonly<Record<string, number>>;
  /** Sums over the steps of each episode of what the task reports. */
  readonly infos: Readonly<Record<string, Float64Array>>;
  /** What it reports at the last step of each. */
  readonly lasts: Readonly<Record<string, Float64Array>>;
}

/** How far worlds that play have come. */
export interface PlayedSoFar {
  /** Control steps of each world. */
  readonly steps: number;
  /** Of an episode at most. */
  readonly most: number;
  /** First episodes that are over. */
  readonly over: number;
}

/** 1 where a step of a world failed, else 0. */
export const failedIn = (infos: Pick<Infos, "status">, world: number): 0 | 1 => (infos.status(world) & FAILED ? 1 : 0);

/** The first episode of each world, of which those that are over are begun anew and not counted. */
async function playFirst(env: VectorEnv, seed: number, act: Act, tell?: (so: PlayedSoFar) => void): Promise<Played> {
  const n = env.numEnvs;
  await env.reset({ seed });
  const open = new Uint8Array(n).fill(1);
  const [returns, lengths] = [new Float64Array(n), new Float64Array(n)];
  const [terminated, failed] = [new Uint8Array(n), new Uint8Array(n)];
  const success = env.spec.shape.infos.includes("success") ? new Float64Array(n) : undefined;
  const names = env.spec.shape.infos.filter((name) => name !== "success");
  const told = new Map(names.map((name) => [name, { sum: new Float64Array(n), last: new Float64Array(n) }]));
  const endedBy: Record<string, number> = Object.fromEntries(env.spec.shape.terminations.map((name) => [name, 0]));
  const most = env.maxEpisodeSteps < Infinity ? env.maxEpisodeSteps : ENDLESS_STEPS;
  for (let t = 0; t < most && open.includes(1); t++) {
    const result = await env.step(Array.from(await act(env.observations)));
    const succeeds = success && result.infos.get("success")?.values;
    const over = Uint8Array.from(result.terminated, (x, w) => x | result.truncated[w]);
    for (const [name, { sum, last }] of told) {
      const values = result.infos.get(name)?.values;
      if (values?.length !== n) told.delete(name);
      else
        values.forEach((x: number, w: number) => {
          if (open[w] === 0) return;
          sum[w] += x;
          last[w] = x;
        });
    }
    for (let w = 0; w < n; w++) {
      if (open[w] === 0) continue;
      returns[w] += result.rewards[w];
      lengths[w] = t + 1;
      terminated[w] = result.terminated[w];
      failed[w] |= failedIn(result.infos, w);
      if (succeeds) success[w] = succeeds[w];
      if (over[w] !== 0) for (const name of result.infos.endedBy(w)) if (name in endedBy) endedBy[name]++;
      open[w] = over[w] ? 0 : 1;
    }
    tell?.({ steps: t + 1, most, over: n - open.reduce((sum, x) => sum + x, 0) });
    if (over.includes(1) && open.includes(1)) await env.reset({ options: { mask: over } });
  }
  const infos = Object.fromEntries([...told].map(([name, { sum }]) => [name, sum]));
  const lasts = Object.fromEntries([...told].map(([name, { last }]) => [name, last]));
  return { returns, lengths, terminated, failed, success, endedBy, infos, lasts };
}

/** Episodes that were played in parts, in order. */
export function joinPlayed(parts: readonly Played[]): Played {
  if (parts.length === 1) return parts[0];
  const all = (of: (part: Played) => ArrayLike<number>) => parts.flatMap((part) => Array.from(of(part)));
  const byName = (by: "infos" | "lasts") =>
    Object.fromEntries(
      Object.keys(parts[0][by]).map((name) => [name, Float64Array.from(all((part) => part[by][name]))]),
    );
  return {
    returns: Float64Array.from(all(({ returns }) => returns)),
    lengths: Float64Array.from(all(({ lengths }) => lengths)),
    terminated: Uint8Array.from(all(({ terminated }) => terminated)),
    failed: Uint8Array.from(all(({ failed }) => failed)),
    success: parts[0].success && Float64Array.from(all(({ success }) => success!)),
    endedBy: Object.fromEntries(
      Object.keys(parts[0].endedBy).map((name) => [name, sumOf(parts.map(({ endedBy }) => endedBy[name]))]),
    ),
    infos: byName("infos"),
    lasts: byName("lasts"),
  };
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
export async function policyFrom(source: string, given: object) {
  if (isPolicyFile(source)) {
    const { env, ...options } = given as { readonly env?: string };
    const id = env ?? envOfPolicy(policyFile(source));
    return { policy: await readPolicy(source, id), id, options, checkpoint: source };
  }
  assertRun(source);
  const settings = readConfig(join(source, CONFIG_FILE));
  const { env: trained } = trainOptions(settings);
  const options = { ...trained, ...given };
  const { checkpoint } = lastCheckpoint(source);
  return { policy: await policyOfRun(source), id: String(settings.env), options, checkpoint: checkpoint.path };
}

/** What MuJoCo's worlds may take of the 2 GiB that its WebAssembly build holds (bytes). */
const MOST_MUJOCO = 2 ** 30;

/** As many worlds of a task as are made at a time. */
export async function mostWorlds(under: Under, task: string): Promise<number> {
  if (under !== "mujoco") return Infinity;
  const bytes = await oracleBytes(await loadTaskModel(taskOf(task)));
  return Math.max(1, Math.floor(MOST_MUJOCO / bytes));
}

/** Worlds that a policy plays in. */
export interface PlayedUnder extends AsyncDisposable {
  readonly env: VectorEnv;
  readonly device: string;
  /** The first episode of each world; `tell` hears of each control step. */
  play(seed: number, tell?: (so: PlayedSoFar) => void): Promise<Played>;
  /** The largest difference so far of ONNX's action from that of the policy in float64, in parts of its range. */
  actions(): number | undefined;
}

/** Makes the worlds of a task under one of them; worlds that have ended wait. `encode` makes a policy ONNX, for "onnx". */
export async function openUnder(
  under: Under,
  task: string | Task<object>,
  given: object,
  { policy, encode }: { readonly policy: Policy; readonly encode?: (policy: Policy) => Uint8Array },
): Promise<PlayedUnder> {
  const made = { ...given, autoreset: "disabled", recorder: false } as unknown as NamedOptions;
  const worlds =
    under === "mujoco"
      ? await makeMuJoCoVec(task, made)
      : await inCorral(task, (await withDevice(made)) as NamedOptions);
  const { env } = worlds;
  let actor: OnnxActor | undefined;
  try {
    if (under === "onnx") actor = await OnnxActor.create(encode!(policy), policy, env.numEnvs);
  } catch (error) {
    await worlds[Symbol.asyncDispose]();
    throw error;
  }
  const applied = new AppliedPolicy(policy, env.numEnvs);
  let actions: number | undefined;
  const act: Act = async (observations) => {
    const want = applied.act(observations);
    if (!actor) return want;
    const got = await actor.act(observations);
    actions = Math.max(actions ?? 0, apart(policy, got, want));
    return got;
  };
  return {
    env,
    device: under === "mujoco" ? "MuJoCo (float64)" : env.deviceName,
    play: (seed, tell) => playFirst(env, seed, act, tell),
    actions: () => actions,
    async [Symbol.asyncDispose]() {
      await actor?.[Symbol.asyncDispose]();
      await worlds[Symbol.asyncDispose]();
    },
  };
}

async function inCorral(task: string | Task<object>, options: NamedOptions) {
  const env = await makeVec(task as string, options);
  return { env, [Symbol.asyncDispose]: () => env.close() };
}
