// what a benchmark reports, and how it comes from what was measured
import { formatCount } from "../core/units.ts";
import type { MachineFacts } from "./machine.ts";
import type { Runner } from "./runner.ts";
import type { Motion } from "./actions.ts";
import type { LeftOut } from "./counts.ts";
import type { FirstSteps } from "./first-step.ts";
import type { Absent, EnvpoolPeer, JaxPeer, NativePeer } from "./python-peer.ts";
import type { Stages } from "./stages.ts";

/** The slowest and the fastest of several measurements. */
export interface RateRange {
  readonly min: number;
  readonly max: number;
}

export interface BenchRow {
  readonly numEnvs: number;
  /** Median; results stay on the device. */
  readonly physicsStepsPerSec: number;
  /** Median; observations, rewards and flags of every step reach the host. */
  readonly envStepsPerSec: number;
  /** The same for a second of the processor. Undefined in documents of 0.1. */
  readonly envStepsPerCpuSecond?: number;
  readonly bytesPerEnv: number;
  /** All that the batch holds. */
  readonly bytes: number;
  /** From the call that makes the batch to the results of its first step. */
  readonly firstStepMs: number;
  /** Whether the kernels were compiled for it, rather than for the row before. */
  readonly compiled: boolean;
  readonly physicsRange: RateRange;
  readonly envRange: RateRange;
  /** Processor seconds a second while physics was measured: fewer than the cores where others use them too. */
  readonly coresUsed: number;
}

export interface PeerRow {
  readonly workers: number;
  /** Median of all workers together. */
  readonly physicsStepsPerSec: number;
  /** Control steps: no observation, reward or flag is computed. */
  readonly envStepsPerSec: number;
  readonly physicsRange: RateRange;
  readonly meanContacts: number;
  readonly coresUsed: number;
}

/** physicsStepsPerSec of the fastest row over that of MuJoCo: the median of the repetitions, and the worst. */
export interface BenchRatio {
  readonly numEnvs: number;
  readonly workers1: number;
  readonly workersN: number;
  readonly workers1Min: number;
  readonly workersNMin: number;
  /**
   * Steps for the same processor time, beside all workers: what the ratio comes to where other work takes its share of
   * the cores. Null on a GPU, whose time is not the processor's.
   */
  readonly perCpuSecond: number | null;
}

/** How throughput grows with the number of worlds. */
export interface Growth {
  /** Worlds of the fastest batch. */
  readonly peak: number;
  /** The slowest of the batches at least as large, as a part of the peak. */
  readonly kept: number;
}

/** The count that did not fit, and what does. */
export interface Refusal {
  readonly numEnvs: number;
  readonly code: string;
  readonly largest: number;
}

export interface Bench {
  readonly name: string;
  readonly adapter: string;
  /** `load`: the operating system's one-minute average of running threads, before and after. */
  readonly machine: MachineFacts & { readonly load: { readonly before: number; readonly after: number } };
  readonly settings: {
    readonly frameSkip: number;
    readonly timestep: number;
    readonly seconds: number;
    readonly repetitions: number;
    readonly seed: number;
    readonly motion: Motion;
    /** Control steps after which MuJoCo's worlds are reset: as long as the environment's episodes last on average. */
    readonly episodeSteps: number;
    readonly unroll: boolean;
  };
  readonly rows: readonly BenchRow[];
  readonly growth: Growth;
  readonly refused?: Refusal;
  /** Counts that were not measured since their steps would take long; undefined where none is. */
  readonly left?: LeftOut;
  /** Mean contacts of a world at the end, to be read beside those of the peers. */
  readonly contacts: number;
  /** What a world takes, by field; staging memory and tables are not of a world. */
  readonly bytes: readonly { readonly arena: string; readonly name: string; readonly bytesPerWorld: number }[];
  readonly mujoco: { readonly workers1: PeerRow; readonly workersN: PeerRow };
  readonly native: NativePeer | Absent;
  readonly jax: JaxPeer | Absent;
  /** Undefined in documents of 0.1. */
  readonly envpool?: EnvpoolPeer | Absent;
  /** Time to the first step in fresh processes, with the driver's cache empty and filled; if it was asked for. */
  readonly firstStep?: FirstSteps;
  /** Device time by stage; if it was asked for. */
  readonly stages?: Stages;
  readonly ratio: BenchRatio;
}

/** Steps of all worlds together, in a time. */
export interface Sample {
  readonly steps: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
}

/** Samples of one batch, by repetition. */
export interface Series {
  readonly physics: Sample[];
  readonly env: Sample[];
}

/** Samples of MuJoCo's workers, by repetition. */
export interface PeerSeries {
  readonly workers: number;
  readonly physics: Sample[];
  readonly contacts: number[];
}

