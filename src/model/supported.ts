// what this release simulates; everything else is refused by name before anything is allocated
import { CorralError } from "../core/errors.ts";
import { inLine } from "../core/show.ts";
import {
  enumName,
  mjtBias,
  mjtDisableBit,
  mjtDyn,
  mjtEq,
  mjtGain,
  mjtGeom,
  mjtIntegrator,
  mjtObj,
  mjtSensor,
  mjtTrn,
} from "./enums.ts";
import { numbersNotHeld } from "./held-numbers.ts";
import { isImage, isLong, LONG_MOST } from "./long-sensors.ts";
import { assertModel, describe, type Model } from "./model.ts";
import { distancePairs, geomPairs, hasFormula, isMeasured } from "./pairs.ts";
import { unmetKinds } from "./rays.ts";
import { touchable } from "./touched.ts";

/** Something MuJoCo can do that we do not: its name, and the elements of the model that use it. */
export interface UnsupportedFeature {
  readonly feature: string;
  readonly elements: readonly string[];
}

const { PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH } = mjtGeom;

// shapes whose contacts with each other are searched for where there is no formula
const CONVEX: ReadonlySet<number> = new Set([SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH]);

const EQUALITIES: ReadonlySet<number> = new Set([mjtEq.CONNECT, mjtEq.WELD, mjtEq.JOINT, mjtEq.TENDON]);

const SENSORS: ReadonlySet<number> = new Set([
  mjtSensor.JOINTPOS,
  mjtSensor.JOINTVEL,
  mjtSensor.TENDONPOS,
  mjtSensor.TENDONVEL,
  mjtSensor.ACTUATORPOS,
  mjtSensor.ACTUATORVEL,
  mjtSensor.ACTUATORFRC,
  mjtSensor.JOINTACTFRC,
  mjtSensor.BALLQUAT,
  mjtSensor.BALLANGVEL,
  mjtSensor.JOINTLIMITPOS,
  mjtSensor.JOINTLIMITVEL,
  mjtSensor.JOINTLIMITFRC,
  mjtSensor.FRAMEPOS,
  mjtSensor.FRAMEQUAT,
  mjtSensor.FRAMEXAXIS,
  mjtSensor.FRAMEYAXIS,
  mjtSensor.FRAMEZAXIS,
  mjtSensor.FRAMELINVEL,
  mjtSensor.FRAMEANGVEL,
  mjtSensor.FRAMELINACC,
  mjtSensor.FRAMEANGACC,
  mjtSensor.GYRO,
  mjtSensor.ACCELEROMETER,
  mjtSensor.VELOCIMETER,
  mjtSensor.TOUCH,
  mjtSensor.RANGEFINDER,
  mjtSensor.FORCE,
  mjtSensor.TORQUE,
  mjtSensor.SUBTREECOM,
  mjtSensor.SUBTREELINVEL,
  mjtSensor.SUBTREEANGMOM,
  mjtSensor.CLOCK,
  mjtSensor.MAGNETOMETER,
  mjtSensor.TENDONACTFRC,
  mjtSensor.TENDONLIMITPOS,
  mjtSensor.TENDONLIMITVEL,
  mjtSensor.TENDONLIMITFRC,
  mjtSensor.INSIDESITE,
  mjtSensor.E_POTENTIAL,
  mjtSensor.CONTACT,
  mjtSensor.GEOMDIST,
  mjtSensor.GEOMNORMAL,
  mjtSensor.GEOMFROMTO,
  mjtSensor.E_KINETIC,
  mjtSensor.CAMPROJECTION,
  mjtSensor.TACTILE,
  mjtSensor.USER,
]);

// frames that sensors can be attached to, or be relative to
const SENSOR_FRAMES: ReadonlySet<number> = new Set([
  mjtObj.BODY,
  mjtObj.XBODY,
  mjtObj.GEOM,
  mjtObj.SITE,
  mjtObj.CAMERA,
]);

const TRANSMISSIONS: ReadonlySet<number> = new Set([
  mjtTrn.JOINT,
  mjtTrn.JOINTINPARENT,
  mjtTrn.TENDON,
  mjtTrn.SITE,
  mjtTrn.SLIDERCRANK,
  mjtTrn.BODY,
]);
const DYNAMICS: ReadonlySet<number> = new Set([
  mjtDyn.NONE,
  mjtDyn.INTEGRATOR,
  mjtDyn.FILTER,
  mjtDyn.FILTEREXACT,
  mjtDyn.MUSCLE,
  mjtDyn.DCMOTOR,
  mjtDyn.PID,
  mjtDyn.USER,
]);
const GAINS: ReadonlySet<number> = new Set([
  mjtGain.FIXED,
  mjtGain.AFFINE,
  mjtGain.MUSCLE,
  mjtGain.DCMOTOR,
  mjtGain.PID,
  mjtGain.USER,
]);
const BIASES: ReadonlySet<number> = new Set([
  mjtBias.NONE,
  mjtBias.AFFINE,
  mjtBias.MUSCLE,
  mjtBias.DCMOTOR,
  mjtBias.USER,
]);
const INTEGRATORS: ReadonlySet<number> = new Set([
  mjtIntegrator.EULER,
  mjtIntegrator.RK4,
  mjtIntegrator.IMPLICITFAST,
  mjtIntegrator.IMPLICIT,
  mjtIntegrator.DISCRETE,
]);

