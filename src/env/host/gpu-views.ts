// where the results of an environment lie on the GPU, for kernels of others
import type { GpuDevice } from "../../gpu/device.ts";
import type { Batch } from "../../batch/batch.ts";
import { RESULT } from "../kernel/layout.ts";
import type { Space } from "../space/spaces.ts";

/** Numbers of all worlds in GPU buffers: world w of a shard has `length` numbers from byte `offset + w * stride`. */
export interface GpuView {
  readonly type: "f32" | "i32";
  readonly length: number;
  /** Bytes. */
  readonly offset: number;
  readonly stride: number;
  readonly shards: readonly { readonly buffer: GPUBuffer; readonly firstWorld: number; readonly worlds: number }[];
}

/** Buffers of an environment on the GPU, to be read, or for `actions` written, by other kernels of the same device. */
export interface GpuViews {
  readonly actions: GpuView;
  readonly observations: GpuView;
  readonly rewards: GpuView;
  /** Floats, 0 or 1. */
  readonly terminated: GpuView;
  readonly truncated: GpuView;
  /** 1 if the call put the world into a new episode; its action did nothing then. */
  readonly resets: GpuView;
  /** Status words as floats, 0 if all is well. */
  readonly status: GpuView;
  /** Of the episode so far. */
  readonly episodeReturns: GpuView;
  readonly episodeLengths: GpuView;
  /** The device of all these buffers. */
  readonly device: GpuDevice;
}

/** The views of a batch on a GPU; undefined on the CPU. */
export function gpuViews(batch: Batch, nobs: number, action: Space): GpuViews | undefined {
  if (batch.gpu === undefined) return undefined;
  const { plan } = batch.planned;

  const view = (arena: string, word: number, length: number, type: GpuView["type"] = "f32"): GpuView => ({
    type,
    length,
    offset: word * 4,
    stride: plan.arenas.find((a) => a.name === arena)!.bytesPerWorld,
    shards: plan.shards.map(({ index, firstWorld, worlds }) => ({
      buffer: batch.buffer(arena, index)!,
      firstWorld,
      worlds,
    })),
  });
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
    device: batch.gpu,
  };
}
