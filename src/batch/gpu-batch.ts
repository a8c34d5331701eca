// a batch on a GPU device: buffers of the plan, pipelines, bind groups, all made once
import { CorralError } from "../core/errors.ts";
import { timed } from "../core/spans.ts";
import type { AdapterInfo, GpuDevice } from "../gpu/device.ts";
import { GuardedQueue } from "../gpu/guarded-queue.ts";
import { Readback, type ReadRegion } from "../gpu/readback.ts";
import { createBindGroup, pipelinesOf } from "../gpu/shader.ts";
import { Uploader } from "../gpu/upload.ts";
import type { Budget } from "../memory/budget.ts";
import { reserve, type Reservation } from "../memory/reserve.ts";
import type { Turn } from "../trace/cut.ts";
import { FIXED_PARAMS, TABLES, type WgslKernel } from "../trace/wgsl.ts";
import {
  arenaOf,
  compiledKernels,
  hostRecords,
  SHADOW,
  type Batch,
  type BatchRegion,
  type EncodePass,
  type HostRecords,
  type PlannedBatch,
} from "./batch.ts";

/** The most workgroups along one axis. */
const MAX_GROUPS = 65535;

interface Ready {
  readonly pipeline: GPUComputePipeline;
  readonly workgroupSize: number;
  /** One a shard. */
  readonly groups: readonly GPUBindGroup[];
}

/** Pipelines that are being compiled, before there is a batch. */
export type Started = ReadonlyMap<WgslKernel, Promise<GPUComputePipeline>>;

/** Starts to compile a kernel of the batch `batch`; a failure rejects the promise. */
export function compileKernel(
  gpu: GpuDevice,
  batch: string,
  name: string,
  { code }: WgslKernel,
): Promise<GPUComputePipeline> {
  return pipelinesOf(gpu).compute({ label: `${batch}.${name}`, code, entryPoint: "main" });
}

export class GpuBatch implements Batch {
  readonly planned: PlannedBatch;
  readonly gpu: GpuDevice;
  readonly doubles = false;
  readonly #reservation: Reservation;
  readonly #kernels: ReadonlyMap<string, Ready>;
  readonly #readback: Readback;
  /** For arenas that are read while kernels run. */
  readonly #shadows: Readback | undefined;
  readonly #queue: GuardedQueue;
  readonly #uploader: Uploader;
  /** Reads that are under way. */
  readonly #reading = new Set<Promise<unknown>>();
  readonly #words: Uint32Array<ArrayBuffer>;
  readonly #slots: ReadonlyMap<string, { at: number; type: "f32" | "i32" | "u32" }>;
  #paramsChanged = true;

  private constructor(
    gpu: GpuDevice,
    planned: PlannedBatch,
    reservation: Reservation,
    kernels: ReadonlyMap<string, Ready>,
    queue: GuardedQueue,
  ) {
    this.gpu = gpu;
    this.planned = planned;
    this.#reservation = reservation;
    this.#kernels = kernels;
    this.#queue = queue;
    this.#uploader = new Uploader(gpu, queue);
    this.#readback = new Readback(gpu, reservation.buffers("staging"));
    const shadows = planned.plan.arenas.some(({ name }) => name === `staging${SHADOW}`);
    if (shadows) this.#shadows = new Readback(gpu, reservation.buffers(`staging${SHADOW}`));
    const { params } = planned.spec;
    this.#words = new Uint32Array(FIXED_PARAMS.length + params.length);
    this.#slots = new Map(params.map((p, i) => [p.name, { at: FIXED_PARAMS.length + i, type: p.type }]));
    for (const p of params) this.setParam(p.name, p.initial);
  }

