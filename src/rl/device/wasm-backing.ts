// the memory of a learner as WebAssembly, and its kernels compiled from the same WGSL: no adapter, and the same bits on every
// machine. What is little runs at once, in the calling thread; the rest in threads, in the order in which it was asked for.
import { CorralError, DeviceLostError } from "../../core/errors.ts";
import { later } from "../../core/host.ts";
import type { Hold } from "../../memory/budget.ts";
import { hostBudget } from "../../memory/host-budget.ts";
import { WORKGROUP } from "../../gpu/workgroup.ts";
import type { Plan } from "../../memory/plan.ts";
import type { ArenaRead, Backing, Words } from "./backing.ts";
import { bindingsOf, entryOf, kernelCode, type Job, type JobPass } from "./kernels.ts";
import type { KernelName } from "./kernel-table.ts";
import type { Uniforms, UniformValues } from "./uniforms.ts";
import { UNIFORM_SLOTS, UNIFORMS_BYTES } from "../tables/device-tables.ts";
import { compileWgsl } from "../../wgsl/compile.ts";
import {
  ALIGNED,
  learnerInWasm,
  MOST_BYTES,
  MOST_PAGES,
  PAGE_BYTES,
  SCRATCH_BYTES,
  threadsFor,
  type LearnerPlan,
} from "./wasm-plan.ts";
import { LearnerThreads, MOST_COMMANDS, type Command, type Run } from "./wasm-thread.ts";

/** How long jobs keep the calling thread from its events, in ms. */
const TURN_MS = 50;
/** Microseconds of work below which threads are not worth being woken, as for worlds. */
const WORTH_THREADS = 300;
/** Kinds of submissions whose time is remembered. */
const MOST_KEYS = 64;

/** A kernel with the addresses of what it reads and writes. */
interface WasmJob extends Pick<Command, "kernel" | "addresses"> {
  readonly workgroup: number;
}

