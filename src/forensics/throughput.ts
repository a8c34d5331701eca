// steps per second of batches beside MuJoCo's WebAssembly on the same cores, in one run
import { availableParallelism } from "node:os";
import { CorralError } from "../core/errors.ts";
import type { Task, VecOptions } from "../env/index.ts";
import { shareDevice, type DeviceLease } from "../gpu/shared-device.ts";
import { peerRow, ratioOf, rowOf, type Bench, type PeerSeries, type Sample, type Series } from "./bench_report.ts";
import { controlsOf } from "./controls.ts";
import { defineTarget } from "./describe.ts";
import { machineFacts } from "./machine.ts";
import { MuJoCoPeers } from "./mujoco_peer.ts";
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
    const all = peers!;
    const theirs = [1, all.count].map((workers): PeerSeries => ({ workers, physics: [], contacts: [] }));
    // every worker's first steps run before its code is compiled
    await all.run(all.count, { seconds: Math.min(seconds, 0.5), episodeSteps: episodes() });
    for (let r = 0; r < repetitions; r++) {
      progress(`${task.id}: measuring, ${r + 1} of ${repetitions}`);
      for (const [i, runner] of runners.entries()) {
        const n = runner.env.numEnvs;
        ours[i].env.push(sampleOf(await runner.withResults(seconds), n));
        const stepsEach = n * frameSkip * runner.physicsShare;
        ours[i].physics.push(sampleOf(await runner.withoutResults(seconds), stepsEach));
        runner.assertHealthy();
      }
      const request = { seconds, episodeSteps: episodes() };
      for (const { workers, physics, contacts } of theirs) {
        const run = await all.run(workers, request);
        physics.push(sampleOf(run, frameSkip));
        contacts.push(run.meanContacts);
      }
    }
    assertClean(lease);

    const adapter = runners[0].env.deviceName;
    const [workers1, workersN] = theirs.map((series) => peerRow(series, frameSkip));
    const onCpu = lease === undefined || lease.gpu.info.kind === "software";
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
      mujoco: { workers1, workersN },
      ratio: ratioOf(numEnvs, ours, theirs, onCpu),
    };
  } finally {
    await peers?.close();
    for (const runner of runners) await runner.close();
    lease?.release();
  }
}

const sampleOf = ({ controlSteps, seconds, cpuSeconds }: Measured, stepsEach: number): Sample => ({
  steps: controlSteps * stepsEach,
  seconds,
  cpuSeconds,
});

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
