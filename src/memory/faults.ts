// fault injection: makes a live device fail the k-th buffer, pipeline, mapping or submission, as a driver would. For
// tests and `stress`; it replaces methods of the device object and puts them back.
import type { GpuDevice } from "../gpu/device.ts";

/** `await`: any promise of the device, which only a loss can fail. */
export type FaultPoint = "buffer" | "pipeline" | "mapping" | "submit" | "await";

/** What fails, and how. */
export interface FaultPlan {
  readonly point: FaultPoint;
  /** The call that fails first, from 1, counted since the plan was armed. */
  readonly at: number;
  /** How many calls in a row fail. Default 1. */
  readonly times?: number;
  /**
   * How a creation fails: in which error scope, or by losing the device. Default `out-of-memory`. A mapping always
   * rejects and a submission is always invalid, unless the device is lost. At an `await` it is always lost, after the
   * promise was made.
   */
  readonly kind?: "out-of-memory" | "validation" | "internal" | "lost";
}

interface Scope {
  readonly filter: GPUErrorFilter;
  injected: GPUError | null;
}

/** A device under injection. Without an armed plan it only counts. */
export class Faults {
  readonly counts: Record<FaultPoint, number> = { buffer: 0, pipeline: 0, mapping: 0, submit: 0, await: 0 };
  /** How many calls were made to fail. */
  fired = 0;
  readonly #device: GPUDevice;
  readonly #scopes: Scope[] = [];
  readonly #undo: (() => void)[] = [];
  #plan: FaultPlan | undefined;

  constructor(gpu: GpuDevice, plan?: FaultPlan) {
    this.#device = gpu.device;
    this.#plan = plan;
    this.#watchScopes();
    this.#watchBuffers();
    this.#watchPipelines();
    this.#watchSubmissions();
  }

  /** Arms another plan, or none; counts start again. */
  arm(plan?: FaultPlan): void {
    this.#plan = plan;
    this.fired = 0;
    for (const point of Object.keys(this.counts) as FaultPoint[]) this.counts[point] = 0;
  }

  /** Puts the device's methods back. Buffers that were made meanwhile keep their watched mapping. */
  remove(): void {
    this.#plan = undefined;
    for (const undo of this.#undo.splice(0)) undo();
  }

  /** Counts a call; true when it is to fail by an error, after the device was lost if the plan says so. */
  #fails(point: FaultPoint): boolean {
    const call = ++this.counts[point];
    const plan = this.#plan;
    if (plan?.point !== point || call < plan.at || call >= plan.at + (plan.times ?? 1)) return false;

    this.fired++;
    if (plan.kind !== "lost" && point !== "await") return true;
    this.#device.destroy();
    return false;
  }

  /** Counts a promise of the device, and loses the device if the plan says so. */
  #awaits<T>(promise: Promise<T>): Promise<T> {
    this.#fails("await");
    return promise;
  }

  /** Puts an error into the innermost scope that would catch it; false if none would. */
  #raise(): boolean {
    const filter = this.#plan?.kind === "lost" ? undefined : (this.#plan?.kind ?? "out-of-memory");
    const scope = this.#scopes.findLast((candidate) => candidate.filter === filter);
    if (scope === undefined) return false;
    scope.injected ??= { message: `injected ${filter}` } as GPUError;
    return true;
  }

  #watchScopes(): void {
    const device = this.#device;
    this.#replace(device, "pushErrorScope", (push) => (filter: GPUErrorFilter) => {
      this.#scopes.push({ filter, injected: null });
      return push.call(device, filter);
    });
    this.#replace(device, "popErrorScope", (pop) => async () => {
      const scope = this.#scopes.pop();
      const error = await this.#awaits(pop.call(device));
      return error ?? scope?.injected ?? null;
    });
  }

  #watchBuffers(): void {
    const device = this.#device;
    this.#replace(device, "createBuffer", (create) => (descriptor: GPUBufferDescriptor) => {
      const fails = this.#fails("buffer") && this.#raise();
      const buffer = fails
        ? this.#invalid(() => create.call(device, { size: 4, usage: 0 }))
        : create.call(device, descriptor);
      this.#watchMapping(buffer);
      return buffer;
    });
  }

  #watchMapping(buffer: GPUBuffer): void {
    const map = buffer.mapAsync.bind(buffer);
    buffer.mapAsync = (mode, offset, size) =>
      this.#fails("mapping")
        ? Promise.reject(new DOMException("injected mapping failure", "OperationError"))
        : this.#awaits(map(mode, offset, size));
  }

  #watchPipelines(): void {
    const device = this.#device;
    this.#replace(device, "createComputePipeline", (create) => (descriptor: GPUComputePipelineDescriptor) => {
      if (!this.#fails("pipeline") || !this.#raise()) return create.call(device, descriptor);
      const compute = { ...descriptor.compute, entryPoint: "injected_missing_entry_point" };
      return this.#invalid(() => create.call(device, { ...descriptor, compute }));
    });
    this.#replace(device, "createComputePipelineAsync", (create) => (descriptor: GPUComputePipelineDescriptor) => {
      if (!this.#fails("pipeline")) return this.#awaits(create.call(device, descriptor));
      const error = new DOMException("injected pipeline failure", "GPUPipelineError");
      return Promise.reject(Object.assign(error, { reason: "internal" }));
    });
  }

  #watchSubmissions(): void {
    const { queue } = this.#device;
    this.#replace(queue, "submit", (submit) => (commands: Iterable<GPUCommandBuffer>) => {
      submit.call(queue, this.#fails("submit") ? [this.#invalidCommands()] : commands);
      return undefined;
    });
    this.#replace(queue, "onSubmittedWorkDone", (done) => () => this.#awaits(done.call(queue)));
  }

  /** A command buffer that no queue takes. */
  #invalidCommands(): GPUCommandBuffer {
    return this.#invalid(() => {
      const encoder = this.#device.createCommandEncoder({ label: "injected" });
      encoder.popDebugGroup();
      return encoder.finish();
    });
  }

  /** Makes an invalid object without anybody hearing of it. */
  #invalid<T>(make: () => T): T {
    const original = Object.getPrototypeOf(this.#device) as GPUDevice;
    original.pushErrorScope.call(this.#device, "validation");
    try {
      return make();
    } finally {
      void original.popErrorScope.call(this.#device).catch(() => null);
    }
  }

  #replace<T extends object, K extends keyof T>(object: T, name: K, wrap: (original: T[K]) => T[K]): void {
    const original = object[name];
    Object.defineProperty(object, name, { value: wrap(original), configurable: true, writable: true });
    this.#undo.push(() => Reflect.deleteProperty(object, name));
  }
}

/** Watches a device, and fails what the plan says. `remove()` ends it. */
export function injectFaults(gpu: GpuDevice, plan?: FaultPlan): Faults {
  return new Faults(gpu, plan);
}
