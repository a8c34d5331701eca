// what holds the memory of a learner and runs its kernels: a GPU device, or WebAssembly
import type { GpuDevice } from "../../gpu/device.ts";
import { GuardedQueue } from "../../gpu/guarded-queue.ts";
import { Readback } from "../../gpu/readback.ts";
import { createBudget } from "../../memory/device-budget.ts";
import type { Plan } from "../../memory/plan.ts";
import { reserve, type Reservation } from "../../memory/reserve.ts";
import { UNIFORM_SLOTS, UNIFORMS_BYTES } from "../tables/device-tables.ts";
import { JOB_BYTES } from "../tables/job-tables.ts";
import { bindKernel, GpuPass, sharingOf, type Job, type JobPass } from "./kernels.ts";
import type { KernelName } from "./kernel-table.ts";
import type { Sharing } from "../networks/linear-groups.ts";
import type { Uniforms, UniformValues } from "./uniforms.ts";

export type Words = Float32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>;

/** A read of the first numbers of an arena. */
export interface ArenaRead {
  readonly arena: string;
  readonly into: Float32Array | Uint32Array;
}

export interface Backing {
  readonly plan: Plan;
  /** What it runs on, in words. */
  readonly name: string;
  readonly sharing: Sharing;
  /** Words of an arena. */
  words(arena: string): number;
  /** Queues a write of the first numbers of an arena, or of those from a byte on. */
  write(arena: string, data: Words, offset: number): void;
  /** Reads after all work so far. */
  read(what: string, parts: readonly ArenaRead[]): Promise<void>;
  /**
   * Binds a kernel to arenas of the plan, or to others that stand for them; `at`: where the numbers of its job lie in
   * `jobs`.
   */
  bind(kernel: KernelName, at: number | undefined, others?: Readonly<Record<string, unknown>>): Promise<Job>;
  /** Runs one pass of jobs, which read these uniforms. */
  submit(what: string, uniforms: Uniforms, values: UniformValues, encode: (pass: JobPass) => void): void;
  /**
   * Adds jobs to a pass that another submits right after: on a GPU alone. `slot` sets uniforms, which those of its jobs
   * read; at most `UNIFORM_SLOTS` times.
   */
  encode?(
    what: string,
    uniforms: Uniforms,
    pass: GPUComputePassEncoder,
    record: (slot: (values: UniformValues) => JobPass) => void,
  ): void;
  /** Lets signals and timers have their turn where long work is done in the calling thread. */
  turn(): Promise<void>;
  /** Resolves once all work so far is done. */
  done(what: string): Promise<void>;
  close(): Promise<void>;
}

/** The memory and the queue of a learner on a GPU. */
export class GpuBacking implements Backing {
  readonly plan: Plan;
  readonly gpu: GpuDevice;
  readonly sharing: Sharing;
  readonly #queue: GuardedQueue;
  readonly #reservation: Reservation;
  readonly #readback: Readback;
  readonly #slots = new Uint32Array((UNIFORM_SLOTS * UNIFORMS_BYTES) / 4);

  private constructor(gpu: GpuDevice, reservation: Reservation) {
    this.gpu = gpu;
    this.plan = reservation.plan;
    this.sharing = sharingOf(gpu);
    this.#queue = new GuardedQueue(gpu, reservation.holder);
    this.#reservation = reservation;
    this.#readback = new Readback(gpu, reservation.buffers("staging"));
  }

  /** Reserves a plan in the device's budget. */
  static async create(gpu: GpuDevice, plan: Plan): Promise<GpuBacking> {
    return new GpuBacking(gpu, await reserve(gpu, plan, await createBudget(gpu)));
  }

  get name(): string {
    return this.gpu.info.driver;
  }

  words(arena: string): number {
    return this.#reservation.buffer(arena).size / 4;
  }

  write(arena: string, data: Words, offset: number): void {
    const buffer = this.#reservation.buffer(arena);
    this.#queue.run(`write ${arena}`, () => this.gpu.device.queue.writeBuffer(buffer, offset, data));
  }

  async read(what: string, parts: readonly ArenaRead[]): Promise<void> {
    const regions = parts.map(({ arena, into }) => ({
      buffer: this.#reservation.buffer(arena),
      offset: 0,
      size: into.byteLength,
      into,
    }));
    await this.#readback.readAll(regions);
    await this.#queue.accepted(what);
  }

  bind(kernel: KernelName, at: number | undefined, others: Readonly<Record<string, unknown>> = {}): Promise<Job> {
    const bufferOf = (arena: string): GPUBuffer => {
      const other = others[arena] ?? arena;
      return typeof other === "string" ? this.#reservation.buffer(other) : (other as GPUBuffer);
    };
    const job = at === undefined ? undefined : { buffer: bufferOf("jobs"), offset: at, size: JOB_BYTES };
    return bindKernel(this.gpu, kernel, bufferOf, job);
  }

  submit(what: string, uniforms: Uniforms, values: UniformValues, encode: (pass: JobPass) => void): void {
    const { device } = this.gpu;
    this.#queue.run(what, () => {
      const encoder = device.createCommandEncoder({ label: what });
      const pass = encoder.beginComputePass({ label: what });
      this.#encode(uniforms, pass, (slot) => encode(slot(values)));
      pass.end();
      device.queue.submit([encoder.finish()]);
    });
  }

  encode(
    what: string,
    uniforms: Uniforms,
    pass: GPUComputePassEncoder,
    record: (slot: (values: UniformValues) => JobPass) => void,
  ): void {
    this.#queue.run(what, () => this.#encode(uniforms, pass, record));
  }

  #encode(
    uniforms: Uniforms,
    pass: GPUComputePassEncoder,
    record: (slot: (values: UniformValues) => JobPass) => void,
  ): void {
    let used = 0;
    record((values) => {
      uniforms.set(values);
      const at = UNIFORMS_BYTES * used++;
      this.#slots.set(uniforms.words, at / 4);
      return new GpuPass(pass, at, this.gpu);
    });
    // comes before the submission, whatever is encoded first
    const buffer = this.#reservation.buffer("uniforms");
    this.gpu.device.queue.writeBuffer(buffer, 0, this.#slots, 0, (used * UNIFORMS_BYTES) / 4);
  }

  async turn(): Promise<void> {}

  done(what: string): Promise<void> {
    return this.#queue.done(what);
  }

  close(): Promise<void> {
    return this.#reservation.close();
  }
}
