// what went wrong in the worlds of an environment so far
import type { DriftReport } from "../../monitor/drift.ts";
import type { TrippedWorld } from "../../record/bundle.ts";

/** Failures of one kind. */
export interface FailureCount {
  /** Worlds that failed so, each time counted. */
  readonly count: number;
  readonly first: TrippedWorld;
  readonly last: TrippedWorld;
  /** Ids of worlds that did, the first 64. */
  readonly ids: readonly number[];
}

/** Why bundles were not written: the first time, and how often. */
export interface Missed {
  readonly code: string;
  readonly reason: string;
  readonly step: number;
  readonly count: number;
}

export interface HealthReport {
  /** Control steps so far, and failures of a world in one of them. */
  readonly steps: number;
  readonly failures: number;
  /** By bit of the status word and name of a condition of `trip`. */
  readonly byStatus: Readonly<Record<string, FailureCount>>;
  /** By term of the reward, part of the observation and info that was not finite. */
  readonly byTerm: Readonly<Record<string, FailureCount>>;
  /** Bundles that were written, the last ones of a restarted run not among them. */
  readonly bundles: readonly string[];
  /** Bundles that were not written, and why. */
  readonly notWritten: readonly Missed[];
  /** Drift that the monitor has measured; undefined without a monitor. */
  readonly drift: DriftReport | undefined;
}

const MOST_IDS = 64;

type Open = { -readonly [K in keyof FailureCount]: FailureCount[K] } & { ids: number[] };

/** Counts failures. Holds a bounded amount of memory. */
export class Health {
  readonly #byStatus = new Map<string, Open>();
  readonly #byTerm = new Map<string, Open>();
  readonly #bundles: string[] = [];
  readonly #notWritten = new Map<string, Missed>();
  #failures = 0;

  /** A world failed, in `times` steps since it was looked at last. */
  add(world: TrippedWorld, times: number): void {
    this.#failures += times;
    for (const name of world.names) count(this.#byStatus, name, world, times);
    for (const name of world.terms) count(this.#byTerm, name, world, times);
  }

  wrote(path: string): void {
    this.#bundles.push(path);
  }

  /** Whether this reason has not been reported yet. */
  missed(step: number, code: string, reason: string): boolean {
    const known = this.#notWritten.get(code);
    this.#notWritten.set(code, known ? { ...known, count: known.count + 1 } : { code, reason, step, count: 1 });
    return known === undefined;
  }

  report(steps: number, drift?: DriftReport): HealthReport {
    const copy = (map: ReadonlyMap<string, Open>) =>
      Object.fromEntries([...map].map(([name, c]) => [name, { ...c, ids: [...c.ids] }]));
    return {
      steps,
      failures: this.#failures,
      byStatus: copy(this.#byStatus),
      byTerm: copy(this.#byTerm),
      bundles: [...this.#bundles],
      notWritten: [...this.#notWritten.values()],
      drift,
    };
  }
}

function count(map: Map<string, Open>, name: string, world: TrippedWorld, times: number): void {
  const known = map.get(name);
  if (!known) {
    map.set(name, { count: times, first: world, last: world, ids: [world.id] });
    return;
  }
  known.count += times;
  known.last = world;
  if (known.ids.length < MOST_IDS && !known.ids.includes(world.id)) known.ids.push(world.id);
}
