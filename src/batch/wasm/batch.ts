// a batch on the CPU whose kernels are WebAssembly: no driver, and the bits of JavaScript
import { CorralError } from "../../core/errors.ts";
import { formatBytes } from "../../core/units.ts";
import { WORTH_THREADS, WorkQueue } from "../../core/work-queue.ts";
import { AllocationRefusedError } from "../../memory/errors.ts";
import { hostRecords, type Batch, type BatchRegion, type HostRecords, type PlannedBatch } from "../batch.ts";
import { compileModule } from "./compile.ts";
import { PAGE_BYTES } from "../../memory/wasm-cost.ts";
import { guessedMicroseconds, type WasmMap } from "./memory-map.ts";
import { MOST_KERNELS, type ThreadKernel } from "./thread.ts";
import { compiledFor } from "./too-large.ts";
import { WasmThreads } from "./threads.ts";

type Run = (from: number, to: number, last: number, frame: number, pool: number) => void;

/** Kernels to run under parameters of their own. */
interface Job {
  readonly kernels: readonly number[];
  readonly params: Uint32Array;
  readonly key: string;
}

/** What is dropped when a batch closes. */
interface Held {
  readonly map: WasmMap;
  readonly words: readonly Uint32Array[];
  readonly kernels: readonly ThreadKernel[];
  /** By kernel and memory. */
  readonly runs: readonly (readonly Run[])[];
}

/** Worlds of a chunk: at most this many, and chunks for each thread, so that they end together. */
const [MOST_CHUNK, CHUNKS_PER_THREAD] = [256, 8];

/** What the device calls itself, by what the step computes in. */
const NAMES = { float32: "wasm (WebAssembly SIMD)", float64: "wasm (WebAssembly, float64)" } as const;

/** Whether a batch that called itself so was WebAssembly. */
export const isWasmName = (name: string): boolean => Object.values(NAMES).some((own) => own === name);

