// sensors, each by the stage of the pipeline that it reads (mj_sensorPos, mj_sensorVel, mj_sensorAcc)
import { add, clamp, min, mul, select, sub, type Int, type Scalar } from "../../trace/scalar.ts";
import { forceAt, rotational, translational } from "../../trace/spatial.ts";
import {
  column,
  cross,
  mulMatTVec,
  mulQuat,
  negQuat,
  normalizeQuat,
  sub3,
  MINVAL,
  type Quat,
  type Vec3,
} from "../../trace/vector.ts";
import { remembersEnergy } from "../../model/energy.ts";
import { historyBuffers } from "../../model/history.ts";
import { isImage, isLong } from "../../model/long-sensors.ts";
import { historyOf, isDue, readHistory } from "../history.ts";
import { array, each } from "../../trace/control.ts";
import { mjtConstraint, mjtDataType, mjtDisableBit, mjtObj, mjtSensor, mjtTrn } from "../../model/enums.ts";
import type { ConstraintForces } from "../constraint/constraint-forces.ts";
import { listRows } from "../constraint/rows.ts";
import { rnePost } from "../smooth/rne_post.ts";
import { Field, type WorldData, type ModelView } from "../view.ts";
import { attached, inAxes, objectAcceleration, objectVelocity, type Attached } from "./frames.ts";
import { cameraProjection } from "./camera.ts";
import { contactSensor } from "./contact.ts";
import { geomDistance } from "./distance.ts";
import { kineticEnergy, potentialEnergy, rememberedEnergy } from "./energy.ts";
import { insideSite } from "./inside.ts";
import { castImages, rangefinders } from "./rangefinder.ts";
import { subtreeVelocity } from "./subtree.ts";
import { tactile } from "./tactile.ts";
import { touch } from "./touch.ts";

const S = mjtSensor;
/** Sensors that read accelerations or forces of bodies. */
const POST: ReadonlySet<number> = new Set([S.ACCELEROMETER, S.FORCE, S.TORQUE, S.FRAMELINACC, S.FRAMEANGACC]);
/** Sensors without a cutoff, or that use it in another way. */
const UNCUT: ReadonlySet<number> = new Set([S.CONTACT, S.GEOMFROMTO]);
const SUBTREE: ReadonlySet<number> = new Set([S.SUBTREELINVEL, S.SUBTREEANGMOM]);

/** All sensors of the model. Writes sensordata. */
export function sensor(m: ModelView, d: WorldData, input: ConstraintForces): void {
  if (m.opt.disableflags & mjtDisableBit.SENSOR) {
    each(m.nsensordata, (k) => d.sensordata.set(k, 0));
    return;
  }
  const all = Array.from({ length: m.nsensor }, (_, i) => i);
  const set = (i: number, values: readonly Scalar[]) =>
    values.forEach((x, k) => d.sensordata.set(m.model.sensor_adr[i] + k, x));
  const past = (i: number) => historyOf(m, "sensor", i);
  const long = all.filter((i) => isLong(m.model, i) && !past(i));
  longSensors(m, d, input, long, (i, k, x) => d.sensordata.set(add(m.model.sensor_adr[i], k), cutter(m, i)(x)));
  const delayed = all.filter((i) => (past(i)?.delay ?? 0) > 0);
  for (const i of delayed) set(i, readHistory(m, d, past(i)!));
  for (const [i, values] of readings(
    m,
    d,
    input,
    all.filter((s) => !delayed.includes(s) && !long.includes(s)),
  )) {
    const buffer = past(i);
    // between ticks the last sample stays
    if (buffer && buffer.period > 0) {
      const [due, kept] = [isDue(m, d, buffer), readHistory(m, d, buffer)];
      set(
        i,
        values.map((x, k) => select(due, x, kept[k])),
      );
    } else set(i, values);
  }
}

/** Writes what sensors of many numbers measure, in loops. */
function longSensors(
  m: ModelView,
  d: WorldData,
  { contacts }: ConstraintForces,
  sensors: readonly number[],
  write: (sensor: number, place: Int, value: Scalar) => void,
): void {
  const images = sensors.filter((i) => isImage(m.model, i));
  castImages(m, d, images, write);
  for (const i of sensors) if (!images.includes(i)) tactile(m, d, contacts, i, (k, x) => write(i, k, x));
}

