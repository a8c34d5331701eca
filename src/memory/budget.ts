// one budget for everything that lives on a device: who holds what, and a word before it runs out
import { INSPECT, type Inspect, printFacts } from "../core/inspect.ts";
import { CorralError } from "../core/errors.ts";
import { nearest } from "../core/names.ts";
import type { Bytes } from "../core/units.ts";
import { formatApart, formatBytes, parseBytes } from "../core/units.ts";
import { BudgetExceededError, type LimitExceededError } from "./errors.ts";
import { refusalOf, type Plan } from "./plan.ts";
import { planAgainst } from "./problems.ts";
import type { BudgetView } from "./request.ts";

/** Told when a reservation would take the budget past a watermark, before it is granted. Bytes. */
export interface PressureEvent {
  /** The watermark that is passed, as a part of the limit: one of `warnAt`, or 1 if the request does not fit. */
  readonly level: number;
  readonly limit: number;
  readonly live: number;
  readonly requested: number;
  readonly holder: string;
}

/** May give bytes back, or promise to: the request waits for what is promised and for memory that is on its way back. */
export type PressureListener = (event: PressureEvent) => unknown;

export interface BudgetOptions {
  /** Bytes, `"6GiB"`, or a part of `available`: `0.8`, `"80%"`. */
  readonly limit: Bytes;
  /** What the device or machine has, in bytes: what parts are of, and the most that `limit` may be. */
  readonly available?: number;
  /** Where the limit came from, for people. Default `"the option"`. */
  readonly source?: string;
  /** Watermarks as parts of the limit, each above 0 and below 1. Default 0.9. */
  readonly warnAt?: number | readonly number[];
  readonly onPressure?: PressureListener;
}

/** What one holder has, in bytes. */
export interface HolderReport {
  readonly holder: string;
  readonly live: number;
  readonly highWater: number;
  readonly reservations: number;
}

/** Who holds what, in bytes. `holders` keeps those that gave everything back, for their high water. */
export interface BudgetReport {
  readonly limit: number;
  readonly source: string;
  readonly live: number;
  readonly highWater: number;
  readonly free: number;
  readonly refused: number;
  readonly holders: readonly HolderReport[];
}

/** Bytes granted to a holder until `release()`, which may be called again. */
export interface Hold {
  readonly holder: string;
  readonly bytes: number;
  release(): void;
}

interface Account {
  live: number;
  highWater: number;
  reservations: number;
}

/** Shared by all batches, learners and storages of a device; `createBudget` gives a device's own. */
export class Budget implements BudgetView {
  readonly #available: number;
  #warnAt: readonly number[];
  readonly #listeners = new Set<PressureListener>();
  readonly #accounts = new Map<string, Account>();
  readonly #draining = new Set<Promise<void>>();
  #limit: number;
  #source: string;
  #live = 0;
  #highWater = 0;
  #refused = 0;
  #telling = false;

  /** Throws `bad-bytes`, `budget-too-large`, `bad-watermark`, `bad-option` or `unknown-option`. */
  constructor(options: BudgetOptions) {
    checkBudgetOptions(options);
    this.#available = options.available ?? Infinity;
    this.#limit = this.#checkLimit(options.limit);
    this.#source = options.source ?? "the option";
    this.#warnAt = checkWatermarks(options.warnAt === undefined ? 0.9 : options.warnAt);
    if (options.onPressure) this.#listeners.add(options.onPressure);
  }

  [INSPECT](_depth: number, options: object, inspect: Inspect): string {
    return printFacts(
      "Budget",
      {
        limit: formatBytes(this.limit),
        live: formatBytes(this.live),
        free: formatBytes(this.free),
        source: this.source,
      },
      options,
      inspect,
    );
  }

  /** Bytes that may be held. */
  get limit(): number {
    return this.#limit;
  }

  /** Where the limit came from. */
  get source(): string {
    return this.#source;
  }

