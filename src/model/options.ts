// mjOption: read, written and overridden by MuJoCo's names
import { CorralError } from "../core/errors.ts";
import { show } from "../core/show.ts";
import { nearest } from "../core/names.ts";
import { mjtCone, mjtIntegrator, mjtJacobian, mjtSolver } from "./enums.ts";
import type { MjModel } from "./mujoco.ts";

type Check = "positive" | "nonnegative" | "real" | "count" | "flags" | Readonly<Record<string, number>>;

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

const SCALARS = {
  timestep: "positive",
  impratio: "positive",
  tolerance: "nonnegative",
  ls_tolerance: "nonnegative",
  noslip_tolerance: "nonnegative",
  ccd_tolerance: "nonnegative",
  sleep_tolerance: "nonnegative",
  density: "nonnegative",
  viscosity: "nonnegative",
  o_margin: "real",
  integrator: INTEGRATORS,
  cone: CONES,
  jacobian: JACOBIANS,
  solver: SOLVERS,
  iterations: "count",
  ls_iterations: "count",
  noslip_iterations: "count",
  ccd_iterations: "count",
  disableflags: "flags",
  enableflags: "flags",
  disableactuator: "flags",
  sdf_initpoints: "count",
  sdf_iterations: "count",
} as const satisfies Record<string, Check>;

const VECTORS = { gravity: 3, wind: 3, magnetic: 3, o_solref: 2, o_solimp: 5, o_friction: 5 } as const;

type ScalarName = keyof typeof SCALARS;
type VectorName = keyof typeof VECTORS;

/** The numbers of mjOption. */
export type ModelOption = { readonly [S in ScalarName]: number } & { readonly [V in VectorName]: readonly number[] };

type Words = { integrator: typeof INTEGRATORS; cone: typeof CONES; jacobian: typeof JACOBIANS; solver: typeof SOLVERS };

/** Overrides of mjOption. Enums may be given as MJCF's words ("Euler", "elliptic", "Newton"). */
export type OptionOverrides = {
  readonly [S in ScalarName]?: S extends keyof Words ? keyof Words[S] | number : number;
} & { readonly [V in VectorName]?: readonly number[] };

const scalarNames = Object.keys(SCALARS) as ScalarName[];
/** The names of mjOption, and how many numbers its vectors have. */
export const OPTION_SCALARS: readonly string[] = scalarNames;
export const OPTION_VECTORS: Readonly<Record<string, number>> = VECTORS;
const vectorNames = Object.keys(VECTORS) as VectorName[];

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

function bad(name: string, value: unknown, want: string): CorralError {
  return new CorralError("bad-option", `option ${name} is ${show(value)}; ${want}.`, {
    name,
    value,
  });
}

function checkScalar(name: ScalarName, value: unknown): number {
  const check: Check = SCALARS[name];
  if (typeof check === "object") {
    const words = Object.keys(check);
    if (typeof value === "string" && Object.hasOwn(check, value)) return check[value];
    if (typeof value === "number" && Object.values(check).includes(value)) return value;
    throw bad(name, value, `it must be one of ${words.map((w) => `"${w}"`).join(", ")}`);
  }
  if (typeof value !== "number" || !Number.isFinite(value)) throw bad(name, value, "it must be a finite number");
  if (check === "positive" && value <= 0) throw bad(name, value, "it must be greater than 0");
  if (check === "nonnegative" && value < 0) throw bad(name, value, "it must not be negative");
  const whole = Number.isInteger(value) && value >= 0 && value <= 0x7fffffff;
  if (check === "count" && !whole) throw bad(name, value, "it must be a whole number from 0");
  if (check === "flags" && !whole) throw bad(name, value, "it must be a whole number of bits");
  return value;
}

function checkVector(name: VectorName, value: unknown): readonly number[] {
  const length = VECTORS[name];
  const values = Array.isArray(value) || ArrayBuffer.isView(value) ? Array.from(value as ArrayLike<unknown>) : [];
  if (values.length !== length || !values.every((x) => typeof x === "number" && Number.isFinite(x))) {
    throw bad(name, value, `it must be ${length} finite numbers`);
  }
  return values as number[];
}

/**
 * Options with some overridden; the given ones stay as they are.
 * @throws CorralError bad-option, unknown-option (with the nearest names).
 */
export function overrideOption(option: ModelOption, overrides: OptionOverrides): ModelOption {
  const out: Record<string, number | readonly number[]> = { ...option };
  for (const [name, value] of Object.entries(overrides)) {
    if (value === undefined) continue;
    if (Object.hasOwn(SCALARS, name)) out[name] = checkScalar(name as ScalarName, value);
    else if (Object.hasOwn(VECTORS, name)) out[name] = checkVector(name as VectorName, value);
    else {
      const near = nearest(name, [...scalarNames, ...vectorNames]);
      const hint = near.length ? `; nearest: ${near.join(", ")}` : "";
      throw new CorralError("unknown-option", `mjOption has no "${name}"${hint}.`, { name, nearest: near });
    }
  }
  return out as ModelOption;
}
