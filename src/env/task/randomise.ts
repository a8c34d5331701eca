// checks and plans what each world draws of its model when an episode starts; the draw is env/kernel/world-model.ts
import { CorralError } from "../../core/errors.ts";
import { inLine, listed, show } from "../../core/show.ts";
import { mjtGeom, mjtJoint } from "../../model/enums.ts";
import { fieldShape } from "../../model/fields.ts";
import { describe, leftOutText, type Model } from "../../model/model.ts";
import type { Wanted } from "../../physics/set_const.ts";
import { alternatives } from "../../core/names.ts";
import { elementsOf, fieldOf, idsOf, type Kind } from "./expression/fields.ts";
import { gridCount } from "./grid.ts";
import { bad, checkCentres, checkMotors, checkModel, checkPose } from "./randomise-checks.ts";
import { derivedOf, type Entry } from "./randomise-derived.ts";
import { drawnFor, placeOfDrawn, type StandsFor } from "./terrain.ts";
import { isPlainObject, placeOf } from "./term-value.ts";
import type { Distribution, RandomField, Randomisation, Task, TermSource } from "./task.ts";

/** What a field may be: its least value, and whether it may be the least itself. */
const FIELDS: Readonly<Record<RandomField, { readonly least: number; readonly open?: boolean }>> = {
  body_mass: { least: 0, open: true },
  body_inertia: { least: 0, open: true },
  body_ipos: { least: -Infinity },
  dof_damping: { least: 0 },
  dof_armature: { least: 0 },
  dof_frictionloss: { least: 0, open: true },
  jnt_stiffness: { least: 0 },
  jnt_range: { least: -Infinity },
  geom_friction: { least: 0 },
  geom_size: { least: 0, open: true },
  actuator_gear: { least: -Infinity },
  actuator_gainprm: { least: -Infinity },
  actuator_biasprm: { least: -Infinity },
  actuator_forcerange: { least: -Infinity },
  body_pos: { least: -Infinity },
  body_quat: { least: -Infinity },
  geom_pos: { least: -Infinity },
  site_pos: { least: -Infinity },
  pair_friction: { least: 0 },
  qpos0: { least: -Infinity },
  tendon_stiffness: { least: 0 },
  tendon_damping: { least: 0 },
  tendon_frictionloss: { least: 0, open: true },
  tendon_range: { least: -Infinity },
  gravity: { least: -Infinity },
  speed_limit: { least: 0, open: true },
};

/** What one item of `randomise` does: draws, and the numbers that go with each draw. */
export interface Drawn {
  readonly name: string;
  readonly how: "set" | "scale" | "add";
  readonly distribution: Distribution;
  /** The item in messages. */
  readonly place: string;
  /** Entries that share a draw are together. */
  readonly groups: readonly (readonly Entry[])[];
}

/** All that worlds have of their own. */
export interface RandomPlan extends StandsFor {
  readonly drawn: readonly Drawn[];
  /** Entries that are drawn, then those derived from them. */
  readonly entries: readonly Entry[];
  readonly derived: readonly Entry[];
  /** Bodies, tendons and actuators of which inertias are derived. */
  readonly wanted: Wanted;
}

/**
 * Resolves what a task randomises.
 * @throws CorralError bad-randomise, unknown-name
 */
export function randomPlan<O extends object>(task: Task<O>, model: Model): RandomPlan {
  const drawn = Object.entries(task.randomise ?? {}).map(([name, item]) =>
    drawnOf(placeOfDrawn(task, name, item), name, item, model),
  );
  const entries: Entry[] = [];
  const owner = new Map<string, string>();
  for (const item of drawn) {
    for (const entry of item.groups.flat()) {
      const key = `${entry.field}[${entry.index}]`;
      const other = owner.get(key);
      if (other !== undefined)
        throw bad(
          placeOf(task, "randomise", item.name),
          `it draws ${key}, which ${other} draws too; leave it to one of them`,
        );
      owner.set(key, item.name);
      entries.push(entry);
    }
  }
  return { drawn, entries, ...drawnFor(task.terrain, model), ...derivedOf(model, entries) };
}

