// what model and state say of how hard a step is: stiffness, masses, inertia, contacts, rows, as MuJoCo computes them
import { mjtConstraint, mjtDisableBit, mjtIntegrator, mjtJoint } from "../model/enums.ts";
import { withChanges } from "../model/changes.ts";
import { describe, type Model, type ObjectKind } from "../model/model.ts";
import { geomPairs } from "../model/pairs.ts";
import { listen } from "../model/mujoco.ts";
import { withMuJoCo, type Oracle } from "../model/oracle.ts";
import type { Bundle } from "../record/bundle.ts";
import { fieldBefore, type Moment } from "./timeline.ts";

/** The model of a bundle with the parameters of a step and a world's own (randomised) numbers. */
export function modelAt(bundle: Bundle, moment: Moment, row: number): Model {
  const { opt } = bundle.model;
  // parameters are float32; if they are the model's own numbers, those
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

export interface ContactFacts {
  readonly pair: string;
  readonly dist: number;
  /** Of the smaller geom (m). */
  readonly size: number;
  /** How fast the contact alone pushes the two apart in the end (m/s). */
  readonly speed: number;
}

export interface PhysicsFacts {
  readonly contacts: readonly ContactFacts[];
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

/** A state of the physics; mocap frames are the model's own if they are not given. */
export interface PhysicsState {
  readonly qpos: Float64Array;
  readonly qvel: Float64Array;
  readonly act: Float64Array;
  readonly mocap_pos?: Float64Array;
  readonly mocap_quat?: Float64Array;
  /** Default: the equalities that are active at the start. */
  readonly eq_active?: Float64Array;
  /** Default: that of the start. */
  readonly history?: Float64Array;
}

/** What MuJoCo makes of the state before a step; undefined if the state is not finite. */
export async function physicsAt(bundle: Bundle, moment: Moment, row: number): Promise<PhysicsFacts | undefined> {
  const model = modelAt(bundle, moment, row);
  const read = (name: string) => fieldBefore(bundle, moment, row, name);
  const mocap = model.nmocap > 0 ? { mocap_pos: read("mocap_pos"), mocap_quat: read("mocap_quat") } : {};
  const active = model.neq > 0 ? { eq_active: read("eq_active") } : {};
  const history = model.nhistory > 0 ? { history: read("history") } : {};
  return physicsOf(model, {
    qpos: read("qpos"),
    qvel: read("qvel"),
    act: read("act"),
    ...mocap,
    ...active,
    ...history,
  });
}

/** What MuJoCo makes of a state of a model; undefined if the state is not finite. `look` reads more of it. */
export async function physicsOf(
  model: Model,
  state: PhysicsState,
  look: (oracle: Oracle) => void = () => {},
): Promise<PhysicsFacts | undefined> {
  const fields = Object.entries(state) as [string, Float64Array][];
  if (![...fields.flatMap(([, values]) => [...values]), model.opt.timestep].every(Number.isFinite)) return undefined;
  return withMuJoCo(model, (oracle) => {
    const { mujoco, data } = oracle;
    for (const [name, values] of fields) if (values.length > 0) oracle.write(name, values);
    listen(() => mujoco.mj_forward(oracle.model, data));
    look(oracle);
    const contacts = oracle.contacts().map((c) => ({
      pair: `${describe(model, "geom", c.geom[0])} and ${describe(model, "geom", c.geom[1])}`,
      dist: c.dist,
      size: Math.min(...c.geom.map((g) => sizeOf(model, g))),
      timeconst: c.solref[0],
      speed: Math.max(0, -c.dist) * Math.sqrt(gainsOf(model, c.solref, c.solimp[1]).stiffness),
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

/** Stiffness (1/s^2) and damping (1/s) of solref at an impedance. */
function gainsOf(model: Model, { 0: a, 1: b }: ArrayLike<number>, impedance: number) {
  // negative: stiffness and damping themselves; positive: time constant and damping ratio
  if (!(a > 0)) return { stiffness: -a / impedance ** 2, damping: -b / impedance };
  const isSafe = !(model.opt.disableflags & mjtDisableBit.REFSAFE);
  const time = isSafe ? Math.max(a, 2 * model.opt.timestep) : a;
  return { stiffness: 1 / (impedance * time * b) ** 2, damping: 2 / (impedance * time) };
}

/** The stiffest of all constraints that the model may have, at any state, by solref and solimp alone. */
export function stiffestReference(model: Model): StiffRow | undefined {
  const h = model.opt.timestep;
  let best: StiffRow | undefined;
  const offer = (of: string, solref: ArrayLike<number>, impedance: number) => {
    const { stiffness, damping } = gainsOf(model, solref, impedance);
    const overshoot = h * (damping + (h * stiffness) / 2) * impedance;
    if (overshoot > (best?.overshoot ?? 0)) best = { of, stiffness, damping, overshoot };
  };
  const rowsOf = (values: Float64Array, i: number, width: number) => values.subarray(i * width, (i + 1) * width);
  for (const { geom1, geom2, solref, solimp } of geomPairs(model)) {
    const of = `the contact of ${describe(model, "geom", geom1)} and ${describe(model, "geom", geom2)}`;
    offer(of, solref, solimp[1]);
  }
  for (let j = 0; j < model.njnt; j++) {
    if (model.jnt_limited[j])
      offer(`the limit of ${describe(model, "joint", j)}`, rowsOf(model.jnt_solref, j, 2), model.jnt_solimp[5 * j + 1]);
  }
  for (let t = 0; t < model.ntendon; t++) {
    if (!model.tendon_limited[t]) continue;
    const of = `the limit of ${describe(model, "tendon", t)}`;
    offer(of, rowsOf(model.tendon_solref_lim, t, 2), model.tendon_solimp_lim[5 * t + 1]);
  }
  for (let e = 0; e < model.neq; e++) {
    if (model.eq_active0[e])
      offer(describe(model, "equality", e), rowsOf(model.eq_solref, e, 2), model.eq_solimp[5 * e + 1]);
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
  for (let u = 0; u < model.nactuator; u++) {
    const joint = heldJoint(model, u);
    const [, gain] = model.actuator_biasprm.slice(10 * u, 10 * u + 2);
    if (joint === undefined || !(gain < 0)) continue;
    const gear = model.actuator_gear[6 * u];
    offer(describe(model, "actuator", u), "a position gain of", -gain * gear * gear, inertiaOf(joint));
  }
  return best;
}

export interface Damper {
  readonly of: string;
  readonly damping: number;
  readonly inertia: number;
  /** Per second. */
  readonly rate: number;
  /** Integrators that take it implicitly. */
  readonly implicit: string;
}

/** The strongest damper that the integrator takes explicitly: of joints, and of actuators by their velocity. */
export function strongestDamper(model: Model): Damper | undefined {
  const { integrator, disableflags } = model.opt;
  const { RK4, EULER } = mjtIntegrator;
  let best: Damper | undefined;
  const offer = (of: string, damping: number, dof: number, implicit: string) => {
    const inertia = 1 / model.dof_invweight0[dof];
    const rate = damping / inertia;
    if (rate > (best?.rate ?? 0)) best = { of, damping, inertia, rate, implicit };
  };
  const isOff = (disableflags & mjtDisableBit.DAMPER) !== 0;
  if (!isOff && (integrator === RK4 || (integrator === EULER && disableflags & mjtDisableBit.EULERDAMP))) {
    for (let d = 0; d < model.nv; d++)
      offer(describe(model, "joint", model.dof_jntid[d]), model.dof_damping[d], d, "Euler, implicitfast");
  }
  if (integrator === RK4 || integrator === EULER) {
    for (let u = 0; u < model.nactuator; u++) {
      const joint = heldJoint(model, u);
      if (joint === undefined) continue;
      const gear = model.actuator_gear[6 * u];
      const damping = -model.actuator_biasprm[10 * u + 2] * gear * gear;
      offer(describe(model, "actuator", u), damping, model.jnt_dofadr[joint], "implicitfast, implicit");
    }
  }
  return best;
}

/** The slide or hinge that an actuator moves by itself; trntype 0 is a joint. */
function heldJoint(model: Model, u: number): number | undefined {
  const joint = model.actuator_trnid[2 * u];
  const isJoint = model.actuator_trntype[u] === 0 && joint >= 0 && model.jnt_type[joint] >= mjtJoint.SLIDE;
  return isJoint ? joint : undefined;
}

/** The most uneven masses of bodies that act on each other, of one tree or that may touch; what is welded is one body. */
export function massRatio(model: Model) {
  const { body_weldid: weld } = model;
  const mass = new Float64Array(model.nbody);
  for (let b = 1; b < model.nbody; b++) mass[weld[b]] += model.body_mass[b];
  let [heavy, light] = [-1, -1];
  const ratioOf = (a: number, b: number) => mass[a] / mass[b];
  const offer = (a: number, b: number) => {
    const [more, less] = mass[a] >= mass[b] ? [a, b] : [b, a];
    if (!(mass[less] > 0)) return;
    if (heavy < 0 || ratioOf(more, less) > ratioOf(heavy, light)) [heavy, light] = [more, less];
  };
  const moves = (b: number) => b !== 0 && mass[b] > 0;
  const ends = new Map<number, { most: number; least: number }>();
  for (let b = 1; b < model.nbody; b++) {
    if (weld[b] !== b || !moves(b)) continue;
    const tree = model.body_rootid[b];
    const { most, least } = ends.get(tree) ?? { most: b, least: b };
    ends.set(tree, { most: mass[b] > mass[most] ? b : most, least: mass[b] < mass[least] ? b : least });
  }
  for (const { most, least } of ends.values()) offer(most, least);
  for (const { geom1, geom2 } of geomPairs(model)) {
    const bodies = [geom1, geom2].map((g) => weld[model.geom_bodyid[g]]);
    if (bodies.every(moves)) offer(bodies[0], bodies[1]);
  }
  const [most, least] = [mass[heavy] ?? 1, mass[light] ?? 1];
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
