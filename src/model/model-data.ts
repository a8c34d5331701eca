// mjModel as plain data
import { CorralError } from "../core/errors.ts";
import { show } from "../core/show.ts";
import { withPrint } from "../core/inspect.ts";
import type { ModelArrays, Sizes } from "./fields.ts";
import type { Hulls } from "./hulls.ts";
import type { ModelOption } from "./options.ts";
import type { ModelSource } from "./source.ts";
import type { Surfaces } from "./surfaces.ts";
import type { Taxels } from "./taxels.ts";
import type { LeftOut } from "./visuals.ts";

/** One number of an array of mjModel; `gravity` and `meaninertia` are numbers of its options and statistics, `speed_limit` of `speedLimits`. */
export interface ModelChange {
  readonly field: string;
  readonly index: number;
  readonly value: number;
  /** Follows from the others: MuJoCo computes it again (mj_setConst). */
  readonly derived: boolean;
  /** Further numbers of the array that have the value too. */
  readonly also?: readonly number[];
}

/** Kinds of named objects, with the array of mjModel that holds their names. */
export const NAMED = {
  body: ["nbody", "name_bodyadr"],
  joint: ["njnt", "name_jntadr"],
  geom: ["ngeom", "name_geomadr"],
  site: ["nsite", "name_siteadr"],
  camera: ["ncam", "name_camadr"],
  tendon: ["ntendon", "name_tendonadr"],
  actuator: ["nactuator", "name_actuatoradr"],
  sensor: ["nsensor", "name_sensoradr"],
  equality: ["neq", "name_eqadr"],
  pair: ["npair", "name_pairadr"],
  exclude: ["nexclude", "name_excludeadr"],
  key: ["nkey", "name_keyadr"],
  numeric: ["nnumeric", "name_numericadr"],
  mesh: ["nmesh", "name_meshadr"],
  hfield: ["nhfield", "name_hfieldadr"],
} as const;

/** What can be looked up by name. */
export type ObjectKind = keyof typeof NAMED;

/** The most speed of a dof (m/s, rad/s). */
export interface SpeedLimit {
  readonly dof: number;
  readonly limit: number;
}

/** mjStatistic: numbers of the whole model at qpos0. */
export interface ModelStatistic {
  readonly meaninertia: number;
  readonly meanmass: number;
  readonly meansize: number;
  readonly extent: number;
  readonly center: readonly number[];
}

/**
 * mjModel as plain data: sizes and arrays by MuJoCo's names (floats as Float64Array, ints as Int32Array, bools and
 * bytes as Uint8Array, row-major), options, statistics, names, and the source it was compiled from.
 */
export interface Model extends Sizes, ModelArrays {
  /** Name of the model, from <mujoco model="...">. */
  readonly name: string;
  readonly opt: ModelOption;
  readonly stat: ModelStatistic;
  /** Names by kind and id; "" for an object without one. */
  readonly names: { readonly [K in ObjectKind]: readonly string[] };
  readonly source: ModelSource;
  /** What MuJoCo printed while it compiled. */
  readonly warnings: readonly string[];
  /** Contacts that a world has by `<size nconmax>`, if the file says so. MuJoCo itself keeps what its arena holds. */
  readonly nconmax?: number;
  /** The most contacts at qpos0 and in keyframes; undefined where a world keeps all that there can be. */
  readonly restContacts?: number;
  /** What float32 leaves of a velocity after the first step, by forces of contacts that cancel; see `restRounding`. */
  readonly restRounding?: number;
  /** What can only be looked at, and was left out; undefined if the whole file was compiled. */
  readonly leftOut?: LeftOut;
  /** Speeds that dofs of slides and hinges are held below (m/s, rad/s); see `withLimits`. MuJoCo has no such limit. */
  readonly speedLimits?: readonly SpeedLimit[];
  /** Convex hulls of the meshes that can touch; undefined if none can. */
  readonly hulls?: Hulls;
  /** What rays meet of meshes and height fields; undefined if no geom is one. */
  readonly surfaces?: Surfaces;
  /** Points of tactile sensors; absent without any. */
  readonly taxels?: Taxels;
  /** Numbers that are not the source's; see `withChanges`. */
  readonly changes?: readonly ModelChange[];
}

const SIZES_SHOWN = ["nq", "nv", "nu", "nbody", "njnt", "ngeom", "nsite", "ntendon", "neq", "nsensor"] as const;

/**
 * Says what a model is that was not loaded.
 * @throws CorralError bad-model
 */
export function assertModel(model: unknown): asserts model is Model {
  const { opt, names } = Object(model) as Partial<Model>;
  if (typeof opt === "object" && typeof names === "object") return;
  const what =
    typeof model === "string" || model instanceof URL
      ? "a path or a text: pass await loadModel(it)"
      : model instanceof Promise
        ? "a promise: await what loadModel returns"
        : `${show(model)}: pass what loadModel returns`;
  throw new CorralError("bad-model", `the model is ${what}.`);
}

/** A model that prints as its name, sizes and time step. */
export function printableModel(model: Model): Model {
  return withPrint(model, ({ name, opt, ...of }) => {
    const sizes = SIZES_SHOWN.filter((size) => of[size] > 0).map((size) => `${size}: ${of[size]}`);
    return `Model { ${[`name: ${JSON.stringify(name)}`, ...sizes, `timestep: ${opt.timestep}`].join(", ")} }`;
  });
}
