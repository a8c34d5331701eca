// the memory of a learner as WebAssembly, and its kernels compiled from the same WGSL: no adapter, and the same bits on every
// machine. What is little runs at once, in the calling thread; the rest in threads, in the order in which it was asked for.
import { CorralError } from "../../core/errors.ts";
import { later } from "../../core/host.ts";
import { WORTH_THREADS, WorkQueue } from "../../core/work-queue.ts";
import type { Hold } from "../../memory/budget.ts";
import { hostBudget, inWasm } from "../../memory/host-budget.ts";
import { WORKGROUP } from "../../gpu/workgroup.ts";
import type { Plan } from "../../memory/plan.ts";
import { LINE_BYTES, lines, MOST_PAGES, PAGE_BYTES } from "../../memory/wasm-cost.ts";
import type { ArenaRead, Backing, Words } from "./backing.ts";
import { bindingsOf, entryOf, kernelCode, type Job, type JobPass } from "./kernels.ts";
import type { KernelName } from "./kernel-table.ts";
import type { Uniforms, UniformValues } from "./uniforms.ts";
import { UNIFORM_SLOTS, UNIFORMS_BYTES } from "../tables/device-tables.ts";
import { learnerInWasm, MOST_BYTES, SCRATCH_BYTES, threadsFor, type LearnerPlan } from "./wasm-plan.ts";
import { LearnerThreads, MOST_COMMANDS, type Command, type Run } from "./wasm-thread.ts";

/** How long jobs keep the calling thread from its events, in ms. */
const TURN_MS = 50;

/** A kernel with the addresses of what it reads and writes. */
interface WasmJob extends Pick<Command, "kernel" | "addresses"> {
  readonly workgroup: number;
}

/** Commands that read the same uniforms. */
interface Task {
  readonly key: string;
  readonly uniforms: Uint32Array;
  readonly commands: readonly Command[];
}

/** The compiler of WGSL: a page loads it with the first learner that needs it. */
let compileWgsl: typeof import("../../wgsl/compile.ts").compileWgsl;

/** Modules of this process: kernels do not depend on the learner. */
const modules = new Map<KernelName, CompiledModule>();

interface CompiledModule {
  readonly module: WebAssembly.Module;
  readonly workgroup: number;
}

/** Invocations of a workgroup that sum together: here one does it, in order. */
const CONSTANTS = { PARTS: 1 } as const;

function moduleOf(kernel: KernelName): CompiledModule {
  let compiled = modules.get(kernel);
  if (!compiled) {
    const bindings = bindingsOf(kernel).map(({ binding }) => binding);
    const options = { entry: entryOf(kernel), bindings, scratchBytes: SCRATCH_BYTES, constants: CONSTANTS };
    const { module, workgroup } = compileWgsl(kernelCode(kernel, "vectors"), options);
    modules.set(kernel, (compiled = { module: new WebAssembly.Module(module), workgroup }));
  }
  return compiled;
}