function drawnOf(place: string, name: string, item: Randomisation, model: Model): Drawn {
  if (!isPlainObject(item)) throw bad(place, "it is no object; give it a field, and one of set, scale and add");
  const { field, of, element, set, scale, add, shared = false, ...unknown } = item;
  const [other] = Object.keys(unknown);
  if (other !== undefined)
    throw bad(place, `it has no option "${other}"; it takes field, of, element, set, scale, add, shared`);
  const isNames = (x: unknown, ...types: string[]) =>
    x === undefined || types.includes(typeof x) || (Array.isArray(x) && x.every((one) => types.includes(typeof one)));
  if (field === undefined || !isNames(field, "string") || field.length === 0)
    throw bad(place, `field is ${show(field)}; it is the name of a field, or several`);
  if (!isNames(of, "string", "number"))
    throw bad(place, `of is ${show(of)}; it is a name, a pattern or an id, or several`);
  if (!isNames(element, "number")) throw bad(place, `element is ${show(element)}; it is a number, or several`);
  const ways = Object.entries({ set, scale, add }).filter(([, d]) => d !== undefined);
  if (ways.length !== 1) throw bad(place, `it has ${ways.length || "none"} of set, scale and add; give one`);
  const [how, distribution] = ways[0] as ["set" | "scale" | "add", Distribution];
  const range = rangeOf(place, distribution);

  const fields = typeof field === "string" ? [field] : field;
  const perField = fields.map((f) => entriesOf(place, f, of, element, model));
  for (const entry of perField.flat()) checkBounds(place, model, entry, how, range, roundingOf(distribution));
  if (shared) return { name, how, distribution, place, groups: [perField.flat()] };
  // several fields of one object go together: mass and inertia
  const most = Math.max(...perField.map((list) => list.length));
  if (fields.length === 1) return { name, how, distribution, place, groups: perField[0].map((e) => [e]) };
  const rows = perField.map((list) => list.length / Math.min(...perField.map((l) => l.length)));
  if (!rows.every(Number.isInteger))
    throw bad(place, `its fields have ${most} and other counts of numbers; pass shared: true`);
  const count = Math.min(...perField.map((l) => l.length));
  return {
    name,
    how,
    distribution,
    place,
    groups: Array.from({ length: count }, (_, i) =>
      perField.flatMap((list, f) => list.slice(i * rows[f], (i + 1) * rows[f])),
    ),
  };
}

function entriesOf(
  place: string,
  name: RandomField,
  of: Randomisation["of"],
  element: Randomisation["element"],
  model: Model,
): Entry[] {
  if (!(name in FIELDS)) {
    const { hint, nearest } = alternatives(name, Object.keys(FIELDS));
    throw bad(place, `it cannot randomise ${name}; ${hint}`, { nearest });
  }
  checkModel(place, name, model);
  const only = element === undefined ? undefined : typeof element === "number" ? [element] : element;
  if (name === "gravity") {
    if (of !== undefined) throw bad(place, "gravity is of no object; leave out `of`");
    const all = [0, 1, 2].map((index) => ({ field: name, index, nominal: model.opt.gravity[index] }));
    return picked(place, name, all, 3, only);
  }
  const isSpeed = name === "speed_limit";
  const field = fieldOf(isSpeed ? "jnt_range" : name)!;
  const kind = field.kind as Kind;
  const names = of === undefined ? ["*"] : typeof of === "object" ? of : [of];
  const ids = names.flatMap((n) => {
    if (n === "*") return Array.from({ length: model.names[kind].length }, (_, id) => id);
    const found =
      typeof n === "number" ? [n].filter((id) => id >= 0 && id < model.names[kind].length) : idsOf(model, kind, n);
    if (found.length > 0) return found;
    const leftOut = leftOutText(model, kind, String(n));
    if (leftOut !== undefined) throw new CorralError("left-out", `${place}: ${leftOut}`, { term: place });
    const { hint, nearest } = alternatives(
      String(n),
      model.names[kind].filter((x) => x !== ""),
    );
    throw new CorralError("unknown-name", `${place}: the model has no ${kind} named "${n}"; ${hint}.`, {
      term: place,
      nearest,
    });
  });
  if (isSpeed) return speedsOf(place, ids, model);
  const values = model[name];
  const width = fieldShape(model, name)
    .slice(1)
    .reduce((n, k) => n * k, 1);
  // the world body has no mass, and keeps none
  const moving = ids.filter((id) => kind !== "body" || id > 0);
  const all = moving
    .flatMap((id) => elementsOf(model, field, id))
    .map((index) => ({ field: name, index, nominal: values[index] }));
  const chosen = picked(place, name, all, width, only).filter((e) => exists(name, e, model, of !== undefined));
  if (chosen.length === 0) {
    const where = of === undefined ? "in this model" : `of ${listed(names.map(String))}`;
    throw bad(place, `there is no ${name} to randomise ${where}${WITHOUT[name] ?? ""}`);
  }
  checkPose(place, name, chosen, model);
  if (name === "body_ipos") checkCentres(place, chosen, model);
  if (name === "actuator_gainprm" || name === "actuator_biasprm") checkMotors(place, name, chosen, model);
  return chosen;
}

