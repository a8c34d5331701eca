// memory and jobs of a learner on its backing: what the learner of every algorithm is made of
import { CorralError } from "../../core/errors.ts";
import { loadShaders } from "../../core/shader-text.ts";
import type { Plan } from "../../memory/plan.ts";
import { GpuBacking, type ArenaRead, type Backing, type Words } from "./backing.ts";
import { STATE_SIZE } from "../tables/device-tables.ts";
import { JOB_BYTES } from "../tables/job-tables.ts";
import { dispatch, type Job, type JobPass } from "./kernels.ts";
import { jobWords, type JobOf, type KernelName } from "./kernel-table.ts";
import { normSums, normsOf } from "./layer-norms.ts";
import { loadLinear } from "../networks/linear-text.ts";
import { rowGroups, weightGroups, type Weights } from "../networks/linear-groups.ts";
import { Uniforms, type UniformValues } from "./uniforms.ts";
import { isGpu, type LearnerDevice } from "./learner-device.ts";
import { WasmBacking } from "./wasm-backing.ts";
import type { LearnerPlan } from "./wasm-plan.ts";

/** Reserves a plan in the budget of a device or of the host, and makes something of it; holds nothing if either fails. */
export async function hold<T>(
  device: LearnerDevice,
  plan: LearnerPlan,
  make: (backing: Backing) => Promise<T>,
): Promise<T> {
  await Promise.all([loadShaders(), loadLinear()]);
  const backing = isGpu(device)
    ? await GpuBacking.create(device, plan)
    : await WasmBacking.create(plan, device.threads);
  try {
    return await make(backing);
  } catch (error) {
    await backing.close();
    throw error;
  }
}

export class DeviceCore implements AsyncDisposable {
  readonly backing: Backing;
  readonly uniforms = new Uniforms();
  /** Arenas that a snapshot holds, between two updates. */
  readonly #kept: readonly string[];
  readonly #jobs = new Map<string, Job>();
  readonly #state = new Float32Array(STATE_SIZE);
  readonly #slots = new Map<string, number>();

  protected constructor(backing: Backing, kept: readonly string[]) {
    this.backing = backing;
    this.#kept = kept;
  }

  /** Every byte that it holds. */
  get plan(): Plan {
    return this.backing.plan;
  }

  /** Words of an arena. */
  words(arena: string): number {
    return this.backing.words(arena);
  }

  /** Where the numbers of a job lie in `jobs`; equal ones share a slot. */
  slot<K extends KernelName>(kernel: K, job: JobOf<K>): number {
    const words = jobWords(kernel, job);
    const key = words.join();
    let offset = this.#slots.get(key);
    if (offset === undefined) {
      offset = this.#slots.size * JOB_BYTES;
      this.#slots.set(key, offset);
      const data = new Uint32Array(JOB_BYTES / 4);
      data.set(words);
      this.write("jobs", data, offset);
    }
    return offset;
  }

  /** Queues a write of the first numbers of an arena, or of those from a byte on. */
  write(arena: string, data: Words, offset = 0): void {
    this.backing.write(arena, data, offset);
  }

  /** Reads the first numbers of an arena, after all work so far. */
  async read<T extends Float32Array | Uint32Array>(arena: string, into: T): Promise<T> {
    await this.backing.read(`read ${arena}`, [{ arena, into }]);
    return into;
  }

  /** Reads the first numbers of several arenas in one round trip. */
  readAll(parts: readonly ArenaRead[]): Promise<void> {
    return this.backing.read("read arenas", parts);
  }

  /** Reads the state that kernels keep; the array is the same each time. */
  readState(): Promise<Float32Array> {
    return this.read("state", this.#state);
  }

  protected async bind<K extends KernelName>(name: string, kernel: K, job?: JobOf<K>): Promise<void> {
    const at = job ? this.slot(kernel, job) : undefined;
    this.#jobs.set(name, await this.backing.bind(kernel, at));
  }

  /** Runs one pass of jobs, with uniforms set before. */
  submit(what: string, values: UniformValues, encode: (pass: JobPass) => void): void {
    this.backing.submit(what, this.uniforms, values, encode);
  }

  /** Adds a job to a pass, for `count` invocations of each of its parts. */
  run(pass: JobPass, name: string, count: number, parts = 1): void {
    dispatch(pass, this.#jobs.get(name)!, count, parts);
  }

  /**
   * The same for a dense layer, forward to `width` outputs of this many rows, or backward to `width` inputs; and for the
   * norms of the layers there.
   */
  runRows(pass: JobPass, name: string, rows: number, width: number, parts = 1): void {
    dispatch(pass, this.#jobs.get(name)!, rowGroups(this.backing.sharing, rows, width), parts);
    this.runNorms(pass, name, rows, parts);
  }

  /** The norms that follow a job, if there are any. */
  runNorms(pass: JobPass, name: string, rows: number, parts = 1): void {
    const norms = this.#jobs.get(normsOf(name));
    if (norms) dispatch(pass, norms, rows, parts);
  }

  /** The same for the gradient of the weights of layers side by side, and of their norms, over so many chunks of rows. */
  runWeights(pass: JobPass, name: string, chunks: number, layers: readonly Weights[]): void {
    dispatch(pass, this.#jobs.get(name)!, weightGroups(this.backing.sharing, chunks, layers), layers.length);
    const sums = normSums(layers);
    if (sums.length === 0) return;
    dispatch(pass, this.#jobs.get(normsOf(name))!, weightGroups(this.backing.sharing, chunks, sums), sums.length);
  }

  /** Copies those arenas, as words by name. */
  async copy(): Promise<Record<string, Uint32Array<ArrayBuffer>>> {
    const copies: Record<string, Uint32Array<ArrayBuffer>> = {};
    for (const arena of this.#kept) copies[arena] = await this.read(arena, new Uint32Array(this.words(arena)));
    return copies;
  }

  /** Throws `bad-snapshot` if the sizes of a copy are others. */
  check(copies: Readonly<Record<string, Uint32Array<ArrayBuffer>>>, arenas = this.#kept): void {
    for (const arena of arenas) {
      const [want, found] = [this.words(arena), copies[arena]?.length];
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

  /** Lets events have their turn; see `Backing.turn`. */
  turn(): Promise<void> {
    return this.backing.turn();
  }

  /** Resolves once all work so far is done. Throws if the device refused any. */
  done(): Promise<void> {
    return this.backing.done("wait for the learner");
  }

  close(): Promise<void> {
    return this.backing.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