  /** Reserves the memory of the plan and compiles its kernels; holds nothing if either fails. */
  static async create(gpu: GpuDevice, planned: PlannedBatch, budget: Budget, started?: Started): Promise<GpuBatch> {
    const reservation = await reserve(gpu, planned.plan, budget, planned.spec.name);
    try {
      const queue = new GuardedQueue(gpu, planned.spec.name);
      const kernels = new Map<string, Ready>();
      const made = compiledKernels(planned).map(async ([name, kernel]) => {
        const label = `${planned.spec.name}.${name}`;
        const pipeline = await (started?.get(kernel) ?? compileKernel(gpu, planned.spec.name, name, kernel));
        for (const type of ["f32", "i32"] as const) {
          const data = kernel.tables[type];
          const buffer = TABLES[type];
          if (!data) continue;
          queue.run(`write ${name}.${buffer}`, () =>
            gpu.device.queue.writeBuffer(reservation.buffer(arenaOf(name, buffer)), 0, data),
          );
        }
        const groups = planned.plan.shards.map(({ index }) =>
          createBindGroup(gpu, {
            label: `${label}.${index}`,
            layout: pipeline.getBindGroupLayout(0),
            entries: [
              { binding: 0, resource: { buffer: reservation.buffer("params", index) } },
              ...kernel.buffers.map((b, k) => ({
                binding: k + 1,
                resource: { buffer: reservation.buffer(arenaOf(name, b.name), index) },
              })),
            ],
          }),
        );
        kernels.set(name, { pipeline, workgroupSize: kernel.form.workgroupSize, groups: await Promise.all(groups) });
      });
      // all have ended before the first failure is thrown: nothing touches the buffers after they are gone
      const ended = await timed("compile", () => Promise.allSettled(made));
      for (const end of ended) if (end.status === "rejected") throw end.reason;
      const batch = new GpuBatch(gpu, planned, reservation, kernels, queue);
      await timed("first run", () => batch.#warmUp());
      return batch;
    } catch (error) {
      await reservation.close();
      throw error;
    }
  }

  readonly precision = "f32";

  get deviceName(): string {
    return this.gpu.info.driver;
  }

  get adapter(): AdapterInfo {
    return this.gpu.info;
  }

  /**
   * Some drivers compile at the first dispatch. Parameters are not written yet: a count of no worlds makes one that
   * does nothing, and moves that into the construction.
   */
  async #warmUp(): Promise<void> {
    this.#queue.run("warm up", () => {
      const encoder = this.gpu.device.createCommandEncoder({ label: "warm-up" });
      const pass = encoder.beginComputePass({ label: "warm-up" });
      for (const { pipeline, groups } of this.#kernels.values()) {
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, groups[0]);
        pass.dispatchWorkgroups(1);
      }
      pass.end();
      this.gpu.device.queue.submit([encoder.finish()]);
    });
    await this.sync();
  }

  setParam(name: string, value: number): void {
    const slot = this.#slots.get(name);
    if (!slot) throw new CorralError("unknown-param", `${this.planned.spec.name} has no parameter ${name}.`);
    this.gpu.assertUsable(`set ${name}`);
    if (slot.type === "f32") new Float32Array(this.#words.buffer)[slot.at] = value;
    else this.#words[slot.at] = value;
    this.#paramsChanged = true;
  }

  params(): Record<string, number> {
    const floats = new Float32Array(this.#words.buffer);
    const value = ({ at, type }: { at: number; type: string }) =>
      type === "f32" ? floats[at] : type === "i32" ? this.#words[at] | 0 : this.#words[at];
    return Object.fromEntries([...this.#slots].map(([name, slot]) => [name, value(slot)]));
  }

  #flushParams(): void {
    if (!this.#paramsChanged) return;
    this.#paramsChanged = false;
    for (const { index, worlds } of this.planned.plan.shards) {
      this.#words[0] = worlds;
      this.gpu.device.queue.writeBuffer(this.#reservation.buffer("params", index), 0, this.#words);
    }
  }

  /** Throws `call-in-flight` if a read or a write goes in pieces: what is queued now would come between. */
  #assertQueued(what: string): void {
    if (!this.#readback.isWaiting && !this.#uploader.isWaiting) return;
    const pending = this.#readback.isWaiting ? "read" : "write";
    throw new CorralError(
      "call-in-flight",
      `cannot ${what}: a ${pending} in several pieces has not resolved yet. Await it first.`,
      { pending },
    );
  }

  run(...names: string[]): void {
    this.submit(`run ${names.join(", ")}`, (_, run) => names.forEach(run));
  }

  submit(what: string, encode: EncodePass, timestampWrites?: GPUComputePassTimestampWrites): void {
    this.#assertQueued(what);
    this.#queue.run(what, () => {
      this.#flushParams();
      const encoder = this.gpu.device.createCommandEncoder({ label: what });
      const pass = encoder.beginComputePass({ label: what, ...(timestampWrites ? { timestampWrites } : {}) });
      encode(pass, (name) => this.#encode(pass, name));
      pass.end();
      this.gpu.device.queue.submit([encoder.finish()]);
    });
  }

  #encode(pass: GPUComputePassEncoder, name: string): void {
    const cut = this.planned.cuts.get(name);
    if (!cut) return this.#dispatch(pass, name);
    const params = this.params();
    const run = (turns: readonly Turn[]): void => {
      for (const turn of turns) {
        if (typeof turn === "number") this.#dispatch(pass, cut.pieces[turn].name);
        else for (let n = turn.most((param) => params[param]); n > 0; n--) run(turn.turns);
      }
    };
    run(cut.turns);
  }

  #dispatch(pass: GPUComputePassEncoder, name: string): void {
    const { pipeline, workgroupSize, groups } = this.#kernels.get(name)!;
    pass.setPipeline(pipeline);
    for (const { index, worlds } of this.planned.plan.shards) {
      const count = Math.ceil(worlds / workgroupSize);
      pass.setBindGroup(0, groups[index]);
      pass.dispatchWorkgroups(Math.min(count, MAX_GROUPS), Math.ceil(count / MAX_GROUPS));
    }
  }

  copy(from: string, to: string): void {
    if (this.#uploader.isWaiting) this.#assertQueued(`copy ${from}`);
    this.#queue.run(`copy ${from} to ${to}`, () => {
      const encoder = this.gpu.device.createCommandEncoder({ label: `copy ${from}` });
      for (const { index } of this.planned.plan.shards) {
        const source = this.#reservation.buffer(from, index);
        encoder.copyBufferToBuffer(source, 0, this.#reservation.buffer(to, index), 0, source.size);
      }
      this.gpu.device.queue.submit([encoder.finish()]);
    });
  }

  async write(arena: string, shard: number, data: HostRecords, start = 0): Promise<void> {
    if (this.#readback.isWaiting) this.#assertQueued(`write ${arena}`);
    const buffer = this.#reservation.buffer(arena, shard);
    await this.#uploader.write(`write ${arena}`, buffer, 4 * start, data.u32 as Uint32Array<ArrayBuffer>);
  }

  forgive(): void {
    this.#queue.forget();
    this.#paramsChanged = true;
  }

  async read(arena: string, shard: number): Promise<HostRecords> {
    const buffer = this.#reservation.buffer(arena, shard);
    const into = hostRecords(buffer.size / 4, false);
    await this.#reads(this.#readback, [{ buffer, offset: 0, size: buffer.size, into: into.u32 }]);
    return into;
  }

  /** What was refused before the copy makes the bytes worthless, so that is asked for too. */
  async #reads(readback: Readback, regions: readonly ReadRegion[]): Promise<void> {
    const mark = this.#uploader.mark();
    const read = readback.readAll(regions);
    this.#reading.add(read);
    try {
      await read;
    } finally {
      this.#reading.delete(read);
    }
    await this.#queue.accepted("read");
    this.#uploader.arrived(mark);
  }

  readInto(regions: readonly BatchRegion[]): Promise<void> {
    const shadows = this.#shadows;
    const readback = shadows && regions.every(({ arena }) => arena.endsWith(SHADOW)) ? shadows : this.#readback;
    return this.#reads(
      readback,
      regions.map(({ arena, shard, into, start = 0 }) => ({
        buffer: this.#reservation.buffer(arena, shard),
        offset: 4 * start,
        size: into.byteLength,
        into,
      })),
    );
  }

  buffer(arena: string, shard: number): GPUBuffer {
    return this.#reservation.buffer(arena, shard);
  }

  async sync(): Promise<void> {
    await this.#uploader.settled();
    const mark = this.#uploader.mark();
    await this.#queue.done("wait for the device");
    this.#uploader.arrived(mark);
  }

  close(): Promise<void> {
    // reads and writes under way complete first
    return this.#reservation.close(Promise.allSettled([...this.#reading, this.#uploader.settled()]));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
