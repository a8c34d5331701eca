// the transaction that turns a plan into buffers: all of them, or none and nothing held
import { CorralError, GpuCreationError } from "../core/errors.ts";
import { formatBytes, formatCount } from "../core/units.ts";
import type { GpuDevice } from "../gpu/device.ts";
import { createBuffer } from "../gpu/scopes.ts";
import type { Budget, Hold } from "./budget.ts";
import { drain } from "./drain.ts";
import { AllocationRefusedError, keepShort } from "./errors.ts";
import type { BufferPlan, Plan } from "./plan.ts";
import { refusalOf } from "./plan.ts";
import { usageOf } from "./usage.ts";

/**
 * What a driver must have left beside the buffers: it stages writes and encodes commands in memory of its own, and loses
 * the device, with everybody's buffers, if it finds none.
 */
const HEADROOM = 2 ** 26;
const HEADROOM_BUFFER = { arena: "headroom", shard: null, copy: 0, size: HEADROOM, usage: usageOf("read_write") };

/** Buffers by arena and shard, with the bytes they hold of the budget. */
export class Reservation {
  readonly plan: Plan;
  readonly holder: string;
  readonly #gpu: GpuDevice;
  readonly #budget: Budget;
  readonly #hold: Hold;
  readonly #buffers: ReadonlyMap<string, readonly GPUBuffer[]>;
  #closing: Promise<void> | undefined;

  constructor(gpu: GpuDevice, plan: Plan, budget: Budget, hold: Hold, made: readonly GPUBuffer[]) {
    this.plan = plan;
    this.holder = hold.holder;
    this.#gpu = gpu;
    this.#budget = budget;
    this.#hold = hold;

    const buffers = new Map<string, GPUBuffer[]>();
    plan.buffers.forEach(({ arena }, i) => {
      if (!buffers.has(arena)) buffers.set(arena, []);
      buffers.get(arena)!.push(made[i]);
    });
    this.#buffers = buffers;
  }

  /** Bytes held. */
  get bytes(): number {
    return this.isClosed ? 0 : this.#hold.bytes;
  }

  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  /**
   * All buffers of an arena, by shard and then by copy; none if the arena has no bytes. Throws `unknown-arena`,
   * `reservation-closed`.
   */
  buffers(arena: string): readonly GPUBuffer[] {
    if (this.isClosed) {
      throw new CorralError("reservation-closed", `${this.holder} is closed; its buffers are gone. Make another one.`);
    }

    const found = this.#buffers.get(arena);
    if (found !== undefined) return found;
    if (this.plan.arenas.some((candidate) => candidate.name === arena)) return [];

    const known = this.plan.arenas.map((candidate) => candidate.name).join(", ");
    throw new CorralError("unknown-arena", `${this.holder} has no arena ${arena}. Its arenas are ${known}.`, { arena });
  }

  /**
   * The buffer of an arena for a shard; one that the whole batch shares is the same for every shard. Throws
   * `unknown-arena`, `reservation-closed`, and `no-buffer` if the arena has no such shard, copy or bytes.
   */
  buffer(arena: string, shard = 0, copy = 0): GPUBuffer {
    const buffers = this.buffers(arena);
    const layout = this.plan.arenas.find((candidate) => candidate.name === arena)!;
    const row = layout.scope === "batch" ? 0 : shard;
    const inRange = shard >= 0 && shard < this.plan.shards.length && copy >= 0 && copy < layout.copies;
    const found = inRange ? buffers[row * layout.copies + copy] : undefined;
    if (found !== undefined) return found;

    throw new CorralError(
      "no-buffer",
      `arena ${arena} of ${this.holder} has no buffer for shard ${shard}, copy ${copy}: it has ${buffers.length} buffers. Pass a shard below ${this.plan.shards.length} and a copy below ${layout.copies}.`,
      { arena, shard, copy },
    );
  }

  /**
   * Destroys the buffers, once `after` has settled, and waits until the driver has their memory back; then the budget has
   * it too. Work that was submitted before completes. Never rejects; calling it again returns the same promise.
   */
  close(after?: Promise<unknown>): Promise<void> {
    this.#closing ??= this.#close(after);
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #close(after: Promise<unknown> | undefined): Promise<void> {
    const drained = this.#giveBack(after);
    this.#budget.addDrain(drained);
    return drained;
  }