export class WasmBacking implements Backing {
  #plan: Plan;
  readonly name = "wasm (WebAssembly SIMD)";
  readonly sharing = "vectors";
  readonly #memory: WebAssembly.Memory;
  readonly #arenas = new Map<string, { readonly at: number; readonly words: number }>();
  readonly #kernels: { readonly name: KernelName; readonly module: WebAssembly.Module; readonly run: Run }[] = [];
  readonly #holds: Hold[];
  /** Addresses of scratch memory, of the calling thread and of those beside it. */
  readonly #scratch: readonly number[];
  #threads: LearnerThreads | undefined;
  readonly #queue = new WorkQueue<Task>({
    threads: () => this.threads,
    // what was not measured is tried there
    isWorthThreads: (_, measured = Infinity) => this.#scratch.length > 1 && measured > WORTH_THREADS,
    runHere: (task) => this.#runHere(task),
    runInThreads: (waiting) => this.#runInThreads(waiting),
  });
  #end = LINE_BYTES;
  #turned = performance.now();

  private constructor(plan: Plan, threads: number, hold: Hold) {
    this.#plan = plan;
    this.#holds = [hold];
    this.#memory = new WebAssembly.Memory({ initial: 1, maximum: MOST_PAGES, shared: true });
    for (const { name, access, sharedBytes, bytesPerWorld } of plan.arenas) {
      if (access !== "staging") this.#arena(name, (sharedBytes + bytesPerWorld * plan.shards[0].paddedWorlds) / 4);
    }
    this.#scratch = Array.from({ length: threads + 1 }, () => this.#place(SCRATCH_BYTES));
  }

  /** Reserves a plan in the budget of the host; of threads beside the calling one it takes at most so many. */
  static async create(plan: LearnerPlan, mostThreads: number): Promise<WasmBacking> {
    const held = learnerInWasm(plan, mostThreads);
    const [problem] = held.problems;
    if (problem !== undefined)
      throw new CorralError("wasm-memory", problem.text, { bytes: held.totalBytes, most: MOST_BYTES });
    ({ compileWgsl } = await import("../../wgsl/compile.ts"));
    const hold = await hostBudget().reserve(held, plan.name);
    try {
      return new WasmBacking(held, threadsFor(plan.products, mostThreads), hold);
    } catch (error) {
      hold.release();
      throw error;
    }
  }

  /** What it holds, with the arenas for which there is room. */
  get plan(): Plan {
    return this.#plan;
  }

  /** Threads that run beside the calling one. */
  get threads(): number {
    return this.#threads?.count ?? 0;
  }

  /** Takes bytes at the end of the memory; returns their address. */
  #place(bytes: number): number {
    const at = lines(this.#end);
    this.#end = at + bytes;
    const missing = this.#missing(this.#end);
    if (missing > 0) this.#memory.grow(missing);
    return at;
  }

  #arena(name: string, words: number): void {
    this.#arenas.set(name, { at: this.#place(4 * words), words });
  }

  /** Pages that the memory lacks to have so many bytes. */
  #missing(bytes: number): number {
    return Math.ceil(bytes / PAGE_BYTES) - this.#memory.buffer.byteLength / PAGE_BYTES;
  }

  /** Room for more arenas, by name with their words, reserved in the budget; those of a name that is there stay. */
  async room(arenas: Readonly<Record<string, number>>): Promise<void> {
    const added = Object.entries(arenas).filter(([name]) => !this.#arenas.has(name));
    const end = added.reduce((sum, [, words]) => sum + lines(4 * words), lines(this.#end));
    const totalBytes = Math.max(0, this.#missing(end)) * PAGE_BYTES;
    if (totalBytes > 0) {
      this.#holds.push(await hostBudget().reserve({ ...this.plan, totalBytes }, this.plan.name));
      this.#plan = inWasm(this.plan, { memory: this.plan.totalBytes + totalBytes });
    }
    for (const [name, words] of added) this.#arena(name, words);
  }

  #assertGood(): void {
    this.#queue.assertNotLost();
    if (this.#queue.isClosed)
      throw new CorralError("closed", `${this.plan.name} is closed; its memory is gone. Make another one.`);
  }

  #placeOf(arena: string): { readonly at: number; readonly words: number } {
    this.#assertGood();
    const place = this.#arenas.get(arena);
    if (!place) throw new CorralError("unknown-arena", `${this.plan.name} has no arena ${arena}.`, { arena });
    return place;
  }

  words(arena: string): number {
    return this.#placeOf(arena).words;
  }

  /** The words of an arena, until the memory grows; they are whole when what was asked for before is `done`. */
  view(arena: string): Uint32Array {
    const { at, words } = this.#placeOf(arena);
    return new Uint32Array(this.#memory.buffer, at, words);
  }

  write(arena: string, data: Words, offset: number): void {
    const words = new Uint32Array(data.buffer, data.byteOffset, data.length);
    this.#placeOf(arena);
    // the caller's array is its own again when this returns
    const own = this.#queue.isIdle ? words : words.slice();
    // whoever waits for later work gets the loss as an error
    this.#after(() => this.view(arena).set(own, offset / 4)).catch(() => {});
  }

  read(_what: string, parts: readonly ArenaRead[]): Promise<void> {
    return this.#after(() => {
      for (const { arena, into } of parts)
        new Uint32Array(into.buffer, into.byteOffset, into.length).set(this.view(arena).subarray(0, into.length));
    });
  }

  async bind(kernel: KernelName, at: number | undefined, others: Readonly<Record<string, unknown>> = {}): Promise<Job> {
    const { module, workgroup } = moduleOf(kernel);
    let number = this.#kernels.findIndex(({ name }) => name === kernel);
    if (number < 0) {
      const instance = new WebAssembly.Instance(module, { corral: { memory: this.#memory } });
      number = this.#kernels.push({ name: kernel, module, run: instance.exports.run as unknown as Run }) - 1;
    }
    const addresses = bindingsOf(kernel).map(({ arena }) => {
      const place = this.#placeOf((others[arena] as string | undefined) ?? arena).at;
      return arena === "jobs" ? place + at! : place;
    });
    return { kernel: number, workgroup, addresses } satisfies WasmJob;
  }

  submit(what: string, uniforms: Uniforms, values: UniformValues, encode: (pass: JobPass) => void): void {
    this.#assertGood();
    uniforms.set(values);
    const commands: Command[] = [];
    encode({
      workgroup: WORKGROUP,
      add(job, x, y, z) {
        const { kernel, workgroup, addresses } = job as WasmJob;
        const invocations = x * y * z * workgroup;
        if (invocations > 0) commands.push({ kernel, axes: [x, y, z], invocations, addresses });
      },
    });
    const key = `${what} ${Number(values.rows)}`;
    for (let at = 0; at < commands.length; at += MOST_COMMANDS)
      this.#queue.push({ key, uniforms: uniforms.words.slice(), commands: commands.slice(at, at + MOST_COMMANDS) });
    this.#queue.next();
  }

  #runHere({ uniforms, commands }: Task): void {
    this.view("uniforms").set(uniforms);
    for (const { kernel, axes, invocations, addresses } of commands)
      this.#kernels[kernel].run(...axes, 0, invocations, this.#scratch[0], ...addresses);
  }

  /** Threads that know all kernels and may be given work; if there are none yet, the queue goes on again when there are. */
  #readyThreads(): LearnerThreads | undefined {
    if (this.#threads && this.#threads.kernels < this.#kernels.length) {
      void this.#threads.close();
      this.#threads = undefined;
    }
    this.#threads ??= new LearnerThreads(
      this.#memory,
      this.#kernels.map(({ module }) => module),
      this.#scratch.slice(1),
      { done: () => this.#queue.done(), lost: (why) => this.#lose(why) },
    );
    if (this.#threads.isReady && this.#threads.isFree) return this.#threads;
    this.#threads.whenFree(() => this.#queue.next());
    return undefined;
  }

  /** Has threads do what waits, as much as there are slots of uniforms for. */
  #runInThreads(waiting: readonly Task[]): number {
    const threads = this.#readyThreads();
    if (!threads) return 0;
    let [taken, count] = [0, 0];
    while (taken < Math.min(waiting.length, UNIFORM_SLOTS) && count + waiting[taken].commands.length <= MOST_COMMANDS)
      count += waiting[taken++].commands.length;
    threads.submit(this.#placed(waiting.slice(0, taken)));
    return taken;
  }

  /** Puts the uniforms of tasks into slots, where their commands find them. */
  #placed(tasks: readonly Task[]): Command[] {
    const { at } = this.#placeOf("uniforms");
    const words = this.view("uniforms");
    return tasks.flatMap(({ uniforms, commands }, slot) => {
      words.set(uniforms, (slot * UNIFORMS_BYTES) / 4);
      const own = at + slot * UNIFORMS_BYTES;
      return commands.map((command) => ({ ...command, addresses: [own, ...command.addresses.slice(1)] }));
    });
  }

  #lose(why: string): void {
    const text = `${this.plan.name}: a thread of WebAssembly was lost (${why.replace(/\.$/, "")}), and what was learned since the last snapshot with it. Make another learner and restore that.`;
    this.#queue.lose(text, why);
  }

  /** Does something when all that was asked for before is done: at once if nothing is. */
  async #after<T>(act: () => T): Promise<T> {
    this.#assertGood();
    return this.#queue.after(act);
  }

  async turn(): Promise<void> {
    // threads are kept at work, and what waits does not grow without end
    if (this.#queue.waiting >= UNIFORM_SLOTS) await this.#after(() => {});
    if (performance.now() - this.#turned < TURN_MS) return;
    await new Promise<void>((resolve) => later(resolve));
    this.#turned = performance.now();
  }

  done(): Promise<void> {
    return this.#after(() => {});
  }

  /** Gives the memory back when all that was asked for is done. */
  async close(): Promise<void> {
    await this.#queue.close();
    await this.#threads?.close();
    for (const hold of this.#holds.splice(0)) hold.release();
    this.#kernels.length = 0;
  }
}
