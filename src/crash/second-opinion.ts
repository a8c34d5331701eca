// the recorded steps in MuJoCo's float64: does the physics diverge, or float32 alone?
import { arithmeticOf } from "../record/bundle.ts";
import type { CrashFindings, CrashScene } from "./scene.ts";
import { distance } from "../monitor/measure.ts";
import type { DrivenInputs } from "../monitor/driven.ts";
import { drivenOf, driveStep } from "./driven.ts";
import { inputsOf, PHYSICS_BEGINS, type Inputs } from "../monitor/inputs.ts";
import { mjMAXVAL } from "../model/enums.ts";
import { diverged, MuJoCoWorld, worldState, type WorldState } from "../monitor/mujoco-world.ts";
import { modelAt } from "./physics-facts.ts";
import { fieldBefore, resultOf, type Moment } from "./timeline.ts";

export interface SecondOpinion {
  /**
   * physics: MuJoCo blows up too. precision: corral alone does, of which float32 is the likely cause if it computes in that. input: what came in was bad before any physics. task: a
   * term of reward or observation. capacity: contacts beyond nconmax. condition: one of the user's.
   */
  readonly verdict: "physics" | "precision" | "input" | "task" | "capacity" | "condition";
  readonly text: string;
  /** Control step of the batch in which MuJoCo diverged, and the field. */
  readonly mujoco: { readonly step: number; readonly physicsStep: number; readonly field: string } | undefined;
  /** Distance from MuJoCo before each control step, |x - ref| / (1 + max |ref|), both from the first of these states. */
  readonly apart: readonly { readonly step: number; readonly qpos: number; readonly qvel: number }[];
}

/** Control steps that MuJoCo gets beyond ours to blow up, with the last controls held: rounding moves the moment. */
const GRACE = 100;
/** Distance at which the two are said to part. */
const PARTED = 1e-3;

/**
 * Runs MuJoCo from the start of the recorded episode, or of the recording, through the crash.
 * @throws CorralError replay-endless, actuators-not-mujoco
 */
export async function secondOpinion(scene: CrashScene, report: CrashFindings): Promise<SecondOpinion> {
  const early = withoutPhysics(scene, report);
  if (early && early.verdict !== "condition") return { ...early, mujoco: undefined, apart: [] };

  const { bundle, moments, row, at } = scene;
  const apart: { step: number; qpos: number; qvel: number }[] = [];
  for await (const { k, state, broke } of besideMuJoCo(scene, GRACE)) {
    if (k <= at) {
      const { step } = moments[k];
      const [qpos, qvel] = (["qpos", "qvel"] as const).map((name) =>
        distance(fieldBefore(bundle, moments[k], row, name), state[name]),
      );
      apart.push({ step, qpos, qvel });
    }
    if (broke === undefined) continue;
    const mujoco = { step: moments[at].step + k - at, ...broke };
    if (early === undefined) return { verdict: "physics", text: physicsText(report, mujoco), mujoco, apart };
    const text = `${early.text} MuJoCo blows up in control step ${mujoco.step} (${mujoco.field}).`;
    return { ...early, text, mujoco: undefined, apart };
  }
  if (early) return { ...early, text: `${early.text} ${apartText(report, apart)}`, mujoco: undefined, apart };
  const text = precisionText(scene, report, apart);
  return { verdict: "precision", text, mujoco: undefined, apart };
}

/** A world in MuJoCo's float64 around a control step. */
export interface Beside {
  /** Place of the step in the moments of the scene, or beyond the one of the crash. */
  readonly k: number;
  /** Before the step. */
  readonly state: WorldState;
  /** What diverged in the step, if anything did: then it is the last. */
  readonly broke: { readonly physicsStep: number; readonly field: string } | undefined;
  /** After the step. */
  readonly after: WorldState;
}

/**
 * MuJoCo from the first recorded state that nothing has touched since, through the recorded steps of a world with what
 * acted in them, and `grace` more with the last of it.
 * @throws CorralError replay-endless, actuators-not-mujoco
 */
export async function* besideMuJoCo(scene: CrashScene, grace = 0): AsyncGenerator<Beside> {
  const driven = drivenOf(scene);
  const { bundle, moments, row, at } = scene;
  const first = stretchStart(scene);
  const model = modelAt(bundle, moments[at], row);
  const world = await MuJoCoWorld.create(model, driven?.forceLimited);
  try {
    let state = stateOf(scene, moments[first], new Float64Array(model.nu));
    for (let k = first; k <= at + grace; k++) {
      const before = state;
      const moment = moments[Math.min(k, at)];
      const { nstep = bundle.about.env.frameSkip } = moment.params;
      let broke: Beside["broke"];
      const make = (physicsStep: number) => {
        scene.deadline.check();
        const field = diverged(world.step(state));
        state = world.state();
        if (field) broke = { physicsStep, field };
        return broke !== undefined;
      };
      const take = ({ ctrl, kick, eq_active, qfrc_applied, xfrc_applied }: Inputs) => {
        state = { ...state, ctrl, eq_active, qvel: state.qvel.map((v, i) => v + kick[i]) };
        for (const [name, values] of Object.entries({ qfrc_applied, xfrc_applied }))
          if (values.length > 0) world.oracle.write(name, values);
      };
      const drive = (inputs: DrivenInputs, step: number) => {
        if (step === 0) take(inputs);
        state = { ...state, ctrl: inputs.ctrl };
        world.setNumbers(inputs.numbers);
        if (inputs.ctrl.some((u) => !(Math.abs(u) <= mjMAXVAL))) broke = { physicsStep: step + 1, field: "ctrl" };
        else make(step + 1);
        return broke ? undefined : state;
      };
      // MuJoCo is in float64, and so is what actuators do beside it
      const of = { from: state, again: k > at, precision: "f64" } as const;
      if (!driven || !driveStep(scene, driven, moment, of, drive)) {
        if (k <= at) take(inputsIn(scene, moment));
        for (let step = 1; step <= nstep; step++) if (make(step)) break;
      }
      yield { k, state: before, broke, after: state };
      if (broke) return;
    }
  } finally {
    world.delete();
  }
}

