// what real actuators do beside MuJoCo's: delays, lags, encoders that are off, play, limits that go with speed, networks
import { CorralError } from "../../core/errors.ts";
import { isHeld } from "../../core/float32.ts";
import { alternatives, fits } from "../../core/names.ts";
import { optionsOf } from "../../core/options.ts";
import { inLine, show } from "../../core/show.ts";
import { mjtBias, mjtDyn, mjtGain, mjtIntegrator, mjtJoint } from "../../model/enums.ts";
import { actuatorNames, describe, isMotor, jointOf, type Model } from "../../model/model.ts";
import { isNetwork, type ActuatorNetwork } from "./actuator-network.ts";
import { rangeOf, sourcesOf } from "./randomise.ts";
import type { ActuatorRealities, ActuatorReality, Amount, AmountName, Distribution, TermSource } from "./task.ts";

/** The numbers of an actuator, and what they may be at most. */
export const AMOUNTS = {
  delay: { least: 0, most: 64, unit: "physics steps" },
  lag: { least: 0, most: Infinity, unit: "s" },
  bias: { least: -Infinity, most: Infinity, unit: "rad, m" },
  backlash: { least: 0, most: Infinity, unit: "rad, m" },
  peak: { least: 0, most: Infinity, unit: "N m, N" },
  knee: { least: 0, most: Infinity, unit: "rad/s, m/s" },
  noLoad: { least: 0, most: Infinity, unit: "rad/s, m/s" },
} as const satisfies Readonly<Record<AmountName, object>>;

/** Numbers that are drawn together: one for each actuator, or one for all of them. */
export interface DrawnAmount {
  readonly name: AmountName;
  readonly actuators: readonly number[];
  readonly distribution: Distribution;
  readonly shared: boolean;
  readonly place: string;
}

/** One actuator: numbers that are known, and the most that those drawn may be. */
export interface Driven {
  readonly actuator: number;
  readonly joint: number;
  /** Undefined if it is drawn. */
  readonly known: Partial<Readonly<Record<AmountName, number>>>;
  readonly most: Partial<Readonly<Record<AmountName, number>>>;
  readonly network: ActuatorNetwork | undefined;
  /** Whether the MJCF limits its force too. */
  readonly limited: boolean;
}

export interface ActuatorPlan {
  /** Physics steps of a control step. */
  readonly frameSkip: number;
  readonly driven: readonly Driven[];
  readonly drawn: readonly DrawnAmount[];
}

const OPTIONS = ["delay", "lag", "bias", "backlash", "torqueSpeed", "network", "shared"];
const CURVE = ["peak", "knee", "noLoad"] as const;

const bad = (place: string, text: string): CorralError =>
  new CorralError("bad-actuators", `${place}: ${text}.`, { place });

const countOf = ({ actuators, shared }: DrawnAmount): number => (shared ? 1 : actuators.length);
/** How many numbers a world draws. */
export const drawnCount = ({ drawn }: ActuatorPlan): number => drawn.reduce((n, d) => n + countOf(d), 0);

/** Where the drawn number of an actuator lies among those of a world; -1 if it is not drawn. */
export function drawnPlace({ drawn }: ActuatorPlan, name: AmountName, actuator: number): number {
  let at = 0;
  for (const amount of drawn) {
    const i = amount.name === name ? amount.actuators.indexOf(actuator) : -1;
    if (i >= 0) return at + (amount.shared ? 0 : i);
    at += countOf(amount);
  }
  return -1;
}

/** Actuators that a pattern means; those without a name are called as their joints. Throws `unknown-name` with the nearest names. */
export function actuatorsOf(model: Model, pattern: string): number[] {
  const names = actuatorNames(model);
  const isPattern = pattern.includes("*");
  const ids = names.flatMap((name, id) => {
    if (pattern === "*") return [id];
    return (isPattern ? name !== "" && fits(name, pattern) : name === pattern && name !== "") ? [id] : [];
  });
  if (ids.length > 0) return ids;
  const { hint, nearest } = alternatives(pattern.replaceAll("*", ""), names);
  const what = isPattern ? "that fits" : "named";
  throw new CorralError("unknown-name", `actuators: the model has no actuator ${what} "${inLine(pattern)}"; ${hint}.`, {
    name: pattern,
    nearest,
  });
}

