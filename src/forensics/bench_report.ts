// what a benchmark reports, and how it comes from what was measured
import type { MachineFacts } from "./machine.ts";
import type { Runner } from "./runner.ts";

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
  readonly bytesPerEnv: number;
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

export interface Bench {
  readonly name: string;
  readonly adapter: string;
  readonly machine: MachineFacts;
  readonly settings: {
    readonly frameSkip: number;
    readonly timestep: number;
    readonly seconds: number;
    readonly repetitions: number;
    readonly seed: number;
    /** Control steps after which MuJoCo's worlds are reset: as long as the environment's episodes last on average. */
    readonly episodeSteps: number;
    readonly unroll: boolean;
  };
  readonly rows: readonly BenchRow[];
  readonly mujoco: { readonly workers1: PeerRow; readonly workersN: PeerRow };
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
    bytesPerEnv: env.plan.bytesPerWorld,
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

/** Workers that get less than this part of a core are not alone. */
const BUSY = 0.9;

/** What to say of a machine that others used meanwhile; undefined where MuJoCo's workers had the cores for themselves. */
export function busyNote({ mujoco: { workersN }, ratio }: Bench): string | undefined {
  if (workersN.coresUsed >= BUSY * workersN.workers) return undefined;
  const same =
    ratio.perCpuSecond === null ? "" : `; for the same processor time it is ${ratio.perCpuSecond.toFixed(1)} x`;
  const got = `MuJoCo's ${workersN.workers} workers got ${workersN.coresUsed.toFixed(1)} cores`;
  return `Others used the machine: ${got}, so the ratio may be off${same}.`;
}
