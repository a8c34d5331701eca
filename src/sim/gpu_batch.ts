// a batch on a GPU device: buffers of the plan, pipelines, bind groups, all made once
import { CorralError } from "../core/errors.ts";
import type { GpuDevice } from "../gpu/device.ts";
import { Readback } from "../gpu/readback.ts";
import { createBindGroup, PipelineCache } from "../gpu/shader.ts";
import { waitFor } from "../gpu/waiter.ts";
import type { Budget } from "../memory/budget.ts";
import { reserve, type Reservation } from "../memory/reserve.ts";
import { FIXED_PARAMS } from "../trace/wgsl.ts";
import { arenaOf, hostRecords, WORKGROUP_SIZE, type Batch, type BatchRegion, type HostRecords, type PlannedBatch } from "./batch.ts";

/** The most workgroups along one axis. */
const MAX_GROUPS = 65535;

const caches = new WeakMap<GpuDevice, PipelineCache>();

/** The pipelines of a device, shared by all batches on it. */
function pipelinesOf(gpu: GpuDevice): PipelineCache {
  let cache = caches.get(gpu);
  if (!cache) caches.set(gpu, (cache = new PipelineCache(gpu)));
  return cache;
}

interface Ready {
  readonly pipeline: GPUComputePipeline;
  /** One a shard. */
  readonly groups: readonly GPUBindGroup[];
}

export class GpuBatch implements Batch {
  readonly planned: PlannedBatch;
  private readonly gpu: GpuDevice;
  private readonly reservation: Reservation;
  private readonly kernels: ReadonlyMap<string, Ready>;
  private readonly readback: Readback;
  private readonly words: Uint32Array<ArrayBuffer>;
  private readonly slots: ReadonlyMap<string, { at: number; type: "f32" | "i32" | "u32" }>;
  private paramsChanged = true;

  private constructor(
    gpu: GpuDevice,
    planned: PlannedBatch,
    reservation: Reservation,
    kernels: ReadonlyMap<string, Ready>,
  ) {
    this.gpu = gpu;
    this.planned = planned;
    this.reservation = reservation;
    this.kernels = kernels;
    this.readback = new Readback(gpu, reservation.buffers("staging"));
    const { params } = planned.spec;
    this.words = new Uint32Array(FIXED_PARAMS.length + params.length);
    this.slots = new Map(params.map((p, i) => [p.name, { at: FIXED_PARAMS.length + i, type: p.type }]));
    for (const p of params) this.setParam(p.name, p.initial);
  }

  /** Reserves the memory of the plan and compiles its kernels; holds nothing where either fails. */
  static async create(gpu: GpuDevice, planned: PlannedBatch, budget: Budget): Promise<GpuBatch> {
    const reservation = await reserve(gpu, planned.plan, budget, planned.spec.name);
    try {
      const kernels = new Map<string, Ready>();
      const made = [...planned.kernels].map(async ([name, kernel]) => {
        const label = `${planned.spec.name}.${name}`;
        const pipeline = await pipelinesOf(gpu).compute({ label, code: kernel.code, entryPoint: "main" });
        for (const type of ["f32", "i32"] as const) {
          const data = kernel.tables[type];
          const buffer = type === "f32" ? "tables_f" : "tables_i";
          if (data) gpu.device.queue.writeBuffer(reservation.buffer(arenaOf(name, buffer)), 0, data);
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
        kernels.set(name, { pipeline, groups: await Promise.all(groups) });
      });
      await Promise.all(made);
      const batch = new GpuBatch(gpu, planned, reservation, kernels);
      await batch.warmUp();
      return batch;
    } catch (error) {
      await reservation.close();
      throw error;
    }
  }

  get deviceName(): string {
    return this.gpu.info.driver;
  }

  /** Some drivers compile at the first dispatch: an empty one moves that into the construction. */
  private async warmUp(): Promise<void> {
    this.flushParams();
    const encoder = this.gpu.device.createCommandEncoder({ label: "warm-up" });
    const pass = encoder.beginComputePass({ label: "warm-up" });
    for (const { pipeline, groups } of this.kernels.values()) {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, groups[0]);
      pass.dispatchWorkgroups(0);
    }
    pass.end();
    this.gpu.device.queue.submit([encoder.finish()]);
    await this.sync();
  }

  setParam(name: string, value: number): void {
    const slot = this.slots.get(name);
    if (!slot) throw new CorralError("unknown-param", `${this.planned.spec.name} has no parameter ${name}.`);
    if (slot.type === "f32") new Float32Array(this.words.buffer)[slot.at] = value;
    else this.words[slot.at] = value;
    this.paramsChanged = true;
  }

  private flushParams(): void {
    if (!this.paramsChanged) return;
    this.paramsChanged = false;
    for (const { index, worlds } of this.planned.plan.shards) {
      this.words[0] = worlds;
      this.gpu.device.queue.writeBuffer(this.reservation.buffer("params", index), 0, this.words);
    }
  }

  run(name: string): void {
    this.gpu.assertUsable(`run ${name}`);
    const { pipeline, groups } = this.kernels.get(name)!;
    this.flushParams();
    const encoder = this.gpu.device.createCommandEncoder({ label: name });
    const pass = encoder.beginComputePass({ label: name });
    pass.setPipeline(pipeline);
    for (const { index, worlds } of this.planned.plan.shards) {
      const count = Math.ceil(worlds / WORKGROUP_SIZE);
      pass.setBindGroup(0, groups[index]);
      pass.dispatchWorkgroups(Math.min(count, MAX_GROUPS), Math.ceil(count / MAX_GROUPS));
    }
    pass.end();
    this.gpu.device.queue.submit([encoder.finish()]);
  }

  write(arena: string, shard: number, data: HostRecords): void {
    this.gpu.assertUsable(`write ${arena}`);
    this.gpu.device.queue.writeBuffer(this.reservation.buffer(arena, shard), 0, data.u32 as Uint32Array<ArrayBuffer>);
  }

  async read(arena: string, shard: number): Promise<HostRecords> {
    const buffer = this.reservation.buffer(arena, shard);
    const into = hostRecords(buffer.size / 4, false);
    await this.readback.read(buffer, 0, buffer.size, into.u32 as Uint32Array);
    return into;
  }

  readInto(regions: readonly BatchRegion[]): Promise<void> {
    return this.readback.readAll(
      regions.map(({ arena, shard, into }) => ({
        buffer: this.reservation.buffer(arena, shard),
        offset: 0,
        size: into.byteLength,
        into,
      })),
    );
  }

  buffer(arena: string, shard: number): GPUBuffer {
    return this.reservation.buffer(arena, shard);
  }

  async sync(): Promise<void> {
    this.gpu.assertUsable("wait for the device");
    await waitFor(this.gpu.device.queue.onSubmittedWorkDone());
    this.gpu.assertUsable("wait for the device");
  }

  close(): Promise<void> {
    return this.reservation.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
