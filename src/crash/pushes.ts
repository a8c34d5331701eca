// what drives a world too hard: forces, blows, gravity, and damping or stiffness of the wrong sign
import { mjtBias, mjtDisableBit, mjtDyn, mjtGain, mjtJoint, mjtTrn } from "../model/enums.ts";
import { describe, type Model } from "../model/model.ts";
import { actuatorDisabled } from "../physics/actuator/actuation.ts";
import { listen } from "../model/mujoco.ts";
import { withMuJoCo, type Oracle } from "../model/oracle.ts";
import type { Inputs } from "../monitor/inputs.ts";
import { n, type Cause } from "./cause.ts";

/** The state before a step, and what acts in it. */
export interface Pushed {
  readonly qpos: Float64Array;
  readonly qvel: Float64Array;
  readonly act: Float64Array;
  readonly inputs: Inputs;
}

/** Change of velocity in one physics step (m/s, rad/s) that no model is made for. */
const BLOW = 1000;
/** Beyond any fluid that models are made for: mercury has 13,500 kg/m^3, honey 10 Pa s. */
const DENSE = 1e5;
const VISCOUS = 1e3;
/** Actuators named in a finding. */
const NAMED = 4;
/** Gravity in one physics step (m/s). */
const FALL = 10;

const dofName = (model: Model, dof: number): string => describe(model, "joint", model.dof_jntid[dof]);
const largest = (values: Float64Array): number =>
  values.reduce((best, x, i) => (Math.abs(x) > Math.abs(values[best] ?? 0) ? i : best), 0);

/** Causes that the forces of a step show. */
export async function pushes(model: Model, pushed: Pushed): Promise<Cause[]> {
  return [...blow(model, pushed), ...driven(model), ...(await forces(model, pushed))];
}

/** What drives every step of a model too hard. */
export const driven = (model: Model): Cause[] => [
  ...wrongSigns(model),
  ...feedback(model),
  ...gravity(model),
  ...fluid(model),
];

/** Dampers and springs that put energy in. */
function wrongSigns(model: Model): Cause[] {
  const found: string[] = [];
  const look = (what: string, kind: "joint" | "tendon", values: ArrayLike<number>, of = (i: number) => i) => {
    const at = Array.from(values).findIndex((x) => x < 0);
    if (at >= 0) found.push(`${describe(model, kind, of(at))} has a ${what} of ${n(values[at])}`);
  };
  look("damping", "joint", model.dof_damping, (dof) => model.dof_jntid[dof]);
  look("stiffness", "joint", model.jnt_stiffness);
  look("damping", "tendon", model.tendon_damping);
  look("stiffness", "tendon", model.tendon_stiffness);
  if (found.length === 0) return [];
  return [
    {
      name: "negative-damping",
      certainty: "likely",
      text: `${found.join("; ")}: a negative one puts energy in, and the motion grows without end.`,
      remedy: "Give it the other sign; look at what randomisation may make of it.",
    },
  ];
}

/**
 * Actuators that push with the motion: forces that grow with the velocity, or with the distance, beyond what dampers,
 * springs and other actuators of the same joint hold against. On tendons and the rest each actuator is judged alone.
 */
