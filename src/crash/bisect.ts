// where a recorded world broke first: control step, physics step, stage, field, and why
import { optionsOf } from "../core/options.ts";
import { mjMAXVAL } from "../model/enums.ts";
import { Status, statusNames } from "../physics/status.ts";
import { assertBundle, type Bundle, type TrippedWorld } from "../record/bundle.ts";
import { blame, blameTask, REWARD_SUM, type Blame } from "./blame.ts";
import type { Cause } from "./cause.ts";
import { diagnose } from "./diagnose.ts";
import { elementText, isField } from "./element-names.ts";
import { physicsAt } from "./physics-facts.ts";
import type { ReexecuteOptions } from "./reexecute.ts";
import { actionOf, crashScene, PHYSICAL, type CrashFindings, type CrashScene } from "./scene.ts";
import { fieldBefore, resultOf } from "./timeline.ts";

export interface BisectReport extends CrashFindings {
  readonly causes: readonly Cause[];
}

const TASK = Status.BAD_REWARD | Status.BAD_OBS | Status.BAD_INFO | Status.BAD_CONDITION;
/** Bits of numbers that a step computes. */
const MADE = PHYSICAL | TASK | Status.BAD_CTRL;
const OVERFLOW = Status.CONTACT_OVERFLOW;
const HISTORY = 8;

const isBad = (x: number) => !(Math.abs(x) <= mjMAXVAL);
const most = (values: ArrayLike<number>) =>
  Array.from(values).reduce((m, x) => (Number.isNaN(x) || Number.isNaN(m) ? Number.NaN : Math.max(m, Math.abs(x))), 0);

/**
 * Finds what broke first in a world of a bundle, by its id; by default its first.
 * @throws CorralError no-bundle, unknown-world; what `replay` throws
 */
export async function bisect(bundle: Bundle, options: ReexecuteOptions = {}, id?: number): Promise<BisectReport> {
  assertBundle(bundle);
  return explain(await crashScene(bundle, optionsOf(options), id));
}

/** The same of a bundle that was executed already. */
export async function explain(scene: CrashScene): Promise<BisectReport> {
  const { bundle, tripped, row, moments, at, interpreter, devicePhysicsStep: device } = scene;
  const moment = moments[at];
  const { model } = bundle;
  const status = resultOf(bundle, moment, row, "status") || bitsOf(tripped);
  const interpretation = interpreter.step(moment, row, { bound: mjMAXVAL });
  const physics = status & PHYSICAL ? (s: string) => !["reset", "task", "judge"].includes(s) : undefined;
  const isOfTask = (status & TASK) !== 0 && (status & (PHYSICAL | Status.BAD_CTRL)) === 0;
  const isOverflow = (status & ~OVERFLOW) === 0 && status !== 0;
  const found =
    badAction(scene) ??
    badStart(scene) ??
    (isOverflow
      ? await overflown(scene)
      : isOfTask
        ? named(scene, blameTask(interpretation))
        : blame(model, interpretation, physics));
  const onDevice = found === undefined && (status & MADE) !== 0;
  const history = moments.slice(Math.max(0, at - HISTORY + 1), at + 1).map((m) => ({
    step: m.step,
    qpos: most(fieldBefore(bundle, m, row, "qpos")),
    qvel: most(fieldBefore(bundle, m, row, "qvel")),
  }));
  const report = {
    world: tripped.world,
    id: tripped.id,
    step: moment.step,
    episodeStep: resultOf(bundle, moment, row, "episode_length"),
    status: [...statusNames(status), ...tripped.names.filter((name) => bundle.about.env.trips.includes(name))],
    terms: tripped.terms,
    blame: found,
    devicePhysicsStep: device,
    deviceOnly: onDevice,
    agrees:
      (!(status & PHYSICAL) && !onDevice) ||
      (found !== undefined && (found.physicsStep === 0 || found.physicsStep === device || isRangeOnly(found))),
    history,
  };
  return { ...report, causes: await diagnose(scene, report) };
}

/** A field that is huge before the state is: the device tests the state alone. */
const isRangeOnly = ({ value, field }: Blame) => Number.isFinite(value) && !["qpos", "qvel", "qacc"].includes(field);

const bitsOf = ({ names }: TrippedWorld): number =>
  names.reduce((bits, name) => bits | (Status[name as keyof typeof Status] ?? 0), 0);

const entered = (stage: string, field: string, element: number, text: string, value: number): Blame => ({
  physicsStep: 0,
  evaluation: 0,
  stage,
  field,
  element,
  text,
  value,
  op: "load",
  operands: [],
});

/** Numbers that the task alone makes, of a step or of the start after it, go by the names of its terms. */
function named({ bundle, tripped: { terms } }: CrashScene, found: Blame | undefined): Blame | undefined {
  const quoted = (names: readonly string[]) => names.map((t) => `"${t}"`).join(", ");
  if (found?.field === REWARD_SUM && terms.length === 0)
    return { ...found, text: `the sum of the reward's terms ${quoted(bundle.about.env.rewards)}` };
  if (!found || terms.length === 0 || isField(found.field)) return found;
  return { ...found, stage: "task", field: terms[0], text: quoted(terms) };
}

/** Contacts beyond their places: what touches, by MuJoCo, before the step and after it. */
async function overflown({ bundle, moments, row, at }: CrashScene): Promise<Blame> {
  const facts = await Promise.all(
    [moments[at], moments[at + 1]].map((m) => (m ? physicsAt(bundle, m, row) : Promise.resolve(undefined))),
  );
  const most = facts.reduce((a, b) => ((b?.contacts.length ?? 0) > (a?.contacts.length ?? 0) ? b : a), facts[0]);
  const pairs = [...new Set(most?.contacts.map((c) => c.pair))];
  const { contacts_needed } = bundle.about.env.result;
  const needed = contacts_needed === undefined ? 0 : resultOf(bundle, moments[at], row, "contacts_needed");
  const text = pairs.length > 0 ? `contact (${pairs.slice(0, 4).join("; ")})` : "contact";
  return { ...entered("collision", "contact", 0, text, needed), op: "" };
}

/** An action that is not a number, or outside the space. */
function badAction({ bundle, moments, row, at }: CrashScene): Blame | undefined {
  const { env } = bundle.about;
  const values = actionOf(bundle, moments[at], row);
  const element = values.findIndex((x, i) => {
    if (env.actionKind === "box") return isBad(x);
    return x < (env.actionLow?.[i] ?? -Infinity) || x > (env.actionHigh?.[i] ?? Infinity);
  });
  if (element < 0) return undefined;
  return entered("action", "action", element, `action[${element}]`, values[element]);
}

/** A state that was bad before the step began: from a reset, or set by a call. */
function badStart(scene: CrashScene): Blame | undefined {
  const { bundle, moments, row, at, interpreter } = scene;
  const { model } = bundle;
  for (const name of ["qpos", "qvel", "act"] as const) {
    const values = fieldBefore(bundle, moments[at], row, name);
    const element = values.findIndex(isBad);
    if (element < 0) continue;
    const [episode] = [fieldBefore(bundle, moments[at], row, "episode")];
    const isFresh = episode[4] === 0;
    const text = elementText(model, name, element);
    if (!isFresh) return entered("set by a call", name, element, text, values[element]);
    // the step that reset the world may be recorded too
    const before = moments[at - 1];
    const made =
      before && !moments[at].cut
        ? blame(model, interpreter.step(before, row, { bound: mjMAXVAL }), (s) => s === "reset")
        : undefined;
    return made ? { ...made, stage: "reset" } : entered("reset", name, element, text, values[element]);
  }
  return undefined;
}
