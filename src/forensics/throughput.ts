// steps per second of batches beside MuJoCo's WebAssembly on the same cores, in one run
import { availableParallelism } from "node:os";
import { CorralError } from "../core/errors.ts";
import type { Task, VecOptions } from "../env/index.ts";
import { shareDevice, type DeviceLease } from "../gpu/shared-device.ts";
import { controlsOf } from "./controls.ts";
import { defineTarget } from "./describe.ts";
import { machineFacts, type MachineFacts } from "./machine.ts";
import { MuJoCoPeers, type PeerResult } from "./mujoco_peer.ts";
import { Runner, type Measured } from "./runner.ts";

export interface BenchOptions {
  /** Worlds of each batch. */
  readonly numEnvs: readonly number[];
  /** Seconds of each measurement (default 1). */
  readonly seconds?: number;
  /** Measurements of everything, interleaved (default 3). */
  readonly repetitions?: number;
  /** Worker threads with MuJoCo at most (default: one a core). */
  readonly workers?: number;
  readonly seed?: number;
  /** Options of the batch: adapter, device, unroll, overrides of the model. */
  readonly batch?: Omit<VecOptions, "numEnvs" | "seed">;
  readonly onProgress?: (text: string) => void;
}

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
}

export interface PeerRow {
  readonly workers: number;
  /** Median of all workers together. */
  readonly physicsStepsPerSec: number;
  /** Control steps: no observation, reward or flag is computed. */
  readonly envStepsPerSec: number;
  readonly physicsRange: RateRange;
  readonly meanContacts: number;
}

