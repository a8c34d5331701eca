// geom pairs that can touch, in the order in which MuJoCo makes their contacts (mj_collision)
import { mjtCone, mjtDisableBit, mjtEnableBit, mjtEq, mjtGeom, mjtJoint, mjtObj } from "./enums.ts";
import { CorralError } from "../core/errors.ts";
import { inLine } from "../core/show.ts";
import type { Model } from "./model-data.ts";
import type { GeomPair, GeomPairs, PairNumbers } from "./pair-list.ts";
import { PairMaker, SortedPairs } from "./pair-maker.ts";
import { bounded, kindsOf, sharedParams, type ContactParams } from "./pair-params.ts";

export type { GeomPair, GeomPairs, PairNumbers } from "./pair-list.ts";

const isSet = (model: Model, bit: number) => (model.opt.disableflags & bit) !== 0;
const row = (values: Float64Array, id: number, width: number) =>
  Array.from(values.subarray(id * width, (id + 1) * width));

/** Whether the bodies of a pair get their geoms tested at all (filterBodyPair, canCollide2). */
function bodyFilter(model: Model): (b1: number, b2: number) => boolean {
  const { body_weldid: weld, body_parentid: parent, body_dofnum: dofnum } = model;
  const { body_contype: type, body_conaffinity: affinity } = model;
  const filtersParents = !isSet(model, mjtDisableBit.FILTERPARENT);
  return (b1, b2) => {
    const [weld1, weld2] = [weld[b1], weld[b2]];
    if (weld1 === weld2) return false;
    if ((type[b1] & affinity[b2]) === 0 && (type[b2] & affinity[b1]) === 0) return false;

    // no force can act between bodies that cannot move
    if (dofnum[weld1] === 0 && dofnum[weld2] === 0) return false;

    // a body does not touch its parent, unless that is the world
    const isParent = weld1 === weld[parent[weld2]] || weld2 === weld[parent[weld1]];
    return !(filtersParents && weld1 !== 0 && weld2 !== 0 && isParent);
  };
}

/** Whether MuJoCo has a collider for two geoms: none where both are ground. */
const hasCollider = ({ geom_type }: Model, g1: number, g2: number): boolean => {
  const higher = Math.max(geom_type[g1], geom_type[g2]);
  return higher !== PLANE && higher !== HFIELD;
};

/** Whether two geoms' bits let them touch, and MuJoCo has a collider for them. */
function geomFilter(model: Model): (g1: number, g2: number) => boolean {
  const { geom_contype: type, geom_conaffinity: affinity } = model;
  return (g1, g2) => ((type[g1] & affinity[g2]) !== 0 || (type[g2] & affinity[g1]) !== 0) && hasCollider(model, g1, g2);
}

const { PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH } = mjtGeom;

// pairs of types whose contacts have a formula, the lower type first
const FORMULAS: ReadonlySet<string> = new Set(
  [
    [PLANE, SPHERE],
    [PLANE, CAPSULE],
    [PLANE, ELLIPSOID],
    [PLANE, CYLINDER],
    [PLANE, BOX],
    [PLANE, MESH],
    [SPHERE, SPHERE],
    [SPHERE, CAPSULE],
    [SPHERE, CYLINDER],
    [SPHERE, BOX],
    [CAPSULE, CAPSULE],
    [CAPSULE, BOX],
    [BOX, BOX],
  ].map(String),
);

/** Whether contacts of two mjtGeom, the lower first, have a formula; MuJoCo searches for those of the others. */
export const hasFormula = (types: readonly number[]): boolean => FORMULAS.has(String(types));

// shapes whose distance from each other is searched for where there is no formula
const CONVEX: ReadonlySet<number> = new Set([SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH]);

/** How the distance of two geoms is found; undefined: it is not (mj_geomDistance searches that of boxes). */
export function isMeasured(model: Model, g1: number, g2: number): "formula" | "search" | undefined {
  const types = [model.geom_type[g1], model.geom_type[g2]].sort((a, b) => a - b);
  if (hasFormula(types) && types[0] !== BOX) return "formula";
  return types.every((t) => CONVEX.has(t)) ? "search" : undefined;
}

// shapes that touch each other face on face
export const FLAT: ReadonlySet<number> = new Set([CYLINDER, BOX, MESH]);

/** Whether MuJoCo clips the faces of a pair where they meet; it does without a margin. */
export function meetsInFaces(model: Model, { geom1, geom2, margin, gap }: GeomPair): boolean {
  const types = [model.geom_type[geom1], model.geom_type[geom2]];
  return !hasFormula(types) && types.every((type) => FLAT.has(type)) && margin + gap <= 0;
}