function feedback(model: Model): Cause[] {
  const { actuator_gear: gear, actuator_trntype, actuator_trnid } = model;
  const acting = Array.from({ length: model.nactuator }, (_, u) => u).filter((u) => isAffine(model, u));
  const texts = ([2, 1] as const).flatMap((order) => {
    const [what, word, passive] = order === 2 ? ["velocity", "damping", "damper"] : ["position", "stiffness", "spring"];
    const against = (joint: number) =>
      order === 2 ? model.dof_damping[model.jnt_dofadr[joint]] : model.jnt_stiffness[joint];
    // what there is against it, by joint
    const net = new Map<number, number>();
    const jointOf = (u: number) => {
      const joint = actuator_trntype[u] === mjtTrn.JOINT ? actuator_trnid[2 * u] : -1;
      return joint >= 0 && model.jnt_type[joint] >= mjtJoint.SLIDE ? joint : -1;
    };
    const gainOf = (u: number) => worstGain(model, u, order) * (jointOf(u) < 0 ? 1 : gear[6 * u] ** 2);
    for (const u of acting) {
      const joint = jointOf(u);
      if (joint >= 0) net.set(joint, (net.get(joint) ?? -against(joint)) + gainOf(u));
    }
    const bad = acting.filter((u) => gainOf(u) > 0 && (net.get(jointOf(u)) ?? 1) > 0);
    return bad.map((u) => {
      const beside =
        jointOf(u) < 0 ? "" : ` (${n(net.get(jointOf(u))!)} on its joint, beside all that holds against it)`;
      return `${describe(model, "actuator", u)} adds ${n(gainOf(u))} times the ${what}${beside}: a ${passive} of negative ${word}`;
    });
  });
  if (texts.length === 0) return [];
  const more = texts.length > NAMED ? `; and ${texts.length - NAMED} more` : "";
  return [
    {
      name: "unstable-feedback",
      certainty: "likely",
      text: `${texts.slice(0, NAMED).join("; ")}${more}. It pushes with the motion, which grows until something else stops it.`,
      remedy: "Give the gain the other sign: biasprm of a servo is 0 -kp -kv, and kp and kv are positive.",
    },
  ];
}

/** Whether the force of an actuator that acts is a sum of terms in length and velocity. */
const isAffine = (model: Model, u: number): boolean =>
  (model.opt.disableflags & mjtDisableBit.ACTUATION) === 0 &&
  !actuatorDisabled(model, u) &&
  (model.actuator_biastype[u] === mjtBias.AFFINE || model.actuator_gaintype[u] === mjtGain.AFFINE);

/** Force for each unit of length (order 1) or velocity (2), at the control in its range that makes it largest. */
function worstGain(model: Model, u: number, order: 1 | 2): number {
  const bias = model.actuator_biastype[u] === mjtBias.AFFINE ? model.actuator_biasprm[10 * u + order] : 0;
  const gain = model.actuator_gaintype[u] === mjtGain.AFFINE ? model.actuator_gainprm[10 * u + order] : 0;
  // a control without a range may have any sign, and what it is, is the user's
  const control = model.actuator_ctrladr[u];
  const isDirect = model.actuator_ctrlnum[u] === 1 && model.actuator_dyntype[u] === mjtDyn.NONE;
  if (gain === 0 || !isDirect || !model.actuator_ctrllimited[control]) return bias;
  const range = model.actuator_ctrlrange;
  return bias + Math.max(gain * range[2 * control], gain * range[2 * control + 1]);
}

/** A change of velocity that an event made. */
function blow(model: Model, { inputs, qvel }: Pushed): Cause[] {
  const { kick } = inputs;
  const dof = largest(kick);
  const speed = Math.abs(qvel[largest(qvel)] ?? 0);
  if (!(Math.abs(kick[dof]) > Math.max(BLOW, speed))) return [];
  return [
    {
      name: "event-blow",
      certainty: "likely",
      text: `an event of the task changes the velocity of ${dofName(model, dof)} by ${n(kick[dof])} before this step; the fastest before was ${n(speed)}.`,
      remedy: "Bound what the task's events add to velocities.",
    },
  ];
}

function gravity({ opt }: Model): Cause[] {
  const g = Math.hypot(...opt.gravity);
  if (!(g * opt.timestep > FALL)) return [];
  return [
    {
      name: "gravity",
      certainty: "likely",
      text: `gravity is ${n(g)} m/s^2: everything gains ${n(g * opt.timestep)} m/s in one physics step.`,
      remedy: "Look at the model's gravity, at setOptions and at what randomisation may draw.",
    },
  ];
}

