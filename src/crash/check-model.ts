// what `--bisect` knows of a model, before a crash
import { mjtBias, mjtDyn, mjtGain, mjtJoint } from "../model/enums.ts";
import { assertModel, describe, type Model } from "../model/model.ts";
import { unsupportedFeatures } from "../model/supported.ts";
import { n, type Cause } from "./cause.ts";
import { equalitiesBesideLimits, unmendable } from "./contradictions.ts";
import { DEEP, hazards, stiffConstraint } from "./hazards.ts";
import { modelCost, type ModelCost } from "./model-cost.ts";
import { physicsOf, stiffestReference, type ContactFacts, type PhysicsState } from "./physics-facts.ts";
import { notFinite } from "./not-finite.ts";
import { driven, forces } from "./pushes.ts";
import { gapOf } from "./reach.ts";
import { geomPairs } from "../model/pairs.ts";

/** Something of a model that will hurt, or a note. */
export interface ModelFinding extends Cause {
  /** "hurts": certain or likely to break worlds or to be wrong; "note": worth a look. */
  readonly grade: "hurts" | "note";
}

export interface ModelReport {
  readonly model: string;
  readonly timestep: number;
  /** The worst first. */
  readonly findings: readonly ModelFinding[];
  /** How many of them hurt. */
  readonly hurting: number;
  readonly cost: ModelCost;
  /** Features that this release does not simulate. */
  readonly unsupported: readonly string[];
}

/** Pairs and joints named in a finding. */
const NAMED = 4;
/** Speed (m/s), and part of its size in one physics step, with which a contact throws a geom out. */
const FAST = 5;
const LEAP = 1;
/** Positions beyond a range that no rounding of a model file makes (m, rad). */
const OUTSIDE = 0.01;
const ORDER = ["certain", "likely", "possible"];

/**
 * Looks for what makes worlds of a model break: time step against stiffness and damping, masses and inertias,
 * contradicting limits and equalities, penetration at the start, forces beyond measure, pairs that can never touch.
 * Starts are qpos0 and the keyframes.
 * @throws CorralError bad-model, mujoco-memory
 */
export async function checkModel(model: Model): Promise<ModelReport> {
  assertModel(model);
  const causes: Cause[] = [
    ...notFinite(model),
    ...equalitiesBesideLimits(model),
    ...startsOutside(model),
    ...driven(model),
    ...neverTouch(model),
    ...warned(model),
    ...ofCallbacks(model),
  ];
  for (const [label, state] of starts(model)) {
    const mended: Cause[] = [];
    const facts = await physicsOf(model, state, (oracle) => mended.push(...unmendable(model, oracle)));
    if (!facts) continue;
    causes.push(...mended, ...hazards(model, facts));
    causes.push(...penetration(model, label, facts.contacts));
    causes.push(...(await forces(model, { ...state, inputs: fullControls(model) })));
  }
  const reference = stiffestReference(model);
  const stiff = reference && stiffConstraint(model, reference);
  if (stiff) causes.push(stiff);

  // several starts show the same
  const findings = [...new Map(causes.map((c) => [`${c.name} ${c.text}`, c])).values()]
    .filter((c, i, all) => c.name !== "constraint-stiffness" || all.findIndex((o) => o.name === c.name) === i)
    .sort((a, b) => ORDER.indexOf(a.certainty) - ORDER.indexOf(b.certainty))
    .map((c) => ({ ...c, grade: c.certainty === "possible" ? ("note" as const) : ("hurts" as const) }));
  const unsupported = unsupportedFeatures(model).map(({ feature }) => feature);
  return {
    model: model.name,
    timestep: model.opt.timestep,
    findings,
    hurting: findings.filter(({ grade }) => grade === "hurts").length,
    // what is refused has no kernel to count
    cost: unsupported.length > 0 ? { geoms: [], sensors: [], operations: null } : modelCost(model),
    unsupported,
  };
}

/** What MuJoCo warned of where it compiled the model. */
const warned = ({ warnings }: Model): Cause[] =>
  warnings.map((text) => ({
    name: "compiler-warning",
    certainty: "possible",
    text: `MuJoCo warns: ${text.replace(/^MuJoCo Warning: /, "").replaceAll("\n", "; ")}`,
    remedy: "Change what it names, or leave it if that is what you want.",
  }));

/** Actuators that act by what a program does, which nothing here runs. */
function ofCallbacks(model: Model): Cause[] {
  const { actuator_gaintype: gain, actuator_biastype: bias, actuator_dyntype: dyn } = model;
  const theirs = Array.from({ length: model.nactuator }, (_, i) => i).filter(
    (i) => gain[i] === mjtGain.USER || bias[i] === mjtBias.USER || dyn[i] === mjtDyn.USER,
  );
  if (theirs.length === 0) return [];
  const named = theirs.slice(0, NAMED).map((i) => describe(model, "actuator", i));
  return [
    {
      name: "user-actuator",
      certainty: "likely",
      text: `what ${named.join(", ")}${theirs.length > NAMED ? ` and ${theirs.length - NAMED} more` : ""} ${theirs.length > 1 ? "do" : "does"} is left to callbacks of the program (gaintype, biastype or dyntype "user"), which an MJCF does not hold: MuJoCo without callbacks, and corral, take a gain of 1, a bias of 0 and activations that never change.`,
      remedy: "Write what the program computes as gaintype, biastype and dyntype of MuJoCo's own, or in the task.",
    },
  ];
}

