// what library terms are made of: values that may be expressions or functions
import type { Scalar } from "../../../trace/scalar.ts";
import { idOf } from "../../../model/model.ts";
import type { Scene, TermSource } from "../task.ts";
import { sourceValue } from "../term-value.ts";
import { CorralError } from "../../../core/errors.ts";
import { optionsOf } from "../../../core/options.ts";
import { show } from "../../../core/show.ts";
import { bodyId } from "../bodies.ts";
import { alternatives } from "../../../core/names.ts";

/** A body by its name or id. */
export type Body = string | number;

/** Where the numbers of a library term come from. */
export type Source = TermSource<object>;

export const body = (s: Scene, name: Body): number => bodyId(s.model, "body", name);

/** Joints as they are given; undefined for all. @throws CorralError bad-term if they are no list */
export function jointList<T extends readonly unknown[]>(joints: T | undefined): T | undefined {
  needs(joints === undefined || Array.isArray(joints), "joints", joints, 'a list of names, such as ["hip"]');
  return joints;
}

/** The dofs of joints by name; of all joints if none is named. */
export function dofsOf({ model }: Scene, joints: readonly (string | number)[] | undefined): number[] {
  jointList(joints);
  if (!joints) return Array.from({ length: model.nv }, (_, i) => i);
  return joints.flatMap((name) => {
    const joint = typeof name === "number" ? name : idOf(model, "joint", name);
    return Array.from({ length: model.nv }, (_, i) => i).filter((i) => model.dof_jntid[i] === joint);
  });
}

/** The numbers of one of the task's `values`, for functions; expressions read it by its name. */
export const valueOf = (s: Scene, name: string): readonly Scalar[] => numbers(name, s, name);

/**
 * Holds what a library function was given to what it may be.
 * @throws CorralError bad-term
 */
export function needs(holds: boolean, what: string, given: unknown, form: string): void {
  if (!holds) throw new CorralError("bad-term", `${what} is ${show(given)}; it is ${form}.`);
}

export const isNumber = (x: unknown): x is number => typeof x === "number" && Number.isFinite(x);

/** Holds a span of seconds to its form. */
export const needsSpan = (what: string, span: unknown): void =>
  needs(
    Array.isArray(span) && span.length === 2 && span.every(isNumber) && span[0] >= 0 && span[0] <= span[1],
    what,
    span,
    "[least, most] in seconds, 0 <= least <= most",
  );

/** Holds the names of options to those that there are. */
export function needsOptions(what: string, given: object, known: readonly string[]): void {
  const other = Object.keys(optionsOf(given, `options of ${what}`)).find((name) => !known.includes(name));
  if (other === undefined) return;
  const { hint } = alternatives(other, known);
  throw new CorralError("bad-term", `${what} has no option "${other}"; ${hint}.`, { name: other });
}

/** The numbers of a source; `name` says in messages which. */
export function numbers(source: Source, s: Scene, name: string): readonly Scalar[] {
  const value = sourceValue(source, s, name);
  if (value.kind === "float") return value.items;
  // one and zero, as everywhere
  return sourceValue(value.items as never, s, name).items as readonly Scalar[];
}
