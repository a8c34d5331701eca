// buffers and jobs on a device, planned and reserved: what the learner of every algorithm is made of
import { CorralError } from "../core/errors.ts";
import type { GpuDevice } from "../gpu/device.ts";
import { GuardedQueue } from "../gpu/guarded-queue.ts";
import { Readback } from "../gpu/readback.ts";
import { createBudget } from "../memory/device-budget.ts";
import type { Plan } from "../memory/plan.ts";
import { reserve, type Reservation } from "../memory/reserve.ts";
import { STATE_SIZE, UNIFORM_SLOTS, UNIFORMS_BYTES } from "./device-tables.ts";
import { JOB_BYTES } from "./job-tables.ts";
import {
  bindKernel,
  dispatch,
  GpuPass,
  jobWords,
  sharingOf,
  type Job,
  type JobOf,
  type JobPass,
  type KernelName,
} from "./kernels.ts";
import { rowGroups, weightGroups, type Sharing, type Weights } from "./linear-wgsl.ts";
import { Uniforms, type UniformValues } from "./uniforms.ts";

/** Reserves a plan in the device's budget and makes something of it; holds nothing if either fails. */
export async function hold<T>(gpu: GpuDevice, plan: Plan, make: (reservation: Reservation) => Promise<T>): Promise<T> {
  const reservation = await reserve(gpu, plan, await createBudget(gpu));
  try {
    return await make(reservation);
  } catch (error) {
    await reservation.close();
    throw error;
  }
}

export class DeviceCore implements AsyncDisposable {
  readonly gpu: GpuDevice;
  readonly plan: Plan;
  readonly uniforms: Uniforms;
  readonly #sharing: Sharing;
  /** Arenas that a run goes on from between two updates. */
  readonly #kept: readonly string[];
  readonly #queue: GuardedQueue;
  readonly #reservation: Reservation;
  readonly #readback: Readback;
  readonly #jobs = new Map<string, Job>();
  readonly #state = new Float32Array(STATE_SIZE);
  readonly #slots = new Map<string, number>();
  readonly #slotWords = new Uint32Array((UNIFORM_SLOTS * UNIFORMS_BYTES) / 4);

  protected constructor(gpu: GpuDevice, reservation: Reservation, kept: readonly string[]) {
    this.gpu = gpu;
    this.plan = reservation.plan;
    this.uniforms = new Uniforms();
    this.#sharing = sharingOf(gpu);
    this.#kept = kept;
    this.#queue = new GuardedQueue(gpu, reservation.holder);
    this.#reservation = reservation;
    this.#readback = new Readback(gpu, reservation.buffers("staging"));
  }

  /** Where the numbers of a job lie; equal ones share a slot. */
  slot<K extends KernelName>(kernel: K, job: JobOf<K>): GPUBufferBinding {
    const words = jobWords(kernel, job);
    const buffer = this.buffer("jobs");
    const key = words.join();
    let offset = this.#slots.get(key);
    if (offset === undefined) {
      offset = this.#slots.size * JOB_BYTES;
      this.#slots.set(key, offset);
      const data = new Uint32Array(JOB_BYTES / 4);
      data.set(words);
      this.write("jobs", data, offset);
    }
    return { buffer, offset, size: JOB_BYTES };
  }

  buffer(arena: string): GPUBuffer {
    return this.#reservation.buffer(arena);
  }

  /** Queues a write of the first numbers of an arena, or of those from a byte on. */
  write(arena: string, data: Float32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>, offset = 0): void {
    const buffer = this.buffer(arena);
    this.#queue.run(`write ${arena}`, () => this.gpu.device.queue.writeBuffer(buffer, offset, data));
  }

  /** Reads the first numbers of an arena, after all work so far. */
  async read<T extends Float32Array | Uint32Array>(arena: string, into: T): Promise<T> {
    await this.#readback.read(this.buffer(arena), 0, into.byteLength, into);
    await this.#queue.accepted(`read ${arena}`);
    return into;
  }

