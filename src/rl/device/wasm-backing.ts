// the memory of a learner as WebAssembly, and its kernels compiled from the same WGSL: no adapter, and the same bits on every
// machine. Jobs run at once, in the calling thread.
import { CorralError } from "../../core/errors.ts";
import { later } from "../../core/host.ts";
import { formatBytes } from "../../core/units.ts";
import type { Hold } from "../../memory/budget.ts";
import { hostBudget, inWasm, unstaged } from "../../memory/host-budget.ts";
import { WORKGROUP } from "../../gpu/workgroup.ts";
import type { Plan } from "../../memory/plan.ts";
import type { ArenaRead, Backing, Words } from "./backing.ts";
import { bindingsOf, entryOf, kernelCode, type Job, type JobPass } from "./kernels.ts";
import type { KernelName } from "./kernel-table.ts";
import type { Uniforms, UniformValues } from "./uniforms.ts";
import { compileWgsl } from "../../wgsl/compile.ts";

const PAGE_BYTES = 65536;
const MOST_PAGES = 65536;
const MOST_BYTES = MOST_PAGES * PAGE_BYTES;
/** The first line is nobody's; then variables of workgroups and arrays that are indexed. */
const SCRATCH = { at: 64, bytes: 16320 } as const;
const ALIGNED = 64;
/** How long jobs keep the calling thread from its events, in ms. */
const TURN_MS = 50;

type Run = (x: number, y: number, z: number, ...addresses: number[]) => void;

/** A kernel of an instance with the addresses of what it reads and writes. */
export interface WasmJob {
  readonly run: Run;
  readonly addresses: readonly number[];
}

const PASS: JobPass = {
  workgroup: WORKGROUP,
  add(job, x, y, z) {
    const { run, addresses } = job as WasmJob;
    run(x, y, z, ...addresses);
  },
};

/** Arenas of environments of which a learner has one shard as a copy. */
export const COPIED = ["obs", "action", "result"] as const;

