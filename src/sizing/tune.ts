// which form and which workgroups of a model's kernels are fastest on an adapter, by a short measurement
import type { Task, VecOptions } from "../env/index.ts";
import { chooseDevice, isHostDevice } from "../batch/devices.ts";
import { CorralError } from "../core/errors.ts";
import { shareDevice } from "../gpu/shared-device.ts";
import { writeTuning, type Tuning } from "../batch/kernel/tuning.ts";
import { ActionPool } from "../bench/actions.ts";
import { defineTarget } from "../env/describe.ts";
import { MOST_LIVE } from "../trace/wgsl.ts";
import { Runner } from "../bench/runner.ts";
import { measureCapacity } from "./contact-counts.ts";

export interface TuneOptions {
  readonly numEnvs: number;
  /** Seconds of each measurement. */
  readonly seconds: number;
  readonly repetitions: number;
  readonly batch?: Omit<VecOptions, "numEnvs" | keyof Tuning>;
  readonly onProgress?: (text: string) => void;
}

export interface TuneRow extends Tuning {
  /** The fastest of the repetitions: what else runs only slows them. */
  readonly physicsStepsPerSec: number;
  /** How often as fast as what was chosen so far, which was measured by turns with it; 1 for the default. */
  readonly ratio: number;
  /** From the call that makes it to its first results. */
  readonly firstStepMs: number;
}

export interface Tuned {
  readonly name: string;
  readonly adapter: string;
  readonly rows: readonly TuneRow[];
  readonly byDefault: Tuning;
  readonly chosen: Tuning;
  /** On a GPU, fewer places for contacts; undefined where the need is more than half of what there is. Never kept. */
  readonly contacts?: TunedContacts;
  /** Where the choice is kept; null if the cache folder cannot be written. */
  readonly file: string | null;
}

/** Places for contacts as worlds need them under random actions, beside what the pairs of a model can make. */
export interface TunedContacts {
  readonly nconmax: number;
  readonly bound: number;
  /** Most contacts that a world had. */
  readonly most: number;
  /** How often as fast as what was chosen, with room for all. */
  readonly ratio: number;
}

/** Each is another compile, which takes seconds for large models: few, far apart. */
const SIZES: Readonly<Record<"gpu" | "software", readonly number[]>> = {
  // a large workgroup lowers the registers that NVIDIA gives a lane, for more warps
  gpu: [32, 64, 128, 256, 512],
  software: [8, 64, 128],
};
/** Values that may live at once, on GPUs: fewer, for compilers that need more registers for each, and all that do. */
const LIVE: readonly number[] = [200, MOST_LIVE];
/** What was chosen so far stays unless another is faster by this: measurements are noisy. */
const WORTH = 1.1;
/** Control steps and worlds that contacts are counted over. */
const [COUNTED_STEPS, COUNTED_WORLDS] = [200, 64];

export function formName({ unroll, workgroupSize, privateArrays, cut, mostLive = MOST_LIVE }: Tuning): string {
  const live = mostLive === MOST_LIVE ? "" : `, ${mostLive} values live`;
  return `${unroll ? "straight-line" : "rolled"}, arrays ${privateArrays}, ${cut ? "in pieces" : "whole"}${live}, ${workgroupSize} a workgroup`;
}

/**
 * Measures straight-line and rolled kernels, private arrays merged and separate, on a GPU a kernel whole and in pieces
 * and how many of its values may live at once, then sizes of the workgroups, each by turns with the best so far, and keeps the choice, which `tuned: true` takes.
 * On a GPU it says what fewer places for contacts would give, which it never takes: a world that needs more ends its episode.
 * @throws CorralError nothing-to-tune, without an adapter; what makeVec throws
 */
