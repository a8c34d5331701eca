// the worlds of a bundle, run again: the same kernel over the same words
import { HOST_DEVICES, type DeviceName } from "../batch/devices.ts";
import { isWasmName, WasmBatch } from "../batch/wasm/batch.ts";
import { emitterReady } from "../batch/wasm/kernel-cache.ts";
import { mapWasm } from "../batch/wasm/memory-map.ts";
import { AdapterUnavailableError, CorralError } from "../core/errors.ts";
import { badOption } from "../core/options.ts";
import { shareDevice, type DeviceLease } from "../gpu/shared-device.ts";
import { createBudget } from "../memory/device-budget.ts";
import type { ArenaLayout } from "../memory/layout.ts";
import {
  tableArenas,
  hostRecords,
  layoutsOf,
  planOf,
  type Batch,
  type HostRecords,
  type PlannedBatch,
} from "../batch/batch.ts";
import { CpuBatch } from "../batch/cpu-batch.ts";
import { GpuBatch } from "../batch/gpu-batch.ts";
import type { Trace } from "../trace/graph.ts";
import type { WgslKernel } from "../trace/wgsl.ts";
import { dispatchesOf } from "../trace/cut.ts";
import type { CutKernel } from "../batch/kernel/cuts.ts";
import { wordsOf } from "../record/arenas.ts";
import { numbersOf } from "../record/words.ts";
import { piecesHash, type Bundle } from "../record/bundle.ts";
import { Deadline } from "./deadline.ts";
import { emittedKernel } from "../record/read-bundle.ts";
import { packedIndex, packedWords, type Segment } from "../record/recorder.ts";
import type { Words } from "../record/words.ts";

export interface ReexecuteOptions {
  /** Adapter for a bundle that was recorded on one: auto (default), gpu, system, embedded. */
  readonly adapter?: string | number;
  /**
   * Where to run: gpu, wasm, cpu or cpu-f64. Default (auto): where it was recorded, which for an adapter is one with the
   * same driver if there is one; on wasm if there is no adapter at all.
   */
  readonly device?: DeviceName;
  /** Threads of wasm, of which no bit depends, beside the one that watches the clock. Default 1: bundles hold few worlds. */
  readonly threads?: number;
  /**
   * Run the kernel of the bundle as it is, also where this corral emits another of its program: the bits of another
   * version, of a bundle whose writer is trusted. Default: only if it is word for word what is emitted here.
   */
  readonly recordedKernel?: boolean;
  /** Seconds that all of it may take before `replay-endless` is thrown: a program may hold a loop without end. Default 600. */
  readonly seconds?: number;
}

/** Control steps on a device between two looks at whether it still answers. */
const STEPS_PER_SYNC = 16;

/** Dispatches of a control step: a thousand physics steps of 65 evaluations and pieces are as many. */
const MOST_DISPATCHES = 2 ** 16;

const NO_WORDS = new Uint32Array();
/** A step that a device never ends. */
const DEVICE_STUCK = "replay-stuck";

/** The kernel that runs. Text cannot be checked as a program can, so it is emitted again unless the bundle is trusted. */
const kernelOf = (bundle: Bundle, { recordedKernel = false }: ReexecuteOptions): WgslKernel =>
  bundle.about.device.precision === "gpu" && !recordedKernel ? emittedKernel(bundle) : bundle.kernel;

/**
 * The pieces that run on an adapter, where they ran when it was recorded.
 * Throws `bad-option` if the recorded kernel is asked for, and its pieces are others than are made here.
 */
function piecesOf({ about, cut, path }: Bundle, { recordedKernel = false }: ReexecuteOptions): CutKernel | undefined {
  if (!cut || !recordedKernel || piecesHash(cut) === about.batch.cut!.pieces) return cut;
  throw new CorralError(
    "bad-option",
    `recordedKernel is true, and ${path} ran in pieces that corral ${about.corral} made; it holds its kernel whole. Leave the option out, or install that version.`,
    { path, stages: cut.marks },
  );
}

/** A kernel and its arenas for the worlds of a bundle; `cut`: its pieces in place of it. */
export function plannedOf(bundle: Bundle, kernel: WgslKernel, cut?: CutKernel): PlannedBatch {
  const { name, arenas, params } = bundle.about.batch;
  const numEnvs = bundle.recording.worlds.length;
  const compiled = cut?.pieces ?? [{ name: "step", kernel }];
  const tables = compiled.flatMap((piece) => tableArenas(piece.name, piece.kernel));
  if (cut) tables.push(cut.cells);
  const planned = planOf({ name, numEnvs, params, arenas: [...arenas, ...tables], kernels: [] });
  return {
    ...planned,
    traces: new Map<string, Trace>([["step", bundle.trace]]),
    kernels: new Map<string, WgslKernel>([["step", kernel]]),
    cuts: new Map(cut && [["step", cut]]),
  };
}