/** Bytes of copies of environments; those with as many worlds in a shard share them. */
function copiedBytes(envs: readonly Plan[]): number {
  const sizes = new Map<number, number>();
  for (const { arenas, shards } of envs) {
    const most = Math.max(0, ...shards.map(({ worlds }) => worlds));
    const copied = arenas.filter(({ name }) => COPIED.some((arena) => arena === name));
    sizes.set(
      most,
      copied.reduce((sum, { bytesPerWorld }) => sum + most * bytesPerWorld + ALIGNED, 0),
    );
  }
  return [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
}

/**
 * What a learner of a plan holds in its one memory, with what passes between it and environments; a problem of the plan
 * where that is more than a memory has.
 */
export function learnerInWasm(plan: Plan, envs: readonly Plan[] = []): Plan {
  const bytes = unstaged(plan).totalBytes + SCRATCH.at + SCRATCH.bytes + copiedBytes(envs);
  const memory = Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES;
  const whole = inWasm(plan, { memory });
  if (memory <= MOST_BYTES) return whole;
  const text = `${plan.name} needs ${formatBytes(memory)}, and the memory of WebAssembly has at most ${formatBytes(MOST_BYTES)}. Take fewer worlds or narrower networks.`;
  return { ...whole, problems: [...whole.problems, { code: "limit-exceeded", text }] };
}

/** Modules of this process: kernels do not depend on the learner. */
const modules = new Map<KernelName, WebAssembly.Module>();

/** Invocations of a workgroup that sum together: here one does it, in order. */
const CONSTANTS = { PARTS: 1 } as const;

function moduleOf(kernel: KernelName): WebAssembly.Module {
  let module = modules.get(kernel);
  if (!module) {
    const bindings = bindingsOf(kernel).map(({ binding }) => binding);
    const options = { entry: entryOf(kernel), bindings, scratch: SCRATCH, constants: CONSTANTS };
    module = new WebAssembly.Module(compileWgsl(kernelCode(kernel, "vectors"), options));
    modules.set(kernel, module);
  }
  return module;
}

export class WasmBacking implements Backing {
  readonly plan: Plan;
  readonly name = "wasm (WebAssembly SIMD)";
  readonly sharing = "vectors";
  readonly #memory: WebAssembly.Memory;
  readonly #arenas = new Map<string, { readonly at: number; readonly words: number }>();
  readonly #runs = new Map<KernelName, Run>();
  readonly #holds: Hold[];
  #end = SCRATCH.at + SCRATCH.bytes;
  #isClosed = false;
  #turned = performance.now();

  private constructor(plan: Plan, hold: Hold) {
    this.plan = plan;
    this.#holds = [hold];
    this.#memory = new WebAssembly.Memory({ initial: 1, maximum: MOST_PAGES });
    for (const { name, access, sharedBytes, bytesPerWorld } of plan.arenas) {
      if (access !== "staging") this.#arena(name, (sharedBytes + bytesPerWorld * plan.shards[0].paddedWorlds) / 4);
    }
  }

  /** Reserves a plan in the budget of the host. */
  static async create(plan: Plan): Promise<WasmBacking> {
    const held = learnerInWasm(plan);
    const [problem] = held.problems;
    if (problem !== undefined)
      throw new CorralError("wasm-memory", problem.text, { bytes: held.totalBytes, most: MOST_BYTES });
    const hold = await hostBudget().reserve(held, plan.name);
    try {
      return new WasmBacking(held, hold);
    } catch (error) {
      hold.release();
      throw error;
    }
  }

  #arena(name: string, words: number): void {
    const at = Math.ceil(this.#end / ALIGNED) * ALIGNED;
    this.#end = at + 4 * words;
    const missing = this.#missing(0);
    if (missing > 0) this.#memory.grow(missing);
    this.#arenas.set(name, { at, words });
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

  #placeOf(arena: string): { readonly at: number; readonly words: number } {
    if (this.#isClosed)
      throw new CorralError("closed", `${this.plan.name} is closed; its memory is gone. Make another one.`);
    const place = this.#arenas.get(arena);
    if (!place) throw new CorralError("unknown-arena", `${this.plan.name} has no arena ${arena}.`, { arena });
    return place;
  }

  words(arena: string): number {
    return this.#placeOf(arena).words;
  }

  /** The words of an arena, until the memory grows. */
  view(arena: string): Uint32Array {
    const { at, words } = this.#placeOf(arena);
    return new Uint32Array(this.#memory.buffer, at, words);
  }

  write(arena: string, data: Words, offset: number): void {
    this.view(arena).set(new Uint32Array(data.buffer, data.byteOffset, data.length), offset / 4);
  }

  async read(_what: string, parts: readonly ArenaRead[]): Promise<void> {
    for (const { arena, into } of parts)
      new Uint32Array(into.buffer, into.byteOffset, into.length).set(this.view(arena).subarray(0, into.length));
  }

  async bind(kernel: KernelName, at: number | undefined, others: Readonly<Record<string, unknown>> = {}): Promise<Job> {
    let run = this.#runs.get(kernel);
    if (!run) {
      const instance = new WebAssembly.Instance(moduleOf(kernel), { corral: { memory: this.#memory } });
      this.#runs.set(kernel, (run = instance.exports.run as unknown as Run));
    }
    const addresses = bindingsOf(kernel).map(({ arena }) => {
      const place = this.#placeOf((others[arena] as string | undefined) ?? arena).at;
      return arena === "jobs" ? place + at! : place;
    });
    return { run, addresses } satisfies WasmJob;
  }

  submit(_what: string, uniforms: Uniforms, values: UniformValues, encode: (pass: JobPass) => void): void {
    uniforms.set(values);
    this.view("uniforms").set(uniforms.words);
    encode(PASS);
  }

  async turn(): Promise<void> {
    if (performance.now() - this.#turned < TURN_MS) return;
    await new Promise<void>((resolve) => later(resolve));
    this.#turned = performance.now();
  }

  async done(): Promise<void> {}

  async close(): Promise<void> {
    for (const hold of this.#holds) hold.release();
    this.#isClosed = true;
    this.#runs.clear();
  }
}
