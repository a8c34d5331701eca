// one step of many worlds beside MuJoCo's own float64 step from the same states
import type { Arithmetic } from "../batch/kernel/arithmetic.ts";
import { CorralError } from "../core/errors.ts";
import { checked } from "../core/options.ts";
import { integer } from "../core/schema.ts";
import { fieldSize } from "../model/fields.ts";
import type { Model } from "../model/model.ts";
import { unsupportedFeatures, type UnsupportedFeature } from "../model/supported.ts";
import type { PlacementOptions } from "../batch/options.ts";
import { createSimulation, type Simulation } from "../batch/simulation.ts";
import { statusNames } from "../physics/status.ts";
import { distance, spreadOf, type Spread } from "../monitor/measure.ts";
import { MuJoCoWorld } from "../monitor/mujoco-world.ts";
import { COMPARED, type Compared, oneStep, outputsOf } from "./one-step.ts";
import { distances } from "./quantities.ts";
import { rollout, type RolloutDrift, RolloutRecorder } from "./rollout.ts";
import { trajectory, type Divergence, type Sample } from "./trajectory.ts";
import { Judge, type Verdict } from "./verdict.ts";

export interface CompareOptions extends Pick<PlacementOptions, "device" | "adapter" | "budget"> {
  /** Steps of each world (default 200). */
  readonly steps?: number;
  /** Independent worlds (default 4). */
  readonly envs?: number;
  readonly seed?: number;
  /** Also let the worlds run freely from MuJoCo's start states, and report how they drift. */
  readonly rollout?: boolean;
  /** Straight-line kernels (default) or kernels with runtime loops. */
  readonly unroll?: boolean;
  /** What kernels compute in, where the device has a choice. */
  readonly arithmetic?: Arithmetic;
  /** Contacts that a world may have at once, as of a simulation. */
  readonly nconmax?: number;
  readonly onProgress?: (text: string) => void;
}

/** Steps of which a count agrees, or differs only because something is within 1e-6 of touching. */
export interface CountAgreement {
  readonly equal: number;
  readonly touching: number;
  readonly total: number;
  /** The most that MuJoCo had in a step, so that a reader sees whether there was anything to compare. */
  readonly most: number;
}

export interface Comparison {
  readonly model: string;
  /** The driver; null if the model was refused. */
  readonly adapter: string | null;
  /** What its steps were computed in; null if the model was refused. */
  readonly arithmetic: Arithmetic | null;
  readonly steps: number;
  readonly envs: number;
  readonly seed: number;
  /** Distances of one step by field, in the measure max |x - ref| / (1 + max |ref|); act and sensordata if there are any. */
  readonly oneStep: { readonly [F in Compared]?: Spread };
  readonly contacts: CountAgreement;
  readonly rows: CountAgreement;
  /** Iterations of the solver over all steps. */
  readonly niter: { readonly corral: Spread; readonly mujoco: Spread };
  /**
   * Whether corral's float64 (`cpu-f64`) is within the bounds in the worst steps, of MuJoCo or of MuJoCo run to its end:
   * then float32 is what is unexplained. Null if none was beyond, or the comparison is of float64; `note` says why where it could not be asked.
   */
  readonly float64: { readonly agrees: boolean | null; readonly note: string | null } | null;
  /** Status bits that were set, with how many steps set them. */
  readonly status: Readonly<Record<string, number>>;
  /** Worlds that MuJoCo itself could not step further; they were started over. */
  readonly diverged: readonly Divergence[];
  readonly rollout?: readonly RolloutDrift[];
  readonly verdict: Verdict;
  /** Features that this release does not simulate; nothing was compared if there are any. */
  readonly unsupported: readonly string[];
  readonly unsupportedElements: readonly UnsupportedFeature[];
}

/** Samples compared in one batch: enough to fill any driver, few enough to hold. */
const CHUNK = 1024;

const none: CountAgreement = { equal: 0, touching: 0, total: 0, most: 0 };

const COUNT = integer(1, 1e9);

/**
 * Steps worlds in MuJoCo under random controls and repeats each single step from the same state in a batch.
 * A model that is not supported is reported, not thrown.
 * @throws CorralError bad-option, bad-seed, mujoco-diverged if MuJoCo cannot step the model at all; errors of
 *   createSimulation
 */
export async function compareWithMuJoCo(model: Model, options: CompareOptions = {}): Promise<Comparison> {
  const { steps = 200, envs = 4, seed = 0 } = options;
  checked("steps", COUNT, steps);
  checked("envs", COUNT, envs);
  const asked = { model: model.name, steps, envs, seed };

  const features = unsupportedFeatures(model);
  if (features.length > 0) {
    return {
      ...asked,
      adapter: null,
      arithmetic: null,
      oneStep: {},
      contacts: none,
      rows: none,
      niter: { corral: spreadOf([]), mujoco: spreadOf([]) },
      float64: null,
      status: {},
      diverged: [],
      verdict: {
        passed: false,
        reasons: [`${features.length} unsupported features`],
        beyond: 0,
        explained: 0,
        because: {},
        worst: [],
      },
      unsupported: features.map((f) => f.feature),
      unsupportedElements: features,
    };
  }

  const world = await MuJoCoWorld.create(model);
  try {
    const chunk = Math.max(envs, Math.min(CHUNK, steps * envs));
    options.onProgress?.(`compiling kernels for ${chunk} worlds`);
    await using simulation = await simulationOf(model, chunk, options);
    const compared = await compareSteps(model, world, simulation, { ...options, steps, envs, seed });
    const { deviceName: adapter, arithmetic } = simulation;
    return { ...asked, adapter, arithmetic, ...compared, unsupported: [], unsupportedElements: [] };
  } finally {
    world.delete();
  }
}

