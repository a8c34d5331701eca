// a batch on the CPU: the same kernels as JavaScript, in float64 or float32, without any GPU
import { CorralError } from "../core/errors.ts";
import { toJavaScript, type JsKernel, type Precision } from "../trace/javascript.ts";
import { FIXED_PARAMS } from "../trace/wgsl.ts";
import { hostRecords, type Batch, type BatchRegion, type HostRecords, type PlannedBatch } from "./batch.ts";

export class CpuBatch implements Batch {
  readonly planned: PlannedBatch;
  readonly deviceName: string;
  readonly gpu = undefined;
  readonly doubles = true;
  readonly precision: Precision;
  readonly #kernels = new Map<string, JsKernel[]>();
  readonly adapter = undefined;
  readonly #buffers: Map<string, Float64Array>[] = [];
  readonly #values: Float64Array[] = [];
  /** What is called before each run of a kernel, by its name. */
  readonly before = new Map<string, () => void>();

  /** `onTurns` is called every few thousand turns of loops, and may throw. */
  constructor(planned: PlannedBatch, precision: Precision, onTurns?: () => void) {
    this.planned = planned;
    this.precision = precision;
    const { plan, spec, traces } = planned;
    const isWide = precision === "f32" && traces.get("step")?.wide === true;
    this.deviceName = `cpu (JavaScript ${precision}${isWide ? ", steps in float64" : ""})`;
    for (const shard of plan.shards) {
      const buffers = new Map<string, Float64Array>();
      for (const a of plan.arenas) {
        if (a.access === "uniform" || a.access === "staging") continue;
        const bytes = a.sharedBytes + a.bytesPerWorld * shard.paddedWorlds;
        buffers.set(a.name, new Float64Array(bytes / 4));
      }
      this.#buffers.push(buffers);
      this.#values.push(new Float64Array(FIXED_PARAMS.length + spec.params.length));
    }
    for (const p of spec.params) this.setParam(p.name, p.initial);
    for (const [name, traced] of traces) {
      this.#kernels.set(
        name,
        plan.shards.map((_, s) =>
          toJavaScript(traced, precision, {
            buffers: Object.fromEntries(this.#buffers[s]),
            params: this.#values[s],
            ...(onTurns === undefined ? {} : { onTurns }),
          }),
        ),
      );
    }
  }

  #gone(): CorralError {
    return new CorralError("closed", `${this.planned.spec.name} is closed; its arrays are gone. Make another one.`);
  }

  #arrayOf(arena: string, shard: number): Float64Array {
    const found = this.#buffers[shard]?.get(arena);
    if (found === undefined) throw this.#gone();
    return found;
  }

  /** The numbers of an arena themselves, for what runs between kernels. */
  numbers(arena: string, shard: number): Float64Array {
    return this.#arrayOf(arena, shard);
  }

  setParam(name: string, value: number): void {
    const at = this.planned.spec.params.findIndex((p) => p.name === name);
    if (at < 0) throw new CorralError("unknown-param", `${this.planned.spec.name} has no parameter ${name}.`);
    const rounded = this.precision === "f32" ? Math.fround(value) : value;
    for (const p of this.#values) p[FIXED_PARAMS.length + at] = rounded;
  }

  run(...names: string[]): void {
    for (const name of names) {
      const kernels = this.#kernels.get(name);
      if (kernels === undefined) throw this.#gone();
      this.before.get(name)?.();
      for (const { index, worlds } of this.planned.plan.shards) {
        const { run } = kernels[index];
        for (let w = 0; w < worlds; w++) run(w);
      }
    }
  }

  copy(from: string, to: string): void {
    for (const buffers of this.#buffers) buffers.get(to)!.set(buffers.get(from)!);
  }

  params(): Record<string, number> {
    const { params } = this.planned.spec;
    return Object.fromEntries(params.map((p, i) => [p.name, this.#values[0][FIXED_PARAMS.length + i]]));
  }

  forgive(): void {}

  async write(arena: string, shard: number, data: HostRecords, start = 0): Promise<void> {
    this.#arrayOf(arena, shard).set(data.f32, start);
  }

  async read(arena: string, shard: number): Promise<HostRecords> {
    const values = this.#arrayOf(arena, shard);
    const out = hostRecords(values.length, true);
    (out.f32 as Float64Array).set(values);
    return out;
  }

  async readInto(regions: readonly BatchRegion[]): Promise<void> {
    for (const { arena, shard, into, start = 0 } of regions) {
      into.set(this.#arrayOf(arena, shard).subarray(start, start + into.length));
    }
  }

  buffer(): undefined {}

  async sync(): Promise<void> {}

  /** Drops the arrays: what still knows the batch keeps no memory. */
  async close(): Promise<void> {
    this.#buffers.length = 0;
    this.#kernels.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