/** What chosen sensors measure now, by sensor. */
function readings(
  m: ModelView,
  d: WorldData,
  input: ConstraintForces,
  sensors: readonly number[],
): ReadonlyMap<number, readonly Scalar[]> {
  const types = sensors.map((i) => m.model.sensor_type[i]);
  if (types.some((t) => POST.has(t))) rnePost(m, d, input);
  if (types.some((t) => SUBTREE.has(t))) subtreeVelocity(m, d);
  const ranges = rangefinders(m, d, sensors);
  // of many numbers, but with a history: one by one
  const own = sensors.filter((i) => isLong(m.model, i));
  const kept = new Map(own.map((i) => [i, array("sensor_numbers", m.model.sensor_dim[i])]));
  longSensors(m, d, input, own, (i, k, x) => kept.get(i)!.set(k, x));
  const longOf = (i: number) => {
    const numbers = kept.get(i);
    return numbers && Array.from({ length: numbers.length }, (_, k) => numbers.get(k));
  };
  return new Map(sensors.map((i) => [i, (ranges.get(i) ?? longOf(i) ?? reading(m, d, input, i)).map(cutter(m, i))]));
}

/** Readings between their evaluation and the end of the step, by sensor. */
export type Samples = ReadonlyMap<number, Field>;

/** What sensors with a history measure now: those with a delay, or those without. */
export function sample(m: ModelView, d: WorldData, input: ConstraintForces, delayed: boolean): Samples {
  const own = historyBuffers(m.model).filter((b) => b.of === "sensor" && b.delay > 0 === delayed);
  const isOff = !delayed && (m.opt.disableflags & mjtDisableBit.SENSOR) !== 0;
  const found = isOff
    ? new Map(own.map((b) => [b.id, Array<Scalar>(b.dim).fill(0)]))
    : readings(
        m,
        d,
        input,
        own.map((b) => b.id),
      );
  return new Map(
    [...found].map(([i, values]) => {
      const kept = new Field(`sample_${i}`, values.length);
      values.forEach((x, k) => kept.set(k, x));
      return [i, kept];
    }),
  );
}

/** What a sensor's cutoff makes of a number. */
function cutter({ model }: ModelView, i: number): (x: Scalar) => Scalar {
  const cutoff = model.sensor_cutoff[i];
  if (cutoff <= 0 || UNCUT.has(model.sensor_type[i])) return (x) => x;
  const type = model.sensor_datatype[i];
  if (type === mjtDataType.REAL) return (x) => clamp(x, -cutoff, cutoff);
  return type === mjtDataType.POSITIVE ? (x) => min(x, cutoff) : (x) => x;
}

function reading(m: ModelView, d: WorldData, input: ConstraintForces, i: number): readonly Scalar[] {
  const { model } = m;
  const id = model.sensor_objid[i];
  const type = model.sensor_type[i];
  const at = (objType: number = model.sensor_objtype[i]) => attached(m, d, objType, id);
  const dof = () => model.jnt_dofadr[id];

  switch (type) {
    case S.JOINTPOS:
      return [d.qpos.at(model.jnt_qposadr[id])];
    case S.JOINTVEL:
      return [d.qvel.at(dof())];
    case S.TENDONPOS:
      return [d.ten_length.at(id)];
    case S.TENDONVEL:
      return [d.ten_velocity.at(id)];
    case S.ACTUATORPOS:
      return [d.actuator_length.at(id)];
    case S.ACTUATORVEL:
      return [d.actuator_velocity.at(id)];
    case S.ACTUATORFRC:
      return [d.actuator_force.at(id)];
    case S.JOINTACTFRC:
      return [d.qfrc_actuator.at(dof())];
    case S.BALLQUAT:
      return normalizeQuat(d.qpos.run(model.jnt_qposadr[id], 4) as unknown as Quat);
    case S.BALLANGVEL:
      return d.qvel.run(dof(), 3);
    case S.JOINTLIMITPOS:
    case S.JOINTLIMITVEL:
    case S.JOINTLIMITFRC:
      return [limit(d, input, mjtConstraint.LIMIT_JOINT, type - S.JOINTLIMITPOS, id)];
    case S.TENDONLIMITPOS:
    case S.TENDONLIMITVEL:
    case S.TENDONLIMITFRC:
      return [limit(d, input, mjtConstraint.LIMIT_TENDON, type - S.TENDONLIMITPOS, id)];
    case S.TENDONACTFRC:
      return [tendonActuatorForce(m, d, id)];
    case S.MAGNETOMETER:
      return mulMatTVec(at(mjtObj.SITE).mat, m.opt.magnetic as unknown as Vec3);
    case S.CAMPROJECTION:
      return cameraProjection(m, d, model.sensor_refid[i], id);
    // what a callback of MuJoCo's would fill is zero without one
    case S.USER:
      return Array<Scalar>(model.sensor_dim[i]).fill(0);
    case S.INSIDESITE:
      return [select(insideSite(m, d, model.sensor_refid[i], insidePoint(m, d, i)), 1, 0)];
    case S.CONTACT:
      return contactSensor(m, d, input.contacts, i);
    case S.GEOMDIST:
    case S.GEOMNORMAL:
    case S.GEOMFROMTO:
      return geomDistance(m, d, i);
    case S.E_POTENTIAL:
      return [potentialEnergy(m, d)];
    case S.E_KINETIC:
      return [remembersEnergy(model) ? rememberedEnergy(m, d) : kineticEnergy(m, d)];
    case S.SUBTREECOM:
      return d.subtree_com.vec3(id);
    case S.SUBTREELINVEL:
      return d.subtree_linvel.vec3(id);
    case S.SUBTREEANGMOM:
      return d.subtree_angmom.vec3(id);
    case S.CLOCK:
      return [d.time.at(0)];
    case S.TOUCH:
      return [touch(m, d, input.contacts, id)];
    case S.GYRO:
    case S.VELOCIMETER: {
      const site = at(mjtObj.SITE);
      const v = inAxes(objectVelocity(m, d, site), site.mat);
      return type === S.GYRO ? rotational(v) : translational(v);
    }
    case S.ACCELEROMETER: {
      const site = at(mjtObj.SITE);
      return translational(inAxes(objectAcceleration(m, d, site), site.mat));
    }
    case S.FORCE:
    case S.TORQUE: {
      const site = at(mjtObj.SITE);
      const com = d.subtree_com.vec3(model.body_rootid[site.body]);
      const f = inAxes(forceAt(d.cfrc_int.spatial(site.body), site.pos, com), site.mat);
      return type === S.FORCE ? translational(f) : rotational(f);
    }
    case S.FRAMELINACC:
      return translational(objectAcceleration(m, d, at()));
    case S.FRAMEANGACC:
      return rotational(objectAcceleration(m, d, at()));
    default:
      return frameSensor(m, d, type, at(), reference(m, d, i));
  }
}

