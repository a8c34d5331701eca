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
import type { WorldData, ModelView } from "../../physics/view.ts";
import type { FieldName } from "../../model/fields.ts";

/** Stages before any contact or constraint, in order, with the fields that they make. */
const STAGES: readonly (readonly [(m: ModelView, d: WorldData) => void, readonly FieldName[]])[] = [
  [
    kinematics,
    ["xpos", "xquat", "xmat", "xipos", "ximat", "xanchor", "xaxis", "geom_xpos", "geom_xmat", "site_xpos", "site_xmat"],
  ],
  [comPos, ["subtree_com", "cinert", "cdof"]],
  [camlight, ["cam_xpos", "cam_xmat"]],
  [tendon, ["ten_length", "ten_velocity"]],
  [(m, d) => transmission(m, d), ["actuator_length", "actuator_velocity"]],
  [comVel, ["cvel", "cdof_dot"]],
  [(m, d) => passive(m, d), ["qfrc_spring", "qfrc_damper", "qfrc_gravcomp", "qfrc_fluid", "qfrc_passive"]],
  [actuation, ["act_dot", "actuator_force", "qfrc_actuator"]],
];

const EARLY: ReadonlySet<FieldName> = new Set(STAGES.flatMap(([, fields]) => fields));

/** Whether a field needs a whole evaluation, contacts and constraints included. */
export const needsEvaluation = (model: Model, name: FieldName): boolean =>
  !EARLY.has(name) || (needsMoreThanFrames(name) && forcesOfContacts(model));

/** Whether forces before the constraint solve depend on contacts. */
const forcesOfContacts = (model: Model): boolean =>
  model.actuator_trntype.includes(mjtTrn.BODY) || geomPairs(model).some((p) => p.adhesion !== 0);

/** Whether a field needs more than frames: frames are short code, of which only what is read remains. */
export const needsMoreThanFrames = (name: FieldName): boolean => !STAGES[0][1].includes(name);

/** Fields of places and velocities alone: no force is among them. */
export const MOTION: ReadonlySet<FieldName> = new Set(STAGES.slice(0, 6).flatMap(([, fields]) => fields));

/** Makes fields that need no whole evaluation: all stages up to the last that makes one of them. */
export function evaluateEarly(m: ModelView, d: WorldData, names: readonly FieldName[]): void {
  const last = STAGES.findLastIndex(([, fields]) => fields.some((name) => names.includes(name)));
  for (const [stage] of STAGES.slice(0, last + 1)) stage(m, d);
}