function physicsText(report: CrashFindings, mujoco: NonNullable<SecondOpinion["mujoco"]>): string {
  const later = mujoco.step - report.step;
  const apart = Math.abs(later) === 1 ? "one control step" : `${Math.abs(later)} control steps`;
  const when = later === 0 ? "in the same control step" : `${apart} ${later > 0 ? "later" : "earlier"}`;
  return `MuJoCo blows up too: the physics. In float64 ${mujoco.field} diverges in control step ${mujoco.step}, physics step ${mujoco.physicsStep}: ${when}.`;
}

function precisionText(scene: CrashScene, report: CrashFindings, apart: SecondOpinion["apart"]): string {
  const start = scene.moments[stretchStart(scene)].step;
  const only = arithmeticOf(scene.bundle) === "float32" ? "float32 only: precision." : "corral only, in float64.";
  return `${only} MuJoCo, from the state before control step ${start}, goes through step ${report.step} and ${GRACE} more in float64. ${apartText(report, apart)}`;
}

function apartText(report: CrashFindings, apart: SecondOpinion["apart"]): string {
  const parted = apart.find(({ qpos, qvel }) => !(qpos <= PARTED && qvel <= PARTED));
  return parted
    ? `They part by more than ${PARTED} before control step ${parted.step}.`
    : `They are still together before control step ${report.step}.`;
}

/** Failures that no physics can be blamed for. */
function withoutPhysics(
  { bundle, tripped }: CrashScene,
  report: CrashFindings,
): Pick<SecondOpinion, "verdict" | "text"> | undefined {
  const { blame, status } = report;
  if (blame && ["action", "reset", "set by a call"].includes(blame.stage)) {
    const text = `neither: ${blame.text} was ${blame.value} before any physics (${blame.stage}). MuJoCo is given the same bad number.`;
    return { verdict: "input", text };
  }
  if (status.some((s) => ["BAD_QPOS", "BAD_QVEL", "BAD_QACC"].includes(s))) return undefined;
  if (status.includes("BAD_CTRL")) {
    return {
      verdict: "input",
      text: `neither: a control is not finite before any physics${blame ? ` (${blame.text})` : ""}.`,
    };
  }
  if (status.some((s) => ["BAD_REWARD", "BAD_OBS", "BAD_CONDITION"].includes(s))) {
    return {
      verdict: "task",
      text: `neither: state and physics are finite, ${report.terms.join(", ")} of the task is not.`,
    };
  }
  if (status.some((s) => s.endsWith("_OVERFLOW"))) {
    const text = `neither: nconmax (${bundle.about.env.nconmax}) is too small; MuJoCo has room for all contacts.`;
    return { verdict: "capacity", text };
  }
  const isTrip = tripped.names.some((name) => bundle.about.env.trips.includes(name));
  const why = isTrip ? "a condition of yours held" : "nothing failed, it was recorded";
  return { verdict: "condition", text: `neither: ${why} (${tripped.names.join(", ")}).` };
}

/** The first recorded step since which no call and no reset has touched the world. */
export function stretchStart({ bundle, moments, row, at }: CrashScene): number {
  let first = at;
  while (first > 0 && !moments[first].cut && resultOf(bundle, moments[first - 1], row, "reset") === 0) first--;
  return first;
}

/** What acts on a world in a control step. Nothing if it waits for its reset. */
export function inputsIn({ bundle, row, interpreter }: CrashScene, moment: Moment): Inputs {
  const { nu, nv, nbody } = bundle.model;
  const seen = interpreter.step(moment, row, { until: PHYSICS_BEGINS });
  const inputs = inputsOf(bundle.model, fieldBefore(bundle, moment, row, "qvel"), seen);
  return (
    inputs ?? {
      ctrl: new Float64Array(nu),
      qfrc_applied: new Float64Array(nv),
      xfrc_applied: new Float64Array(6 * nbody),
      kick: new Float64Array(nv),
      eq_active: fieldBefore(bundle, moment, row, "eq_active"),
    }
  );
}

function stateOf({ bundle, row }: CrashScene, moment: Moment, ctrl: Float64Array): WorldState {
  return worldState((name) => fieldBefore(bundle, moment, row, name), ctrl);
}