/** physicsStepsPerSec of the fastest row over that of MuJoCo: the median of the repetitions, and the worst. */
export interface BenchRatio {
  readonly numEnvs: number;
  readonly workers1: number;
  readonly workersN: number;
  readonly workers1Min: number;
  readonly workersNMin: number;
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

/** Start states that MuJoCo's worlds draw from. */
const STARTS = 64;
/** Actions that they draw from. */
const PEER_ACTIONS = 4096;

/** Drivers keep compiled kernels on disk; first-step times are to be those of a first time. */
export function disableShaderCaches(): void {
  for (const [name, value] of [
    ["MESA_SHADER_CACHE_DISABLE", "true"],
    ["__GL_SHADER_DISK_CACHE", "0"],
  ]) {
    process.env[name] ??= value;
  }
}

interface Series {
  readonly physics: number[];
  readonly env: number[];
}

/**
 * Measures an environment, or a model as `plainTask` makes it one, beside MuJoCo's WebAssembly.
 * @throws CorralError bad-option, bench-unhealthy, bench-gpu-errors, mujoco-worker; what makeVec throws
 */
export async function bench(task: Task<object>, options: BenchOptions): Promise<Bench> {
  const { seconds = 1, repetitions = 3, seed = 0, numEnvs, batch = {} } = options;
  const { settings } = await defineTarget(task, { ...batch, numEnvs: 1 });
  const { frameSkip, maxEpisodeSteps } = settings.vec;
  const progress = options.onProgress ?? (() => {});
  // kept open, so that a batch finds the kernels of the one before
  const lease = batch.device === undefined ? await shareDevice(batch.adapter) : undefined;
  const runners: Runner[] = [];
  let peers: MuJoCoPeers | undefined;
  try {
    for (const count of numEnvs) {
      progress(`${task.id}: making ${count} worlds`);
      const runner = await Runner.create(task, { ...batch, numEnvs: count }, seed);
      runners.push(runner);
      if (!peers) {
        const starts = await startsOf(runner);
        const { size } = runner.env.singleActionSpace;
        const controls = controlsOf(task, runner.actions.subarray(0, PEER_ACTIONS * size), size);
        const setup = { model: settings.model, frameSkip, starts, controls };
        peers = await MuJoCoPeers.start(options.workers ?? availableParallelism(), setup);
      }
      await runner.warmUp(maxEpisodeSteps, seconds);
    }
    const episodes = () => runners[0].meanEpisodeSteps(Math.min(maxEpisodeSteps, 1e9));

    const ours: Series[] = runners.map(() => ({ physics: [], env: [] }));
    const theirs: PeerResult[][][] = [[], []];
    const all = peers!;
    // every worker's first steps run before its code is compiled
    await all.run(all.count, { seconds: Math.min(seconds, 0.5), episodeSteps: episodes() });
    for (let r = 0; r < repetitions; r++) {
      progress(`${task.id}: measuring, ${r + 1} of ${repetitions}`);
      for (const [i, runner] of runners.entries()) {
        const n = runner.env.numEnvs;
        ours[i].env.push(n * perSecond(await runner.withResults(seconds)));
        const { physicsShare } = runner;
        ours[i].physics.push(n * frameSkip * physicsShare * perSecond(await runner.withoutResults(seconds)));
        runner.assertHealthy();
      }
      const request = { seconds, episodeSteps: episodes() };
      theirs[0].push(await all.run(1, request));
      theirs[1].push(all.count === 1 ? theirs[0][r] : await all.run(all.count, request));
    }
    assertClean(lease);

    const adapter = runners[0].env.deviceName;
    const mujoco = { workers1: peerRow(theirs[0], frameSkip), workersN: peerRow(theirs[1], frameSkip) };
    return {
      name: task.id,
      adapter,
      machine: machineFacts(adapter),
      settings: {
        frameSkip,
        timestep: settings.model.opt.timestep,
        seconds,
        repetitions,
        seed,
        episodeSteps: Math.round(episodes()),
        unroll: settings.vec.unroll,
      },
      rows: runners.map((runner, i) => rowOf(runner, ours[i], i === 0)),
      mujoco,
      ratio: ratioOf(runners, ours, theirs, frameSkip),
    };
  } finally {
    await peers?.close();
    for (const runner of runners) await runner.close();
    lease?.release();
  }
}

const perSecond = ({ controlSteps, seconds }: Measured): number => controlSteps / seconds;

/** A batch that fails validation "runs" at absurd speed. */
function assertClean(lease: DeviceLease | undefined): void {
  const [error] = lease?.gpu.uncaptured ?? [];
  if (error)
    throw new CorralError("bench-gpu-errors", `the device reported an error while it was measured: ${error.message}`);
}

/** States that the environment's own resets make, rows of qpos and qvel. */
async function startsOf({ env }: Runner): Promise<Float64Array> {
  await env.reset();
  const worlds = Array.from({ length: Math.min(STARTS, env.numEnvs) }, (_, w) => w);
  const names = ["qpos", "qvel"].filter((name) => env.plan.fields.some((f) => f.arena === "state" && f.name === name));
  const state = await env.getState(names, worlds);
  const [qpos, qvel] = [state.qpos ?? new Float64Array(), state.qvel ?? new Float64Array()];
  const [nq, nv] = [qpos.length / worlds.length, qvel.length / worlds.length];
  return Float64Array.from(
    worlds.flatMap((w) => [...qpos.subarray(w * nq, (w + 1) * nq), ...qvel.subarray(w * nv, (w + 1) * nv)]),
  );
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

const rangeOf = (values: readonly number[]): RateRange => ({ min: Math.min(...values), max: Math.max(...values) });

function rowOf({ env, firstStepMs }: Runner, { physics, env: envRates }: Series, compiled: boolean): BenchRow {
  return {
    numEnvs: env.numEnvs,
    physicsStepsPerSec: median(physics),
    envStepsPerSec: median(envRates),
    bytesPerEnv: env.plan.bytesPerWorld,
    firstStepMs,
    compiled,
    physicsRange: rangeOf(physics),
    envRange: rangeOf(envRates),
  };
}

/** Control steps per second of workers together. */
const together = (results: readonly PeerResult[]): number => results.reduce((sum, r) => sum + perSecond(r), 0);

function peerRow(runs: readonly PeerResult[][], frameSkip: number): PeerRow {
  const rates = runs.map(together);
  const contacts = runs.flat().map((r) => r.meanContacts);
  return {
    workers: runs[0].length,
    physicsStepsPerSec: frameSkip * median(rates),
    envStepsPerSec: median(rates),
    physicsRange: rangeOf(rates.map((rate) => frameSkip * rate)),
    meanContacts: contacts.reduce((a, b) => a + b, 0) / contacts.length,
  };
}

function ratioOf(
  runners: readonly Runner[],
  ours: readonly Series[],
  theirs: readonly PeerResult[][][],
  frameSkip: number,
): BenchRatio {
  const medians = ours.map(({ physics }) => median(physics));
  const best = medians.indexOf(Math.max(...medians));
  const ratios = theirs.map((runs) =>
    runs.map((results, r) => ours[best].physics[r] / (frameSkip * together(results))),
  );
  return {
    numEnvs: runners[best].env.numEnvs,
    workers1: median(ratios[0]),
    workersN: median(ratios[1]),
    workers1Min: Math.min(...ratios[0]),
    workersNMin: Math.min(...ratios[1]),
  };
}
