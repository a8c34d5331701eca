// sparse rows of lengths: what a tendon or actuator pulls on
import { add, mul, type Scalar } from "../../trace/scalar.ts";
import type { Sparsity } from "../smooth/sparsity.ts";

/** Rate of a length per unit rate of a dof: a tendon's, or what an actuator pulls with. */
export interface Arm {
  readonly dof: number;
  readonly coef: Scalar;
}

/** Arms on the same dof added up, dofs ascending. */
export function addArms(arms: readonly Arm[]): Arm[] {
  const row = new Map<number, Scalar>();
  for (const { dof, coef } of arms) row.set(dof, add(row.get(dof) ?? 0, coef));
  return [...row].sort(([a], [b]) => a - b).map(([dof, coef]) => ({ dof, coef }));
}

/** A term of one entry of a matrix. */
export interface Entry {
  readonly entry: number;
  readonly value: Scalar;
}

/** armᵀ slope arm, without the entries that the sparsity does not have (addJTBJSparse). */
export function outerProduct(arms: readonly Arm[], slope: Scalar, sparsity: Sparsity): Entry[] {
  const entries: Entry[] = [];
  for (const a of arms) {
    for (const b of arms) {
      if (b.dof > a.dof || !sparsity.has(a.dof, b.dof)) continue;
      entries.push({ entry: sparsity.index(a.dof, b.dof), value: mul(mul(a.coef, b.coef), slope) });
    }
  }
  return entries;
}