/** MuJoCo keeps no more contacts of one geom with one height field (mjMAXCONPAIR). */
export const MOST_FIELD_CONTACTS = 50;

/** Prisms of the first geom, a height field, that a box around the second one's bounding sphere may cover. */
function prismsUnder(model: Model, field: number, geom: number): number {
  const { nrow, ncol, fieldsize } = model.surfaces!;
  const id = model.geom_dataid[field];
  const across = [ncol[id], nrow[id]].map((lines, k) => {
    const cells = (model.geom_rbound[geom] * (lines - 1)) / fieldsize[4 * id + k];
    // a cell more where rounding puts an end on the other side of a line
    return Math.min(lines - 1, Math.ceil(cells + 1e-3) + 1);
  });
  return 2 * across[0] * across[1];
}

/** Prisms that a geom covers at most of a height field that it may touch. */
export const mostPrisms = (model: Model, pairs: GeomPairs): number =>
  pairs
    .filter(({ type1 }) => type1 === HFIELD)
    .reduce((most, { geom1, geom2 }) => Math.max(most, prismsUnder(model, geom1, geom2)), 0);

/** Most contacts of a collider, the lower type first. Those we do not have get MuJoCo's own bound. */
function maxContacts(model: Model, geom1: number, geom2: number): number {
  const [t1, t2] = [model.geom_type[geom1], model.geom_type[geom2]];
  if (t1 === HFIELD) return Math.min(MOST_FIELD_CONTACTS, prismsUnder(model, geom1, geom2));
  if (t1 === SPHERE || t2 === SPHERE || t1 === ELLIPSOID || t2 === ELLIPSOID) return 1;
  if (t1 === PLANE) return t2 === CAPSULE ? 2 : [BOX, CYLINDER, MESH].includes(t2 as never) ? 4 : 3;
  if (t1 === CAPSULE && (t2 === CAPSULE || t2 === BOX)) return 2;
  if (t1 === BOX && t2 === BOX) return 8;
  return 5;
}

/** Constraint rows of a contact. */
function contactRows(model: Model, condim: number): number {
  if (condim === 1) return 1;
  return model.opt.cone === mjtCone.PYRAMIDAL ? 2 * (condim - 1) : condim;
}

const NONE: readonly number[] = [0, 0];

function pairNumbers(model: Model, geom1: number, geom2: number, ipair: number, given?: ContactParams): PairNumbers {
  const params: ContactParams = given ?? {
    condim: model.pair_dim[ipair],
    friction: bounded(row(model.pair_friction, ipair, 5)),
    solref: row(model.pair_solref, ipair, 2),
    solimp: row(model.pair_solimp, ipair, 5),
    adhesion: model.pair_adhesion[ipair],
  };
  const explicit = ipair >= 0;
  const override = (model.opt.enableflags & mjtEnableBit.OVERRIDE) !== 0;
  const { opt } = model;
  const friction = override ? bounded(opt.o_friction) : params.friction;
  const solreffriction = explicit ? row(model.pair_solreffriction, ipair, 2) : NONE;
  const margin = explicit ? model.pair_margin[ipair] : model.geom_margin[geom1] + model.geom_margin[geom2];
  const gap = explicit ? model.pair_gap[ipair] : model.geom_gap[geom1] + model.geom_gap[geom2];

  return {
    type1: model.geom_type[geom1],
    type2: model.geom_type[geom2],
    ipair,
    ncon: maxContacts(model, geom1, geom2),
    nrow: moves(model, geom1) || moves(model, geom2) ? contactRows(model, params.condim) : 0,
    condim: params.condim,
    friction,
    solref: override ? opt.o_solref : params.solref,
    solreffriction: override ? opt.o_solref : solreffriction,
    solimp: override ? opt.o_solimp : params.solimp,
    margin: override ? opt.o_margin : margin,
    gap,
    adhesion: params.adhesion,
  };
}

const moves = (model: Model, geom: number) => model.body_dofnum[model.body_weldid[model.geom_bodyid[geom]]] > 0;

const noContacts = (model: Model) => isSet(model, mjtDisableBit.CONSTRAINT | mjtDisableBit.CONTACT);

/** How many pairs of geoms may touch, counted without making them; counts on to a little more than `most` at least. */
export function countPairs(model: Model, most = Infinity): number {
  if (noContacts(model)) return 0;
  const { body_geomadr: adr, body_geomnum: num } = model;
  const excluded = new Set(model.exclude_signature);
  const [bodiesMatch, geomsMatch] = [bodyFilter(model), geomFilter(model)];
  let count = model.npair;
  for (let b1 = 0; b1 < model.nbody && count <= most; b1++) {
    if (num[b1] === 0) continue;
    for (let b2 = b1 + 1; b2 < model.nbody; b2++) {
      if (num[b2] === 0 || !bodiesMatch(b1, b2) || excluded.has((b1 << 16) + b2)) continue;
      for (let g1 = adr[b1]; g1 < adr[b1] + num[b1]; g1++) {
        for (let g2 = adr[b2]; g2 < adr[b2] + num[b2]; g2++) if (geomsMatch(g1, g2)) count++;
      }
    }
  }
  return count;
}