interface Given {
  readonly amount: Amount;
  readonly pattern: string;
  readonly shared: boolean;
}

/** What of each actuator was said last, by name. */
interface Own {
  readonly amounts: Map<AmountName, Given>;
  network?: ActuatorNetwork | undefined;
}

function checkEntry(place: string, given: ActuatorReality): void {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw bad(place, `it is ${show(given)}; it is an object of ${OPTIONS.join(", ")}`);
  const other = Object.keys(given).find((name) => !OPTIONS.includes(name));
  if (other !== undefined) throw bad(place, `it has no option "${other}"; ${alternatives(other, OPTIONS).hint}`);
  const { torqueSpeed: curve, network, shared } = given;
  if (shared !== undefined && typeof shared !== "boolean")
    throw bad(place, `shared is ${show(shared)}; it is true or false`);
  if (network !== undefined && !isNetwork(network))
    throw bad(place, `network is ${show(network)}; it is what actuatorNetwork(...) returns`);
  if (curve === undefined) return;
  const isCurve = typeof curve === "object" && curve !== null && "peak" in curve && "noLoad" in curve;
  if (!isCurve || !Object.keys(curve).every((name) => (CURVE as readonly string[]).includes(name)))
    throw bad(place, `torqueSpeed is ${show(curve)}; it is { peak, noLoad }, and knee if it is not 0`);
}

/** The least and most of an amount. */
function boundsOf(place: string, name: AmountName, amount: Amount): readonly [number, number] {
  const range = typeof amount === "number" ? ([amount, amount] as const) : rangeOf(place, amount);
  const { least, most, unit } = AMOUNTS[name];
  if (!(range[0] >= least && range[1] <= most) || !range.every((x) => isHeld(x)))
    throw bad(
      place,
      `${name} may be ${range[0] === range[1] ? range[0] : `${range[0]} to ${range[1]}`} ${unit}; it is ${bounds(least, most)}`,
    );
  // what is drawn is rounded, as its distribution says nothing of steps
  if (name === "delay" && typeof amount === "number" && !Number.isInteger(amount))
    throw bad(
      place,
      `delay is ${amount} physics steps; it is a whole number, or a distribution, whose draws are rounded`,
    );
  return range;
}

function bounds(least: number, most: number): string {
  if (least === -Infinity) return "a finite float32";
  return most === Infinity ? `a finite float32 of at least ${least}` : `from ${least} to ${most}`;
}

/** Each whole number of a range as often. */
const wholeSteps = (d: Distribution): Distribution =>
  Array.isArray(d) && d.every(Number.isInteger) && d[0] < d[1] ? { grid: [d[0] as number, d[1] as number, 1] } : d;

/** Whether the force follows the joint's position by itself, as a servo's does. */
const isServo = (model: Model, i: number): boolean =>
  model.actuator_gaintype[i] === mjtGain.FIXED &&
  model.actuator_biastype[i] === mjtBias.AFFINE &&
  model.actuator_biasprm[10 * i + 1] !== 0;

/** The slide or hinge that an actuator moves; -1 if it moves something else. */
function scalarJointOf(model: Model, i: number): number {
  const joint = jointOf(model, i);
  return model.jnt_type[joint] === mjtJoint.SLIDE || model.jnt_type[joint] === mjtJoint.HINGE ? joint : -1;
}

/** Says what an actuator of the MJCF cannot have. */
function checkFit(model: Model, i: number, { amounts, network }: Own): void {
  const who = describe(model, "actuator", i);
  const place = `actuators of ${who}`;
  const has = (name: AmountName) => amounts.has(name);
  const hasGear = model.actuator_gear[6 * model.actuator_outadr[i]] !== 0;
  if (model.actuator_ctrlnum[i] !== 1) throw bad(place, "it has several controls; only actuators of one are taken");
  const needsJoint = network !== undefined || ["bias", "backlash", "peak"].some((name) => has(name as AmountName));
  if (needsJoint && (scalarJointOf(model, i) < 0 || !hasGear))
    throw bad(place, "bias, backlash, torqueSpeed and network are of actuators of one slide or hinge, with a gear");
  if (network !== undefined && !isMotor(model, i))
    throw bad(place, "a network makes the force of a motor: its gain is fixed, and it has neither bias nor activation");
  if (network !== undefined && model.actuator_gainprm[10 * i] === 0)
    throw bad(place, "a network makes the force of a motor, and the gain of this one is 0");
  const follows = network !== undefined || isServo(model, i);
  if ((has("bias") || has("backlash")) && !follows)
    throw bad(place, "bias and backlash are of servos of position (a fixed gain, an affine bias), or of networks");
  if (has("backlash") && network === undefined && model.actuator_dyntype[i] !== mjtDyn.NONE)
    throw bad(place, "backlash is of servos without an activation");
  if (has("peak") && model.opt.integrator === mjtIntegrator.RK4)
    throw bad(place, "torqueSpeed is of one evaluation a step; take another integrator than RK4");
}

