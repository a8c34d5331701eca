// a model with some numbers of its arrays changed, as one world of a randomised batch has them
import { CorralError } from "../core/errors.ts";
import { show } from "../core/show.ts";
import { mjtDisableBit, mjtGeom } from "./enums.ts";
import { assertModel, printableModel, type Model, type ModelChange } from "./model-data.ts";
import { writeBool, type MainModule, type MjData, type MjModel } from "./mujoco.ts";

function put(values: { [index: number]: number; length: number }, field: string, index: number, value: number): void {
  if (!Number.isInteger(index) || index < 0 || index >= values.length)
    throw new CorralError("bad-index", `${field} has ${values.length} numbers, no number ${index}.`, { field, index });
  if (typeof value !== "number")
    throw new CorralError("bad-value", `${field}[${index}] is ${String(value)}.`, { field });
  values[index] = value;
}

/**
 * The same model with other numbers. The given model stays as it is; `createOracle` gives MuJoCo the changes too. What
 * MuJoCo derives of them (dof_invweight0, body_invweight0, body_subtreemass, ...) is not computed again here: give those
 * numbers as well, as derived.
 * @throws CorralError bad-model, unknown-field, bad-index, bad-value
 */
export function withChanges(model: Model, changes: readonly ModelChange[]): Model {
  assertModel(model);
  if (!Array.isArray(changes) || !changes.every((change) => typeof change === "object" && change !== null))
    throw new CorralError("bad-value", `changes is ${show(changes)}; pass a list of { field, index, value }.`);
  if (changes.length === 0) return model;
  const gravity = [...model.opt.gravity];
  const speeds = (model.speedLimits ?? []).map(({ limit }) => limit);
  let { meaninertia } = model.stat;
  const arrays: Record<string, Float64Array | Uint8Array> = {};
  for (const { field, index, value, also = [] } of changes) {
    if (field === "meaninertia") meaninertia = value;
    else if (field === "gravity") put(gravity, field, index, value);
    else if (field === "speed_limit") put(speeds, field, index, value);
    else {
      const own = (model as unknown as Record<string, unknown>)[field];
      if (!(own instanceof Float64Array) && field !== "jnt_limited")
        throw new CorralError("unknown-field", `a model has no numbers called "${field}".`, { field });
      arrays[field] ??= (own as Float64Array | Uint8Array).slice();
      for (const at of [index, ...also]) put(arrays[field], field, at, value);
    }
  }
  return printableModel({
    ...model,
    ...arrays,
    ...(model.speedLimits ? { speedLimits: model.speedLimits.map((l, i) => ({ ...l, limit: speeds[i] })) } : {}),
    opt: { ...model.opt, gravity },
    stat: { ...model.stat, meaninertia },
    changes: [...(model.changes ?? []), ...changes],
  });
}

/** Half sizes of the box about a geom in its own frame. */
function boxAbout(type: number, [a, b, c]: ArrayLike<number> & Iterable<number>): readonly number[] {
  switch (type) {
    case mjtGeom.SPHERE:
      return [a, a, a];
    case mjtGeom.CAPSULE:
      return [a, a, a + b];
    case mjtGeom.CYLINDER:
      return [a, a, b];
    default:
      return [a, b, c];
  }
}

/** mjtSameFrame: a frame of its own, and that of the body's inertia. */
const SameFrame = { none: 0, inertia: 2 } as const;

/** The frame of a body's inertia is no longer that of the body, or of what is fixed to it. */
function ownFrame(mj: MjModel, body: number): void {
  const frames = mj as unknown as Record<string, { [index: number]: number; readonly length: number }>;
  frames.body_sameframe[body] = SameFrame.none;
  for (const kind of ["geom", "site"] as const) {
    const bodies = frames[`${kind}_bodyid`];
    const same = frames[`${kind}_sameframe`];
    for (let i = 0; i < bodies.length; i++)
      if (bodies[i] === body && same[i] === SameFrame.inertia) same[i] = SameFrame.none;
  }
}

/** Makes the changes in MuJoCo's model, and what follows from them. Options are written by `writeOption`. */
export function writeChanges(mujoco: MainModule, mj: MjModel, data: MjData, changes: readonly ModelChange[]): void {
  if (changes.length === 0) return;
  const arrays = mj as unknown as Record<string, Float64Array>;
  for (const { field, index, value, derived, also = [] } of changes) {
    // MuJoCo has no such limit
    if (field === "speed_limit") continue;
    // radii of bounding spheres are the compiler's, not mj_setConst's
    if (field === "body_ipos") ownFrame(mj, Math.floor(index / 3));
    const isKept = !derived || field === "geom_rbound";
    if (field === "jnt_limited") writeBool(mj, field, index, value);
    else if (isKept && field !== "gravity") for (const at of [index, ...also]) arrays[field][at] = value;
    if (field === "geom_pos" || field === "site_pos") {
      const kind = field === "geom_pos" ? "geom_sameframe" : "site_sameframe";
      (mj as unknown as Record<string, { [index: number]: number }>)[kind][Math.floor(index / 3)] = SameFrame.none;
    }
    if (field === "geom_pos") mj.opt.disableflags |= mjtDisableBit.MIDPHASE;
    if (field !== "geom_size") continue;
    const geom = Math.floor(index / 3);
    const box = boxAbout(mj.geom_type[geom], arrays.geom_size.slice(3 * geom, 3 * geom + 3));
    arrays.geom_aabb.set(box, 6 * geom + 3);
    // the trees of boxes of bodies stay as they were compiled
    mj.opt.disableflags |= mjtDisableBit.MIDPHASE;
  }
  for (const body of new Set(changes.filter((c) => c.field === "body_quat").map((c) => Math.floor(c.index / 4)))) {
    const quat = arrays.body_quat.subarray(4 * body, 4 * body + 4);
    const norm = Math.hypot(...quat);
    quat.forEach((x, k) => (quat[k] = x / norm));
  }
  mujoco.mj_setConst(mj, data);
  mujoco.mj_resetData(mj, data);
}