/** Numbers as words of the kind that `like` are. */
export function wordsLike(layout: ArenaLayout, words: Words, like: Words): Words {
  if (words instanceof Float64Array === like instanceof Float64Array) return words;
  const numbers = numbersOf(layout, words);
  if (like instanceof Float64Array) return numbers;
  const types = layout.fields.flatMap((f) => Array.from({ length: f.perWorld }, () => f.type));
  const floats = Float32Array.from(numbers);
  const bits = new Uint32Array(floats.buffer);
  return Uint32Array.from(numbers, (x, i) => (types[i % types.length] === "f32" ? bits[i] : x));
}

/** Rows of some worlds, [worlds, words of a world], cut out or all. */
const rowOf = (words: Words, worlds: number, world: number): Words => {
  const size = words.length / worlds;
  return words.subarray(world * size, (world + 1) * size);
};

/** A device for a bundle: the chosen one, else one with the recording's driver if there is any. */
async function leaseLike({ about }: Bundle, choice: string | number | undefined): Promise<DeviceLease> {
  const lease = await shareDevice(choice);
  const recorded = about.device.adapter;
  const isLike = ({ gpu }: DeviceLease) => gpu.info.driver === recorded?.driver;
  if (choice !== undefined || process.env.CORRAL_ADAPTER || !recorded || isLike(lease)) return lease;
  const like = recorded.source === "embedded" ? "embedded" : recorded.kind === "gpu" ? "gpu" : "system";
  // if there is none, the replay reports what differs
  const other = await shareDevice(like).catch(() => undefined);
  const [taken, left] = other && isLike(other) ? [other, lease] : [lease, other];
  left?.release();
  return taken;
}

/** Where a bundle runs. Throws `bad-option` for numbers that no adapter recorded, and an adapter, or one that would not be used. */
function deviceFor({ about }: Bundle, { device = "auto", adapter }: ReexecuteOptions): Exclude<DeviceName, "auto"> {
  const { precision, name } = about.device;
  const own = precision === "gpu" ? "gpu" : precision !== "f32" ? "cpu-f64" : isWasmName(name) ? "wasm" : "cpu";
  const chosen = device === "auto" ? own : device;
  if (chosen !== "gpu" && adapter !== undefined)
    throw badOption("adapter", adapter, `the bundle is executed on ${chosen}, which has none: leave it out`);
  if (chosen !== "gpu" || precision === "gpu") return chosen;
  throw new CorralError(
    "bad-option",
    `device is "gpu", and the bundle was recorded on ${name}: its kernel is none of an adapter. Pass ${HOST_DEVICES.join(", ")}.`,
    { device },
  );
}

export class Reexecution implements AsyncDisposable {
  readonly bundle: Bundle;
  readonly batch: Batch;
  readonly #release: () => void;
  readonly #deadline: Deadline;
  #steps = 0;
  /** Whether the device does not answer. */
  #isStuck = false;

  private constructor(bundle: Bundle, batch: Batch, deadline: Deadline, release: () => void) {
    this.bundle = bundle;
    this.batch = batch;
    this.#deadline = deadline;
    this.#release = release;
  }

  /** Makes a batch of the worlds of a bundle. Throws what a device and its memory throw. */
  static async create(
    bundle: Bundle,
    options: ReexecuteOptions = {},
    deadline = new Deadline(bundle, options.seconds),
  ): Promise<Reexecution> {
    await emitterReady();
    const device = deviceFor(bundle, options);
    const kernel = kernelOf(bundle, options);
    const planned = plannedOf(bundle, kernel);
    const inWasm = () => new WasmBatch(planned, mapWasm(planned, options.threads ?? 1, true));
    if (device === "wasm") return new Reexecution(bundle, inWasm(), deadline, () => {});
    if (device !== "gpu") {
      const precision = device === "cpu-f64" ? "f64" : "f32";
      return new Reexecution(bundle, new CpuBatch(planned, precision, deadline.check), deadline, () => {});
    }
    const lease = await leaseLike(bundle, options.adapter).catch((error: unknown) => {
      if (options.device === "gpu" || options.adapter !== undefined) throw error;
      if (!(error instanceof AdapterUnavailableError)) throw error;
      return undefined;
    });
    if (lease === undefined) return new Reexecution(bundle, inWasm(), deadline, () => {});
    try {
      const budget = await createBudget(lease.gpu);
      const cut = piecesOf(bundle, options);
      const batch = await GpuBatch.create(lease.gpu, cut ? plannedOf(bundle, kernel, cut) : planned, budget);
      return new Reexecution(bundle, batch, deadline, () => lease.release());
    } catch (error) {
      lease.release();
      throw error;
    }
  }

