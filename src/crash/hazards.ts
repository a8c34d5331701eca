// properties of a model that make a step diverge, with the numbers that show it and the remedy
import type { Arithmetic } from "../batch/kernel/arithmetic.ts";
import { mjMINVAL } from "../model/enums.ts";
import type { Model } from "../model/model.ts";
import { n, type Cause } from "./cause.ts";
import { massRatio, rowSpread, stiffest, strongestDamper, type PhysicsFacts, type StiffRow } from "./physics-facts.ts";

/** Inertia (kg, kg m^2) that a newton turns into more than mjMAXVAL. */
const LIGHT = 1e-10;
/** h * omega beyond which an explicit spring gains energy; and beyond which it is inaccurate. */
const UNSTABLE = 2;
const STIFF = 0.5;
/** Ratio of masses, and of rows of constraints, that leaves float32 few digits. */
const MASS_RATIO = 1e5;
const ROW_RATIO = 1e9;
/** Share of a geom's size that a contact is deep. */
export const DEEP = 0.25;

/** All that the model, and its physics at a state, show where kernels compute in `arithmetic`. */
export const hazards = (model: Model, facts: PhysicsFacts | undefined, arithmetic: Arithmetic = "float32"): Cause[] =>
  [
    facts && zeroInertia(facts),
    stiffSpring(model),
    strongDamper(model),
    facts?.stiffestRow && stiffConstraint(model, facts.stiffestRow),
    arithmetic === "float32" ? unevenMasses(model) : undefined,
    facts && unevenRows(facts),
  ].filter((cause) => cause !== undefined);

function zeroInertia({ inertia: light }: PhysicsFacts): Cause | undefined {
  if (!light || light.value > LIGHT) return undefined;
  return {
    name: "zero-inertia",
    certainty: "certain",
    text: `${light.of} moves an inertia of ${light.value > mjMINVAL ? n(light.value) : `${n(mjMINVAL)} or less`}: any force gives it an infinite acceleration.`,
    remedy: "Give the moving bodies mass and inertia, or the joint armature; bound what randomisation may draw.",
  };
}

function stiffSpring(model: Model): Cause | undefined {
  const h = model.opt.timestep;
  const spring = stiffest(model);
  if (!spring || !(h * spring.omega > STIFF)) return undefined;
  const most = UNSTABLE / spring.omega;
  return {
    name: "timestep-stiffness",
    certainty: h * spring.omega > UNSTABLE ? "certain" : "possible",
    text: `the timestep is too large for the stiffness of ${spring.of}: ${spring.what} ${n(spring.stiffness)} on an inertia of ${n(spring.inertia)} swings at ${n(spring.omega)} rad/s, so timestep * omega is ${n(h * spring.omega)}; explicit integration gains energy beyond ${UNSTABLE}.`,
    remedy: `Take a timestep below ${n(most / 4)} (${n(most)} is the limit), or lower the stiffness, or add armature.`,
  };
}

function strongDamper(model: Model): Cause | undefined {
  const h = model.opt.timestep;
  const damper = strongestDamper(model);
  if (!damper || !(h * damper.rate > UNSTABLE)) return undefined;
  return {
    name: "timestep-damping",
    certainty: "likely",
    text: `the timestep is too large for the damping of ${damper.of}: ${n(damper.damping)} on an inertia of ${n(damper.inertia)} decays at ${n(damper.rate)} per second, so timestep * rate is ${n(h * damper.rate)}; this integrator, which takes damping explicitly, overshoots beyond ${UNSTABLE}.`,
    remedy: `Take a timestep below ${n(1 / damper.rate)}, or an integrator that takes it implicitly (${damper.implicit}).`,
  };
}

export function stiffConstraint(model: Model, stiff: StiffRow): Cause | undefined {
  const h = model.opt.timestep;
  if (!(stiff.overshoot > UNSTABLE)) return undefined;
  return {
    name: "constraint-stiffness",
    certainty: "likely",
    text: `the timestep is too large for solref of ${stiff.of}: its stiffness of ${n(stiff.stiffness)} and damping of ${n(stiff.damping)} change what they correct ${n(stiff.overshoot)}-fold in one physics step of ${n(h)} s; beyond ${UNSTABLE} it overshoots further each time.`,
    remedy: `Take softer solref: a time constant of at least ${n(2 * h)} (two timesteps), or a smaller timestep.`,
  };
}

function unevenMasses(model: Model): Cause | undefined {
  const masses = massRatio(model);
  if (!(masses.ratio > MASS_RATIO)) return undefined;
  return {
    name: "mass-ratio",
    certainty: "likely",
    text: `${masses.heavy} weighs ${n(masses.most)} kg and ${masses.light} ${n(masses.least)} kg: a ratio of ${n(masses.ratio)}, of which float32 keeps ${masses.ratio > 1e7 ? "no digit" : "few digits"}.`,
    remedy:
      'Bring the masses within a factor of 10,000, weld the light body to its parent, add armature to its joints, or compute in float64 (device: "wasm", arithmetic: "float64").',
  };
}

function unevenRows(facts: PhysicsFacts): Cause | undefined {
  const rows = rowSpread(facts);
  if (!rows || !(rows.ratio > ROW_RATIO)) return undefined;
  return {
    name: "constraint-conditioning",
    certainty: "possible",
    text: `the constraint rows are badly conditioned: their diagonals span a factor of ${n(rows.ratio)} (${n(rows.least)} to ${n(rows.most)}).`,
    remedy: "Soften solref and solimp (solimp's dmax below 0.99), even out the masses, or raise impratio less.",
  };
}