/** A fluid that stops what moves within a step, and throws it back. */
function fluid({ opt }: Model): Cause[] {
  const { density, viscosity } = opt;
  if (!(density > DENSE || viscosity > VISCOUS)) return [];
  return [
    {
      name: "fluid-force",
      certainty: "likely",
      text: `the fluid has a density of ${n(density)} kg/m^3 and a viscosity of ${n(viscosity)} Pa s: its forces grow with the speed, beyond what an explicit step can follow.`,
      remedy:
        "Look at the density and viscosity of the model (water has 1000 and 0.001), or take integrator implicitfast.",
    },
  ];
}

/** What `read` finds in MuJoCo's data of the state and all that acts in it; undefined where either is not finite. */
async function inForward<T>(model: Model, { qpos, qvel, act, inputs }: Pushed, read: (oracle: Oracle) => T) {
  const { ctrl, qfrc_applied, xfrc_applied, kick } = inputs;
  const all = [...qpos, ...qvel, ...act, ...ctrl, ...qfrc_applied, ...xfrc_applied, ...kick];
  if (!all.every(Number.isFinite) || model.nv === 0) return undefined;
  return withMuJoCo(model, (oracle) => {
    const given = { qpos, qvel: qvel.map((v, i) => v + kick[i]), act, ctrl, qfrc_applied, xfrc_applied };
    for (const [name, values] of Object.entries(given)) if (values.length > 0) oracle.write(name, values);
    listen(() => oracle.mujoco.mj_forward(oracle.model, oracle.data));
    return read(oracle);
  });
}

/** The joint that turns farthest in one physics step from rest by the acceleration of a state, and by how much (rad). */
export async function spun(model: Model, pushed: Pushed): Promise<{ readonly of: string; readonly turn: number }> {
  const turns = await inForward(model, pushed, ({ read }) =>
    read("qacc").map((a, dof) => {
      const joint = model.dof_jntid[dof];
      const type = model.jnt_type[joint];
      const slides = type === mjtJoint.SLIDE || (type === mjtJoint.FREE && dof - model.jnt_dofadr[joint] < 3);
      return slides ? 0 : Math.abs(a) * model.opt.timestep ** 2;
    }),
  );
  if (!turns) return { of: "", turn: 0 };
  const dof = largest(turns);
  return { of: dofName(model, dof), turn: turns[dof] };
}

/** The largest force by what makes it, where it alone is a blow. */
export async function forces(model: Model, pushed: Pushed): Promise<Cause[]> {
  const made = await inForward(model, pushed, ({ read }) => {
    const [smooth, passive, bias, actuators] = ["smooth", "passive", "bias", "actuator"].map((f) => read(`qfrc_${f}`));
    // forces on bodies are in none of the arrays by themselves
    const applied = smooth.map((f, i) => f - passive[i] + bias[i] - actuators[i]);
    return { actuators, applied };
  });
  if (!made) return [];
  const change = (values: Float64Array) => values.map((f, i) => f * model.dof_invweight0[i] * model.opt.timestep);
  const texts = {
    actuators: {
      name: "actuator-force",
      who: "the actuators push",
      remedy: "Bound the controls (ctrlrange) or forces (forcerange), or lower gain and gear.",
    },
    applied: {
      name: "external-force",
      who: "forces that are applied from outside push",
      remedy: "Bound the force that is applied, and look for a division in what computes it.",
    },
  } as const;
  return (["actuators", "applied"] as const).flatMap((source): Cause[] => {
    const steps = change(made[source]);
    const dof = largest(steps);
    if (!(Math.abs(steps[dof]) > BLOW)) return [];
    const { name, who, remedy } = texts[source];
    const text = `${who} ${dofName(model, dof)} with ${n(made[source][dof])} N (N m), which alone changes its velocity by ${n(steps[dof])} in one physics step.`;
    return [{ name, certainty: "likely", text, remedy }];
  });
}
