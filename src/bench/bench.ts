// steps per second of batches beside MuJoCo on the same cores, in one run
import { availableParallelism, loadavg } from "node:os";
import { CorralError } from "../core/errors.ts";
import type { Task, VecOptions } from "../env/index.ts";
import { withDevice } from "../batch/devices.ts";
import { unrollByDefault } from "../batch/kernel/form.ts";
import { shareDevice, type DeviceLease } from "../gpu/shared-device.ts";
import { BudgetExceededError, LimitExceededError } from "../memory/index.ts";
import { defineTarget } from "../env/describe.ts";
import { machineFacts } from "./machine.ts";
import { Runner, type Measured } from "./runner.ts";
import { ActionPool, type Motion } from "./actions.ts";
import { controlTable } from "./controls.ts";
import { affordable, leftOutText, type LeftOut } from "./counts.ts";
import { contactsOf } from "./contacts.ts";
import { MuJoCoPeers } from "./mujoco-peer.ts";
import { measureStages } from "./stages.ts";
import { envpoolPeer, jaxPeer, nativePeer, type PythonSetup } from "./python-peer.ts";
import {
  growthOf,
  peerRow,
  ratioOf,
  rowOf,
  type Bench,
  type PeerSeries,
  type Refusal,
  type Sample,
  type Series,
} from "./report.ts";

export interface BenchOptions {
  /** Worlds of each batch. */
  readonly numEnvs: readonly number[];
  /** Seconds of a control step beyond which counts are left out, but for GPUs. Default: none is. */
  readonly longestStep?: number;
  /** Seconds of each measurement (default 1). */
  readonly seconds?: number;
  /** Measurements of everything, interleaved (default 3). */
  readonly repetitions?: number;
  /** Worker threads with MuJoCo at most (default: one a core). */
  readonly workers?: number;
  readonly seed?: number;
  /** What the actuators do (default: random). */
  readonly motion?: Motion;
  /** Whether to measure device time by stage: five more kernels are compiled. */
  readonly stages?: boolean;
  /** A Python with native MuJoCo, and on a GPU perhaps JAX; absent: neither is measured. */
  readonly python?: string;
  /** Options of the batch: adapter, device, unroll, overrides of the model. */
  readonly batch?: Omit<VecOptions, "numEnvs" | "seed">;
  readonly onProgress?: (text: string) => void;
}

/** States that MuJoCo's worlds draw from. */
const STARTS = 64;
/** Worlds that go ahead of others whose steps take long. */
const SCOUTS = 32;
/** They have so many times as long. */
const SCOUT_SHARE = 10;
/** Worlds by whose steps the counts of large models are judged. */
const FEW = 4;
/** The batch that is warmed up is the largest of at most this many worlds; others continue from its states. */
const WARM_WORLDS = 1024;

/**
 * Measures an environment, or a model as `plainTask` makes it one, beside MuJoCo. Counts that do not fit are reported, with
 * why; the first must.
 * @throws CorralError bad-option, bench-unhealthy, bench-gpu-errors, mujoco-worker; what makeVec throws
 */
