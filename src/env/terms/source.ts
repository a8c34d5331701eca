// what library terms are made of: values that may be expressions or functions
import type { Scalar } from "../../trace/scalar.ts";
import { idOf } from "../../model/model.ts";
import type { Scene, TermSource } from "../task.ts";
import { sourceValue } from "../term-value.ts";
import { bodyId } from "../bodies.ts";

/** A body by its name or id. */
export type Body = string | number;

/** Where the numbers of a library term come from. */
export type Source = TermSource<object>;

export const body = (s: Scene, name: Body): number => bodyId(s.model, "body", name);

/** The dofs of joints by name; of all joints where none is named. */
export function dofsOf({ model }: Scene, joints: readonly string[] | undefined): number[] {
  if (!joints) return Array.from({ length: model.nv }, (_, i) => i);
  return joints.flatMap((name) => {
    const joint = idOf(model, "joint", name);
    return Array.from({ length: model.nv }, (_, i) => i).filter((i) => model.dof_jntid[i] === joint);
  });
}

/** The numbers of one of the task's `values`, for functions; expressions read it by its name. */
export const valueOf = (s: Scene, name: string): readonly Scalar[] => numbers(name, s, name);

/** The numbers of a source; `name` says in messages which. */
export function numbers(source: Source, s: Scene, name: string): readonly Scalar[] {
  const value = sourceValue(source, s, name);
  if (value.kind === "float") return value.items;
  // one and zero, as everywhere
  return sourceValue(value.items as never, s, name).items as readonly Scalar[];
}
