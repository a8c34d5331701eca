// what an element of a field belongs to, by its name in the MJCF
import { mjtTrn } from "../model/enums.ts";
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

/** What an element of a field belongs to, and which of the object's numbers it is. */
export interface Owner {
  readonly kind: ObjectKind;
  readonly id: number;
  readonly component: number;
  /** Numbers that the field has of the object. */
  readonly size: number;
}

/** The owner of an element; undefined if it belongs to no object. */
export function ownerOf(model: Model, name: string, element: number): Owner | undefined {
  if (!isField(name)) return undefined;
  const [first, ...rest] = field(name).shape;
  const width =
    rest.length > 0 && fieldSize(model, name) > 0 ? fieldSize(model, name) / Number(model[first as never]) : 1;
  const row = Math.floor(element / width);
  if (first === "nq" && model.njnt > 0) {
    const id = jointOfQpos(model, element);
    return {
      kind: "joint",
      id,
      component: element - model.jnt_qposadr[id],
      size: [7, 4, 1, 1][model.jnt_type[id]],
    };
  }
  if (first === "nv" && model.nv > 0) {
    const id = model.dof_jntid[row];
    return { kind: "joint", id, component: row - model.jnt_dofadr[id], size: [6, 3, 1, 1][model.jnt_type[id]] };
  }
  const kind = COUNTED[first as string];
  if (kind === undefined || row >= model.names[kind].length) return undefined;
  return { kind, id: row, component: element % width, size: width };
}

/** The body that an object is of; undefined for those that are of several or of none. */
export function bodyOf(model: Model, { kind, id }: Pick<Owner, "kind" | "id">): number | undefined {
  if (kind === "body") return id;
  if (kind === "joint") return model.jnt_bodyid[id];
  if (kind === "geom") return model.geom_bodyid[id];
  if (kind === "site") return model.site_bodyid[id];
  if (kind === "camera") return model.cam_bodyid[id];
  if (kind !== "actuator") return undefined;
  const target = model.actuator_trnid[2 * id];
  const type = model.actuator_trntype[id];
  if (type === mjtTrn.JOINT || type === mjtTrn.JOINTINPARENT) return model.jnt_bodyid[target];
  if (type === mjtTrn.SITE || type === mjtTrn.SLIDERCRANK) return model.site_bodyid[target];
  return type === mjtTrn.BODY ? target : undefined;
}

/** `qacc[3] (joint "hip")`. */
export function elementText(model: Model, name: string, element: number | undefined): string {
  const found = fieldOf(name, element);
  if (!found || !isField(found.field)) return element === undefined ? name : `${name}[${element}]`;
  const owner = ownerOf(model, found.field, found.element);
  if (owner === undefined) return `${found.field}[${found.element}]`;
  const part = owner.size > 1 ? `, component ${owner.component}` : "";
  return `${found.field}[${found.element}] (${describe(model, owner.kind, owner.id)}${part})`;
}
