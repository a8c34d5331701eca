// what model and state say of how hard a step is: stiffness, masses, inertia, contacts, rows, as MuJoCo computes them
import { mjtConstraint, mjtDisableBit, mjtIntegrator, mjtJoint } from "../model/enums.ts";
import { withChanges } from "../model/changes.ts";
import { describe, type Model, type ObjectKind } from "../model/model.ts";
import { listen } from "../model/mujoco.ts";
import { withMuJoCo, type Oracle } from "../model/oracle.ts";
import type { Bundle } from "../record/bundle.ts";
import { fieldBefore, type Moment } from "./timeline.ts";

/** The model of a bundle with the parameters of a step and the numbers that a world had of its own. */
export function modelAt(bundle: Bundle, moment: Moment, row: number): Model {
  const { opt } = bundle.model;
  // parameters are float32; where they are the model's own numbers, those
  const given = (name: string, own: number) => {
    const value = moment.params[name] ?? own;
    return Math.fround(own) === Math.fround(value) ? own : Number(value.toPrecision(7));
  };
  const gravity = opt.gravity.map((g, k) => given(`gravity_${"xyz"[k]}`, g));
  const [timestep, tolerance] = [given("timestep", opt.timestep), given("tolerance", opt.tolerance)];
  const model = { ...bundle.model, opt: { ...opt, timestep, gravity, tolerance } };

  const values = fieldBefore(bundle, moment, row, "per_world");
  const own = bundle.about.env.own ?? [];
  return withChanges(
    model,
    own.map((number, i) => ({ ...number, value: values[i] })),
  );
}

export interface PhysicsFacts {
  readonly contacts: readonly { readonly pair: string; readonly dist: number; readonly size: number }[];
  /** Inverse of the constraint rows' regularised inertia (efc_D). */
  readonly rows: Float64Array;
  /** The smallest diagonal of the factored inertia. */
  readonly inertia: { readonly of: string; readonly value: number } | undefined;
  /** A constraint whose time constant is below two timesteps. */
  readonly stiffContact: { readonly of: string; readonly timeconst: number } | undefined;
  /** The constraint that overshoots most in a timestep h: h (B + h K / 2) times its impedance; stable below 2. */
  readonly stiffestRow: StiffRow | undefined;
}

export interface StiffRow {
  readonly of: string;
  /** 1/s^2 and 1/s, as solref gives them. */
  readonly stiffness: number;
  readonly damping: number;
  readonly overshoot: number;
}

/** What MuJoCo makes of the state before a step; undefined where the state is not finite. */
export async function physicsAt(bundle: Bundle, moment: Moment, row: number): Promise<PhysicsFacts | undefined> {
  const model = modelAt(bundle, moment, row);
  const read = (name: string) => fieldBefore(bundle, moment, row, name);
  const [qpos, qvel, act] = [read("qpos"), read("qvel"), read("act")];
  if (![...qpos, ...qvel, ...act, model.opt.timestep].every(Number.isFinite)) return undefined;
  return withMuJoCo(model, (oracle) => {
    const { mujoco, data } = oracle;
    if (qpos.length > 0) oracle.write("qpos", qpos);
    if (qvel.length > 0) oracle.write("qvel", qvel);
    if (act.length > 0) oracle.write("act", act);
    if (model.nmocap > 0) for (const name of ["mocap_pos", "mocap_quat"]) oracle.write(name, read(name));
    listen(() => mujoco.mj_forward(oracle.model, data));
    const contacts = oracle.contacts().map((c) => ({
      pair: `${describe(model, "geom", c.geom[0])} and ${describe(model, "geom", c.geom[1])}`,
      dist: c.dist,
      size: Math.min(...c.geom.map((g) => sizeOf(model, g))),
      timeconst: c.solref[0],
    }));
    const h = model.opt.timestep;
    const stiff = contacts.find((c) => c.timeconst > 0 && c.timeconst < 2 * h);
    return {
      contacts,
      rows: data.nefc > 0 ? oracle.read("efc_D").slice(0, data.nefc) : new Float64Array(),
      inertia: smallestInertia(model, oracle.read("qLDiagInv")),
      stiffContact: stiff && { of: stiff.pair, timeconst: stiff.timeconst },
      stiffestRow: stiffestRow(model, oracle, contacts),
    };
  });
}

/** Of the rows that pull a position back; friction has none. */
function stiffestRow(model: Model, oracle: Oracle, contacts: readonly { readonly pair: string }[]) {
  const h = model.opt.timestep;
  const { nefc } = oracle.data;
  if (nefc === 0) return undefined;
  const [gains, types, ids] = ["efc_KBIP", "efc_type", "efc_id"].map((name) => oracle.read(name));
  let best: StiffRow | undefined;
  for (let row = 0; row < nefc; row++) {
    const [stiffness, damping, impedance] = gains.slice(4 * row, 4 * row + 3);
    const overshoot = h * (damping + (h * stiffness) / 2) * impedance;
    if (!(stiffness > 0) || !(overshoot > (best?.overshoot ?? 0))) continue;
    const { EQUALITY, LIMIT_JOINT, LIMIT_TENDON } = mjtConstraint;
    const kinds: Partial<Record<number, ObjectKind>> = {
      [EQUALITY]: "equality",
      [LIMIT_JOINT]: "joint",
      [LIMIT_TENDON]: "tendon",
    };
    const kind = kinds[types[row]];
    const name = kind ? describe(model, kind, ids[row]) : `the contact of ${contacts[ids[row]]?.pair}`;
    const of = kind && kind !== "equality" ? `the limit of ${name}` : name;
    best = { of, stiffness, damping, overshoot };
  }
  return best;
}