const perSecond = ({ steps, seconds }: Sample): number => steps / seconds;
const perCpuSecond = ({ steps, cpuSeconds }: Sample): number => steps / cpuSeconds;
const coresOf = ({ seconds, cpuSeconds }: Sample): number => cpuSeconds / seconds;

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

const rangeOf = (values: readonly number[]): RateRange => ({ min: Math.min(...values), max: Math.max(...values) });

export function rowOf({ env, firstStepMs }: Runner, series: Series, compiled: boolean): BenchRow {
  const [physics, results] = [series.physics.map(perSecond), series.env.map(perSecond)];
  return {
    numEnvs: env.numEnvs,
    physicsStepsPerSec: median(physics),
    envStepsPerSec: median(results),
    envStepsPerCpuSecond: median(series.env.map(perCpuSecond)),
    bytesPerEnv: env.plan.bytesPerWorld,
    bytes: env.plan.totalBytes,
    firstStepMs,
    compiled,
    physicsRange: rangeOf(physics),
    envRange: rangeOf(results),
    coresUsed: median(series.physics.map(coresOf)),
  };
}

export function peerRow({ workers, physics, contacts }: PeerSeries, frameSkip: number): PeerRow {
  const rates = physics.map(perSecond);
  return {
    workers,
    physicsStepsPerSec: median(rates),
    envStepsPerSec: median(rates) / frameSkip,
    physicsRange: rangeOf(rates),
    meanContacts: contacts.reduce((a, b) => a + b, 0) / contacts.length,
    coresUsed: median(physics.map(coresOf)),
  };
}

/**
 * Where the device computes on the processor (`onCpu`), growth is that of the steps for the same processor time, which
 * does not depend on what else runs; elsewhere that of the fastest measurement of each batch.
 */
export function growthOf(rows: readonly BenchRow[], onCpu: boolean): Growth {
  const rates = rows.map((row) => (onCpu ? row.physicsStepsPerSec / row.coresUsed : row.physicsRange.max));
  const peak = rates.indexOf(Math.max(...rates));
  return { peak: rows[peak].numEnvs, kept: Math.min(...rates.slice(peak)) / rates[peak] };
}

/** `onCpu`: the device computes on this machine's processor. */
export function ratioOf(
  numEnvs: readonly number[],
  ours: readonly Series[],
  [one, all]: readonly PeerSeries[],
  onCpu: boolean,
): BenchRatio {
  const medians = ours.map(({ physics }) => median(physics.map(perSecond)));
  const best = medians.indexOf(Math.max(...medians));
  const against = (peer: PeerSeries, rate: (sample: Sample) => number) =>
    peer.physics.map((theirs, r) => rate(ours[best].physics[r]) / rate(theirs));
  const [ratios1, ratiosN] = [against(one, perSecond), against(all, perSecond)];
  return {
    numEnvs: numEnvs[best],
    workers1: median(ratios1),
    workersN: median(ratiosN),
    workers1Min: Math.min(...ratios1),
    workersNMin: Math.min(...ratiosN),
    perCpuSecond: onCpu ? median(against(all, perCpuSecond)) : null,
  };
}

/** A peer on this machine's cores, in the words of a report. */
export interface NamedPeer {
  readonly what: string;
  readonly physicsStepsPerSec: number;
  readonly envStepsPerSec: number;
  readonly physicsRange: RateRange;
  readonly meanContacts: number;
}

/** MuJoCo in its forms, as far as they were measured. */
export function peersOf({ mujoco: { workers1, workersN }, native }: Bench): NamedPeer[] {
  const plural = (n: number, what: string) => `${n} ${what}${n === 1 ? "" : "s"}`;
  return [
    ...[workers1, ...(workersN.workers > 1 ? [workersN] : [])].map((p) => ({
      ...p,
      what: `MuJoCo WASM, ${plural(p.workers, "worker")}`,
    })),
    ...("absent" in native ? [] : native.rows).map((p) => ({
      ...p,
      what: `MuJoCo ${(native as NativePeer).mujoco} native, ${plural(p.threads, "thread")}`,
    })),
  ];
}

const rounded = (perSecond: number): string => {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(perSecond)) - 2);
  return formatCount(Math.round(perSecond / unit) * unit);
};

/** The versions of native MuJoCo that were measured. */
const versionsOf = (benches: readonly Bench[]): string =>
  [...new Set(benches.flatMap(({ native }) => ("absent" in native ? [] : [native.mujoco])))].join(", ");

/** How much was measured of each, which may differ where results were measured in pieces. */
export function effort(benches: readonly Bench[]): string {
  const range = (of: (settings: Bench["settings"]) => number) => {
    const found = benches.map(({ settings }) => of(settings));
    const [least, most] = [Math.min(...found), Math.max(...found)];
    return least === most ? `${least}` : `${least} to ${most}`;
  };
  return `${range((of) => of.repetitions)} measurements of ${range((of) => of.seconds)} s each, by turns; medians`;
}