/** Pairs of geoms beyond which nobody would wait for a kernel; a bit of each is as much as a GPU's private array holds. */
export const MAX_PAIRS = 1 << 21;

/** Pairs that a refusal counts on to, in a moment. */
const MOST_COUNTED = 1 << 24;

function tooManyPairs(model: Model): CorralError {
  const pairs = countPairs(model, MOST_COUNTED);
  const counted = pairs > MOST_COUNTED ? `more than ${MOST_COUNTED}` : `${pairs}`;
  const name = model.name === "" ? "the model" : `model "${inLine(model.name)}"`;
  return new CorralError(
    "too-many-pairs",
    `${counted} pairs among the ${model.ngeom} geoms of ${name} may touch, and each world tests all of them; ${MAX_PAIRS} are the most. Give geoms that never meet contype and conaffinity bits that do not match, exclude pairs of bodies, or put fewer bodies into one world and more worlds into the batch.`,
    { pairs, most: MAX_PAIRS, ngeom: model.ngeom },
  );
}

const known = new WeakMap<Model, GeomPairs>();

/**
 * All geom pairs whose contacts a step may make, in MuJoCo's contact order: by the signature of the two bodies,
 * explicit pairs first, then by geom. Empty if contacts are disabled.
 * @throws CorralError too-many-pairs
 */
export function geomPairs(model: Model): GeomPairs {
  let pairs = known.get(model);
  if (pairs) return pairs;
  pairs = makePairs(model);
  known.set(model, pairs);
  return pairs;
}

/** A model whose pairs are those of another, if these were made. */
export function withPairsOf(before: Model, model: Model): Model {
  const pairs = known.get(before);
  if (pairs) known.set(model, pairs);
  return model;
}

/** Geoms that do not differ in what pairs have share its numbers. */
function makerOf(model: Model): PairMaker {
  const mixed = sharedParams(model);
  // what a height field's pairs can make follows from the sizes of both
  const sized = model.geom_type.includes(HFIELD);
  const kindOf = kindsOf(model.ngeom, (g) => [
    mixed.kindOf[g],
    model.geom_type[g],
    model.geom_margin[g],
    model.geom_gap[g],
    Number(moves(model, g)),
    sized ? g : 0,
  ]);
  return new PairMaker(model.geom_type, kindOf, (g1, g2, ipair) =>
    pairNumbers(model, g1, g2, ipair, ipair < 0 ? mixed.of(g1, g2) : undefined),
  );
}

function makePairs(model: Model): GeomPairs {
  const maker = makerOf(model);
  if (noContacts(model)) return maker.pairs;

  const { ngeom, geom_type, body_geomadr: adr, body_geomnum: num, body_bvhadr: bvh } = model;
  const [bodiesMatch, geomsMatch] = [bodyFilter(model), geomFilter(model)];
  let next = 0;
  // explicit pairs up to a signature; their geoms are not paired again
  const takeExplicit = (signature: number): Set<number> => {
    const taken = new Set<number>();
    for (; next < model.npair && model.pair_signature[next] <= signature; next++) {
      const [g1, g2] = [model.pair_geom1[next], model.pair_geom2[next]];
      if (model.pair_signature[next] === signature) taken.add(g1 * ngeom + g2).add(g2 * ngeom + g1);
      if (hasCollider(model, g1, g2)) maker.put(g1, g2, next);
    }
    return taken;
  };

  const excluded = new Set(model.exclude_signature);
  const midphase = !isSet(model, mjtDisableBit.MIDPHASE);
  const sorted = new SortedPairs(ngeom);
  for (let b1 = 0; b1 < model.nbody; b1++) {
    if (num[b1] === 0) continue;
    for (let b2 = b1 + 1; b2 < model.nbody; b2++) {
      if (num[b2] === 0 || !bodiesMatch(b1, b2)) continue;
      const signature = (b1 << 16) + b2;
      const merged = next < model.npair ? takeExplicit(signature) : NO_PAIRS;
      if (excluded.size > 0 && excluded.has(signature)) continue;
      // the tree search of bodies with several geoms sorts its contacts by their geoms
      const single = num[b1] === 1 && num[b2] === 1;
      const sorts = !single && midphase && bvh[b1] >= 0 && bvh[b2] >= 0;
      for (let g1 = adr[b1]; g1 < adr[b1] + num[b1]; g1++) {
        for (let g2 = adr[b2]; g2 < adr[b2] + num[b2]; g2++) {
          if (!geomsMatch(g1, g2) || (merged.size > 0 && merged.has(g1 * ngeom + g2))) continue;
          const isSwapped = geom_type[g1] > geom_type[g2];
          const [a, b] = isSwapped ? [g2, g1] : [g1, g2];
          if (sorts) sorted.add(a, b);
          else maker.put(a, b);
        }
      }
      if (sorts) sorted.moveTo(maker);
      if (maker.length > MAX_PAIRS) throw tooManyPairs(model);
    }
  }
  takeExplicit(Infinity);
  if (maker.length > MAX_PAIRS) throw tooManyPairs(model);
  return maker.pairs;
}

