// minimises a crash of the physics: the latest start that still fails, and the smallest changes of options that prevent it
import { CorralError } from "../core/errors.ts";
import { fieldSize } from "../model/fields.ts";
import { withOptions, type Model, type OptionOverrides } from "../model/model.ts";
import type { SimulationOptions } from "../batch/simulation-spec.ts";
import { statusNames } from "../physics/status.ts";
import { CpuWorld } from "./cpu-world.ts";
import { drivenOf } from "./driven.ts";
import { adjustableOf, bound, drivenStatus, heldStatus, withPushes, type Acting } from "./minimise-steps.ts";
import { arithmeticOf } from "../record/bundle.ts";
import { modelAt } from "./physics-facts.ts";
import type { CrashFindings, CrashScene } from "./scene.ts";
import type { Inputs } from "../monitor/inputs.ts";
import { inputsIn, stretchStart } from "./second-opinion.ts";
import { fieldBefore } from "./timeline.ts";

/** A change of options that was tried. */
export interface Trial {
  readonly change: string;
  readonly options: OptionOverrides;
  readonly crashes: boolean;
}

export interface Minimised {
  /** The model with the options of the step. */
  readonly model: Model;
  readonly nconmax: number;
  /** Where it is made again: on the CPU, in what the recorded kernel computes in. */
  readonly where: Required<Pick<SimulationOptions, "device" | "arithmetic">>;
  /** Where the reproduction starts, by MuJoCo's names. */
  readonly state: Readonly<Record<string, Float64Array>>;
  /** What acts in each control step, and physics steps in each: one where actuators go with the state. */
  readonly inputs: readonly Acting[];
  readonly frameSkip: number;
  /** Numbers of the model that go with the state, as the option `adjustable` names them. */
  readonly adjustable: readonly string[];
  /** Control steps of the batch that it makes. */
  readonly steps: { readonly first: number; readonly last: number };
  readonly recorded: number;
  /** Bits of the status word that it ends with. */
  readonly status: readonly string[];
  /** Some forces or controls were not finite; they are replaced by the largest float32. */
  readonly bounded: boolean;
  readonly trials: readonly Trial[];
  /** The first of each kind that helps, the smallest change first. */
  readonly cures: readonly Trial[];
}

/** Control steps after the crash that a cure must last, with the last controls held. */
const GRACE = 20;

const STATE = ["qpos", "qvel", "act", "qacc_warmstart", "mocap_pos", "mocap_quat", "eq_active", "history"] as const;

const pushesOf = ({ qfrc_applied, xfrc_applied, kick }: Inputs): number[] => [
  ...qfrc_applied,
  ...xfrc_applied,
  ...kick,
];

/** A change, the options that make it, and how many times as many physics steps they need. Without options: no pushes. */
type Attempt = readonly [change: string, options: OptionOverrides, factor: number];
const AS_IT_IS: Attempt = ["", {}, 1];
const NO_PUSHES: Attempt = ["no forces and changes of velocity from events", {}, 1];

/** Options to try, kind by kind, the smaller change first. */
function trialsOf(model: Model, pushed: boolean, bounded: boolean): Attempt[][] {
  const { timestep, iterations, ls_iterations } = model.opt;
  return [
    ...(pushed ? [[NO_PUSHES]] : []),
    [2, 4, 8, 16, 32, 64].map((f) => [
      `timestep ${timestep / f} (1/${f}), frameSkip x ${f}`,
      { timestep: timestep / f },
      f,
    ]),
    [2, 4, 8].map((f) => [
      `iterations ${Math.max(1, iterations * f)}, ls_iterations ${Math.max(1, ls_iterations * f)}`,
      { iterations: Math.max(1, iterations * f), ls_iterations: Math.max(1, ls_iterations * f) },
      1,
    ]),
    (["Newton", "CG"] as const).map((solver) => [`solver ${solver}`, { solver }, 1]),
    // a range that goes with the state is of one evaluation a step
    (["implicitfast", "RK4", "Euler"] as const)
      .filter((integrator) => !(bounded && integrator === "RK4"))
      .map((integrator) => [`integrator ${integrator}`, { integrator }, 1]),
  ];
}

/**
 * Reduces a crash of the physics. Runs on the CPU, in what the recorded kernel computes in.
 * @throws CorralError nothing-to-minimise if the physics is not what failed, not-reproduced if the CPU goes through,
 *   replay-endless, actuators-not-mujoco
 */
export async function minimise(scene: CrashScene, report: CrashFindings): Promise<Minimised> {
  const worlds = new Map<string, CpuWorld>();
  try {
    return await minimiseIn(worlds, scene, report);
  } finally {
    for (const world of worlds.values()) await world[Symbol.asyncDispose]();
  }
}

