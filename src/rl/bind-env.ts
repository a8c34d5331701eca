// an environment and the kernels of a learner that read and write its buffers
import { CorralError } from "../core/errors.ts";
import type { GpuView, GpuViews } from "../env/host/gpu-views.ts";
import type { VectorEnv } from "../env/host/vector-env.ts";
import { NORM, WORLD } from "./device-tables.ts";
import type { DeviceCore } from "./device-core.ts";
import { bindKernel, type Job, type JobOf, type KernelName } from "./kernels.ts";

/** Kernels that touch an environment, for each of its shards. */
export interface Bound {
  readonly env: VectorEnv;
  readonly shards: readonly {
    readonly firstWorld: number;
    readonly worlds: number;
    readonly observe: Job;
    readonly act: Job;
    readonly store: Job;
  }[];
}

/** What a learner's policy needs of an environment. */
export interface Binding<K extends KernelName> {
  readonly act: K;
  /** Numbers of the policy's job. */
  readonly job: JobOf<K>;
  /** Floats of a row of rewards and flags that is kept, and where these lie in it. */
  readonly row: { readonly row: number; readonly row_reward: number; readonly row_flags: number };
  /** The learner's names of arenas, if they are others than the kernels'. */
  readonly arenas?: Readonly<Record<string, string>>;
}

/** Bounds of actions that have none. */
export const UNBOUNDED = 3e38;

/** Observations of mean 0 and deviation 1, columns that only fill up times 0; then low and high of actions, by fours. */
export function initialNorm(env: VectorEnv, columns: number, actions: number): Float32Array<ArrayBuffer> {
  const norm = new Float32Array(4 * columns + 2 * actions);
  const first = NORM.inverse_std * columns;
  norm.fill(1, first, first + env.singleObservationSpace.size);
  const space = env.singleActionSpace;
  if (space.kind !== "box") return norm;
  for (let i = 0; i < space.size; i++) {
    const at = 4 * columns + 8 * (i >> 2) + (i & 3);
    norm[at] = Math.max(-UNBOUNDED, space.low[i]);
    norm[at + 4] = Math.min(UNBOUNDED, space.high[i]);
  }
  return norm;
}

/** What is kept of each world: its id, and counts that start at 0. */
export function initialWorlds(env: VectorEnv): Uint32Array<ArrayBuffer> {
  const worlds = new Uint32Array(env.numEnvs * WORLD.size);
  env.worldIds.forEach((id, i) => WORLD.write({ id }, worlds, i * WORLD.size));
  return worlds;
}

/** The buffers of an environment on the GPU. Throws `gpu-required`. */
export function viewsOf(env: VectorEnv): GpuViews {
  if (typeof (env as Partial<VectorEnv> | undefined)?.numEnvs !== "number") {
    const what = (env as unknown) instanceof Promise ? "a promise, not awaited" : "none that makeVec made";
    throw new CorralError("bad-env", `the environment is ${what}. Pass what \`await makeVec(...)\` returns.`);
  }
  if (env.gpu) return env.gpu;
  throw new CorralError(
    "gpu-required",
    `${env.id} runs on ${env.deviceName}; the learner reads its buffers on a device. Make it with device: "gpu".`,
  );
}

/** Binds the kernels that observe, act and store in an environment of the learner's shape. */
export async function bindEnv<K extends KernelName>(
  core: DeviceCore,
  env: VectorEnv,
  binding: Binding<K>,
): Promise<Bound> {
  const views = viewsOf(env);
  const word = (view: GpuView) => view.offset / 4;
  const { rewards, terminated, truncated, resets, status, episodeLengths, episodeReturns } = views;
  const store = core.slot("store", {
    stride: rewards.stride / 4,
    reward: word(rewards),
    terminated: word(terminated),
    truncated: word(truncated),
    reset: word(resets),
    status: word(status),
    length: word(episodeLengths),
    total: word(episodeReturns),
    ...binding.row,
  });
  const act = core.slot(binding.act, binding.job);
  const bind = (kernel: KernelName, shard: number, job?: GPUBufferBinding) => {
    const buffers: Record<string, GPUBuffer> = {
      "env.obs": views.observations.shards[shard].buffer,
      "env.action": views.actions.shards[shard].buffer,
      "env.result": rewards.shards[shard].buffer,
    };
    const { arenas = {} } = binding;
    return bindKernel(core.gpu, kernel, (arena) => buffers[arena] ?? core.buffer(arenas[arena] ?? arena), job);
  };
  const shards = views.observations.shards.map(async ({ firstWorld, worlds }, shard) => ({
    firstWorld,
    worlds,
    observe: await bind("observe", shard),
    act: await bind(binding.act, shard, act),
    store: await bind("store", shard, store),
  }));
  return { env, shards: await Promise.all(shards) };
}