export class WasmBatch implements Batch {
  readonly planned: PlannedBatch;
  readonly mostThreads: number;
  readonly deviceName: string;
  readonly gpu = undefined;
  readonly adapter = undefined;
  readonly doubles = false;
  readonly precision = "f32";
  readonly #indices: ReadonlyMap<string, number>;
  readonly #threads: WasmThreads | undefined;
  readonly #values: Uint32Array<ArrayBuffer>;
  #held: Held | undefined;
  readonly #queue = new WorkQueue<Job>({
    threads: () => this.threads,
    isWorthThreads: (job, measured) => this.#isWorthThreads(job, measured),
    runHere: ({ kernels, params }) => this.#runHere(this.#held!, kernels, params),
    runInThreads: ([job]) => this.#runInThreads(job),
  });

  /** @throws AllocationRefusedError allocation-refused; CorralError kernel-too-large */
  constructor(planned: PlannedBatch, map: WasmMap) {
    const { spec, plan } = planned;
    this.planned = planned;
    this.deviceName = NAMES[planned.traces.get("step")?.wide ? "float64" : "float32"];
    this.mostThreads = map.mostThreads;
    this.#values = new Uint32Array(spec.params.length);
    const memories = map.memories.map((bytes) => memoryOf(bytes, plan.name));
    const words = memories.map((memory) => new Uint32Array(memory.buffer));
    plan.shards.forEach(({ worlds }, shard) => {
      const { order, words: count } = map.lists[shard];
      words[map.memoryOf[shard]].set(
        Uint32Array.from({ length: count }, (_, i) => Math.min(i, worlds - 1)),
        order / 4,
      );
    });
    const kernels = map.kernels.map(({ kernel, pools }): ThreadKernel => {
      pools.forEach((pool, memory) => words[memory].set(kernel.pool, pool / 4));
      return {
        module: compiledFor(plan.name, () => compileModule(kernel.module)),
        params: kernel.params,
        pools,
        addresses: plan.shards.map((_, shard) => {
          const { order, effort } = map.lists[shard];
          return [...kernel.buffers.map((name) => map.arenas.get(name)![shard].at), order, effort];
        }),
      };
    });
    const runs = kernels.map(({ module }) =>
      memories.map((memory) => new WebAssembly.Instance(module, { corral: { memory } }).exports.run as unknown as Run),
    );
    this.#held = { map, words, kernels, runs };
    this.#indices = new Map(map.kernels.map(({ name }, i) => [name, i]));
    for (const { name, initial } of spec.params) this.setParam(name, initial);
    if (map.threads === 0) return;
    const shards = plan.shards.map(({ worlds }, shard) => ({ memory: map.memoryOf[shard], worlds }));
    const share = Math.ceil(plan.numEnvs / (map.threads * CHUNKS_PER_THREAD));
    const chunk = Math.min(MOST_CHUNK, plan.tileWidth * Math.ceil(share / plan.tileWidth));
    const setup = { memories, kernels, shards, chunk, params: spec.params.length };
    this.#threads = new WasmThreads(setup, map.frames.slice(1), {
      done: () => this.#queue.done(),
      lost: (why) => this.#lose(why),
    });
  }

  /** Threads beside the calling one. */
  get threads(): number {
    return this.#threads?.count ?? 0;
  }

  #assertGood(): Held {
    this.#queue.assertNotLost();
    if (this.#held) return this.#held;
    throw new CorralError("closed", `${this.planned.spec.name} is closed; its memory is gone. Make another one.`);
  }

  #arenaOf(arena: string, shard: number): Uint32Array {
    const { map, words } = this.#assertGood();
    const { memory, at, bytes } = map.arenas.get(arena)![shard];
    return words[memory].subarray(at / 4, (at + bytes) / 4);
  }

  setParam(name: string, value: number): void {
    this.#assertGood();
    const { spec } = this.planned;
    const at = spec.params.findIndex((p) => p.name === name);
    if (at < 0) throw new CorralError("unknown-param", `${spec.name} has no parameter ${name}.`);
    if (spec.params[at].type === "f32") new Float32Array(this.#values.buffer)[at] = value;
    else this.#values[at] = value;
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
    this.#assertGood();
    const kernels = names.map((name) => this.#indices.get(name)!);
    const { nstep = 1 } = this.params();
    const params = this.#values.slice();
    for (let at = 0; at < kernels.length; at += MOST_KERNELS) {
      const part = kernels.slice(at, at + MOST_KERNELS);
      this.#queue.push({ kernels: part, params, key: `${part.join()} ${nstep}` });
    }
    this.#queue.next();
  }

  #isWorthThreads({ kernels }: Job, measured: number | undefined): boolean {
    if (this.#threads === undefined) return false;
    const { map } = this.#held!;
    if (map.isApart) return true;
    const nstep = Math.max(1, this.params().nstep ?? 1);
    const guess = () =>
      kernels.reduce(
        (sum, k) => sum + nstep * guessedMicroseconds(map.kernels[k].kernel, this.planned.plan.numEnvs),
        0,
      );
    return (measured ?? guess()) > WORTH_THREADS;
  }

  #runInThreads({ kernels, params }: Job): number {
    const threads = this.#threads!;
    // a thread that was not woken for a while is still on its way through
    if (!(threads.isReady && threads.isFree)) {
      threads.whenFree(() => this.#queue.next());
      return 0;
    }
    threads.submit(kernels, params);
    return 1;
  }

  #runHere({ map, words, kernels, runs }: Held, which: readonly number[], params: Uint32Array): void {
    const { shards } = this.planned.plan;
    for (const k of which) {
      const { addresses, params: at, pools } = kernels[k];
      for (const { index, worlds } of shards) {
        const memory = map.memoryOf[index];
        const frame = map.frames[0][memory];
        words[memory].set(addresses[index], frame / 4);
        words[memory].set(params, (frame + at) / 4);
        runs[k][memory](0, worlds, worlds - 1, frame, pools[memory]);
      }
    }
  }

  #lose(why: string): void {
    const text = `${this.planned.spec.name}: a thread of WebAssembly was lost (${why.replace(/\.$/, "")}), and its worlds with it. Restore the last snapshot with restoreOn, or make another one.`;
    this.#queue.lose(text, why);
  }

  /** Does something when all that was queued before is done: at once if nothing is. */
  async #after<T>(act: () => T): Promise<T> {
    this.#assertGood();
    return this.#queue.after(act);
  }

  copy(from: string, to: string): void {
    this.#assertGood();
    // callers waiting for later work get the loss as an error
    this.#after(() => {
      for (const { index } of this.planned.plan.shards) this.#arenaOf(to, index).set(this.#arenaOf(from, index));
    }).catch(() => {});
  }

  forgive(): void {}

  async write(arena: string, shard: number, data: HostRecords, start = 0): Promise<void> {
    // the caller's arrays are its own again when this returns
    const values = this.#queue.isIdle ? data.u32 : data.u32.slice();
    await this.#after(() => this.#arenaOf(arena, shard).set(values, start));
  }

  async read(arena: string, shard: number): Promise<HostRecords> {
    return this.#after(() => {
      const words = this.#arenaOf(arena, shard);
      const out = hostRecords(words.length, false);
      out.u32.set(words);
      return out;
    });
  }

  async readInto(regions: readonly BatchRegion[]): Promise<void> {
    await this.#after(() => {
      for (const { arena, shard, into, start = 0 } of regions) {
        const words = this.#arenaOf(arena, shard).subarray(start, start + into.length);
        new Uint32Array(into.buffer, into.byteOffset, into.length).set(words);
      }
    });
  }

  buffer(): undefined {}

  async sync(): Promise<void> {
    await this.#after(() => {});
  }

  /** Drops the memory when all that was queued is done: what still knows the batch keeps none. */
  async close(): Promise<void> {
    await this.#queue.close();
    this.#held = undefined;
    await this.#threads?.close();
  }

  /** Ends it wherever its threads are, in a step without end too. Pending calls reject with a lost device. */
  async abort(): Promise<void> {
    this.#lose("it was ended");
    await this.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** @throws AllocationRefusedError allocation-refused */
function memoryOf(bytes: number, name: string): WebAssembly.Memory {
  const pages = bytes / PAGE_BYTES;
  try {
    return new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
  } catch (cause) {
    const text = `${name}: the system refused a memory of ${formatBytes(bytes)} that the budget allows. Take fewer worlds, or allow this process more address space.`;
    throw new AllocationRefusedError("allocation-refused", text, { size: bytes }, { cause });
  }
}