function sizeOf(model: Model, geom: number): number {
  const radius = model.geom_rbound[geom];
  const [size] = model.geom_size.slice(3 * geom, 3 * geom + 1);
  // planes have no size
  return radius > 0 ? Math.min(radius, size > 0 ? size : radius) : Infinity;
}

function smallestInertia(model: Model, inverse: Float64Array): PhysicsFacts["inertia"] {
  if (inverse.length === 0) return undefined;
  const dof = inverse.reduce((best, x, i) => (Math.abs(x) > Math.abs(inverse[best]) || Number.isNaN(x) ? i : best), 0);
  return { of: describe(model, "joint", model.dof_jntid[dof]), value: 1 / Math.abs(inverse[dof]) || 0 };
}

export interface Spring {
  readonly of: string;
  readonly what: string;
  readonly stiffness: number;
  readonly inertia: number;
  /** rad/s. */
  readonly omega: number;
}

/** The fastest spring of a model: joints, tendons, and actuators that hold a position. */
export function stiffest(model: Model): Spring | undefined {
  let best: Spring | undefined;
  const offer = (of: string, what: string, stiffness: number, inertia: number) => {
    const omega = Math.sqrt(stiffness / inertia);
    if (stiffness > 0 && inertia > 0 && (!best || omega > best.omega)) best = { of, what, stiffness, inertia, omega };
  };
  const inertiaOf = (joint: number) => 1 / model.dof_invweight0[model.jnt_dofadr[joint]];
  for (let j = 0; j < model.njnt; j++)
    offer(describe(model, "joint", j), "a spring of", model.jnt_stiffness[j], inertiaOf(j));
  // a tendon that has no direction at qpos0 pulls on the lightest
  const lightest = 1 / model.dof_invweight0.reduce((a, b) => Math.max(a, b), 0);
  for (let t = 0; t < model.ntendon; t++)
    offer(
      describe(model, "tendon", t),
      "a spring of",
      model.tendon_stiffness[t],
      model.tendon_invweight0[t] > 0 ? 1 / model.tendon_invweight0[t] : lightest,
    );
  for (let u = 0; u < model.nu; u++) {
    const joint = model.actuator_trnid[2 * u];
    const [, gain] = model.actuator_biasprm.slice(10 * u, 10 * u + 2);
    // trntype 0 is a joint
    const holds = model.actuator_trntype[u] === 0 && joint >= 0 && model.jnt_type[joint] >= mjtJoint.SLIDE;
    if (!holds || !(gain < 0)) continue;
    const gear = model.actuator_gear[6 * u];
    offer(describe(model, "actuator", u), "a position gain of", -gain * gear * gear, inertiaOf(joint));
  }
  return best;
}

/** The strongest damper that the integrator takes explicitly. */
export function strongestDamper(model: Model) {
  const { integrator, disableflags } = model.opt;
  const isImplicit =
    integrator !== mjtIntegrator.RK4 && !(disableflags & (mjtDisableBit.EULERDAMP | mjtDisableBit.DAMPER));
  if (isImplicit) return undefined;
  let best: { of: string; damping: number; inertia: number; rate: number } | undefined;
  for (let d = 0; d < model.nv; d++) {
    const [damping, inertia] = [model.dof_damping[d], 1 / model.dof_invweight0[d]];
    const rate = damping / inertia;
    if (rate > (best?.rate ?? 0)) best = { of: describe(model, "joint", model.dof_jntid[d]), damping, inertia, rate };
  }
  return best;
}

/** Heaviest and lightest of the bodies that move. */
export function massRatio(model: Model) {
  let [heavy, light] = [-1, -1];
  for (let b = 1; b < model.nbody; b++) {
    const mass = model.body_mass[b];
    if (!(mass > 0) || model.body_weldid[b] === 0) continue;
    if (heavy < 0 || mass > model.body_mass[heavy]) heavy = b;
    if (light < 0 || mass < model.body_mass[light]) light = b;
  }
  const [most, least] = [model.body_mass[heavy] ?? 1, model.body_mass[light] ?? 1];
  return {
    ratio: most / least,
    most,
    least,
    heavy: describe(model, "body", heavy),
    light: describe(model, "body", light),
  };
}

/** How far the rows' diagonals are apart. */
export function rowSpread({ rows }: PhysicsFacts): { ratio: number; least: number; most: number } | undefined {
  const positive = rows.filter((x) => x > 0);
  if (positive.length === 0) return undefined;
  const [least, most] = [Math.min(...positive), Math.max(...positive)];
  return { ratio: most / least, least, most };
}
