// numbers that MuJoCo derives from those that worlds draw (mj_setConst)
import { mjtBias, mjtEq, mjtGain } from "../../model/enums.ts";
import { fieldSize } from "../../model/fields.ts";
import type { Model } from "../../model/model.ts";
import { equalityBodies, geomPairs } from "../../model/pairs.ts";
import { isScaled } from "../../physics/actuator/muscle.ts";
import type { Wanted } from "../../physics/set_const.ts";
import type { RandomField } from "./task.ts";

/** Fields that inverse inertias at qpos0 depend on. */
const INERTIAL: ReadonlySet<RandomField> = new Set<RandomField>([
  "body_mass",
  "body_inertia",
  "body_ipos",
  "dof_armature",
  "body_pos",
  "body_quat",
  "site_pos",
  "qpos0",
]);

/** Fields that the lengths of tendons at qpos0 depend on. */
const PLACES: readonly RandomField[] = ["body_pos", "body_quat", "site_pos", "qpos0"];

/**
 * Whether nothing hangs on where a body is but what touches it: it has no joints, no bodies, no sites, and no equality
 * holds anything to it.
 */
export function isScenery(model: Model, body: number): boolean {
  const holds = (e: number) =>
    (model.eq_type[e] === mjtEq.CONNECT || model.eq_type[e] === mjtEq.WELD) && equalityBodies(model, e).includes(body);
  return (
    model.body_weldid[body] === 0 &&
    !model.body_parentid.includes(body) &&
    !model.site_bodyid.includes(body) &&
    !Array.from({ length: model.neq }, (_, e) => e).some(holds)
  );
}

/** Whether inverse inertias hang on a number that is drawn. */
const counts = (model: Model, { field, index }: Entry): boolean =>
  !(
    (field === "body_pos" && isScenery(model, Math.floor(index / 3))) ||
    (field === "body_quat" && isScenery(model, Math.floor(index / 4)))
  );

type DerivedField =
  | "dof_invweight0"
  | "body_subtreemass"
  | "body_invweight0"
  | "tendon_invweight0"
  | "tendon_length0"
  | "actuator_acc0"
  | "geom_rbound";

/** One number of the model with its value in the MJCF. */
export interface Entry {
  readonly field: string;
  readonly index: number;
  readonly nominal: number;
}

/** What inverse inertias constraints and muscles of a model take. */
function inertiasRead(model: Model): Required<Wanted> {
  const ids = (count: number, holds: (i: number) => boolean) =>
    Array.from({ length: count }, (_, i) => i).filter(holds);
  const equalities = ids(model.neq, () => true);
  const touching = geomPairs(model).flatMap((p) => [p.geom1, p.geom2].map((g) => model.geom_bodyid[g]));
  const held = equalities
    .filter((e) => model.eq_type[e] === mjtEq.CONNECT || model.eq_type[e] === mjtEq.WELD)
    .flatMap((e) => equalityBodies(model, e));
  const coupled = equalities
    .filter((e) => model.eq_type[e] === mjtEq.TENDON)
    .flatMap((e) => [model.eq_obj1id[e], model.eq_obj2id[e]]);
  const muscle = (types: Int32Array, prm: Float64Array, kind: number, i: number) =>
    types[i] === kind && isScaled(prm, i);
  return {
    bodies: [...new Set([...touching, ...held])].filter((b) => model.body_weldid[b] !== 0).sort((a, b) => a - b),
    tendons: ids(
      model.ntendon,
      (t) => model.tendon_limited[t] > 0 || model.tendon_frictionloss[t] > 0 || coupled.includes(t),
    ),
    actuators: ids(
      model.nactuator,
      (i) =>
        muscle(model.actuator_gaintype, model.actuator_gainprm, mjtGain.MUSCLE, i) ||
        muscle(model.actuator_biastype, model.actuator_biasprm, mjtBias.MUSCLE, i),
    ),
  };
}

/** Numbers that MuJoCo derives from those drawn. */
export function derivedOf(
  model: Model,
  entries: readonly Entry[],
): { readonly derived: readonly Entry[]; readonly wanted: Wanted } {
  const drawn = new Set(entries.map((e) => e.field));
  const derived: Entry[] = [];
  const derive = (field: DerivedField, indices: Iterable<number>) => {
    for (const index of indices) derived.push({ field, index, nominal: model[field][index] });
  };
  const every = (field: DerivedField) => Array.from({ length: fieldSize(model, field) }, (_, i) => i);
  if (drawn.has("body_mass")) derive("body_subtreemass", every("body_subtreemass"));
  let wanted: Wanted = {};
  const counted = new Set(entries.filter((e) => counts(model, e)).map((e) => e.field));
  if ([...INERTIAL].some((name) => counted.has(name))) {
    const { bodies, tendons, actuators } = inertiasRead(model);
    wanted = { bodies, tendons, actuators };
    derive("dof_invweight0", every("dof_invweight0"));
    derived.push({ field: "meaninertia", index: 0, nominal: model.stat.meaninertia });
    derive(
      "body_invweight0",
      bodies.flatMap((b) => [2 * b, 2 * b + 1]),
    );
    derive("tendon_invweight0", tendons);
    derive("actuator_acc0", actuators);
    if (PLACES.some((name) => counted.has(name))) derive("tendon_length0", every("tendon_length0"));
  }
  if (drawn.has("geom_size"))
    derive("geom_rbound", new Set(entries.filter((e) => e.field === "geom_size").map((e) => Math.floor(e.index / 3))));
  return { derived, wanted };
}
