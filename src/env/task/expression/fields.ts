// fields of MuJoCo as expressions read them: whole, or the rows of named objects
import { field, fieldsOf, isCapacity, fieldShape, type FieldName, type FieldRow } from "../../../model/fields.ts";
import { fits } from "../../../core/names.ts";
import { mjtJoint } from "../../../model/enums.ts";
import type { Model, ObjectKind } from "../../../model/model.ts";

/** Kinds of objects that expressions name: `joint.hip_1`. */
export const KINDS = ["body", "joint", "geom", "site", "tendon", "actuator", "sensor", "pair"] as const;
export type Kind = (typeof KINDS)[number] & ObjectKind;

export const isKind = (name: string): name is Kind => (KINDS as readonly string[]).includes(name);

/** How long names of MJCF are written. */
const ALIASES: Readonly<Record<string, FieldName>> = { sensor: "sensordata" };

interface ReadableField {
  readonly name: FieldName;
  readonly from: "data" | "model";
  /** The objects that its rows belong to; undefined if it has no rows. */
  readonly kind: Kind | undefined;
}

const KIND_OF: Readonly<Record<string, Kind>> = {
  nbody: "body",
  njnt: "joint",
  nq: "joint",
  nv: "joint",
  ngeom: "geom",
  nsite: "site",
  ntendon: "tendon",
  nu: "actuator",
  na: "actuator",
  nactuator: "actuator",
  nout: "actuator",
  nsensor: "sensor",
  nsensordata: "sensor",
  npair: "pair",
};

const HIDDEN = new Set<string>(["userdata", "qacc_warmstart"]);

function readable(row: FieldRow): boolean {
  if (HIDDEN.has(row.name)) return false;
  if (row.group === "derived") return !row.shape.some(isCapacity);
  return (
    row.group === "state" ||
    (row.type === "f32" && row.shape.every((dim) => !/^(nkey|nmat|ncam|neq)$/.test(String(dim))))
  );
}

const FIELDS: ReadonlyMap<string, ReadableField> = new Map(
  [...fieldsOf("state"), ...fieldsOf("derived"), ...fieldsOf("model")]
    .filter(readable)
    .map(({ name, group, shape }) => [
      name,
      { name, from: group === "model" ? "model" : "data", kind: KIND_OF[String(shape[0])] },
    ]),
);

export const FIELD_NAMES: readonly string[] = [...Object.keys(ALIASES), ...FIELDS.keys()];

export const fieldOf = (name: string): ReadableField | undefined => FIELDS.get(ALIASES[name] ?? name);

const POSITIONS = { [mjtJoint.FREE]: 7, [mjtJoint.BALL]: 4, [mjtJoint.SLIDE]: 1, [mjtJoint.HINGE]: 1 };
const DOFS = { [mjtJoint.FREE]: 6, [mjtJoint.BALL]: 3, [mjtJoint.SLIDE]: 1, [mjtJoint.HINGE]: 1 };

const run = (start: number, count: number): number[] => Array.from({ length: Math.max(0, count) }, (_, i) => start + i);

/** Where the numbers of one object lie in a field; empty if it has none there. */
export function elementsOf(model: Model, { name, kind }: ReadableField, id: number): number[] {
  const first = String(field(name).shape[0]);
  const type = kind === "joint" ? (model.jnt_type[id] as keyof typeof DOFS) : mjtJoint.HINGE;
  switch (first) {
    case "nq":
      return run(model.jnt_qposadr[id], POSITIONS[type]);
    case "nsensordata":
      return run(model.sensor_adr[id], model.sensor_dim[id]);
    case "na":
      return model.actuator_actadr[id] < 0 ? [] : run(model.actuator_actadr[id], model.actuator_actnum[id]);
    case "nu":
      return widen(run(model.actuator_ctrladr[id], model.actuator_ctrlnum[id]), model, name);
    case "nout":
      return widen(run(model.actuator_outadr[id], model.actuator_outnum[id]), model, name);
    case "nv":
      return widen(run(model.jnt_dofadr[id], DOFS[type]), model, name);
    default:
      return widen([id], model, name);
  }
}

/** Elements of rows. */
function widen(rows: readonly number[], model: Model, name: FieldName): number[] {
  const width = fieldShape(model, name)
    .slice(1)
    .reduce((n, d) => n * d, 1);
  return rows.flatMap((row) => run(row * width, width));
}

/** Ids of the objects that a name or a pattern with * means. */
export function idsOf(model: Model, kind: Kind, name: string): number[] {
  const names = model.names[kind];
  if (!name.includes("*")) return name === "" ? [] : names.flatMap((n, id) => (n === name ? [id] : []));
  return names.flatMap((n, id) => (n !== "" && fits(n, name) ? [id] : []));
}

/** How many objects of a kind there are. */
export const countOf = (model: Model, kind: Kind): number => model.names[kind].length;
