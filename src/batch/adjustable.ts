// numbers of actuators that a simulation changes between steps without a new kernel
import { badOption } from "../core/options.ts";
import type { Model } from "../model/model.ts";
import { mjMAXVAL } from "../model/enums.ts";
import type { OwnValues, PerWorld } from "../physics/view.ts";
import { param } from "../trace/control.ts";

/** A number as options name it: `actuator_forcerange[6]`. */
export const ADJUSTABLE = /^(actuator_forcerange|actuator_biasprm)\[(0|[1-9]\d{0,5})\]$/;

interface Parameter {
  readonly name: string;
  readonly type: "f32";
  readonly initial: number;
}

/** The parameter of the kernels that holds a number. */
export const slotOf = (name: string): string => name.replace(/\[(\d+)\]$/, "_$1");

/** The model whose adjustable ranges of force bound, with the parameters that hold what it has. Throws `bad-option`. */
export function adjustableIn(model: Model, names: readonly string[]): { model: Model; params: Parameter[] } {
  if (names.length === 0) return { model, params: [] };
  const actuator_forcelimited = model.actuator_forcelimited.slice();
  const params = names.map((name, i): Parameter => {
    const [, field, digits] = ADJUSTABLE.exec(name) as unknown as [string, "actuator_forcerange", string];
    const index = Number(digits);
    if (index >= model[field].length)
      throw badOption("adjustable", names, `${field} has ${model[field].length} numbers, no number ${index}`);
    if (names.indexOf(name) < i) throw badOption("adjustable", names, `"${name}" is in it twice: name it once`);
    const isOpen = field === "actuator_forcerange" && !model.actuator_forcelimited[index >> 1];
    if (isOpen) actuator_forcelimited[index >> 1] = 1;
    const none = index % 2 === 0 ? -mjMAXVAL : mjMAXVAL;
    return { name: slotOf(name), type: "f32", initial: isOpen ? none : model[field][index] };
  });
  return { model: { ...model, actuator_forcelimited }, params };
}

/** The numbers as a kernel reads them. */
export function adjustedIn(names: readonly string[]): PerWorld {
  const fields = new Set(names.map((name) => ADJUSTABLE.exec(name)![1]));
  const of = (field: string): OwnValues => ({
    at: (i) => (names.includes(`${field}[${i}]`) ? param(slotOf(`${field}[${i}]`)) : undefined),
    all: undefined,
  });
  return new Map(Array.from(fields, (field) => [field, of(field)]));
}