/** qpos0 and the keyframes. */
function starts(model: Model): [string, PhysicsState][] {
  const rest = { qvel: new Float64Array(model.nv), act: new Float64Array(model.na) };
  const keys = Array.from({ length: model.nkey }, (_, k): [string, PhysicsState] => {
    const part = (values: Float64Array, size: number) => values.slice(k * size, (k + 1) * size);
    const state = {
      qpos: part(model.key_qpos, model.nq),
      qvel: part(model.key_qvel, model.nv),
      act: part(model.key_act, model.na),
      mocap_pos: part(model.key_mpos, 3 * model.nmocap),
      mocap_quat: part(model.key_mquat, 4 * model.nmocap),
    };
    return [describe(model, "key", k), state];
  });
  const all: [string, PhysicsState][] = [["qpos0", { qpos: Float64Array.from(model.qpos0), ...rest }], ...keys];
  // keyframes that <size nkey> makes are qpos0 again
  const seen = new Set<string>();
  return all.filter(([, { qpos, qvel }]) => {
    const state = `${qpos.join()} ${qvel.join()}`;
    return seen.has(state) ? false : seen.add(state) !== undefined;
  });
}

/** Controls at the ends of their ranges, 1 if they have none. */
function fullControls(model: Model) {
  const { actuator_ctrllimited: limited, actuator_ctrlrange: range } = model;
  const end = (u: number) => {
    const [low, high] = limited[u] ? [range[2 * u], range[2 * u + 1]] : [-1, 1];
    return Math.abs(low) > Math.abs(high) ? low : high;
  };
  return {
    ctrl: Float64Array.from({ length: model.nu }, (_, u) => end(u)),
    qfrc_applied: new Float64Array(model.nv),
    xfrc_applied: new Float64Array(6 * model.nbody),
    kick: new Float64Array(model.nv),
    eq_active: Float64Array.from(model.eq_active0),
  };
}

/** The geoms that are deepest in each other at a start. */
function penetration(model: Model, label: string, contacts: readonly ContactFacts[]): Cause[] {
  const deep = contacts.filter((c) => -c.dist > DEEP * c.size).sort((a, b) => b.speed - a.speed)[0];
  if (!deep) return [];
  const isBlow = deep.speed > FAST || model.opt.timestep * deep.speed > LEAP * deep.size;
  return [
    {
      name: "initial-penetration",
      certainty: isBlow ? "likely" : "possible",
      text: `${deep.pair} overlap by ${n(-deep.dist)} m at ${label}, ${n(-deep.dist / deep.size)} of the smaller one's size: the contact pushes them apart with ${n(deep.speed)} m/s.`,
      remedy: "Start with the bodies apart, or exclude the pair.",
    },
  ];
}

/** Joints that start outside of their ranges, start by start. */
function startsOutside(model: Model): Cause[] {
  return starts(model).flatMap(([label, { qpos }]): Cause[] => {
    const outside = Array.from({ length: model.njnt }, (_, j) => j).flatMap((j) => {
      if (!model.jnt_limited[j] || model.jnt_type[j] < mjtJoint.SLIDE) return [];
      const [x, low, high] = [qpos[model.jnt_qposadr[j]], model.jnt_range[2 * j], model.jnt_range[2 * j + 1]];
      const isOutside = low < high && Math.max(low - x, x - high) > OUTSIDE;
      return isOutside ? [`${describe(model, "joint", j)} is at ${n(x)}, its range is [${n(low)}, ${n(high)}]`] : [];
    });
    if (outside.length === 0) return [];
    const more = outside.length > NAMED ? `; and ${outside.length - NAMED} more` : "";
    return [
      {
        name: "start-outside-range",
        certainty: "possible",
        text: `at ${label} ${outside.slice(0, NAMED).join("; ")}${more}: limits push at once.`,
        remedy: "Start elsewhere, as a task's reset does, or correct range (degrees?), ref or keyframe.",
      },
    ];
  });
}

/** Pairs that cost a place for each of their contacts, and never have one. */
function neverTouch(model: Model): Cause[] {
  const pairs = geomPairs(model);
  const apart = pairs.flatMap((pair) => {
    const gap = gapOf(model, pair);
    return gap === undefined ? [] : [{ pair, gap }];
  });
  if (apart.length === 0) return [];
  const places = apart.reduce((sum, { pair }) => sum + pair.ncon, 0);
  const named = apart
    .sort((a, b) => b.gap - a.gap)
    .slice(0, NAMED)
    .map(
      ({ pair, gap }) =>
        `${describe(model, "geom", pair.geom1)} and ${describe(model, "geom", pair.geom2)} (${n(gap)} m apart)`,
    );
  const more = apart.length > NAMED ? `, and ${apart.length - NAMED} more` : "";
  return [
    {
      name: "never-touch",
      certainty: "possible",
      text: `${apart.length} of ${pairs.length} pairs of geoms can never touch, whatever the joints do, and take ${places} places for contacts: ${named.join(", ")}${more}.`,
      remedy: "Exclude them (<exclude>, contype and conaffinity): each world keeps code and room for their contacts.",
    },
  ];
}