  /** Bytes that are held. */
  get live(): number {
    return this.#live;
  }

  /** Bytes that are free. */
  get free(): number {
    return this.#limit - this.#live;
  }

  /**
   * Changes limit and watermarks and adds a listener, if given. Throws what the constructor throws, and
   * `budget-below-live` if more is held than the new limit; then nothing is changed.
   */
  change(options: Partial<Omit<BudgetOptions, "available">>): void {
    checkBudgetOptions(options);
    const limit = options.limit === undefined ? this.#limit : this.#checkNewLimit(options.limit);
    const warnAt = options.warnAt === undefined ? this.#warnAt : checkWatermarks(options.warnAt);
    if (options.limit !== undefined) this.#source = options.source ?? "the option";
    this.#limit = limit;
    this.#warnAt = warnAt;
    if (options.onPressure) this.#listeners.add(options.onPressure);
  }

  #checkNewLimit(limit: Bytes): number {
    const bytes = this.#checkLimit(limit);

    if (bytes < this.#live) {
      throw new CorralError(
        "budget-below-live",
        `the new limit is ${formatBytes(bytes)}, but ${formatBytes(this.#live)} are held by ${this.#holderNames()}. Close some of these first.`,
        { limit: bytes, live: this.#live },
      );
    }

    return bytes;
  }

