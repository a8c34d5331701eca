// contacts and constraint rows of a stage's result, beside MuJoCo's
import type { Model } from "../../src/model/model.ts";
import { constraintBound, geomPairs, type GeomPair } from "../../src/model/pairs.ts";
import { enumName, mjtConstraint } from "../../src/model/enums.ts";
import { contactRowsOf, type EfcRow } from "./efc.ts";
import type { ContactTruth, Truth } from "./fixture.ts";

type Result = Readonly<Record<string, Float64Array>>;

/** One active contact of ours. */
export interface OurContact {
  readonly pair: GeomPair;
  readonly at: (name: string, width: number) => number[];
}

/** The active contacts of a result, in order. */
export function ourContacts(model: Model, result: Result): OurContact[] {
  const pairs = geomPairs(model);
  return Array.from({ length: result.count[0] }, (_, i) => ({
    pair: pairs.at(result.pair[i]),
    at: (name, width) => Array.from(result[name].subarray(i * width, (i + 1) * width)),
  }));
}

/** Contacts that rounding can neither make nor lose, by their distance from the margin (m). */
export const isCertain = (dist: number, margin: number, slack: number): boolean => Math.abs(dist - margin) > slack;

export const theirContacts = (truth: Truth): ContactTruth[] => truth.contacts.filter((c) => c.exclude <= 1);

/** The distance up to which contacts of two geoms are found (m). */
export function reachOf(model: Model, geoms: readonly number[]): number {
  const pair = [...geomPairs(model)].find((p) => p.geom1 === geoms[0] && p.geom2 === geoms[1])!;
  return pair.margin + pair.gap;
}

/** Whether any contact of MuJoCo's, or pair that nearly touches, is so near its margin that rounding decides. */
export const isDoubtful = (truth: Truth, slack: number): boolean =>
  truth.contacts.some((c) => !isCertain(c.dist, c.includemargin, slack));

/** A row with what identifies it: the kind and the dof, joint or pair of geoms. */
export type NamedRow = Pick<EfcRow, "J" | "D" | "aref" | "force"> & {
  readonly name: string;
  readonly certain: boolean;
};

const isLimit = (type: number) => type === mjtConstraint.LIMIT_JOINT || type === mjtConstraint.LIMIT_TENDON;
const rowName = (type: number, id: number) => `${enumName(mjtConstraint, type).toLowerCase()} ${id}`;

/** MuJoCo's rows, those that rounding may make or lose marked. */
export function theirRows(truth: Truth, slack: number): NamedRow[] {
  return truth.rows.map((r) => {
    const isContact = r.type >= mjtConstraint.CONTACT_FRICTIONLESS;
    const contact = isContact ? truth.contacts[r.id] : undefined;
    const name = contact ? `contact ${contact.geom.join("-")}` : rowName(r.type, r.id);
    const certain = contact
      ? isCertain(contact.dist, contact.includemargin, slack)
      : !isLimit(r.type) || isCertain(r.pos, r.margin, slack);
    return { name, certain, J: r.J, D: r.D, aref: r.aref, force: r.force };
  });
}

/** Our rows written out as MuJoCo's. Needs the outputs of make_constraint. */
export function ourRows(model: Model, result: Result, slack: number): NamedRow[] {
  const rows: NamedRow[] = [];
  const { nv } = model;
  for (let k = 0; k < result.row_type.length; k++) {
    if (result.row_active[k] === 0) continue;
    const type = result.row_type[k];
    rows.push({
      name: rowName(type, result.row_id[k]),
      certain: !isLimit(type) || isCertain(result.row_pos[k], result.row_margin[k], slack),
      J: Array.from(result.row_J.subarray(k * nv, (k + 1) * nv)),
      D: result.row_D[k],
      aref: result.row_aref[k],
      force: Number.NaN,
    });
  }
  if (constraintBound(model).nconmax === 0) return rows;
  const dim = Math.max(...geomPairs(model).map((p) => p.condim));
  for (const { pair, at } of ourContacts(model, result)) {
    // in the gap there is no row
    if (pair.adhesion === 0 && at("dist", 1)[0] >= pair.margin) continue;
    const flat = at("J", dim * nv);
    const block = {
      condim: pair.condim,
      friction: at("friction", dim - 1),
      tangentD: at("tangentD", dim - 1),
      D: at("D", 1)[0],
      aref: at("aref", dim),
      J: Array.from({ length: dim }, (_, k) => flat.slice(k * nv, (k + 1) * nv)),
    };
    const certain = isCertain(at("dist", 1)[0], pair.margin, slack);
    const name = `contact ${pair.geom1}-${pair.geom2}`;
    for (const row of contactRowsOf(model, block)) rows.push({ ...row, name, certain, force: Number.NaN });
  }
  return rows;
}
