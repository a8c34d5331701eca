// a batch on the CPU whose kernels are WebAssembly SIMD: no driver, and the bits of JavaScript in float32
import { CorralError } from "../core/errors.ts";
import { formatBytes } from "../core/units.ts";
import { MOST_PAGES, toWasm, type WasmKernel } from "../trace/wasm/index.ts";
import { hostRecords, type Batch, type BatchRegion, type HostRecords, type PlannedBatch } from "./batch.ts";

const PAGE_BYTES = 65536;
/** Where each part of the memory begins: a cache line. */
const ALIGNED = 64;
const aligned = (bytes: number): number => Math.ceil(bytes / ALIGNED) * ALIGNED;

type Run = (from: number, to: number, last: number, frame: number, pool: number) => void;

interface Placed {
  readonly name: string;
  readonly kernel: WasmKernel;
  readonly pool: number;
  /** Of each shard. */
  readonly frames: readonly number[];
}

/** Where everything of a batch lies in its memory. */
interface WasmMap {
  /** By arena, the address and the bytes of each shard. */
  readonly arenas: ReadonlyMap<string, readonly { readonly at: number; readonly bytes: number }[]>;
  readonly kernels: readonly Placed[];
  readonly bytes: number;
}

/**
 * Emits the kernels of a batch, and says where everything lies. Holds nothing.
 * @throws CorralError trace-exact, wasm-locals, wasm-memory
 */
export function mapWasm({ plan, traces }: PlannedBatch): WasmMap {
  // the first page is nobody's
  let end = ALIGNED;
  const place = (bytes: number): number => {
    const at = end;
    end += aligned(bytes);
    return at;
  };
  const held = plan.arenas.filter((a) => a.access !== "uniform" && a.access !== "staging");
  const arenas = new Map(
    held.map(({ name, sharedBytes, bytesPerWorld }) => [
      name,
      plan.shards.map(({ paddedWorlds }) => {
        const bytes = sharedBytes + bytesPerWorld * paddedWorlds;
        return { at: place(bytes), bytes };
      }),
    ]),
  );
  const kernels = [...traces].map(([name, traced]): Placed => {
    const kernel = toWasm(traced);
    return {
      name,
      kernel,
      pool: place(4 * kernel.pool.length),
      frames: plan.shards.map(() => place(kernel.frameBytes)),
    };
  });
  const bytes = Math.ceil(end / PAGE_BYTES) * PAGE_BYTES;
  const most = MOST_PAGES * PAGE_BYTES;
  if (bytes > most)
    throw new CorralError(
      "wasm-memory",
      `${plan.name} needs ${formatBytes(bytes)}, and the memory of WebAssembly has at most ${formatBytes(most)}. Take fewer worlds, or several batches.`,
      { bytes, most },
    );
  return { arenas, kernels, bytes };
}

export class WasmBatch implements Batch {
  readonly planned: PlannedBatch;
  readonly deviceName = "wasm (WebAssembly SIMD)";
  readonly gpu = undefined;
  readonly adapter = undefined;
  readonly doubles = false;
  readonly precision = "f32";
  #map: WasmMap | undefined;
  #words: Uint32Array<ArrayBufferLike>;
  readonly #runs = new Map<string, Run>();
  readonly #values: Uint32Array<ArrayBuffer>;
  #paramsChanged = true;

  constructor(planned: PlannedBatch, map: WasmMap) {
    const { spec } = planned;
    this.planned = planned;
    this.#map = map;
    const pages = map.bytes / PAGE_BYTES;
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
    this.#words = new Uint32Array(memory.buffer);
    this.#values = new Uint32Array(spec.params.length);
    for (const { name, initial } of spec.params) this.setParam(name, initial);
    for (const { name, kernel, pool, frames } of map.kernels) {
      this.#words.set(kernel.pool, pool / 4);
      frames.forEach((frame, shard) => {
        this.#words.set(
          kernel.buffers.map((buffer) => map.arenas.get(buffer)![shard].at),
          frame / 4,
        );
      });
      const module = new WebAssembly.Module(kernel.module);
      this.#runs.set(name, new WebAssembly.Instance(module, { corral: { memory } }).exports.run as unknown as Run);
    }
  }

  #gone(): CorralError {
    return new CorralError("closed", `${this.planned.spec.name} is closed; its memory is gone. Make another one.`);
  }

  #arenaOf(arena: string, shard: number): Uint32Array {
    const found = this.#map?.arenas.get(arena)?.[shard];
    if (found === undefined) throw this.#gone();
    return this.#words.subarray(found.at / 4, (found.at + found.bytes) / 4);
  }

  setParam(name: string, value: number): void {
    const { spec } = this.planned;
    const at = spec.params.findIndex((p) => p.name === name);
    if (at < 0) throw new CorralError("unknown-param", `${spec.name} has no parameter ${name}.`);
    if (spec.params[at].type === "f32") new Float32Array(this.#values.buffer)[at] = value;
    else this.#values[at] = value;
    this.#paramsChanged = true;
  }

  params(): Record<string, number> {
    const { params } = this.planned.spec;
    const views = {
      f32: new Float32Array(this.#values.buffer),
      i32: new Int32Array(this.#values.buffer),
      u32: this.#values,
    };
    return Object.fromEntries(params.map(({ name, type }, i) => [name, views[type][i]]));
  }

  run(...names: string[]): void {
    if (this.#map === undefined) throw this.#gone();
    if (this.#paramsChanged) this.#writeParams(this.#map);
    for (const name of names) {
      const run = this.#runs.get(name);
      const placed = this.#map.kernels.find((k) => k.name === name);
      if (run === undefined || placed === undefined) throw this.#gone();
      for (const { index, worlds } of this.planned.plan.shards) {
        run(0, worlds, worlds - 1, placed.frames[index], placed.pool);
      }
    }
  }

  #writeParams({ kernels }: WasmMap): void {
    for (const { kernel, frames } of kernels) {
      for (const frame of frames) this.#words.set(this.#values, (frame + kernel.params) / 4);
    }
    this.#paramsChanged = false;
  }

  copy(from: string, to: string): void {
    for (const { index } of this.planned.plan.shards) this.#arenaOf(to, index).set(this.#arenaOf(from, index));
  }

  forgive(): void {}

  async write(arena: string, shard: number, data: HostRecords, start = 0): Promise<void> {
    this.#arenaOf(arena, shard).set(data.u32, start);
  }

  async read(arena: string, shard: number): Promise<HostRecords> {
    const words = this.#arenaOf(arena, shard);
    const out = hostRecords(words.length, false);
    out.u32.set(words);
    return out;
  }

  async readInto(regions: readonly BatchRegion[]): Promise<void> {
    for (const { arena, shard, into, start = 0 } of regions) {
      const words = this.#arenaOf(arena, shard).subarray(start, start + into.length);
      new Uint32Array(into.buffer, into.byteOffset, into.length).set(words);
    }
  }

  buffer(): undefined {}

  async sync(): Promise<void> {}

  /** Drops the memory: what still knows the batch keeps none. */
  async close(): Promise<void> {
    this.#map = undefined;
    this.#words = new Uint32Array();
    this.#runs.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