  async #giveBack(after: Promise<unknown> | undefined): Promise<void> {
    if (after !== undefined) await after.catch(() => {});
    for (const buffers of this.#buffers.values()) destroyAll(buffers);
    await drain(this.#gpu);
    this.#hold.release();
  }
}

/**
 * Makes every buffer of the plan, or none. Near the limit a refusal for lack of memory is drained and tried once more.
 * Throws `BudgetExceededError` or `LimitExceededError` before the first buffer, `AllocationRefusedError`
 * (`allocation-refused`) naming the buffer if the driver refuses, `DeviceLostError`. After any of these nothing is held.
 */
export async function reserve(
  gpu: GpuDevice,
  plan: Plan,
  budget: Budget,
  holder: string = plan.name,
): Promise<Reservation> {
  gpu.assertUsable(`reserve ${holder}`);
  const limit = plan.problems.find((problem) => problem.code === "limit-exceeded");
  if (limit !== undefined) throw refusalOf(plan);

  const hold = await budget.reserve(plan, holder);

  try {
    gpu.assertUsable(`reserve ${holder}`);
    const made = await makeAll(gpu, plan).catch((error: unknown) => {
      if (!isOutOfMemory(error)) throw error;
      return makeAll(gpu, plan);
    });
    return new Reservation(gpu, plan, budget, hold, made);
  } catch (error) {
    hold.release();
    throw error instanceof Refusal ? refused(plan, budget, error) : error;
  }
}

/** A refusal of one buffer, before it is put into words. */
class Refusal extends Error {
  readonly buffer: BufferPlan;
  readonly held: number;

  constructor(buffer: BufferPlan, held: number, cause: GpuCreationError) {
    super(cause.message, { cause });
    this.buffer = buffer;
    this.held = held;
  }
}

/** All buffers of the plan in its order; on a failure those that were made are destroyed, and their memory is back. */
async function makeAll(gpu: GpuDevice, plan: Plan): Promise<GPUBuffer[]> {
  const made: GPUBuffer[] = [];
  let held = 0;
  const make = async (buffer: BufferPlan) => {
    try {
      made.push(await createBuffer(gpu, buffer.label, buffer.size, buffer.usage));
      held += buffer.size;
    } catch (error) {
      destroyAll(made);
      await drain(gpu);
      throw error instanceof GpuCreationError ? new Refusal(buffer, held, error) : error;
    }
  };

  for (const buffer of plan.buffers) await make(buffer);

  // asked for and given back: that it can be had is all that is wanted
  await make({ ...HEADROOM_BUFFER, label: `${plan.name}.headroom` });
  made.pop()!.destroy();
  await drain(gpu);
  return made;
}

function refused(plan: Plan, budget: Budget, refusal: Refusal): AllocationRefusedError {
  const { buffer, held } = refusal;
  const cause = refusal.cause as GpuCreationError;
  const [why] = String(cause.details.message).trim().split("\n");
  const what =
    buffer.arena === HEADROOM_BUFFER.arena
      ? `the driver has no ${formatBytes(buffer.size)} left beside ${plan.name}, which it needs to work`
      : `the driver refused buffer ${buffer.label} of ${formatBytes(buffer.size)}`;
  const fewer = plan.bytesPerWorld > 0 ? `Take fewer worlds than ${formatCount(plan.numEnvs)}, or ` : "";
  const error = new AllocationRefusedError(
    "allocation-refused",
    `${what} (${cause.code}: ${why}). ` +
      `${formatBytes(held)} of this plan's ${formatBytes(plan.totalBytes)} were made and are given back; others hold ${formatBytes(budget.live)}. ` +
      `${fewer || "To make room, "}close another holder; a smaller budget refuses before the driver does.`,
    { buffer: buffer.label, size: buffer.size, held, live: budget.live, cause: cause.code, plan },
    { cause },
  );
  keepShort(error.details, "plan");
  return error;
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Refusal && (error.cause as GpuCreationError).code === "gpu-out-of-memory";
}

function destroyAll(buffers: readonly GPUBuffer[]): void {
  for (const buffer of buffers) buffer.destroy();
}
