// where the results of an environment lie, for kernels of others: in buffers of its GPU, or in memory of WebAssembly
import type { GpuDevice } from "../../gpu/device.ts";
import type { Batch } from "../../batch/batch.ts";
import { RESULT } from "../kernel/layout.ts";
import type { Space } from "../space/spaces.ts";

/** Numbers of all worlds: world w of a shard has `length` numbers from byte `offset + w * stride` of its arena. */
export interface ArenaView {
  readonly type: "f32" | "i32";
  readonly length: number;
  /** Bytes. */
  readonly offset: number;
  readonly stride: number;
}

/** The same in GPU buffers. */
export interface GpuView extends ArenaView {
  readonly shards: readonly { readonly buffer: GPUBuffer; readonly firstWorld: number; readonly worlds: number }[];
}

/** What there is of an environment, to be read, or for `actions` written. */
export interface Views<V extends ArenaView> {
  readonly actions: V;
  readonly observations: V;
  readonly rewards: V;
  /** Floats, 0 or 1. */
  readonly terminated: V;
  readonly truncated: V;
  /** 1 if the call put the world into a new episode; its action did nothing then. */
  readonly resets: V;
  /** Status words as floats, 0 if all is well. */
  readonly status: V;
  /** Of the episode so far. */
  readonly episodeReturns: V;
  readonly episodeLengths: V;
}

/** Buffers of an environment on the GPU, for other kernels of the same device. */
export interface GpuViews extends Views<GpuView> {
  /** The device of all these buffers. */
  readonly device: GpuDevice;
}

/** Arenas of an environment on WebAssembly, whose words are copied in and out as they lie there. */
export interface WasmViews extends Views<ArenaView> {
  /** Threads that a learner may take, as many as the environment might. */
  readonly threads: number;
  readonly shards: readonly { readonly index: number; readonly firstWorld: number; readonly worlds: number }[];
  /** Copies the first words of an arena of a shard, when all that was queued before is done. */
  read(arena: "obs" | "result", shard: number, into: Uint32Array): Promise<void>;
  /** Copies words to the actions of a shard. */
  writeActions(shard: number, words: Uint32Array): Promise<void>;
}

function viewsOf<V extends ArenaView>(
  { planned: { plan } }: Batch,
  nobs: number,
  action: Space,
  make: (arena: string, view: ArenaView) => V,
): Views<V> {
  const view = (arena: string, word: number, length: number, type: ArenaView["type"] = "f32"): V => {
    const stride = plan.arenas.find((a) => a.name === arena)!.bytesPerWorld;
    return make(arena, { type, length, offset: word * 4, stride });
  };
  return {
    actions: view("action", 0, action.size, action.dtype === "int32" ? "i32" : "f32"),
    observations: view("obs", 0, nobs),
    rewards: view("result", RESULT.reward, 1),
    terminated: view("result", RESULT.terminated, 1),
    truncated: view("result", RESULT.truncated, 1),
    resets: view("result", RESULT.reset, 1),
    status: view("result", RESULT.status, 1),
    episodeReturns: view("result", RESULT.episode_return, 1),
    episodeLengths: view("result", RESULT.episode_length, 1),
  };
}

/** The views of a batch on a GPU; undefined elsewhere. */
export function gpuViews(batch: Batch, nobs: number, action: Space): GpuViews | undefined {
  if (batch.gpu === undefined) return undefined;
  const { shards } = batch.planned.plan;
  const views = viewsOf(batch, nobs, action, (arena, view): GpuView => ({
    ...view,
    shards: shards.map(({ index, firstWorld, worlds }) => ({
      buffer: batch.buffer(arena, index)!,
      firstWorld,
      worlds,
    })),
  }));
  return { ...views, device: batch.gpu };
}

/** The views of a batch whose arenas are words of the host; undefined elsewhere. */
export function wasmViews(batch: Batch, nobs: number, action: Space): WasmViews | undefined {
  if (batch.gpu !== undefined || batch.doubles) return undefined;
  return {
    ...viewsOf(batch, nobs, action, (_, view) => view),
    threads: batch.mostThreads ?? 1,
    shards: batch.planned.plan.shards,
    read: (arena, shard, into) => batch.readInto([{ arena, shard, into }]),
    writeActions: (shard, u32) =>
      batch.write("action", shard, { u32, f32: new Float32Array(u32.buffer, u32.byteOffset, u32.length) }),
  };
}