/**
 * Resolves what is said of actuators. Nothing if nothing is said.
 * @throws CorralError bad-actuators, bad-randomise for what is no distribution, unknown-name with the nearest names
 */
export function actuatorPlan(model: Model, realities: ActuatorRealities | undefined, frameSkip: number): ActuatorPlan {
  const own = new Map<number, Own>();
  for (const [pattern, given] of Object.entries(optionsOf(realities ?? {}, "actuators"))) {
    const place = `actuators["${inLine(pattern)}"]`;
    checkEntry(place, given);
    const { delay, lag, bias, backlash, torqueSpeed, network, shared = false } = given;
    // a knee that is not named is none, also where a pattern before named one
    const curve = torqueSpeed && { knee: 0, ...torqueSpeed };
    const amounts = Object.entries({ delay, lag, bias, backlash, ...curve }) as [AmountName, Amount | undefined][];
    for (const i of actuatorsOf(model, pattern)) {
      if (!own.has(i)) own.set(i, { amounts: new Map() });
      const known = own.get(i)!;
      if (network !== undefined) known.network = network;
      for (const [name, amount] of amounts)
        if (amount !== undefined) known.amounts.set(name, { amount, pattern, shared });
    }
  }

  const driven: Driven[] = [];
  const groups = new Map<string, { amount: DrawnAmount; actuators: number[] }>();
  for (const [actuator, said] of [...own].sort(([a], [b]) => a - b)) {
    checkFit(model, actuator, said);
    const known: Partial<Record<AmountName, number>> = {};
    const most: Partial<Record<AmountName, number>> = {};
    const least: Partial<Record<AmountName, number>> = {};
    for (const [name, { amount, pattern, shared }] of said.amounts) {
      const curve = (CURVE as readonly string[]).includes(name) ? "torqueSpeed." : "";
      const place = `actuators["${inLine(pattern)}"].${curve}${name}`;
      [least[name], most[name]] = boundsOf(place, name, amount);
      if (typeof amount === "number") {
        known[name] = name === "delay" ? Math.round(amount) : amount;
        continue;
      }
      const distribution = name === "delay" ? wholeSteps(amount) : amount;
      if (!groups.has(place))
        groups.set(place, { amount: { name, actuators: [], distribution, shared, place }, actuators: [] });
      groups.get(place)!.actuators.push(actuator);
    }
    if (most.knee !== undefined && !(most.knee < least.noLoad!))
      throw bad(
        `actuators of ${describe(model, "actuator", actuator)}`,
        `knee may be ${most.knee} where noLoad is ${least.noLoad}; noLoad is above knee`,
      );
    const limited = model.actuator_forcelimited[actuator] > 0;
    driven.push({ actuator, joint: scalarJointOf(model, actuator), known, most, network: said.network, limited });
  }
  return { frameSkip, driven, drawn: [...groups.values()].map(({ amount, actuators }) => ({ ...amount, actuators })) };
}

/** What the draws of a plan ask of the world. */
export const amountSources = (amount: DrawnAmount): readonly TermSource<object>[] => sourcesOf(amount.distribution);

/** The model whose actuators have a limit of force where one goes with their speed. */
export function withForceLimits(model: Model, { driven }: ActuatorPlan): Model {
  const limited = driven.filter(({ most }) => most.peak !== undefined).map(({ actuator }) => actuator);
  if (limited.length === 0) return model;
  const actuator_forcelimited = model.actuator_forcelimited.slice();
  for (const i of limited) actuator_forcelimited[i] = 1;
  return { ...model, actuator_forcelimited };
}