/** What waits for its turn: commands that read the same uniforms, or something to do between them. */
type Task =
  | { readonly key: string; readonly uniforms: Uint32Array; readonly commands: readonly Command[] }
  | { readonly act: () => void; readonly fail: (why: CorralError) => void };

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
  readonly plan: Plan;
  readonly name = "wasm (WebAssembly SIMD)";
  readonly sharing = "vectors";
  readonly #memory: WebAssembly.Memory;
  readonly #arenas = new Map<string, { readonly at: number; readonly words: number }>();
  readonly #kernels: { readonly name: KernelName; readonly module: WebAssembly.Module; readonly run: Run }[] = [];
  readonly #holds: Hold[];
  /** Addresses of scratch memory, of the calling thread and of those beside it. */
  readonly #scratch: readonly number[];
  #threads: LearnerThreads | undefined;
  #tasks: Task[] = [];
  /** What threads are at, and since when. */
  #running: { readonly keys: readonly string[]; readonly since: number } | undefined;
  /** Microseconds of one thread by the kind of submission. */
  readonly #microseconds = new Map<string, number>();
  #lost: DeviceLostError | undefined;
  #end = ALIGNED;
  #isClosed = false;
  #turned = performance.now();

  private constructor(plan: Plan, threads: number, hold: Hold) {
    this.plan = plan;
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
    const hold = await hostBudget().reserve(held, plan.name);
    try {
      return new WasmBacking(held, threadsFor(plan.products, mostThreads), hold);
    } catch (error) {
      hold.release();
      throw error;
    }
  }

  /** Threads that run beside the calling one. */
  get threads(): number {
    return this.#threads?.count ?? 0;
  }

  /** Takes bytes at the end of the memory; returns their address. */
  #place(bytes: number): number {
    const at = Math.ceil(this.#end / ALIGNED) * ALIGNED;
    this.#end = at + bytes;
    const missing = this.#missing(0);
    if (missing > 0) this.#memory.grow(missing);
    return at;
  }

  #arena(name: string, words: number): void {
    this.#arenas.set(name, { at: this.#place(4 * words), words });
  }

  /** Pages that the memory lacks for so many bytes beside what is in it. */
  #missing(bytes: number): number {
    return Math.ceil((this.#end + bytes) / PAGE_BYTES) - this.#memory.buffer.byteLength / PAGE_BYTES;
  }

  /** Room for more arenas, by name with their words, reserved in the budget; those of a name that is there stay. */
  async room(arenas: Readonly<Record<string, number>>): Promise<void> {
    const added = Object.entries(arenas).filter(([name]) => !this.#arenas.has(name));
    const bytes = added.reduce((sum, [, words]) => sum + 4 * words + ALIGNED, 0);
    const totalBytes = Math.max(0, this.#missing(bytes)) * PAGE_BYTES;
    if (totalBytes > 0) this.#holds.push(await hostBudget().reserve({ ...this.plan, totalBytes }, this.plan.name));
    for (const [name, words] of added) this.#arena(name, words);
  }

  #assertGood(): void {
    if (this.#lost) throw this.#lost;
    if (this.#isClosed)
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
    const own = this.#isIdle ? words : words.slice();
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
      this.#tasks.push({ key, uniforms: uniforms.words.slice(), commands: commands.slice(at, at + MOST_COMMANDS) });
    this.#next();
  }

  get #isIdle(): boolean {
    return this.#running === undefined && this.#tasks.length === 0;
  }

  /** Goes on with what waits, until threads have work or nothing is left. */
  #next(): void {
    while (this.#running === undefined && this.#tasks.length > 0 && !this.#lost && !this.#isClosed) {
      const task = this.#tasks[0];
      if ("act" in task) {
        this.#tasks.shift();
        task.act();
      } else if (this.#isWorthThreads(task.key)) {
        const threads = this.#readyThreads();
        if (!threads) return;
        this.#submitTo(threads);
      } else {
        this.#tasks.shift();
        const since = performance.now();
        this.view("uniforms").set(task.uniforms);
        for (const { kernel, axes, invocations, addresses } of task.commands)
          this.#kernels[kernel].run(...axes, 0, invocations, this.#scratch[0], ...addresses);
        this.#remember(task.key, performance.now() - since);
      }
    }
  }

  #isWorthThreads(key: string): boolean {
    // what was not measured is tried there
    return this.#scratch.length > 1 && (this.#microseconds.get(key) ?? Infinity) > WORTH_THREADS;
  }

  /** Threads that know all kernels and may be given work; if there are none yet, `#next` is called again when there are. */
  #readyThreads(): LearnerThreads | undefined {
    if (this.#threads && this.#threads.kernels < this.#kernels.length) {
      void this.#threads.close();
      this.#threads = undefined;
    }
    this.#threads ??= new LearnerThreads(
      this.#memory,
      this.#kernels.map(({ module }) => module),
      this.#scratch.slice(1),
      { done: () => this.#done(), lost: (why) => this.#lose(why) },
    );
    if (this.#threads.isReady && this.#threads.isFree) return this.#threads;
    this.#threads.whenFree(() => this.#next());
    return undefined;
  }

  /** Has threads do what waits, as much as follows one another and there are slots of uniforms for. */
  #submitTo(threads: LearnerThreads): void {
    const taken: Extract<Task, { key: string }>[] = [];
    let count = 0;
    for (const task of this.#tasks) {
      if ("act" in task || taken.length === UNIFORM_SLOTS || count + task.commands.length > MOST_COMMANDS) break;
      taken.push(task);
      count += task.commands.length;
    }
    this.#tasks = this.#tasks.slice(taken.length);
    this.#running = { keys: taken.map(({ key }) => key), since: performance.now() };
    threads.submit(this.#placed(taken));
  }

  /** Puts the uniforms of tasks into slots, where their commands find them. */
  #placed(tasks: readonly Extract<Task, { key: string }>[]): Command[] {
    const { at } = this.#placeOf("uniforms");
    const words = this.view("uniforms");
    return tasks.flatMap(({ uniforms, commands }, slot) => {
      words.set(uniforms, (slot * UNIFORMS_BYTES) / 4);
      const own = at + slot * UNIFORMS_BYTES;
      return commands.map((command) => ({ ...command, addresses: [own, ...command.addresses.slice(1)] }));
    });
  }

  #remember(key: string, milliseconds: number): void {
    if (this.#microseconds.size >= MOST_KEYS) this.#microseconds.clear();
    const before = this.#microseconds.get(key);
    const now = 1000 * milliseconds;
    // the first time includes compiling, and any may include another program's turn
    this.#microseconds.set(key, before === undefined ? now : Math.min(now, 0.75 * before + 0.25 * now));
  }

  #done(): void {
    if (this.#running) {
      const { keys, since } = this.#running;
      const each = (this.threads * (performance.now() - since)) / keys.length;
      for (const key of keys) this.#remember(key, each);
    }
    this.#running = undefined;
    this.#next();
  }

  #lose(why: string): void {
    this.#lost = new DeviceLostError(
      "device-lost",
      `${this.plan.name}: a thread of WebAssembly was lost (${why.replace(/\.$/, "")}), and what was learned since the last snapshot with it. Make another learner and restore that.`,
      { reason: why },
    );
    const tasks = this.#tasks;
    this.#tasks = [];
    this.#running = undefined;
    for (const task of tasks) if ("fail" in task) task.fail(this.#lost);
  }

  /** Does something when all that was asked for before is done: at once if nothing is. */
  async #after<T>(act: () => T): Promise<T> {
    this.#assertGood();
    if (this.#isIdle) return act();
    return new Promise((resolve, reject) => {
      const attempt = () => {
        try {
          resolve(act());
        } catch (error) {
          reject(error);
        }
      };
      this.#tasks.push({ act: attempt, fail: reject });
    });
  }

  async turn(): Promise<void> {
    // threads are kept at work, and what waits does not grow without end
    if (this.#tasks.length >= UNIFORM_SLOTS) await this.#after(() => {});
    if (performance.now() - this.#turned < TURN_MS) return;
    await new Promise<void>((resolve) => later(resolve));
    this.#turned = performance.now();
  }

  done(): Promise<void> {
    return this.#after(() => {});
  }

  /** Gives the memory back when all that was asked for is done. */
  async close(): Promise<void> {
    if (!this.#isClosed && !this.#lost) await this.done().catch(() => {});
    this.#isClosed = true;
    await this.#threads?.close();
    for (const hold of this.#holds.splice(0)) hold.release();
    this.#kernels.length = 0;
  }
}
