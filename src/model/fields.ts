// the field table: one row for every field, from which types, offsets, plan and docs come
import { inLine, show } from "../core/show.ts";
import { CorralError } from "../core/errors.ts";
import { nearest } from "../core/names.ts";
import { DERIVED_FIELDS } from "./fields/derived.ts";
import { MODEL_FIELDS } from "./fields/model.ts";
import type { CapacityName, Dim, FieldRow, SizeName } from "./fields/row.ts";
import { STATE_FIELDS } from "./fields/state.ts";
import { WORLD_FIELDS } from "./fields/world.ts";

export { isCapacity, SIZES } from "./fields/row.ts";
export type { CapacityName, Dim, FieldGroup, FieldRow, FieldType, SizeName } from "./fields/row.ts";

export const FIELDS = [...MODEL_FIELDS, ...STATE_FIELDS, ...DERIVED_FIELDS, ...WORLD_FIELDS] as const;

type RowOf<G extends FieldRow["group"]> = Extract<(typeof FIELDS)[number], { group: G }>;
export type FieldName = (typeof FIELDS)[number]["name"];
export type StateFieldName = RowOf<"state">["name"];

/** The array of a model field on the host: float64 for f32, so that constants fold exactly as MuJoCo holds them. */
export type ModelArrays = {
  readonly [R in RowOf<"model"> as R["name"]]: R["type"] extends "f32"
    ? Float64Array
    : R["type"] extends "i32"
      ? Int32Array
      : Uint8Array;
};

export type Sizes = { readonly [S in SizeName]: number };
/** Values of the dimensions that a model does not have. */
export type Capacities = { readonly [C in CapacityName]?: number };

const byName = new Map<string, FieldRow>(FIELDS.map((f) => [f.name, f]));

/**
 * The row of a field.
 * @throws CorralError unknown-field, with the nearest names.
 */
export function field(name: FieldName): FieldRow {
  const found = byName.get(name);
  if (!found) {
    if (typeof name !== "string")
      throw new CorralError("unknown-field", `the name of a field is ${show(name)}; pass its text.`, { name });
    const near = nearest(name, [...byName.keys()]);
    throw new CorralError(
      "unknown-field",
      `no field is named "${inLine(name)}"${near.length ? `; nearest: ${near.join(", ")}` : ""}.`,
      { name, nearest: near },
    );
  }
  return found;
}

/** All rows of a group, in table order. */
export function fieldsOf<G extends FieldRow["group"]>(group: G): RowOf<G>[] {
  return FIELDS.filter((f): f is RowOf<G> => f.group === group);
}

/**
 * The shape of a field in numbers.
 * @throws CorralError unknown-field; field-size if a capacity (nconmax, njmax, ...) is not given, or `sizes` has none
 */
export function fieldShape(sizes: Sizes, name: FieldName, capacities: Capacities = {}): number[] {
  if (typeof sizes !== "object" || (sizes as unknown) === null)
    throw new CorralError("field-size", `sizes is ${show(sizes)}; pass a model, or an object of its sizes.`, { sizes });
  const dims: Partial<Record<Dim, number>> = { ...capacities };
  return field(name).shape.map((dim) => {
    if (typeof dim === "number") return dim;
    const size = (sizes as Partial<Record<Dim, number>>)[dim] ?? dims[dim];
    if (size === undefined) {
      throw new CorralError(
        "field-size",
        `the size of ${name} depends on ${dim}, which is not given. Pass { ${dim} }.`,
        { name, dim },
      );
    }
    return size;
  });
}

/** How many numbers one world holds of a field (shape as in fieldShape). */
export function fieldSize(sizes: Sizes, name: FieldName, capacities: Capacities = {}): number {
  return fieldShape(sizes, name, capacities).reduce((n, d) => n * d, 1);
}
