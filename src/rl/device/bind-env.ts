// an environment and the kernels of a learner that read and write its buffers
import { CorralError } from "../../core/errors.ts";
import type { ArenaView, Views, WasmViews } from "../../env/host/gpu-views.ts";
import type { LearnerEnv } from "./learner-env.ts";
import { NORM, WORLD } from "../tables/device-tables.ts";
import type { DeviceCore } from "./device-core.ts";
import { UNBOUNDED } from "./env-shape.ts";
import { learnerDeviceOf } from "./learner-device.ts";
import type { Job } from "./kernels.ts";
import type { JobOf, KernelName } from "./kernel-table.ts";
import type { WasmBacking } from "./wasm-backing.ts";
import { COPIED } from "./wasm-plan.ts";

/** Kernels that touch an environment, for each of its shards. */
export interface Bound {
  readonly env: LearnerEnv;
  /** On WebAssembly: what is copied around each step. */
  readonly transfer?: Transfer;
  readonly shards: readonly {
    readonly index: number;
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

/** Observations of mean 0 and deviation 1, columns that only fill up times 0; then low and high of actions, by fours. */
export function initialNorm(env: LearnerEnv, columns: number, actions: number): Float32Array<ArrayBuffer> {
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
export function initialWorlds(env: LearnerEnv): Uint32Array<ArrayBuffer> {
  const worlds = new Uint32Array(env.numEnvs * WORLD.size);
  env.worldIds.forEach((id, i) => WORLD.write({ id }, worlds, i * WORLD.size));
  return worlds;
}

/** Copies what passes between an environment on WebAssembly and its learner, shard by shard. */
export interface Transfer {
  observations(shard: number): Promise<void>;
  actions(shard: number): Promise<void>;
  results(shard: number): Promise<void>;
}

type Copied = (typeof COPIED)[number];

/** Makes room in the learner for one shard of an environment; environments with as many worlds share it. */
async function transferOf(
  backing: WasmBacking,
  { actions, observations, rewards, shards, ...views }: WasmViews,
): Promise<{ transfer: Transfer; arenas: Readonly<Record<string, string>> }> {
  const strides = { obs: observations.stride, action: actions.stride, result: rewards.stride };
  const most = shards.reduce((sum, { worlds }) => Math.max(sum, worlds), 0);
  const nameOf = (arena: Copied) => `env.${arena}.${most}`;
  await backing.room(Object.fromEntries(COPIED.map((arena) => [nameOf(arena), (most * strides[arena]) / 4])));
  const view = (arena: Copied, shard: number) =>
    backing.view(nameOf(arena)).subarray(0, (shards[shard].worlds * strides[arena]) / 4);
  const transfer: Transfer = {
    observations: async (shard) => {
      await backing.done();
      await views.read("obs", shard, view("obs", shard));
    },
    actions: async (shard) => {
      await backing.done();
      await views.writeActions(shard, view("action", shard));
    },
    results: async (shard) => {
      await backing.done();
      await views.read("result", shard, view("result", shard));
    },
  };
  return { transfer, arenas: Object.fromEntries(COPIED.map((arena) => [`env.${arena}`, nameOf(arena)])) };
}

/** Binds the kernels that observe, act and store in an environment of the learner's shape. Throws `closed`, `gpu-required`. */
export async function bindEnv<K extends KernelName>(
  core: DeviceCore,
  env: LearnerEnv,
  binding: Binding<K>,
): Promise<Bound> {
  learnerDeviceOf(env);
  if (env.closed) throw new CorralError("closed", `${env.id} was closed. Make another one for the learner.`);
  const views: Views<ArenaView> = (env.gpu ?? env.wasm)!;
  const word = (view: ArenaView) => view.offset / 4;
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
  const copies = env.wasm && (await transferOf(core.backing as WasmBacking, env.wasm));
  const buffersOf = (shard: number): Record<string, unknown> =>
    env.gpu
      ? {
          "env.obs": env.gpu.observations.shards[shard].buffer,
          "env.action": env.gpu.actions.shards[shard].buffer,
          "env.result": env.gpu.rewards.shards[shard].buffer,
        }
      : copies!.arenas;
  const bind = (kernel: KernelName, shard: number, job?: number) =>
    core.backing.bind(kernel, job, { ...binding.arenas, ...buffersOf(shard) });
  const places = env.gpu?.observations.shards ?? env.wasm!.shards;
  const shards = places.map(async ({ firstWorld, worlds }, index) => ({
    index,
    firstWorld,
    worlds,
    observe: await bind("observe", index),
    act: await bind(binding.act, index, act),
    store: await bind("store", index, store),
  }));
  return { env, shards: await Promise.all(shards), ...(copies && { transfer: copies.transfer }) };
}
