// derived fields of a start state: only the stages that make the fields that a task reads
import { mjtTrn } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import { geomPairs } from "../../model/pairs.ts";
import { actuation } from "../../physics/actuator/actuation.ts";
import { camlight } from "../../physics/smooth/camlight.ts";
import { comPos } from "../../physics/smooth/com_pos.ts";
import { comVel } from "../../physics/smooth/com_vel.ts";
import { kinematics } from "../../physics/smooth/kinematics.ts";
import { passive } from "../../physics/smooth/passive.ts";
import { tendon } from "../../physics/tendon/tendon.ts";
import { transmission } from "../../physics/actuator/transmission.ts";
import { STAGE_NAMES, STAGES, type StageName } from "../../physics/stages.ts";
import type { WorldData, ModelView } from "../../physics/view.ts";
import { fieldSize, type FieldName } from "../../model/fields.ts";

/** Stages before any contact or constraint. */
const EARLY = {
  kinematics,
  com_pos: comPos,
  camlight,
  tendon,
  transmission: (m, d) => transmission(m, d),
  com_vel: comVel,
  passive: (m, d) => passive(m, d),
  actuation,
} as const satisfies Partial<Record<StageName, (m: ModelView, d: WorldData) => void>>;

/** What a whole evaluation alone makes of their fields: the Jacobians, and the forces of contacts. */
const LATER: ReadonlySet<FieldName> = new Set<FieldName>(["ten_J", "actuator_moment", "qfrc_adhesion"]);

type EarlyStage = keyof typeof EARLY;
const EARLY_NAMES = STAGE_NAMES.filter((name): name is EarlyStage => name in EARLY);
const madeBy = (name: EarlyStage): FieldName[] => STAGES[name].writes.filter((field) => !LATER.has(field));

const EARLY_FIELDS: ReadonlySet<FieldName> = new Set(EARLY_NAMES.flatMap(madeBy));
const FRAMES: ReadonlySet<FieldName> = new Set(madeBy("kinematics"));

/** Whether a field needs a whole evaluation, contacts and constraints included. */
export const needsEvaluation = (model: Model, name: FieldName): boolean =>
  !EARLY_FIELDS.has(name) || (needsMoreThanFrames(name) && forcesOfContacts(model));

/** Whether forces before the constraint solve depend on contacts. */
const forcesOfContacts = (model: Model): boolean =>
  model.actuator_trntype.includes(mjtTrn.BODY) || geomPairs(model).some((p) => p.adhesion !== 0);

/** Whether a field needs more than frames: frames are short code, of which only what is read remains. */
export const needsMoreThanFrames = (name: FieldName): boolean => !FRAMES.has(name);

/** Fields of places and velocities alone: no force is among them. */
export const MOTION: ReadonlySet<FieldName> = new Set(
  EARLY_NAMES.slice(0, EARLY_NAMES.indexOf("com_vel") + 1).flatMap(madeBy),
);

/** Derived fields that are zero after a reset (mj_forward leaves them). */
export const AFTER_STEP: ReadonlySet<FieldName> = new Set<FieldName>(["cacc", "cfrc_int", "cfrc_ext"]);

/** What the evaluation of starts depends on. */
interface Starts {
  readonly autoreset: string;
  readonly model: Model;
  readonly shape: { readonly startOutputs: readonly FieldName[] };
}

/** Derived fields that a task reads of a start state. */
export const startFields = ({ shape, model }: Starts): FieldName[] =>
  shape.startOutputs.filter((name) => fieldSize(model, name) > 0 && !AFTER_STEP.has(name));

/**
 * Whether resets that the host asks for are left to the kernel of steps, which evaluates automatic ones already: a
 * whole evaluation takes as long to compile as a step does.
 */
export const defersResets = (spec: Starts): boolean =>
  spec.autoreset === "next-step" && startFields(spec).some((name) => needsEvaluation(spec.model, name));

/** Makes fields that need no whole evaluation: all stages up to the last that makes one of them. */
export function evaluateEarly(m: ModelView, d: WorldData, names: readonly FieldName[]): void {
  const last = EARLY_NAMES.findLastIndex((stage) => madeBy(stage).some((name) => names.includes(name)));
  for (const stage of EARLY_NAMES.slice(0, last + 1)) EARLY[stage](m, d);
}
