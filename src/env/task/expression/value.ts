// what a part of an expression is worth: floats or truths, one or several
import { toF32, type Bool, type Scalar } from "../../../trace/scalar.ts";
import { TraceNode } from "../../../trace/nodes.ts";

/** Values while a kernel is traced. `single`: a scalar rather than a vector of one. */
export type Value =
  | { readonly kind: "float"; readonly items: readonly Scalar[]; readonly single: boolean }
  | { readonly kind: "bool"; readonly items: readonly Bool[]; readonly single: boolean };

export type Floats = Extract<Value, { kind: "float" }>;
export type Bools = Extract<Value, { kind: "bool" }>;

export const isTruth = (x: Scalar | Bool): x is Bool =>
  typeof x === "boolean" || (x instanceof TraceNode && x.type === "bool");

export const float = (x: Scalar): Floats => ({ kind: "float", items: [toF32(x)], single: true });
export const vector = (items: readonly Scalar[]): Floats => ({ kind: "float", items: items.map(toF32), single: false });
export const bool = (x: Bool): Bools => ({ kind: "bool", items: [x], single: true });

/** In words, for messages. */
export function describeValue({ kind, items, single }: Value): string {
  const what = kind === "float" ? "number" : "truth value";
  return single ? `one ${what}` : `${items.length} ${what}s`;
}