export async function bench(task: Task<object>, options: BenchOptions): Promise<Bench> {
  const { seconds = 1, repetitions = 3, seed = 0, motion = "random" } = options;
  const batch = await withDevice(options.batch ?? {});
  const { settings, definition } = await defineTarget(task, { ...batch, numEnvs: 1 });
  const { frameSkip, maxEpisodeSteps } = settings.vec;
  const pool = new ActionPool(definition.spec.action, seed, motion);
  const progress = options.onProgress ?? (() => {});
  const loadBefore = loadavg()[0];
  // kept open, so that a batch finds the kernels of the one before
  const lease = batch.device === "gpu" ? await shareDevice(batch.adapter) : undefined;
  const runners: Runner[] = [];
  let peers: MuJoCoPeers | undefined;
  try {
    const make = async (numEnvs: number): Promise<Runner> => {
      progress(`${task.id}: making ${numEnvs} worlds`);
      const runner = await Runner.create(task, { ...batch, numEnvs }, seed, pool);
      runners.push(runner);
      if (lease) await runner.actOnDevice(lease.gpu, pool);
      return runner;
    };
    const goAhead = async <T>(numEnvs: number, share: number, use: (scout: Runner) => T): Promise<Awaited<T>> => {
      progress(`${task.id}: warming up ${numEnvs} worlds`);
      const scout = await Runner.create(task, { ...batch, numEnvs }, seed, pool);
      try {
        await scout.warmUp(maxEpisodeSteps, share * seconds);
        return await use(scout);
      } finally {
        await scout.close();
      }
    };
    let counts = options.numEnvs.toSorted((a, b) => a - b);
    let left: LeftOut | undefined;
    const isSmall = options.batch?.unroll ?? unrollByDefault(settings.model);
    if (options.longestStep !== undefined && !isSmall && lease?.gpu.info.kind !== "gpu") {
      const slowest = await goAhead(FEW, 1, (scout) => scout.slowest);
      ({ counts, left } = affordable(counts, { numEnvs: FEW, slowest }, options.longestStep));
      if (left) progress(`${task.id}: ${leftOutText(left)}`);
    }
    const warm = await make(counts.findLast((n) => n <= WARM_WORLDS) ?? counts[0]);
    await warm.env.reset();
    const starts = await statesOf(warm);
    // steps that take so long that fewer worlds go ahead
    if (!(await warm.warmUp(maxEpisodeSteps, seconds)) && warm.env.numEnvs > SCOUTS)
      await goAhead(SCOUTS, SCOUT_SHARE, (scout) => warm.continueFrom(scout));
    const midst = await statesOf(warm);

    let refused: Refusal | undefined;
    for (const count of counts.filter((n) => n !== warm.env.numEnvs)) {
      try {
        await (await make(count)).continueFrom(warm);
      } catch (error) {
        if (!(error instanceof BudgetExceededError || error instanceof LimitExceededError)) throw error;
        refused = { numEnvs: count, code: error.code, largest: error.plan.largestNumEnvs };
        break;
      }
    }
    runners.sort((a, b) => a.env.numEnvs - b.env.numEnvs);

    const episodes = () => warm.meanEpisodeSteps(Math.min(maxEpisodeSteps, 1e9));
    const pace = { seed, seconds, maxEpisodeSteps };
    const table = await controlTable(task, definition.spec, pool, pace, batch);
    const setup = { model: settings.model, frameSkip, starts, midst, ...table };
    peers = await MuJoCoPeers.start(options.workers ?? availableParallelism(), setup);

    const { unroll } = warm.env.kernels.get("step")!.form;
    const ours: Series[] = runners.map(() => ({ physics: [], env: [] }));
    const all = peers;
    const theirs = [1, all.count].map((workers): PeerSeries => ({ workers, physics: [], contacts: [] }));
    // every worker's first steps run before its code is compiled
    await all.run(all.count, { seconds: Math.min(seconds, 0.5), episodeSteps: episodes() });
    for (let r = 0; r < repetitions; r++) {
      progress(`${task.id}: measuring, ${r + 1} of ${repetitions}`);
      for (const [i, runner] of runners.entries()) {
        const n = runner.env.numEnvs;
        ours[i].env.push(sampleOf(await runner.withResults(seconds / 2), n));
        const stepsEach = n * frameSkip * runner.physicsShare;
        ours[i].physics.push(sampleOf(await runner.withoutResults(seconds), stepsEach));
        await runner.assertHealthy();
      }
      const request = { seconds, episodeSteps: episodes() };
      for (const { workers, physics, contacts } of theirs) {
        const run = await all.run(workers, request);
        physics.push(sampleOf(run, frameSkip));
        contacts.push(run.meanContacts);
      }
    }
    const stages =
      lease?.gpu.features.has("timestamp-query") && options.stages
        ? await measureStages(lease.gpu, settings.model, warm.env, unroll)
        : undefined;
    assertClean(lease);
    const contacts = await contactsOf(settings.model, warm.env);

    const adapter = warm.env.deviceName;
    const kind = lease?.gpu.info.kind;
    const rows = runners.map((runner, i) => rowOf(runner, ours[i], runner === warm));
    const [workers1, workersN] = theirs.map((series) => peerRow(series, frameSkip));
    const episodeSteps = Math.round(episodes());
    const python: PythonSetup | undefined =
      options.python === undefined
        ? undefined
        : { python: options.python, env: task.id, repetitions, seconds, seed, episodeSteps, ...setup };
    return {
      name: task.id,
      adapter,
      machine: { ...machineFacts(adapter), load: { before: loadBefore, after: loadavg()[0] } },
      settings: {
        frameSkip,
        timestep: settings.model.opt.timestep,
        seconds,
        repetitions,
        seed,
        motion,
        episodeSteps,
        unroll,
      },
      rows,
      growth: growthOf(rows, kind !== "gpu"),
      ...(refused ? { refused } : {}),
      ...(left ? { left } : {}),
      contacts,
      ...(stages ? { stages } : {}),
      bytes: warm.env.plan.fields
        .filter(({ bytesPerWorld }) => bytesPerWorld > 0)
        .map(({ arena, name, bytesPerWorld }) => ({ arena, name, bytesPerWorld })),
      mujoco: { workers1, workersN },
      native: await nativePeer(python, progress),
      jax: await jaxPeer(python, kind === "gpu", progress),
      envpool: await envpoolPeer(python, progress),
      ratio: ratioOf(
        runners.map(({ env }) => env.numEnvs),
        ours,
        theirs,
        kind !== "gpu",
      ),
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

/** States of some worlds as they are now, rows of qpos and qvel. */
async function statesOf({ env }: Runner): Promise<Float64Array> {
  const worlds = Array.from({ length: Math.min(STARTS, env.numEnvs) }, (_, w) => w);
  const names = ["qpos", "qvel"].filter((name) => env.stateNames.includes(name));
  const state = await env.getState(names, worlds);
  const [qpos, qvel] = [state.qpos ?? new Float64Array(), state.qvel ?? new Float64Array()];
  const [nq, nv] = [qpos.length / worlds.length, qvel.length / worlds.length];
  return Float64Array.from(
    worlds.flatMap((w) => [...qpos.subarray(w * nq, (w + 1) * nq), ...qvel.subarray(w * nv, (w + 1) * nv)]),
  );
}