// of flags nativeccd alone is refused, where pairs are searched; the others are obeyed or cannot matter: midphase (order
// only), autoreset, multiccd, island (same solution), energy, fwdinv, invdiscrete, ipc (flex), sleep (bodies at rest go
// on being computed)

/** Collects features, the elements of each together. */
class Findings {
  readonly #found = new Map<string, string[]>();

  add(feature: string, element = "option"): void {
    const elements = this.#found.get(feature);
    if (elements) elements.push(element);
    else this.#found.set(feature, [element]);
  }

  list(): UnsupportedFeature[] {
    return [...this.#found].map(([feature, elements]) => ({ feature, elements }));
  }
}

type Check = (model: Model, found: Findings) => void;

const lower = (values: Readonly<Record<string, number>>, value: number) => enumName(values, value).toLowerCase();

const options: Check = (model, found) => {
  const { opt } = model;
  if (!INTEGRATORS.has(opt.integrator)) found.add(`integrator ${lower(mjtIntegrator, opt.integrator)}`);
  if (!(opt.timestep > 0)) found.add("timestep not greater than 0");
  if (model.nflex > 0) found.add("flex", `${model.nflex} flex objects`);
};

const bodies: Check = (model, found) => {
  for (let b = 0; b < model.nbody; b++) {
    if (model.body_plugin[b] >= 0) found.add("plugin", describe(model, "body", b));
  }
};

const geoms: Check = (model, found) => {
  const pairs = geomPairs(model);
  const searched = pairs.kinds.map(({ type1, type2 }) => !hasFormula([type1, type2]));
  if (!searched.includes(true)) return;
  for (let k = 0; k < pairs.length; k++) {
    if (!searched[pairs.kind[k]]) continue;
    const { geom1, geom2, type1, type2 } = pairs.at(k);
    const types = [type1, type2];
    // names are slow among millions of pairs
    const [name1, name2] = [describe(model, "geom", geom1), describe(model, "geom", geom2)];
    const kind = types.map((t) => lower(mjtGeom, t)).join("-");
    if (!types.every((t, end) => CONVEX.has(t) || (end === 0 && t === HFIELD)))
      found.add(`collision ${kind}`, `${name1} with ${name2}`);
    else if ((model.opt.disableflags & mjtDisableBit.NATIVECCD) !== 0)
      found.add(`disable flag nativeccd with ${kind}`, `${name1} with ${name2}`);
  }
};

const equalities: Check = (model, found) => {
  const off = mjtDisableBit.EQUALITY | mjtDisableBit.CONSTRAINT;
  if ((model.opt.disableflags & off) !== 0) return;
  for (let e = 0; e < model.neq; e++) {
    if (EQUALITIES.has(model.eq_type[e])) continue;
    found.add(`equality ${lower(mjtEq, model.eq_type[e])}`, describe(model, "equality", e));
  }
};

const actuators: Check = (model, found) => {
  const kinds = [
    ["transmission", model.actuator_trntype, TRANSMISSIONS, mjtTrn],
    ["actuator dyntype", model.actuator_dyntype, DYNAMICS, mjtDyn],
    ["actuator gaintype", model.actuator_gaintype, GAINS, mjtGain],
    ["actuator biastype", model.actuator_biastype, BIASES, mjtBias],
  ] as const;
  for (let a = 0; a < model.nactuator; a++) {
    const name = describe(model, "actuator", a);
    for (const [kind, values, known, words] of kinds) {
      if (!known.has(values[a])) found.add(`${kind} ${lower(words, values[a])}`, name);
    }
    if (model.actuator_plugin[a] >= 0) found.add("plugin", name);
  }
};

/** Pairs of a distance sensor whose distance is not found, planes apart, which have none from one another. */
function unmeasured(model: Model, sensor: number): Set<string> {
  const off = (model.opt.disableflags & mjtDisableBit.NATIVECCD) !== 0;
  const kinds = distancePairs(model, sensor)
    .filter(([g1, g2]) => {
      const how = isMeasured(model, g1, g2);
      return how === undefined || (how === "search" && off);
    })
    .map((pair) => pair.map((g) => model.geom_type[g]).sort((a, b) => a - b))
    .filter((types) => types[1] !== PLANE);
  return new Set(kinds.map((types) => types.map((t) => lower(mjtGeom, t)).join("-")));
}

/** What rays do not meet. */
function rangefinder(model: Model, sensor: number, found: Findings): void {
  const name = describe(model, "sensor", sensor);
  for (const type of unmetKinds(model)) found.add(`sensor rangefinder that sees a ${lower(mjtGeom, type)}`, name);
}

/** Sensors of too many numbers. */
function tooLong(model: Model, sensor: number, found: Findings): void {
  const numbers = model.sensor_dim[sensor];
  if (numbers <= LONG_MOST) return;
  const kind = lower(mjtSensor, model.sensor_type[sensor]);
  const remedy = isImage(model, sensor) ? "lower its resolution or leave out data" : "give it a mesh of fewer vertices";
  found.add(
    `sensor ${kind} of more than ${LONG_MOST} numbers`,
    `${describe(model, "sensor", sensor)} of ${numbers}: ${remedy}`,
  );
}

/** What a tactile sensor may touch without knowing how deep. */
function tactile(model: Model, sensor: number, found: Findings): void {
  const weld = model.body_weldid[model.geom_bodyid[model.sensor_refid[sensor]]];
  const octrees = new Set(model.taxels?.octrees);
  for (const g of touchable(model, weld)) {
    const isField = model.geom_type[g] === HFIELD;
    if (!isField && !(model.geom_type[g] === MESH && octrees.has(model.geom_dataid[g]))) continue;
    const what = isField ? "a height field" : "a mesh with an octree";
    found.add(
      `sensor tactile that may touch ${what}`,
      `${describe(model, "sensor", sensor)} at ${describe(model, "geom", g)}`,
    );
  }
}

const sensors: Check = (model, found) => {
  for (let s = 0; s < model.nsensor; s++) {
    const name = describe(model, "sensor", s);
    const type = model.sensor_type[s];
    if (!SENSORS.has(type)) {
      found.add(`sensor ${lower(mjtSensor, type)}`, name);
      continue;
    }
    if (isLong(model, s)) tooLong(model, s, found);
    if (type === mjtSensor.TACTILE) tactile(model, s, found);
    if (type === mjtSensor.RANGEFINDER) rangefinder(model, s, found);
    const isFrame = type >= mjtSensor.FRAMEPOS && type <= mjtSensor.FRAMEANGACC;
    const frames = [model.sensor_objtype[s], ...(model.sensor_refid[s] >= 0 ? [model.sensor_reftype[s]] : [])];
    const objects = isFrame ? frames : type === mjtSensor.INSIDESITE ? frames.slice(0, 1) : [];
    for (const frame of objects) {
      if (!SENSOR_FRAMES.has(frame)) found.add(`sensor on a ${lower(mjtObj, frame)} frame`, name);
    }
    if (type >= mjtSensor.GEOMDIST && type <= mjtSensor.GEOMFROMTO) {
      for (const pair of unmeasured(model, s)) found.add(`sensor ${lower(mjtSensor, type)} of ${pair}`, name);
    }
  }
};

const numbers: Check = (model, found) => {
  for (const { field, object, value } of numbersNotHeld(model))
    found.add(`${field} that no float32 holds (3.4e38 at most)`, `${object} (${value})`);
};

const CHECKS: readonly Check[] = [options, numbers, bodies, geoms, equalities, actuators, sensors];

/** Everything the model uses that this release does not simulate; empty if it can run. */
export function unsupportedFeatures(model: Model): UnsupportedFeature[] {
  assertModel(model);
  const found = new Findings();
  for (const check of CHECKS) check(model, found);
  return found.list();
}

/** One line for a feature: its name and up to five of its elements. */
function line({ feature, elements }: UnsupportedFeature): string {
  const shown = elements.slice(0, 5).join(", ");
  const more = elements.length > 5 ? ` and ${elements.length - 5} more` : "";
  return `${feature}: ${shown}${more}`;
}

/**
 * Refuses a model that this release does not simulate.
 * @throws CorralError too-many-pairs; unsupported-feature, with every feature in details.features.
 */
export function checkSupported(model: Model): void {
  const features = unsupportedFeatures(model);
  if (features.length === 0) return;
  const name = model.name === "" ? "the model" : `model "${inLine(model.name)}"`;
  throw new CorralError(
    "unsupported-feature",
    `${name} uses ${features.length} feature${features.length > 1 ? "s" : ""} that corral does not simulate; remove them from the MJCF or run it in MuJoCo:\n${features.map((f) => `  ${line(f)}`).join("\n")}`,
    { features: features.map((f) => f.feature), elements: features },
  );
}
