// what one row of the field table says

export type FieldGroup = "model" | "state" | "derived" | "world";

/** How a number is held on the device. On the host f32 is Float64Array in a Model, Float32Array elsewhere. */
export type FieldType = "f32" | "i32" | "u32";

/** One dimension: a literal, a size of the model, or a capacity of the simulation (nconmax, njmax). */
export type Dim = number | SizeName | CapacityName;

export interface FieldRow {
  readonly name: string;
  readonly group: FieldGroup;
  readonly type: FieldType;
  readonly shape: readonly Dim[];
  readonly unit: string;
  readonly doc: string;
}

/** The sizes of mjModel that a Model carries, by MuJoCo's names. */
export const SIZES = [
  "nq",
  "nv",
  "nu",
  "nactuator",
  "nout",
  "na",
  "nbody",
  "njnt",
  "ntree",
  "nM",
  "nB",
  "nC",
  "nD",
  "ngeom",
  "nsite",
  "ncam",
  "nlight",
  "nflex",
  "nmesh",
  "nskin",
  "nhfield",
  "nmat",
  "npair",
  "nexclude",
  "neq",
  "ntendon",
  "nJten",
  "nwrap",
  "nsensor",
  "nnumeric",
  "nnumericdata",
  "ntext",
  "ntuple",
  "nkey",
  "nmocap",
  "nplugin",
  "nJmom",
  "ngravcomp",
  "nuserdata",
  "nsensordata",
  "npluginstate",
  "nhistory",
] as const;
export type SizeName = (typeof SIZES)[number];

/** Sizes that a model does not have: capacities of a simulation. */
const CAPACITIES = ["nconmax", "njmax"] as const;
export type CapacityName = (typeof CAPACITIES)[number];

/** Whether a dimension is of a simulation: fields that have one are held by no kernel. */
export const isCapacity = (dim: Dim): dim is CapacityName => (CAPACITIES as readonly Dim[]).includes(dim);

/** One row, with its literal types kept. */
export function row<const N extends string, const T extends FieldType, const S extends readonly Dim[]>(
  name: N,
  type: T,
  shape: S,
  // pages have neither
  unit = "",
  doc = "",
) {
  return { name, type, shape, unit, doc };
}

/** Puts rows into a group. */
export function group<const G extends FieldGroup, const R extends readonly Omit<FieldRow, "group">[]>(
  name: G,
  rows: R,
): { readonly [I in keyof R]: R[I] & { readonly group: G } } {
  return rows.map((r) => ({ ...r, group: name })) as never;
}
