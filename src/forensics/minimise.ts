/** The shortest way to a crash of the physics, and the smallest changes of options at which it does not occur. */
import { CorralError } from "../core/errors.ts";
import { fieldSize } from "../model/fields.ts";
import { withOptions, type Model, type OptionOverrides } from "../model/model.ts";
import { createSimulation } from "../sim/simulation.ts";
import { modelAt } from "./physics_facts.ts";
import type { CrashFindings, CrashScene } from "./scene.ts";
import type { Inputs } from "../monitor/inputs.ts";
import { inputsIn, stretchStart } from "./second_opinion.ts";
import { fieldBefore, Interpreter } from "./timeline.ts";

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
  /** Where the reproduction starts, by MuJoCo's names. */
  readonly state: Readonly<Record<string, Float64Array>>;
  /** What acts in each control step, and physics steps in each. */
  readonly inputs: readonly Inputs[];
  readonly frameSkip: number;
  /** Control steps of the batch that it makes. */
  readonly steps: { readonly first: number; readonly last: number };
  readonly recorded: number;
  /** Bits of the status word that it ends with. */
  readonly status: readonly string[];
  readonly trials: readonly Trial[];
  /** The first of each kind that helps, the smallest change first. */
  readonly cures: readonly Trial[];
}

/** Control steps after the crash that a cure must last, with the last controls held. */
const GRACE = 20;

const STATE = ["qpos", "qvel", "act", "qacc_warmstart", "mocap_pos", "mocap_quat"] as const;

/** Options to try, kind by kind, the smaller change first. */
function trialsOf(model: Model): [string, OptionOverrides, number][][] {
  const { timestep, iterations, ls_iterations } = model.opt;
  return [
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
    (["implicitfast", "RK4", "Euler"] as const).map((integrator) => [`integrator ${integrator}`, { integrator }, 1]),
  ];
}

/**
 * Reduces a crash of the physics. Runs on the CPU, in the precision that is closest to the recording's.
 * @throws CorralError nothing-to-minimise where the physics is not what failed, not-reproduced where the CPU goes through
 */
export async function minimise(scene: CrashScene, report: CrashFindings): Promise<Minimised> {
  const { bundle, moments, row, at } = scene;
  const isForce = report.blame?.stage === "events";
  const isPhysics = !isForce && report.status.some((s) => /^BAD_Q|OVERFLOW$/.test(s));
  if (!isPhysics || ["action", "reset", "set by a call"].includes(report.blame?.stage ?? "")) {
    throw new CorralError(
      "nothing-to-minimise",
      `the physics is not what failed (${report.status.join(", ")}${report.blame ? `; first bad: ${report.blame.text}` : ""}). The bundle is the smallest reproduction: one control step of it shows the failure.`,
      { status: report.status },
    );
  }
  const model = modelAt(bundle, moments[at], row);
  const { nconmax, frameSkip } = bundle.about.env;
  const interpreter = await Interpreter.create(bundle);
  const first = stretchStart(scene);
  const inputs = moments.slice(first, at + 1).map((m) => inputsIn(scene, interpreter, m));
  const stateAt = (k: number) =>
    Object.fromEntries(
      STATE.filter((name) => fieldSize(model, name) > 0).map((name) => [
        name,
        fieldBefore(bundle, moments[k], row, name),
      ]),
    );
  const device = interpreter.precision === "f64" ? "cpu-f64" : "cpu";

  /** Status with which a run from step `k` ends, or none. */
  const crash = async (variant: Model, k: number, factor: number, grace: number): Promise<readonly string[]> => {
    await using sim = await createSimulation(variant, { numEnvs: 1, device, ...(nconmax > 0 ? { nconmax } : {}) });
    await sim.setState(stateAt(k));
    for (let step = k; step <= at + grace; step++) {
      await sim.setState(actsOn(inputs[Math.min(step, at) - first]));
      const { kick } = inputs[Math.min(step, at) - first];
      if (step <= at && kick.some((v) => v !== 0)) {
        const { qvel } = await sim.getState(["qvel"]);
        await sim.setState({ qvel: qvel.map((v, i) => v + kick[i]) });
      }
      sim.step(frameSkip * factor);
      const [bad] = await sim.status();
      if (bad) return bad.names;
    }
    return [];
  };

  // the latest start that still crashes is the shortest way to it
  let start = at;
  let status = await crash(model, start, 1, 0);
  while (status.length === 0 && start > first) status = await crash(model, --start, 1, 0);
  if (status.length === 0) {
    throw new CorralError(
      "not-reproduced",
      `on the CPU in float32 the world goes through control step ${report.step}: the failure hangs on the device's rounding. Replay it there; --against mujoco tells whether the physics is to blame.`,
      { step: report.step },
    );
  }

  const trials: Trial[] = [];
  const cures: Trial[] = [];
  for (const kind of trialsOf(model)) {
    for (const [change, options, factor] of kind) {
      const variant = tried(model, options);
      if (!variant) continue;
      const trial = { change, options, crashes: (await crash(variant, first, factor, GRACE)).length > 0 };
      trials.push(trial);
      if (trial.crashes) continue;
      cures.push(trial);
      break;
    }
  }
  // where something helps, the latest start at which it still does: later the world is beyond help
  const factors = new Map(trialsOf(model).flatMap((kind) => kind.map(([change, , factor]) => [change, factor])));
  const [cure] = cures;
  if (cure) {
    const variant = tried(model, cure.options)!;
    const holds = async (k: number) =>
      (await crash(model, k, 1, 0)).length > 0 &&
      (await crash(variant, k, factors.get(cure.change)!, GRACE)).length === 0;
    while (start > first && !(await holds(start))) start--;
  }
  return {
    model,
    nconmax,
    state: stateAt(start),
    inputs: inputs.slice(start - first),
    frameSkip,
    steps: { first: moments[start].step, last: moments[at].step },
    recorded: moments.length,
    status,
    trials,
    cures,
  };
}

/** Controls and forces as `setState` takes them; those that the model has none of are left out. */
export const actsOn = ({ ctrl, qfrc_applied, xfrc_applied }: Inputs): Record<string, Float64Array> =>
  Object.fromEntries(Object.entries({ ctrl, qfrc_applied, xfrc_applied }).filter(([, values]) => values.length > 0));

/** The model with other options; undefined where that is no change. */
function tried(model: Model, options: OptionOverrides): Model | undefined {
  const variant = withOptions(model, options);
  const same = JSON.stringify(variant.opt) === JSON.stringify(model.opt);
  return same ? undefined : variant;
}
