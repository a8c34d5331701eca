// numbers of a model that no step computes with: NaN, infinite, or beyond float32; MuJoCo reads and compiles them
import { isHeld } from "../core/float32.ts";
import { fieldsOf } from "../model/fields.ts";
import { describe, type Model, type ObjectKind } from "../model/model.ts";
import type { Cause } from "./cause.ts";

/** Objects that rows of fields are of. */
const OBJECTS: Readonly<Record<string, ObjectKind>> = {
  nbody: "body",
  njnt: "joint",
  ngeom: "geom",
  nsite: "site",
  ntendon: "tendon",
  nactuator: "actuator",
  neq: "equality",
  nsensor: "sensor",
  nkey: "key",
};

/** What no step computes with: colours, and numbers of the model's own. */
const UNREAD = /_rgba$|^numeric_data$/;

/** Bounds: one at infinity is none. */
const BOUND = /range$/;

/** What MuJoCo may have computed of geoms, and what it computes of all: not finite where something before it is not. */
const DERIVED = [
  /^body_(mass|margin|inertia|ipos|iquat)$/,
  /invweight0$|acc0$|length0$|subtreemass$|_aabb$|_rbound$|^dof_(M0|length)$/,
];

interface Found {
  readonly cause: Cause;
  /** 0: what was written. */
  readonly derived: number;
}

function cause(where: string, x: number, isRead: boolean): Cause {
  const beyond = Number.isFinite(x) ? `${x}, beyond float32` : `${x}`;
  return {
    name: Number.isNaN(x) ? "not-a-number" : "not-finite",
    certainty: isRead ? "certain" : "possible",
    text: `${where} is ${Number.isNaN(x) ? "NaN" : beyond}`,
    remedy: "Write a number there; what computes with it is NaN, or no kernel.",
  };
}

/** NaN, infinities and numbers beyond float32 of fields and options; of what MuJoCo computed only where it was given none. */
export function notFinite(model: Model): Cause[] {
  const options = Object.entries(model.opt).flatMap(([name, value]: [string, number | ArrayLike<number>]): Found[] => {
    const x = (typeof value === "number" ? [value] : Array.from(value)).find((each) => !isHeld(each));
    return x === undefined ? [] : [{ cause: cause(`option ${name}`, x, true), derived: 0 }];
  });
  const fields = fieldsOf("model").flatMap(({ name, shape: [of, width] }): Found[] => {
    const values: ArrayLike<number> = model[name];
    const isBad = BOUND.test(name) ? Number.isNaN : (x: number) => !isHeld(x);
    const at = Array.prototype.findIndex.call(values, isBad);
    if (at < 0) return [];
    const row = Math.floor(at / (typeof width === "number" ? width : 1));
    const where = whereOf(model, of, row);
    const place = where === undefined ? `${name}[${at}]` : `${name} of ${where}`;
    return [
      { cause: cause(place, values[at], !UNREAD.test(name)), derived: 1 + DERIVED.findIndex((of) => of.test(name)) },
    ];
  });
  const all = [...options, ...fields];
  const read = all.filter((found) => found.cause.certainty === "certain");
  const first = Math.min(...read.map(({ derived }) => derived));
  return all.filter(({ derived }) => derived === 0 || derived === first).map((found) => found.cause);
}

function whereOf(model: Model, of: unknown, row: number): string | undefined {
  if (of === "nv") return describe(model, "joint", model.dof_jntid[row]);
  const kind = OBJECTS[of as string];
  return kind && describe(model, kind, row);
}