  /** Reads the first numbers of several arenas in one round trip. */
  async readAll(
    parts: readonly { readonly arena: string; readonly into: Float32Array | Uint32Array }[],
  ): Promise<void> {
    await this.#readback.readAll(
      parts.map(({ arena, into }) => ({ buffer: this.buffer(arena), offset: 0, size: into.byteLength, into })),
    );
    await this.#queue.accepted("read arenas");
  }

  /** Reads the state that kernels keep; the array is the same each time. */
  readState(): Promise<Float32Array> {
    return this.read("state", this.#state);
  }

  protected async bind<K extends KernelName>(name: string, kernel: K, job?: JobOf<K>): Promise<void> {
    const slot = job ? this.slot(kernel, job) : undefined;
    this.#jobs.set(name, await bindKernel(this.gpu, kernel, (arena) => this.buffer(arena), slot));
  }

  /** Submits one pass of jobs, with uniforms set before. */
  submit(what: string, values: UniformValues, encode: (pass: JobPass) => void): void {
    const { device } = this.gpu;
    this.#queue.run(what, () => {
      const encoder = device.createCommandEncoder({ label: what });
      const pass = encoder.beginComputePass({ label: what });
      this.#encode(pass, (slot) => encode(slot(values)));
      pass.end();
      device.queue.submit([encoder.finish()]);
    });
  }

  /**
   * Adds jobs to a pass that another submits right after. `slot` sets uniforms, which those of its jobs read; at most
   * `UNIFORM_SLOTS` times.
   */
  encode(what: string, pass: GPUComputePassEncoder, record: (slot: (values: UniformValues) => JobPass) => void): void {
    this.#queue.run(what, () => this.#encode(pass, record));
  }

  #encode(pass: GPUComputePassEncoder, record: (slot: (values: UniformValues) => JobPass) => void): void {
    let used = 0;
    record((values) => {
      this.uniforms.set(values);
      const at = UNIFORMS_BYTES * used++;
      this.#slotWords.set(this.uniforms.words, at / 4);
      return new GpuPass(pass, at);
    });
    // comes before the submission, whatever is encoded first
    this.gpu.device.queue.writeBuffer(this.buffer("uniforms"), 0, this.#slotWords, 0, (used * UNIFORMS_BYTES) / 4);
  }

  /** Adds a job to a pass, for `count` invocations of each of its parts. */
  run(pass: JobPass, name: string, count: number, parts = 1): void {
    dispatch(pass, this.#jobs.get(name)!, count, parts);
  }

  /** The same for a dense layer, forward to `width` outputs of so many rows, or backward to `width` inputs. */
  runRows(pass: JobPass, name: string, rows: number, width: number, parts = 1): void {
    dispatch(pass, this.#jobs.get(name)!, rowGroups(this.#sharing, rows, width), parts);
  }

  /** The same for the gradient of the weights of layers side by side, over so many chunks of rows. */
  runWeights(pass: JobPass, name: string, chunks: number, layers: readonly Weights[]): void {
    dispatch(pass, this.#jobs.get(name)!, weightGroups(this.#sharing, chunks, layers), layers.length);
  }

  /** Copies what a run goes on from, as words by arena. */
  async copy(): Promise<Record<string, Uint32Array<ArrayBuffer>>> {
    const copies: Record<string, Uint32Array<ArrayBuffer>> = {};
    for (const arena of this.#kept)
      copies[arena] = await this.read(arena, new Uint32Array(this.buffer(arena).size / 4));
    return copies;
  }

  /** Throws `bad-snapshot` if the sizes of a copy are others. */
  check(copies: Readonly<Record<string, Uint32Array<ArrayBuffer>>>, arenas = this.#kept): void {
    for (const arena of arenas) {
      const [want, found] = [this.buffer(arena).size / 4, copies[arena]?.length];
      if (found === want) continue;
      throw new CorralError(
        "bad-snapshot",
        `the snapshot has ${found ?? "no"} words of ${arena}, this learner ${want}. Restore into a learner of the same environment, numEnvs and networks.`,
        { arena, found, want },
      );
    }
  }

  /** Puts such a copy back. Throws `bad-snapshot` if its sizes are others; then nothing has changed. */
  put(copies: Readonly<Record<string, Uint32Array<ArrayBuffer>>>, arenas = this.#kept): void {
    this.check(copies, arenas);
    for (const arena of arenas) this.write(arena, copies[arena]);
  }

  /** Resolves once all work so far is done. Throws if the device refused any. */
  done(): Promise<void> {
    return this.#queue.done("wait for the learner");
  }

  close(): Promise<void> {
    return this.#reservation.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
