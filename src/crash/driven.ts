// control steps of a recording whose actuators do more than the MJCF says, with the physics made elsewhere
import { CorralError } from "../core/errors.ts";
import { listed } from "../core/show.ts";
import { DrivenActuators, type DrivenStep } from "../monitor/driven.ts";
import type { Bundle } from "../record/bundle.ts";
import type { Precision } from "../trace/javascript.ts";
import { modelAt } from "./physics-facts.ts";
import type { CrashScene } from "./scene.ts";
import { fieldBefore, type Moment } from "./timeline.ts";

/** Place of the control steps so far in what a world keeps of its episode. */
const EPISODE_LENGTH = 4;

/**
 * What the task's `actuators` make in each physics step; undefined if there are none. Throws `actuators-not-mujoco` if
 * the program does not say it.
 */
export function drivenOf({ bundle, moments, row, at }: CrashScene): DrivenActuators | undefined {
  const { actuators } = bundle.about.env;
  if (actuators === undefined) return undefined;
  const driven = DrivenActuators.in(bundle.trace, modelAt(bundle, moments[at], row));
  if (driven) return driven;
  throw new CorralError(
    "actuators-not-mujoco",
    `the task's \`actuators\` change what ${listed(actuators)} do in each physics step, and the program of ${bundle.path} does not name what they make of it, as those of this version do. Replay and --bisect execute it as it was; for this, record it again.`,
    { actuators },
  );
}

/** A control step of a scene whose actuators go with the state that `physics` makes, from the state before it. */
export function driveStep(
  { bundle, row, interpreter }: CrashScene,
  driven: DrivenActuators,
  moment: Moment,
  of: Pick<DrivenStep, "from" | "again" | "kick"> & { readonly precision: Precision; readonly finer?: number },
  physics: Parameters<DrivenActuators["step"]>[2],
): boolean {
  const { nstep = bundle.about.env.frameSkip } = moment.params;
  const { again = false, precision, finer = 1 } = of;
  const { timestep = bundle.model.opt.timestep } = moment.params;
  const params = finer === 1 ? moment.params : { ...moment.params, nstep: nstep * finer, timestep: timestep / finer };
  const made = { ...(again ? later(bundle, moment, row) : moment), params };
  const recorded = fieldBefore(bundle, moment, row, "qvel");
  const step = { ...of, recorded, nstep: nstep * finer };
  return driven.step((visit) => interpreter.step(made, row, { precision, ...visit }), step, physics);
}

/** The same step once more: it is not the first of its episode. */
function later(bundle: Bundle, moment: Moment, row: number): Moment {
  const state = moment.before.state.slice();
  const [{ fields }] = bundle.about.batch.arenas.filter(({ name }) => name === "state");
  const sizes = fields.map(({ perWorld = 0 }) => perWorld);
  const episode = fields.findIndex(({ name }) => name === "episode");
  const place = sizes.slice(0, episode).reduce((sum, n) => sum + n, EPISODE_LENGTH);
  state[row * sizes.reduce((sum, n) => sum + n, 0) + place] ||= 1;
  return { ...moment, before: { ...moment.before, state } };
}