const simulationOf = (model: Model, numEnvs: number, options: CompareOptions): Promise<Simulation> =>
  createSimulation(model, {
    numEnvs,
    applied: false,
    outputs: outputsOf(model),
    ...(options.device === undefined ? {} : { device: options.device }),
    ...(options.adapter === undefined ? {} : { adapter: options.adapter }),
    ...(options.budget === undefined ? {} : { budget: options.budget }),
    ...(options.unroll === undefined ? {} : { unroll: options.unroll }),
    ...(options.arithmetic === undefined ? {} : { arithmetic: options.arithmetic }),
    ...(options.nconmax === undefined ? {} : { nconmax: options.nconmax }),
  });

async function compareSteps(
  model: Model,
  world: MuJoCoWorld,
  simulation: Simulation,
  options: CompareOptions & { steps: number; envs: number; seed: number },
) {
  const judge = await Judge.create(model, world);
  try {
    return await judged(model, world, simulation, judge, options);
  } finally {
    judge.delete();
  }
}

async function judged(
  model: Model,
  world: MuJoCoWorld,
  simulation: Simulation,
  judge: Judge,
  options: CompareOptions & { steps: number; envs: number; seed: number },
) {
  const errors: Record<Compared, number[]> = { qpos: [], qvel: [], qacc: [], act: [], sensordata: [] };
  const niter: { corral: number[]; mujoco: number[] } = { corral: [], mujoco: [] };
  const status: Record<string, number> = {};
  const diverged: Divergence[] = [];
  const recorder = options.rollout ? new RolloutRecorder(options.steps) : undefined;

  const finish = async (samples: readonly Sample[]): Promise<void> => {
    const ours = await oneStep(
      model,
      simulation,
      samples.map((s) => s.from),
    );
    samples.forEach((sample, i) => {
      for (const name of COMPARED) errors[name].push(distance(ours[i][name], sample.result[name]));
      for (const bit of statusNames(ours[i].status)) status[bit] = (status[bit] ?? 0) + 1;
      niter.corral.push(ours[i].niter);
      niter.mujoco.push(sample.result.niter);
      judge.add(sample, ours[i]);
    });
    options.onProgress?.(`${errors.qpos.length} of ${options.steps * options.envs} steps compared`);
  };

  let waiting: Sample[] = [];
  for (const sample of trajectory(model, world, { ...options, onDivergence: (d) => diverged.push(d) })) {
    recorder?.add(sample);
    waiting.push(sample);
    if (waiting.length < simulation.numEnvs) continue;
    await finish(waiting);
    waiting = [];
  }
  if (waiting.length > 0) await finish(waiting);
  if (errors.qpos.length === 0) {
    const [{ env, step, field }] = diverged;
    throw new CorralError(
      "mujoco-diverged",
      `MuJoCo itself finds bad numbers in ${field} at step ${step} of world ${env}, whatever the start. Use a smaller timestep: --set timestep=...`,
      { diverged },
    );
  }

  const spreads = COMPARED.filter((name) => fieldSize(model, name) > 0).map((name) => [name, spreadOf(errors[name])]);
  return {
    oneStep: Object.fromEntries(spreads) as Comparison["oneStep"],
    contacts: judge.contacts,
    rows: judge.rows,
    status,
    niter: { corral: spreadOf(niter.corral), mujoco: spreadOf(niter.mujoco) },
    diverged,
    ...(recorder ? { rollout: await rollout(world, simulation, recorder) } : {}),
    ...(await secondLook(model, judge, status, options)),
  };
}

/** The verdict, with the worst steps made again in corral's float64 if the comparison is of float32. */
async function secondLook(
  model: Model,
  judge: Judge,
  status: Readonly<Record<string, number>>,
  options: CompareOptions,
): Promise<Pick<Comparison, "verdict" | "float64">> {
  const worst = judge.worst();
  if (worst.length === 0 || options.device === "cpu-f64") return { verdict: judge.verdict(status), float64: null };
  options.onProgress?.(`repeating the worst ${worst.length} in float64`);
  try {
    await using simulation = await simulationOf(model, worst.length, {
      device: "cpu-f64",
      ...(options.nconmax === undefined ? {} : { nconmax: options.nconmax }),
      ...(options.unroll === undefined ? {} : { unroll: options.unroll }),
    });
    const ours = await oneStep(
      model,
      simulation,
      worst.map(({ sample }) => sample.from),
    );
    const found = worst.map(({ sample, quantity }, i) => distances([quantity], ours[i], sample.result)[0]);
    const agrees = worst.every(({ quantity, end }, i) => {
      const [toEnd] = end ? distances([quantity], ours[i], end) : [Infinity];
      return Math.min(found[i], toEnd) <= quantity.tail;
    });
    return { verdict: judge.verdict(status, found), float64: { agrees, note: null } };
  } catch (error) {
    // a model too large for the CPU's back end is compared all the same
    const note = error instanceof Error ? error.message : String(error);
    return { verdict: judge.verdict(status), float64: { agrees: null, note } };
  }
}