/** The same in worlds of changes of options, of which no more are held than are tried again. */
async function minimiseIn(worlds: Map<string, CpuWorld>, scene: CrashScene, report: CrashFindings): Promise<Minimised> {
  const { bundle, moments, row, at } = scene;
  const isPhysics = report.status.some((s) => /^BAD_Q|OVERFLOW$/.test(s));
  if (!isPhysics || ["action", "reset", "set by a call"].includes(report.blame?.stage ?? "")) {
    throw new CorralError(
      "nothing-to-minimise",
      `the physics is not what failed (${report.status.join(", ")}${report.blame ? `; first bad: ${report.blame.text}` : ""}). The bundle is the smallest reproduction: one control step of it shows the failure.`,
      { status: report.status },
    );
  }
  const model = modelAt(bundle, moments[at], row);
  const { nconmax, frameSkip } = bundle.about.env;
  const first = stretchStart(scene);
  const acted = moments.slice(first, at + 1).map((m) => inputsIn(scene, m));
  const inputs = acted.map((input) => withPushes(input, bound));
  const pushed = inputs.some((input) => pushesOf(input).some((x) => x !== 0));
  const stateAt = (k: number) =>
    Object.fromEntries(
      STATE.filter((name) => fieldSize(model, name) > 0).map((name) => [
        name,
        fieldBefore(bundle, moments[k], row, name),
      ]),
    );
  const arithmetic = arithmeticOf(bundle);
  const driven = drivenOf(scene);
  const isDouble = scene.interpreter.precision === "f64" || (driven !== undefined && arithmetic === "float64");
  const where = { device: isDouble ? "cpu-f64" : "cpu", arithmetic } as const;
  const adjustable = driven ? adjustableOf(scene, driven, first) : [];
  const options = { ...where, adjustable, ...(nconmax > 0 ? { nconmax } : {}) };
  const worldOf = async (change: OptionOverrides): Promise<CpuWorld> => {
    const key = JSON.stringify(change);
    const world = worlds.get(key) ?? (await CpuWorld.create(withOptions(model, change), options, scene.deadline.check));
    worlds.set(key, world);
    return world;
  };

  /** Closes the world of a change that is tried no more. */
  const forget = async (change: OptionOverrides): Promise<void> => {
    const key = JSON.stringify(change);
    if (key === JSON.stringify({})) return;
    await worlds.get(key)?.[Symbol.asyncDispose]();
    worlds.delete(key);
  };

  /** Status with which a run from step `k` ends, or none; `seen`: what acts in its physics steps. */
  const crash = async (
    k: number,
    grace: number,
    [, change, factor]: Attempt = AS_IT_IS,
    pushes = true,
    seen?: Acting[],
  ): Promise<readonly string[]> => {
    const run = await worldOf(change);
    run.restart(stateAt(k));
    driven?.forget();
    for (let step = k; step <= at + grace; step++) {
      const by = { again: step > at, finer: factor, pushes, precision: isDouble ? "f64" : "f32" } as const;
      const status = driven
        ? drivenStatus(scene, driven, Math.min(step, at), run, by, seen)
        : heldStatus(inputs[Math.min(step, at) - first], run, frameSkip, by);
      scene.deadline.check();
      if (status !== 0) return statusNames(status);
    }
    return [];
  };

  // the latest start that still crashes is the shortest way to it
  let start = at;
  let status = await crash(start, 0);
  while (status.length === 0 && start > first) status = await crash(--start, 0);
  if (status.length === 0) {
    throw new CorralError(
      "not-reproduced",
      `on the CPU in ${arithmetic} the world goes through control step ${report.step}: the failure depends on the device's rounding. Replay it there; --against mujoco shows whether the physics is to blame.`,
      { step: report.step },
    );
  }

  const goesThrough = async (k: number, attempt: Attempt) =>
    (await crash(k, GRACE, attempt, attempt !== NO_PUSHES)).length === 0;
  const trials: Trial[] = [];
  const cures: { readonly trial: Trial; readonly attempt: Attempt }[] = [];
  for (const kind of trialsOf(
    model,
    pushed,
    adjustable.some((name) => name.startsWith("actuator_forcerange")),
  )) {
    for (const attempt of kind) {
      const [change, options] = attempt;
      if (attempt !== NO_PUSHES && isSame(model, options)) continue;
      const trial = { change, options, crashes: !(await goesThrough(first, attempt)) };
      trials.push(trial);
      if (!trial.crashes) cures.push({ trial, attempt });
      // only the first cure is tried again
      if (cures[0]?.attempt !== attempt) await forget(options);
      if (!trial.crashes) break;
    }
  }

  // where something helps, the latest start at which it still does: later the world is beyond help
  const [cure] = cures;
  if (cure) {
    const holds = async (k: number) => (await crash(k, 0)).length > 0 && (await goesThrough(k, cure.attempt));
    while (start > first && !(await holds(start))) start--;
  }
  const acting: Acting[] = [];
  if (driven) await crash(start, 0, AS_IT_IS, true, acting);
  return {
    model,
    nconmax,
    where,
    state: stateAt(start),
    inputs: driven ? acting : inputs.slice(start - first),
    frameSkip: driven ? 1 : frameSkip,
    adjustable,
    steps: { first: moments[start].step, last: moments[at].step },
    recorded: moments.length,
    status,
    bounded: acted.some((input) => !pushesOf(input).every(Number.isFinite)),
    trials,
    cures: cures.map(({ trial }) => trial),
  };
}

/** Whether a model has these options already. */
function isSame(model: Model, options: OptionOverrides): boolean {
  return JSON.stringify(withOptions(model, options).opt) === JSON.stringify(model.opt);
}