  /** Adds a listener; the function that is returned removes it. */
  onPressure(listener: PressureListener): () => void {
    checkBudgetOptions({ onPressure: listener });
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Grants the plan's bytes to a holder. Listeners run first, and may give bytes back; what others are giving back is
   * waited for. Throws `BudgetExceededError` with nothing changed, or what a listener throws.
   */
  async reserve(plan: Plan, holder: string): Promise<Hold> {
    const bytes = plan.totalBytes;
    await this.makeRoom(bytes, holder);

    // from here to the grant nothing waits: two that ask at once cannot both be given the same bytes
    if (bytes > this.free) {
      this.#refused++;
      // what is free now may differ from when the plan was made
      const { limit, live, source } = this;
      throw new BudgetExceededError(planAgainst(plan, { limit, live, source }), this.report().holders);
    }

    const account = this.#account(holder);
    this.#live += bytes;
    this.#highWater = Math.max(this.#highWater, this.#live);
    account.live += bytes;
    account.highWater = Math.max(account.highWater, account.live);
    account.reservations++;

    let held = true;
    const release = () => {
      if (!held) return;
      held = false;
      this.#live -= bytes;
      account.live -= bytes;
      account.reservations--;
    };
    return { holder, bytes, release };
  }

  /** The error of a plan that is over a limit: of memory, where that allows fewer worlds still. */
  refusalOf(plan: Plan): BudgetExceededError | LimitExceededError {
    const { limit, live, source } = this;
    const against = planAgainst(plan, { limit, live, source });
    const isTighter = plan.numEnvs > plan.largestNumEnvs && against.largestNumEnvs < plan.largestNumEnvs;
    return isTighter ? new BudgetExceededError(against, this.report().holders) : refusalOf(plan);
  }

  /** Tells listeners of what a holder will ask for, and waits for what they and others give back. Returns what is free then. */
  async makeRoom(bytes: number, holder: string): Promise<number> {
    // what was released counts as held until the driver has it back
    await this.settle();
    await this.#tell(bytes, holder);
    await this.settle();
    return this.free;
  }

  /** Who holds what. */
  report(): BudgetReport {
    const holders = [...this.#accounts].map(([holder, account]) => ({ holder, ...account }));
    const { limit, source, live, free } = this;
    return { limit, source, live, highWater: this.#highWater, free, refused: this.#refused, holders };
  }

  /** Throws `leak` if bytes are still held: everything was to be closed by now. */
  assertEmpty(): void {
    if (this.#live === 0 && ![...this.#accounts.values()].some((account) => account.reservations > 0)) return;

    throw new CorralError(
      "leak",
      `${formatBytes(this.#live)} are still held by ${this.#holderNames()}. Close each with close() or await using.`,
      { ...this.report() },
    );
  }

  /** Waits until memory that is being given back is back. For those who release and reserve. */
  async settle(): Promise<void> {
    while (this.#draining.size > 0) await Promise.all(this.#draining);
  }

  /** Makes `settle` wait for a drain, which must not reject. */
  addDrain(drain: Promise<void>): void {
    this.#draining.add(drain);
    void drain.then(() => this.#draining.delete(drain));
  }

  #account(holder: string): Account {
    let account = this.#accounts.get(holder);
    if (account === undefined) {
      account = { live: 0, highWater: 0, reservations: 0 };
      this.#accounts.set(holder, account);
    }
    return account;
  }

  /** Tells of each watermark that is below now and would not be after, and waits for the listeners. */
  async #tell(requested: number, holder: string): Promise<void> {
    // a listener that reserves is not notified of its own request, nor of others made meanwhile
    if (this.#telling) return;

    this.#telling = true;
    try {
      for (const level of [...this.#warnAt, 1]) {
        const { limit, live } = this;
        const mark = level * limit;
        const passed = level === 1 ? live + requested > limit : live < mark && live + requested >= mark;
        if (!passed) continue;
        for (const listener of this.#listeners) await listener({ level, limit, live, requested, holder });
      }
    } finally {
      this.#telling = false;
    }
  }

  #checkLimit(limit: Bytes): number {
    const whole = Number.isFinite(this.#available) ? this.#available : undefined;
    const bytes = parseBytes(limit, "budget", whole);

    if (bytes > this.#available) {
      const [given, there] = formatApart(bytes, this.#available);
      throw new CorralError("budget-too-large", `budget is ${given}, but only ${there} are there. Pass at most that.`, {
        limit: bytes,
        available: this.#available,
      });
    }

    return bytes;
  }

  #holderNames(): string {
    const names = [...this.#accounts].filter(([, account]) => account.reservations > 0).map(([holder]) => holder);
    return names.join(", ") || "nobody";
  }
}

const OPTIONS = ["limit", "available", "source", "warnAt", "onPressure"] as const satisfies (keyof BudgetOptions)[];

/** Throws `unknown-option` or `bad-option` for what is no option of a budget. */
export function checkBudgetOptions(options: unknown): void {
  if (typeof options !== "object" || options === null) {
    throw new CorralError(
      "bad-option",
      `options of a budget are ${String(options)}; pass an object: { limit: "2GiB" }.`,
    );
  }

  const unknown = Object.keys(options).find((name) => !(OPTIONS as readonly string[]).includes(name));
  if (unknown !== undefined) {
    const [near] = nearest(unknown, OPTIONS);
    const hint = near === undefined ? `there are ${OPTIONS.join(", ")}` : `nearest: ${near}`;
    throw new CorralError("unknown-option", `a budget has no option "${unknown}"; ${hint}.`, { name: unknown });
  }

  const { onPressure } = options as Partial<BudgetOptions>;
  if (onPressure !== undefined && typeof onPressure !== "function") {
    throw new CorralError("bad-option", `onPressure is ${String(onPressure)}; pass a function of a PressureEvent.`);
  }
}

function checkWatermarks(warnAt: number | readonly number[]): number[] {
  const marks: unknown[] = Array.isArray(warnAt) ? [...(warnAt as readonly unknown[])] : [warnAt];

  for (const mark of marks) {
    if (typeof mark === "number" && mark > 0 && mark < 1) continue;
    const text = `warnAt is ${String(mark)}; it is a part of the limit, above 0 and below 1. Pass such as 0.9.`;
    throw new CorralError("bad-watermark", text, { warnAt: mark });
  }

  return (marks as number[]).sort((a, b) => a - b);
}