/** The most speeds of joints that have one: numbers of `speedLimits`. */
function speedsOf(place: string, joints: readonly number[], { speedLimits = [], jnt_dofadr }: Model): Entry[] {
  const dofs = new Set(joints.map((joint) => jnt_dofadr[joint]));
  const entries = speedLimits.flatMap(({ dof, limit }, index): Entry[] =>
    dofs.has(dof) ? [{ field: "speed_limit", index, nominal: limit }] : [],
  );
  if (entries.length > 0) return entries;
  throw bad(place, "none of these joints has a limit of speed: give it one, limits: { NAME: { velocity } }");
}

/** What objects have no number that means anything, and what to say instead. */
const WITHOUT: Readonly<Record<string, string>> = {
  body_pos: ": bodies that float, and mocap bodies, are where their state says. Draw it in reset",
  body_quat: ": bodies that float, and mocap bodies, lie as their state says. Draw it in reset",
  geom_size: ": planes have no extent that anything meets",
  qpos0: ": it is drawn of slides and hinges",
  jnt_range: ": these joints are not limited",
  tendon_range: ": these tendons are not limited",
  tendon_frictionloss: ": it has to be above 0 in the MJCF, since friction makes rows",
  actuator_forcerange: ": these actuators have no limit of force",
};

/** Whether a number means anything. Of objects that were not named only those are drawn that are not zero. */
function exists(name: RandomField, { nominal, index }: Entry, model: Model, named: boolean): boolean {
  if (name === "jnt_range") return model.jnt_limited[Math.floor(index / 2)] > 0;
  const row = Math.floor(index / { body_quat: 4, actuator_forcerange: 2, tendon_range: 2 }[name as "body_quat"]);
  // a free or mocap body is where its state says
  const free = (b: number) =>
    model.body_mocapid[b] >= 0 || (model.body_jntnum[b] > 0 && model.jnt_type[model.body_jntadr[b]] === mjtJoint.FREE);
  if (name === "body_quat") return row > 0 && !free(row);
  if (name === "body_pos") return index > 2 && !free(Math.floor(index / 3));
  if (name === "actuator_forcerange") return model.actuator_forcelimited[row] > 0;
  if (name === "tendon_range") return model.tendon_limited[row] > 0;
  // friction makes rows, which are there from the start
  if (name === "tendon_frictionloss") return nominal !== 0;
  if (name === "qpos0") {
    const joint = model.jnt_qposadr.indexOf(index);
    return joint >= 0 && model.jnt_type[joint] >= mjtJoint.SLIDE;
  }
  if (name === "geom_pos" || name === "site_pos" || name === "pair_friction") return true;
  if (name === "geom_size") return nominal > 0 && model.geom_type[Math.floor(index / 3)] !== mjtGeom.PLANE;
  if (named) return true;
  if (name === "body_mass" || name === "body_inertia") return nominal > 0;
  if (name === "body_ipos") return model.body_mass[Math.floor(index / 3)] > 0;
  return name === "geom_friction" || nominal !== 0;
}

function picked(
  place: string,
  name: string,
  all: readonly Entry[],
  width: number,
  only: readonly number[] | undefined,
): Entry[] {
  const wrong = only?.find((k) => !Number.isInteger(k) || k < 0 || k >= width);
  if (wrong !== undefined) throw bad(place, `element is ${wrong}; ${name} has elements 0 to ${width - 1}`);
  return all.filter((e) => !only || only.includes(e.index % width));
}

/** Steps of a grid: so many are drawn each as often as float32 can tell. */
const MOST_STEPS = 2 ** 16;

const isGrid = (x: unknown): boolean =>
  Array.isArray(x) &&
  x.length === 3 &&
  x.every((v) => Number.isFinite(v)) &&
  x[0] <= x[1] &&
  x[2] > 0 &&
  gridCount(x as unknown as readonly [number, number, number]) <= MOST_STEPS;

const isSource = (x: unknown): boolean =>
  typeof x === "string" || typeof x === "function" || (typeof x === "number" && Number.isFinite(x));

/** What a distribution asks of the world. */
export const sourcesOf = (d: Distribution): readonly TermSource<object>[] =>
  "value" in d ? [d.value] : "between" in d && Array.isArray(d.between) && d.between.length === 2 ? d.between : [];

/**
 * The least and the most that a distribution gives.
 * @throws CorralError bad-randomise
 */
export function rangeOf(place: string, d: Distribution): readonly [number, number] {
  const isRange = (x: unknown): x is readonly [number, number] =>
    Array.isArray(x) && x.length === 2 && x.every((v) => Number.isFinite(v)) && x[0] <= x[1];
  if (isRange(d)) return d;
  if (typeof d === "object" && (d as unknown) !== null && !Array.isArray(d)) {
    if ("logUniform" in d && isRange(d.logUniform) && d.logUniform[0] > 0) return d.logUniform;
    if (
      "normal" in d &&
      Array.isArray(d.normal) &&
      d.normal.length === 2 &&
      d.normal.every(Number.isFinite) &&
      d.normal[1] >= 0
    ) {
      const [mean, deviation] = d.normal;
      return [mean - 3 * deviation, mean + 3 * deviation];
    }
    if ("grid" in d && isGrid(d.grid)) return [d.grid[0], d.grid[1]];
    const given = sourcesOf(d);
    if (given.length > 0 && given.every(isSource) && "within" in d && isRange(d.within)) return d.within;
  }
  throw bad(
    place,
    `a distribution is ${show(d)}; it is [low, high], { logUniform: [low, high] } with low > 0, { normal: [mean, deviation] }, { grid: [low, high, step] } of at most ${MOST_STEPS} steps, or { between: [from, to], within: [low, high] } or { value, within } with expressions or functions`,
  );
}

