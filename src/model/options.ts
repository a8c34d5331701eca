// mjOption: read, written and overridden by MuJoCo's names
import { fillIn, type Given, type OptionRow, type OptionTable } from "../core/options.ts";
import { integer, positive, real, vector, word } from "../core/schema.ts";
import { mjtCone, mjtIntegrator, mjtJacobian, mjtSolver } from "./enums.ts";
import type { MjModel } from "./mujoco.ts";

// MJCF's words for the values of an enum
const INTEGRATORS = {
  Euler: mjtIntegrator.EULER,
  RK4: mjtIntegrator.RK4,
  implicit: mjtIntegrator.IMPLICIT,
  implicitfast: mjtIntegrator.IMPLICITFAST,
  discrete: mjtIntegrator.DISCRETE,
} as const;
const CONES = { pyramidal: mjtCone.PYRAMIDAL, elliptic: mjtCone.ELLIPTIC } as const;
const JACOBIANS = { dense: mjtJacobian.DENSE, sparse: mjtJacobian.SPARSE, auto: mjtJacobian.AUTO } as const;
const SOLVERS = { PGS: mjtSolver.PGS, CG: mjtSolver.CG, Newton: mjtSolver.NEWTON } as const;

const NONNEGATIVE = real(0);
const COUNT = integer(0, 0x7fffffff);

/** The numbers of mjOption, by MuJoCo's names; a default is the model's. */
export const MJ_OPTION_SCALARS = {
  timestep: { kind: positive, doc: "seconds of a physics step" },
  impratio: { kind: positive, doc: "ratio of frictional to normal constraint impedance" },
  tolerance: { kind: NONNEGATIVE, doc: "improvement below which the main solver stops" },
  ls_tolerance: { kind: NONNEGATIVE, doc: "the same for the solver's line search" },
  noslip_tolerance: { kind: NONNEGATIVE, doc: "the same for the noslip solver" },
  ccd_tolerance: { kind: NONNEGATIVE, doc: "the same for the collision of convex shapes" },
  sleep_tolerance: { kind: NONNEGATIVE, doc: "speed below which MuJoCo lets trees sleep" },
  density: { kind: NONNEGATIVE, doc: "density of the medium, kg/m^3" },
  viscosity: { kind: NONNEGATIVE, doc: "viscosity of the medium, Pa s" },
  o_margin: { kind: real(), doc: "margin of all contacts, with the flag override, m" },
  integrator: { kind: word(INTEGRATORS), doc: "how velocities and positions advance" },
  cone: { kind: word(CONES), doc: "friction cone of contacts" },
  jacobian: { kind: word(JACOBIANS), doc: "storage of constraint Jacobians in MuJoCo" },
  solver: { kind: word(SOLVERS), doc: "algorithm of the constraint solver" },
  iterations: { kind: COUNT, doc: "most iterations of the main solver" },
  ls_iterations: { kind: COUNT, doc: "most iterations of its line search" },
  noslip_iterations: { kind: COUNT, doc: "most iterations of the noslip solver" },
  ccd_iterations: { kind: COUNT, doc: "most iterations of the collision of convex shapes" },
  disableflags: { kind: COUNT, doc: "bits of mjtDisableBit" },
  enableflags: { kind: COUNT, doc: "bits of mjtEnableBit" },
  disableactuator: { kind: COUNT, doc: "bits of actuator groups that do not act" },
  sdf_initpoints: { kind: COUNT, doc: "starting points of collisions with signed distance fields" },
  sdf_iterations: { kind: COUNT, doc: "most iterations of each" },
} as const satisfies OptionTable;

export const MJ_OPTION_VECTORS = {
  gravity: { length: 3, kind: vector(3), doc: "acceleration, m/s^2" },
  wind: { length: 3, kind: vector(3), doc: "velocity of the medium, m/s" },
  magnetic: { length: 3, kind: vector(3), doc: "magnetic flux, for magnetometers" },
  o_solref: { length: 2, kind: vector(2), doc: "solref of all contacts, with the flag override" },
  o_solimp: { length: 5, kind: vector(5), doc: "solimp of all contacts, with the flag override" },
  o_friction: { length: 5, kind: vector(5), doc: "friction of all contacts, with the flag override" },
} as const satisfies Record<string, OptionRow & { readonly length: number }>;

export const MJ_OPTIONS = { ...MJ_OPTION_SCALARS, ...MJ_OPTION_VECTORS };

type ScalarName = keyof typeof MJ_OPTION_SCALARS;
type VectorName = keyof typeof MJ_OPTION_VECTORS;

/** The numbers of mjOption. */
export type ModelOption = { readonly [S in ScalarName]: number } & { readonly [V in VectorName]: readonly number[] };

/** Overrides of mjOption. Enums may be given as MJCF's words ("Euler", "elliptic", "Newton"). */
export type OptionOverrides = Given<typeof MJ_OPTIONS>;

const scalarNames = Object.keys(MJ_OPTION_SCALARS) as ScalarName[];
const vectorNames = Object.keys(MJ_OPTION_VECTORS) as VectorName[];

/** Copies the options out of an mjModel. */
export function readOption(model: MjModel): ModelOption {
  const opt = model.opt;
  try {
    const out: Record<string, number | readonly number[]> = {};
    for (const name of scalarNames) out[name] = opt[name];
    for (const name of vectorNames) out[name] = Array.from(opt[name] as Float64Array);
    return out as ModelOption;
  } finally {
    opt.delete();
  }
}

/** Writes all options into an mjModel. */
export function writeOption(model: MjModel, option: ModelOption): void {
  const opt = model.opt;
  try {
    for (const name of scalarNames) opt[name] = option[name];
    for (const name of vectorNames) (opt[name] as Float64Array).set(option[name]);
  } finally {
    opt.delete();
  }
}

/**
 * Options with some overridden; the given ones stay as they are.
 * @throws CorralError bad-option, unknown-option (with the nearest names).
 */
export function overrideOption(option: ModelOption, overrides: OptionOverrides): ModelOption {
  const given = fillIn(MJ_OPTIONS, overrides, { of: "mjOption" });
  return { ...option, ...(given as Partial<ModelOption>) };
}