/** The frame that a sensor is relative to, if any. */
function reference(m: ModelView, d: WorldData, i: number): Attached | undefined {
  const id = m.model.sensor_refid[i];
  return id < 0 ? undefined : attached(m, d, m.model.sensor_reftype[i], id);
}

function frameSensor(
  m: ModelView,
  d: WorldData,
  type: number,
  o: Attached,
  ref: Attached | undefined,
): readonly Scalar[] {
  const inRef = (v: Vec3): Vec3 => (ref ? mulMatTVec(ref.mat, v) : v);
  switch (type) {
    case S.FRAMEPOS:
      return ref ? inRef(sub3(o.pos, ref.pos)) : o.pos;
    case S.FRAMEQUAT:
      return ref ? mulQuat(negQuat(ref.quat), o.quat) : o.quat;
    case S.FRAMEXAXIS:
      return inRef(column(o.mat, 0));
    case S.FRAMEYAXIS:
      return inRef(column(o.mat, 1));
    case S.FRAMEZAXIS:
      return inRef(column(o.mat, 2));
  }
  const v = objectVelocity(m, d, o);
  const own = type === S.FRAMELINVEL ? translational(v) : rotational(v);
  if (!ref) return own;
  const w = objectVelocity(m, d, ref);
  if (type !== S.FRAMELINVEL) return inRef(sub3(rotational(v), rotational(w)));
  // the reference turns under the object
  const turn = cross(sub3(o.pos, ref.pos), rotational(w));
  return inRef(sub3(own, translational(w)).map((x, k) => add(x, turn[k])) as unknown as Vec3);
}

/** The point of an insidesite sensor: of a body without mass of its own, the centre of mass of its subtree. */
function insidePoint(m: ModelView, d: WorldData, i: number): Vec3 {
  const { model } = m;
  const [type, id] = [model.sensor_objtype[i], model.sensor_objid[i]];
  const massless =
    type === mjtObj.BODY && id > 0 && model.body_mass[id] < MINVAL && model.body_subtreemass[id] >= MINVAL;
  return massless ? d.subtree_com.vec3(id) : attached(m, d, type, id).pos;
}

/** What all actuators on a tendon pull with. */
function tendonActuatorForce({ model, nactuator }: ModelView, d: WorldData, tendon: number): Scalar {
  let force: Scalar = 0;
  for (let i = 0; i < nactuator; i++) {
    const pulls = model.actuator_trntype[i] === mjtTrn.TENDON && model.actuator_trnid[2 * i] === tendon;
    if (pulls) force = add(force, d.actuator_force.at(i));
  }
  return force;
}

/**
 * Distance past the margin (0), velocity (1) or force (2) of the first active limit row of a joint or tendon, 0 if
 * none is active.
 */
function limit(d: WorldData, input: ConstraintForces, rowType: number, what: number, id: number): Scalar {
  let value: Scalar = 0;
  // last to first, so that the first active row wins
  const rows = listRows(input.rows);
  for (let r = rows.length - 1; r >= 0; r--) {
    const row = rows[r];
    if (row.type !== rowType || row.id !== id) continue;
    const vel = row.jac.reduce<Scalar>((v, e) => add(v, mul(e.value, d.qvel.at(e.dof))), 0);
    const own = [sub(row.pos, row.margin), vel, input.rowForce(r)][what];
    value = select(row.active, own, value);
  }
  return value;
}