export async function tune(task: Task<object>, options: TuneOptions): Promise<Tuned> {
  const { numEnvs, seconds, repetitions, batch = {}, onProgress = () => {} } = options;
  const { settings, definition } = await defineTarget(task, { ...batch, numEnvs: 1 });
  const { model, vec } = settings;
  const pool = new ActionPool(definition.spec.action, 0);
  const device = await chooseDevice(batch);
  if (isHostDevice(device))
    throw new CorralError(
      "nothing-to-tune",
      `the device is ${device}, where the model alone decides the form of its kernels, so that every machine has the same bits, and workgroups are none. Pass --device gpu (and --adapter) to tune for an adapter.`,
      { device },
    );
  const lease = await shareDevice(batch.adapter);
  const runners = new Set<Runner>();
  const make = async (form?: Tuning & { nconmax?: number }): Promise<Runner> => {
    onProgress(`${task.id}: making ${numEnvs} worlds, ${form ? formName(form) : "the default"}`);
    const runner = await Runner.create(task, { ...batch, ...form, numEnvs }, 0, pool);
    runners.add(runner);
    return runner;
  };
  const close = async (runner: Runner): Promise<void> => {
    runners.delete(runner);
    await runner.close();
  };
  const rateOf = async (runner: Runner, mayOverflow = false): Promise<number> => {
    const { controlSteps, seconds: took } = await runner.withoutResults(seconds);
    if (!mayOverflow) await runner.assertHealthy();
    return (controlSteps * numEnvs * vec.frameSkip) / took;
  };

  try {
    let best = await make();
    const { unroll, workgroupSize, privateArrays = "separate", mostLive } = best.env.kernels.get("step")!.form;
    const cut = best.env.cuts.has("step");
    const byDefault: Tuning = {
      unroll,
      workgroupSize,
      privateArrays,
      cut,
      ...(mostLive === undefined ? {} : { mostLive }),
    };
    let chosen = byDefault;
    await best.warmUp(vec.maxEpisodeSteps, seconds);
    await best.actOnDevice(lease.gpu, pool);
    const rows: TuneRow[] = [];

    const besideBest = async (other: Runner, mayOverflow = false): Promise<[own: number, theirs: number]> => {
      await other.continueFrom(best);
      await other.actOnDevice(lease.gpu, pool);
      let [own, theirs] = [0, 0];
      for (let r = 0; r < repetitions; r++) {
        own = Math.max(own, await rateOf(best));
        theirs = Math.max(theirs, await rateOf(other, mayOverflow));
      }
      return [own, theirs];
    };
    const challenge = async (form: Tuning): Promise<void> => {
      const other = await make(form);
      const [own, theirs] = await besideBest(other);
      const row = (f: Tuning, runner: Runner, rate: number, ratio: number): TuneRow => ({
        ...f,
        physicsStepsPerSec: rate,
        ratio,
        firstStepMs: runner.firstStepMs,
      });
      if (rows.length === 0) rows.push(row(byDefault, best, own, 1));
      rows.push(row(form, other, theirs, theirs / own));
      const isBetter = theirs > WORTH * own;
      await close(isBetter ? best : other);
      if (isBetter) [best, chosen] = [other, form];
    };
    const fewerContacts = async (): Promise<TunedContacts | undefined> => {
      onProgress(`${task.id}: counting contacts`);
      const form = { ...batch, ...chosen };
      const counted = await measureCapacity(task, { steps: COUNTED_STEPS, worlds: COUNTED_WORLDS, batch: form });
      const { nconmax } = counted.covering;
      if (2 * nconmax > counted.bound.nconmax) return undefined;
      const other = await make({ ...chosen, nconmax });
      const [own, theirs] = await besideBest(other, true);
      await close(other);
      const { max: most } = counted.contacts;
      return { nconmax, bound: counted.bound.nconmax, most, ratio: theirs / own };
    };
    const merging = privateArrays === "merged" ? "separate" : "merged";
    await challenge({ ...chosen, unroll: !unroll });
    await challenge({ ...chosen, privateArrays: merging });
    const { driver, kind } = lease.gpu.info;
    // a software driver spills to memory that is as near as an arena
    if (kind === "gpu") {
      await challenge({ ...chosen, cut: !chosen.cut });
      for (const live of LIVE) await challenge({ ...chosen, mostLive: live });
    }
    const limit = lease.gpu.limits.maxComputeInvocationsPerWorkgroup;
    const sizes = SIZES[kind].filter((size) => size !== workgroupSize && size <= limit);
    for (const size of sizes) await challenge({ ...chosen, workgroupSize: size });
    const contacts = kind === "gpu" && batch.nconmax === undefined ? await fewerContacts() : undefined;

    return {
      name: task.id,
      adapter: driver,
      rows,
      byDefault,
      chosen,
      ...(contacts ? { contacts } : {}),
      file: writeTuning(model, driver, chosen) ?? null,
    };
  } finally {
    for (const runner of runners) await runner.close();
    lease.release();
  }
}
