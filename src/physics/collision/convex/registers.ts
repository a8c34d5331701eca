// vectors of the traced program that change while it runs
import { variable, type LocalArray } from "../../../trace/control.ts";
import { select, type Bool, type Int } from "../../../trace/scalar.ts";
import { ZERO3, type Vec3 } from "../../../trace/vector.ts";

export interface VectorVariable {
  get(): Vec3;
  set(v: Vec3): void;
  /** Sets it where `cond` holds. */
  setIf(cond: Bool, v: Vec3): void;
}

/** Three mutable scalars. */
export function vector(name: string, initial: Vec3 = ZERO3): VectorVariable {
  const parts = initial.map((x, k) => variable(`${name}${k}`, x));
  return {
    get: () => parts.map((v) => v.get()) as unknown as Vec3,
    set: (v) => v.forEach((x, k) => parts[k].set(x)),
    setIf: (cond, v) => v.forEach((x, k) => parts[k].set(select(cond, x, parts[k].get(), "f32"))),
  };
}

/** Points in three arrays. */
export type Corners = readonly LocalArray[];

export const cornerAt = (of: Corners, i: Int): Vec3 => of.map((x) => x.get(i)) as unknown as Vec3;