const NO_PAIRS: ReadonlySet<number> = new Set();

/** How many contacts and constraint rows a step can need at most. */
export interface ConstraintBound {
  readonly nconmax: number;
  readonly njmax: number;
  /** Rows by kind: equality, friction loss, limits, contacts. */
  readonly ne: number;
  readonly nf: number;
  readonly nl: number;
  readonly ncontact: number;
}

/** Most rows that a range makes: both ends at once only if it is narrower than two margins. */
const rangeRows = (range: ArrayLike<number>, margin: ArrayLike<number>, i: number): number =>
  range[2 * i + 1] - range[2 * i] < 2 * margin[i] ? 2 : 1;

/** Most rows that the limit of a joint makes. */
function limitRows(model: Model, j: number): number {
  if (!model.jnt_limited[j] || model.jnt_type[j] === mjtJoint.FREE) return 0;
  return model.jnt_type[j] === mjtJoint.BALL ? 1 : rangeRows(model.jnt_range, model.jnt_margin, j);
}

/** The two bodies that a connect or weld holds together. */
export function equalityBodies(model: Model, e: number): [number, number] {
  const ids = [model.eq_obj1id[e], model.eq_obj2id[e]];
  return (model.eq_objtype[e] === mjtObj.SITE ? ids.map((s) => model.site_bodyid[s]) : ids) as [number, number];
}

/** Rows of an equality constraint while it is active: none if it holds what cannot move. */
function equalityRows(model: Model, e: number): number {
  const rows = { [mjtEq.CONNECT]: 3, [mjtEq.WELD]: 6 }[model.eq_type[e]];
  if (rows === undefined) return 1;
  return equalityBodies(model, e).some((b) => model.body_weldid[b] !== 0) ? rows : 0;
}

/** The bound over all states: every pair touching everywhere, every limit reached. */
export function constraintBound(model: Model, pairs = geomPairs(model)): ConstraintBound {
  const off = (bit: number) => isSet(model, mjtDisableBit.CONSTRAINT | bit);
  const count = (values: Float64Array) => values.filter((x) => x !== 0).length;
  let ne = 0;
  if (!off(mjtDisableBit.EQUALITY)) for (let e = 0; e < model.neq; e++) ne += equalityRows(model, e);
  const nf = off(mjtDisableBit.FRICTIONLOSS) ? 0 : count(model.dof_frictionloss) + count(model.tendon_frictionloss);
  let nl = 0;
  if (!off(mjtDisableBit.LIMIT)) {
    for (let j = 0; j < model.njnt; j++) nl += limitRows(model, j);
    nl += model.speedLimits?.length ?? 0;
    for (let t = 0; t < model.ntendon; t++) {
      if (model.tendon_limited[t]) nl += rangeRows(model.tendon_range, model.tendon_margin, t);
    }
  }

  const nconmax = pairs.total((p) => p.ncon);
  const ncontact = pairs.total((p) => p.ncon * p.nrow);
  return { nconmax, njmax: ne + nf + nl + ncontact, ne, nf, nl, ncontact };
}

/** The geoms that one side of a sensor names. */
function geomsOf(model: Model, type: number, id: number): number[] {
  if (type !== mjtObj.BODY) return [id];
  return Array.from({ length: model.body_geomnum[id] }, (_, k) => model.body_geomadr[id] + k);
}

/** The pairs of geoms that a distance sensor measures, in MuJoCo's order. */
export function distancePairs(model: Model, i: number): [number, number][] {
  const first = geomsOf(model, model.sensor_objtype[i], model.sensor_objid[i]);
  const second = geomsOf(model, model.sensor_reftype[i], model.sensor_refid[i]);
  return first.flatMap((g1) => second.map((g2): [number, number] => [g1, g2]));
}
