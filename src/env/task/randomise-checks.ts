// models in which a field cannot be drawn: what would have to change with it, and does not
import { CorralError } from "../../core/errors.ts";
import { mjtCamLight, mjtEq, mjtGain, mjtGeom, mjtObj } from "../../model/enums.ts";
import { geomPairs } from "../../model/pairs.ts";
import { describe, type Model } from "../../model/model.ts";
import { hasEllipsoids } from "../../physics/smooth/fluid.ts";
import { isScenery, type Entry } from "./randomise-derived.ts";
import type { RandomField } from "./task.ts";

export const bad = (place: string, text: string, details: Record<string, unknown> = {}): CorralError =>
  new CorralError("bad-randomise", `${place}: ${text}.`, { term: place, ...details });

/** What else would have to change, and does not. */
export function checkModel(place: string, name: RandomField, model: Model): void {
  const refuse = (what: string) => bad(place, `${name} cannot be randomised in this model: ${what}`);
  const muscle = model.actuator_gaintype.includes(mjtGain.MUSCLE);
  if (/^actuator_(gain|bias)prm$/.test(name) && muscle) throw refuse("its muscles' curves are computed from the MJCF");
  if (name === "actuator_gear") {
    if (muscle) throw refuse("the length ranges of its muscles go with their gear");
    if ([...model.actuator_damping, ...model.actuator_armature].some((x) => x !== 0))
      throw refuse("damping or armature of its actuators goes with their gear");
  }
  if (name === "geom_size" && hasEllipsoids(model))
    throw refuse("what fluids do to its ellipsoids is computed from the sizes of the MJCF");
  const { HFIELD } = mjtGeom;
  if (name === "geom_size" && geomPairs(model).some((p) => model.geom_type[p.geom1] === HFIELD))
    throw refuse("how much of its height fields a geom covers is planned from the sizes of the MJCF");
  const places: readonly string[] = ["geom_size", "geom_pos", "site_pos"];
  if (places.includes(name) && model.nwrap > 0 && Array.from(model.wrap_type).some((w) => w >= 4))
    throw refuse("tendons wrap around its geoms");
}

/** What goes with the default pose, of which these numbers are a part. */
export function checkPose(place: string, name: RandomField, entries: readonly Entry[], model: Model): void {
  const width = name === "body_quat" ? 4 : 3;
  const isPose =
    name === "qpos0" ||
    ((name === "body_pos" || name === "body_quat") &&
      entries.some(({ index }) => !isScenery(model, Math.floor(index / width))));
  if (!isPose) return;
  const refuse = (what: string) => bad(place, `${name} cannot be randomised in this model: ${what}`);
  const connects = Array.from(model.eq_type).some((t, e) => t === mjtEq.CONNECT && model.eq_objtype[e] !== mjtObj.SITE);
  if (connects) throw refuse("the anchors of its connects go with the default pose; use sites");
  const tracks = Array.from(model.cam_mode).some((mode) => mode === mjtCamLight.TRACK || mode === mjtCamLight.TRACKCOM);
  if (tracks) throw refuse("the offsets of its tracking cameras go with the default pose");
}

/**
 * MuJoCo compiles a lone body whose dofs lie along its principal axes with a diagonal mass matrix, which leaves no room
 * for a centre of mass elsewhere.
 */
export function checkCentres(place: string, entries: readonly Entry[], model: Model): void {
  const body = entries.map(({ index }) => Math.floor(index / 3)).find((b) => model.body_simple[b] > 0);
  if (body === undefined) return;
  throw bad(
    place,
    `body_ipos of ${describe(model, "body", body)} cannot be randomised: MuJoCo has compiled it as a simple body, whose inertia is diagonal in its dofs. Give it an <inertial> in the MJCF whose pos is a little (1e-4 m) off the body's origin`,
  );
}

/** What motors of direct current are made of is read from the MJCF. */
export function checkMotors(place: string, name: RandomField, entries: readonly Entry[], model: Model): void {
  const actuators = entries.map(({ index }) => Math.floor(index / 10));
  const motor = actuators.find((i) => model.actuator_gaintype[i] === mjtGain.DCMOTOR);
  if (motor === undefined) return;
  throw bad(
    place,
    `${name} of the dcmotor ${describe(model, "actuator", motor)} cannot be randomised: its resistance, constants and controller are those of the MJCF. Name other actuators (\`of\`), or draw what acts on it: \`actuator_gear\`, \`dof_damping\``,
  );
}
