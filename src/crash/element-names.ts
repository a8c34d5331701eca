// what an element of a field belongs to, by its name in the MJCF
import { field, fieldSize, type FieldName, FIELDS } from "../model/fields.ts";
import { describe, type Model, type ObjectKind } from "../model/model.ts";

const KNOWN = new Set<string>(FIELDS.map((f) => f.name));

/** Objects that the first dimension of a field counts. */
const COUNTED: Readonly<Record<string, ObjectKind>> = {
  nbody: "body",
  njnt: "joint",
  ngeom: "geom",
  nsite: "site",
  nu: "actuator",
  ntendon: "tendon",
  neq: "equality",
  nsensor: "sensor",
  ncam: "camera",
};

/** A field and its element, out of the name of a variable of a kernel: `qacc_3`. */
export function fieldOf(name: string, element?: number): { field: string; element: number } | undefined {
  if (element !== undefined) return { field: name, element };
  const [, base, index] = /^(.*)_(\d+)$/.exec(name) ?? [];
  if (base !== undefined) return { field: base, element: Number(index) };
  return undefined;
}

export const isField = (name: string): name is FieldName => KNOWN.has(name);

function jointOfQpos(model: Model, at: number): number {
  let joint = 0;
  while (joint + 1 < model.njnt && model.jnt_qposadr[joint + 1] <= at) joint++;
  return joint;
}

/** `joint "hip" (x)`, `body "torso"`; undefined if the element belongs to no object. */
export function ownerOf(model: Model, name: string, element: number): string | undefined {
  if (!isField(name)) return undefined;
  const [first, ...rest] = field(name).shape;
  const width =
    rest.length > 0 && fieldSize(model, name) > 0 ? fieldSize(model, name) / Number(model[first as never]) : 1;
  const row = Math.floor(element / width);
  const part = (size: number, at: number) => (size > 1 ? `, component ${at}` : "");
  if (first === "nq" && model.njnt > 0) {
    const joint = jointOfQpos(model, element);
    const size = [7, 4, 1, 1][model.jnt_type[joint]];
    return describe(model, "joint", joint) + part(size, element - model.jnt_qposadr[joint]);
  }
  if (first === "nv" && model.nv > 0) {
    const joint = model.dof_jntid[row];
    const size = [6, 3, 1, 1][model.jnt_type[joint]];
    return describe(model, "joint", joint) + part(size, row - model.jnt_dofadr[joint]);
  }
  const kind = COUNTED[first as string];
  return kind && row < model.names[kind].length ? describe(model, kind, row) + part(width, element % width) : undefined;
}

/** `qacc[3] (joint "hip")`. */
export function elementText(model: Model, name: string, element: number | undefined): string {
  const found = fieldOf(name, element);
  if (!found || !isField(found.field)) return element === undefined ? name : `${name}[${element}]`;
  const owner = ownerOf(model, found.field, found.element);
  return `${found.field}[${found.element}]${owner === undefined ? "" : ` (${owner})`}`;
}