/** A header, and one row an environment: its fastest batch beside MuJoCo on all cores. */
export function overview(benches: readonly Bench[]): string[][] {
  const native = benches.some((b) => !("absent" in b.native));
  const first = benches.some((b) => b.firstStep);
  const cpu = benches.some((b) => b.ratio.perCpuSecond !== null);
  const pools = benches.map(besideEnvpool);
  const pooled = pools.some((pool) => pool !== undefined);
  const header = ["environment", "worlds", "physics steps/s", "env steps/s", "a world"];
  const peers = [
    "WASM 1 worker",
    "WASM all cores",
    "ratio",
    ...(cpu ? ["for equal processor time"] : []),
    ...(native ? [`native ${versionsOf(benches)}, all cores`, "ratio"] : []),
    ...(pooled ? ["EnvPool, env steps/s", "ratio", ...(cpu ? ["for equal processor time"] : [])] : []),
  ];
  const times = (ratio: number | undefined) => (ratio === undefined ? "" : `${ratio.toFixed(1)} x`);
  const rows = benches.map((b, i) => {
    const pool = pools[i];
    const best = b.rows.find((r) => r.numEnvs === b.ratio.numEnvs)!;
    const c = "absent" in b.native ? undefined : b.native.rows.at(-1);
    return [
      b.name,
      formatCount(best.numEnvs),
      rounded(best.physicsStepsPerSec),
      rounded(Math.max(...b.rows.map((r) => r.envStepsPerSec))),
      `${formatCount(best.bytesPerEnv)} B`,
      ...(first ? [b.firstStep ? seconds(b.firstStep.cold.total, b.firstStep.warm.total) : ""] : []),
      rounded(b.mujoco.workers1.physicsStepsPerSec),
      rounded(b.mujoco.workersN.physicsStepsPerSec),
      `${b.ratio.workersN.toFixed(1)} x`,
      ...(cpu ? [b.ratio.perCpuSecond === null ? "" : `${b.ratio.perCpuSecond.toFixed(1)} x`] : []),
      ...(native
        ? c
          ? [rounded(c.physicsStepsPerSec), `${(best.physicsStepsPerSec / c.physicsStepsPerSec).toFixed(1)} x`]
          : ["", ""]
        : []),
      ...(pooled
        ? [
            pool ? rounded(pool.theirs.envStepsPerSec) : "",
            times(pool?.ratio),
            ...(cpu ? [times(b.ratio.perCpuSecond === null ? undefined : pool?.perCpuSecond)] : []),
          ]
        : []),
    ];
  });
  return [[...header, ...(first ? ["first step, cold / warm"] : []), ...peers], ...rows];
}

/** Env steps with results on the host beside EnvPool's, of the fastest batch of each, by the clock and by the processor. */
export interface BesideEnvpool {
  readonly ours: BenchRow;
  readonly theirs: EnvpoolPeer["rows"][number];
  readonly ratio: number;
  /** Undefined where either did not say it. */
  readonly perCpuSecond: number | undefined;
}

export function besideEnvpool({ rows, envpool }: Bench): BesideEnvpool | undefined {
  if (envpool === undefined || "absent" in envpool) return undefined;
  const fastest = <T extends { readonly envStepsPerSec: number }>(list: readonly T[]): T =>
    list.reduce((best, row) => (row.envStepsPerSec > best.envStepsPerSec ? row : best));
  const [ours, theirs] = [fastest(rows), fastest(envpool.rows)];
  const [one, other] = [ours, theirs].map((row) => row.envStepsPerCpuSecond);
  return {
    ours,
    theirs,
    ratio: ours.envStepsPerSec / theirs.envStepsPerSec,
    perCpuSecond: one === undefined || other === undefined ? undefined : one / other,
  };
}

const seconds = (...times: number[]): string => times.map((t) => `${(t / 1000).toFixed(1)} s`).join(" / ");

/** Workers that get less than this part of a core are not alone. */
const BUSY = 0.9;

/** What to say of a machine that others used meanwhile; undefined if MuJoCo's workers had the cores for themselves. */
export function busyNote({ mujoco: { workersN }, ratio }: Bench): string | undefined {
  if (workersN.coresUsed >= BUSY * workersN.workers) return undefined;
  const same =
    ratio.perCpuSecond === null ? "" : `; for the same processor time it is ${ratio.perCpuSecond.toFixed(1)} x`;
  const got = `MuJoCo's ${workersN.workers} workers got ${workersN.coresUsed.toFixed(1)} cores`;
  return `Others used the machine: ${got}, so the ratio may be off${same}.`;
}
