// how many contacts and constraint rows worlds have under random actions, and the capacity that covers it
import { makeVec, type Task, type VecOptions } from "../env/index.ts";
import { placeOf, termsIn } from "../env/task/term-value.ts";
import { constraintBound } from "../model/pairs.ts";
import { defineTarget } from "../env/describe.ts";

export interface CapacityOptions {
  /** Control steps of each world. */
  readonly steps: number;
  /** Worlds that are stepped. Default 64. */
  readonly worlds?: number;
  readonly seed?: number;
  /** Options of the environment, and where it runs: by default on the shared device. */
  readonly batch?: Omit<VecOptions, "numEnvs" | "seed">;
  readonly onProgress?: (done: number) => void;
}

/** Counts over all worlds and control steps; percentiles are counts that occur. */
export interface CountSpread {
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
  /** How often each count occurred, from 0. */
  readonly histogram: readonly number[];
}

export interface Capacity {
  readonly name: string;
  readonly device: string;
  readonly worlds: number;
  readonly steps: number;
  readonly contacts: CountSpread;
  readonly rows: CountSpread;
  /** What the candidate pairs, limits and friction can make at once. */
  readonly bound: { readonly nconmax: number; readonly njmax: number };
  /** The most that occurred with a margin, and not more than there can be. */
  readonly covering: { readonly nconmax: number; readonly njmax: number };
}

const NCON = "measured_ncon";
const NEFC = "measured_nefc";

/** Room beyond the most that occurred: random actions do not reach what a policy will. */
const MARGIN = 1.25;

/** The task, reporting its contacts and rows too. */
function counting(task: Task<object>): Task<object> {
  return {
    ...task,
    outputs: (options) => [...new Set([...(task.outputs?.(options) ?? []), "ncon", "nefc"] as const)],
    info: (scene) => ({
      ...termsIn(task.info, scene, placeOf(task, "info")),
      [NCON]: scene.d.ncon.at(0),
      [NEFC]: scene.d.nefc.at(0),
    }),
  };
}

/**
 * Steps a task with random actions and counts contacts and constraint rows after each control step.
 * @throws what makeVec throws
 */
export async function measureCapacity(task: Task<object>, options: CapacityOptions): Promise<Capacity> {
  const { steps, worlds = 64, seed = 0, batch = {} } = options;
  const { nconmax: _, ...others } = batch;
  const { settings } = await defineTarget(task, { ...others, numEnvs: 1 });
  const { nconmax, njmax } = constraintBound(settings.model);
  const contacts: number[] = [];
  const rows: number[] = [];

  await using env = await makeVec(counting(task), { ...others, numEnvs: worlds, seed });
  await env.reset();
  for (let step = 0; step < steps; step++) {
    const { infos } = await env.step(env.actionSpace.sample(seed, { draw: step }));
    count(contacts, infos.get(NCON));
    count(rows, infos.get(NEFC));
    options.onProgress?.(step + 1);
  }

  const spread = { contacts: spreadOf(contacts), rows: spreadOf(rows) };
  const covering = {
    nconmax: Math.min(nconmax, Math.max(1, Math.ceil(MARGIN * spread.contacts.max))),
    njmax: Math.min(njmax, Math.max(1, Math.ceil(MARGIN * spread.rows.max))),
  };
  return { name: task.id, device: env.deviceName, worlds, steps, ...spread, bound: { nconmax, njmax }, covering };
}

function count(histogram: number[], column: { values: ArrayLike<number>; mask: Uint8Array } | undefined): void {
  if (column === undefined) return;
  column.mask.forEach((has, world) => {
    if (has === 0) return;
    const n = column.values[world];
    while (histogram.length <= n) histogram.push(0);
    histogram[n]++;
  });
}

/** The spread of a histogram of counts. */
export function spreadOf(histogram: readonly number[]): CountSpread {
  const total = histogram.reduce((sum, times) => sum + times, 0);
  const rank = (part: number) => {
    let seen = 0;
    return Math.max(
      0,
      histogram.findIndex((times) => (seen += times) >= Math.max(1, Math.ceil(part * total))),
    );
  };
  const mean = total === 0 ? 0 : histogram.reduce((sum, times, n) => sum + times * n, 0) / total;
  const max = Math.max(0, histogram.length - 1);
  return { mean, p50: rank(0.5), p90: rank(0.9), p99: rank(0.99), p999: rank(0.999), max, histogram };
}