  get worlds(): number {
    return this.bundle.recording.worlds.length;
  }

  layout(arena: string): ArenaLayout {
    return layoutsOf(this.batch.planned.plan)[arena];
  }

  /** Records in the batch's own words: bits of float32, or JavaScript's numbers. */
  #converted(layout: ArenaLayout, words: Words): Words {
    return this.batch.doubles ? numbersOf(layout, words) : wordsLike(layout, words, NO_WORDS);
  }

  #records(arena: string): HostRecords {
    const layout = this.layout(arena);
    const { paddedWorlds } = this.batch.planned.plan.shards[0];
    return hostRecords(wordsOf(layout) * paddedWorlds, this.batch.doubles);
  }

  /** Puts all worlds into states, [worlds, words of a world] by arena. */
  async put(states: Readonly<Record<string, Words>>, params: Segment["params"]): Promise<void> {
    const { paddedWorlds } = this.batch.planned.plan.shards[0];
    for (const [name, value] of Object.entries(params)) this.batch.setParam(name, value);
    for (const [arena, given] of Object.entries(states)) {
      const layout = this.layout(arena);
      const words = this.#converted(layout, given);
      const records = this.#records(arena);
      for (let world = 0; world < this.worlds; world++) {
        const row = rowOf(words, this.worlds, world);
        packedIndex(layout, paddedWorlds, world).forEach((at, k) => (records.u32[at] = row[k]));
      }
      await this.#within(this.batch.write(arena, 0, records));
    }
  }

  /** Makes control step `step` of a segment. */
  async step(segment: Segment, step: number): Promise<void> {
    const words = segment.actions.length / segment.steps;
    const records = this.#records("action");
    const layout = this.layout("action");
    records.u32.set(this.#converted(layout, segment.actions.subarray(step * words, (step + 1) * words)));
    await this.#within(this.batch.write("action", 0, records));
    this.#deadline.check();
    this.#assertEnds();
    this.batch.run("step");
    if (++this.#steps % STEPS_PER_SYNC === 0) await this.#within(this.batch.sync());
  }

  /** Throws `replay-endless` if the pieces of a step are to be dispatched more often than any batch would. */
  #assertEnds(): void {
    const cut = this.batch.planned.cuts.get("step");
    if (!cut) return;
    const count = dispatchesOf(cut.turns, this.batch.params());
    if (count <= MOST_DISPATCHES) return;
    throw new CorralError(
      "replay-endless",
      `a control step of ${this.bundle.path} is ${count} dispatches, at most ${MOST_DISPATCHES} are made. Pass --device wasm, where it is one.`,
      { path: this.bundle.path, count },
    );
  }

  /** Throws `replay-endless` if a device does not answer in time. */
  async #within<T>(asked: Promise<T>): Promise<T> {
    try {
      return await this.#deadline.within(asked);
    } catch (error) {
      const isLate = error instanceof CorralError && error.code === "replay-endless";
      if (isLate) this.#isStuck = true;
      if (!isLate || !this.batch.adapter) throw error;
      throw new CorralError(DEVICE_STUCK, error.message.replace(/^\[[\w-]+\] /, ""), error.details, { cause: error });
    }
  }

  /** Words of all worlds in an arena, as a recording has them. */
  async read(arena: string): Promise<Words> {
    const layout = this.layout(arena);
    const { paddedWorlds } = this.batch.planned.plan.shards[0];
    const { u32 } = await this.#within(this.batch.read(arena, 0));
    const isRows = layout.layout === "rows";
    const size = isRows ? wordsOf(layout) : packedWords(layout);
    const out = this.batch.doubles ? new Float64Array(size * this.worlds) : new Uint32Array(size * this.worlds);
    for (let world = 0; world < this.worlds; world++) {
      packedIndex(layout, paddedWorlds, world).forEach((at, k) => (out[world * size + k] = u32[at]));
    }
    return out;
  }

  async close(): Promise<void> {
    // a device that does not answer would not close either
    if (this.#isStuck && this.batch.adapter) return;
    if (this.#isStuck && this.batch instanceof WasmBatch) return this.batch.abort();
    await this.batch.close();
    this.#release();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** The segments of a bundle. Throws `bundle-corrupt` if there is none. */
export function segmentsOf(bundle: Bundle): readonly Segment[] {
  const { segments, worlds } = bundle.recording;
  if (segments.length > 0 && worlds.length > 0) return segments;
  throw new CorralError("bundle-corrupt", `${bundle.path} records no step.`, { path: bundle.path });
}