/** A few roundings of float32, of the numbers whose difference a draw is. */
const roundings = (...terms: number[]): number => 2 ** -22 * Math.max(...terms.map(Math.abs));

const roundingOf = (d: Distribution): number => ("normal" in d ? roundings(d.normal[0], 3 * d.normal[1]) : 0);

/** What a number is where its draw is the least and where it is the most. */
export const drawnEnds = (how: Drawn["how"], range: readonly [number, number], nominal: number): number[] =>
  range.map((x) => (how === "set" ? x : how === "add" ? nominal + x : nominal * x));

function checkBounds(
  place: string,
  model: Model,
  { field, index, nominal }: Entry,
  how: Drawn["how"],
  [low, high]: readonly [number, number],
  rounding: number,
): void {
  const { least, open = false } = FIELDS[field as RandomField];
  const ends = drawnEnds(how, [low, high], nominal);
  const lowest = Math.min(...ends);
  const beyond = [...ends, low, high].find((x) => !Number.isFinite(Math.fround(x)));
  if (beyond !== undefined)
    throw bad(place, `it makes ${field}[${index}] ${short(beyond)}; it is a number of float32, of at most 3.4e38`);
  if (field === "actuator_forcerange" || field === "tendon_range") checkEnds(place, model, field, index, ends);
  if (field === "jnt_range") checkRange(place, model, index, lowest, Math.max(...ends));
  // what is drawn in float32 may be a little less, and nothing is no mass
  const slack = how === "add" ? rounding + roundings(nominal, low) : how === "scale" ? rounding * nominal : rounding;
  if (open ? Math.fround(lowest) > least + slack : lowest >= least) return;
  if (field === "dof_frictionloss" && nominal === 0)
    throw bad(
      place,
      `${field}[${index}] is 0 in the MJCF, so that it has no constraint row; give it a small one there`,
    );
  throw bad(
    place,
    `it makes ${field}[${index}] as low as ${lowest}; it stays ${open ? "above" : "at least"} ${least} (${inLine(model.name) || "the model"} has ${nominal})`,
  );
}

const short = (x: number): number => Number(x.toPrecision(6));

/** An end of a range of forces or lengths stays on its side of the middle, so that the ends of no world cross. */
function checkEnds(
  place: string,
  model: Model,
  field: "actuator_forcerange" | "tendon_range",
  index: number,
  ends: readonly number[],
): void {
  const [row, end] = [Math.floor(index / 2), index % 2];
  const [low, high] = model[field].subarray(2 * row, 2 * row + 2);
  const margin = field === "tendon_range" ? model.tendon_margin[row] : 0;
  const limit = (low + high) / 2 + (end === 0 ? -1 : 1) * margin;
  if (end === 0 ? Math.max(...ends) <= limit : Math.min(...ends) >= limit) return;
  const who = describe(model, field === "tendon_range" ? "tendon" : "actuator", row);
  throw bad(
    place,
    `it makes the ${end === 0 ? "low" : "high"} end of ${field} of ${who} ${short(end === 0 ? Math.max(...ends) : Math.min(...ends))}; it stays ${end === 0 ? "at most" : "at least"} ${short(limit)}, the middle of its range`,
  );
}

/** An end of a joint's range stays on its side, so that the ends of no world cross. */
function checkRange(place: string, model: Model, index: number, lowest: number, highest: number): void {
  const [joint, end] = [Math.floor(index / 2), index % 2];
  const [low, high] = model.jnt_range.subarray(2 * joint, 2 * joint + 2);
  const margin = model.jnt_margin[joint];
  const isBall = model.jnt_type[joint] === mjtJoint.BALL;
  const limit = isBall ? 0 : (low + high) / 2 + (end === 0 ? -1 : 1) * margin;
  if (end === 0 ? isBall || highest <= limit : lowest >= limit) return;
  throw bad(
    place,
    `it makes the ${end === 0 ? "low" : "high"} end of ${describe(model, "joint", joint)} ${short(end === 0 ? highest : lowest)}; it stays ${end === 0 ? "at most" : "at least"} ${short(limit)}, the middle of its range`,
  );
}
