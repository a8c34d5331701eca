// constraint rows of contacts: Jacobians rebuilt from the contact point where they are needed, never stored
import {
  add,
  and,
  div,
  isNode,
  eq,
  gt,
  ge,
  lt,
  max,
  mul,
  ne,
  select,
  square,
  sub,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { PointMotions } from "./contact-arms.ts";
import { surfaceVelocities } from "./surface-velocity.ts";
import { cross, dot3, MINVAL, row as matRow, sub3, type Vec3 } from "../../trace/vector.ts";
import { rotational, translational } from "../../trace/spatial.ts";
import { mjMINMU, mjtCone, mjtEnableBit } from "../../model/enums.ts";
import type { GeomPair, PairNumbers } from "../../model/pairs.ts";
import type { ContactSlots } from "../collision/contact-slots.ts";
import { bodyDofs } from "./body-dofs.ts";
import type { ConeParams } from "./cone.ts";
import { jointMotions, type DofSigns } from "./dof-signs.ts";
import { exactDiagonal, hasExactDiagonal } from "./exact-diagonal.ts";
import { atEnd, contactAref } from "./end-of-step.ts";
import {
  compliance,
  impedance,
  impedanceCurves,
  type Compliance,
  leastCompliance,
  references,
  regularizer,
} from "./impedance.ts";
import {
  KEPT_STIFFNESS,
  leastResolved,
  MINVAL2,
  needsAnother,
  resolvedPart,
  resolvedStiffness,
} from "./contact-stiffness.ts";
import { contactWeight } from "./contact-weight.ts";
import { pairColumns } from "./pair-columns.ts";
import { isDiscrete } from "./metric-weights.ts";
import type { Model } from "../../model/model.ts";
import type { Column, ModelView, WorldData } from "../view.ts";

/** What one contact contributes, at a runtime slot: Jacobian rows over all dofs, parameters of its cone. */
export interface ContactRows {
  /** Largest condim. */
  readonly dim: number;
  readonly slots: ContactSlots;
  /** The body of the contact's first or second geom, and whether any dof moves it. */
  body(slot: Int, which: 0 | 1): Int;
  moves(slot: Int, which: 0 | 1): Bool;
  /** Whether two bodies that move can touch. */
  readonly anyCoupled: boolean;
  /** Rows of the contact's Jacobian: dim rows of nv entries, zero if a dof is known not to matter. */
  jacobian(slot: Int): readonly (readonly Scalar[])[];
  /** The same, a dof's dim entries as they are asked for. */
  column(slot: Int): (dof: number) => readonly Scalar[];
  /** How dofs move contacts, about their own anchors; undefined without stiff pairs. */
  readonly motions: PointMotions | undefined;
  /** Of each dof: 1 if it moves the second body, -1 the first, 0 neither against the other. Joint space alone. */
  signs(slot: Int): DofSigns;
  cone(slot: Int): ConeParams;
  /** Impedance and 1 / R of the first row: they vary with penetration. */
  stiffness(slot: Int): { impedance: Scalar; D: Scalar };
  /**
   * What numbers resolve of D, given J M⁻¹ Jᵀ of the contact's directions: of the first row, and the share of it that the
   * directions after the normal have. `part`: the least that stiff contacts of the world resolve by themselves, which all of
   * them then keep: they push one body against each other by the quotients of their D.
   */
  resolved(slot: Int, D: Scalar, diagA: readonly Scalar[], part?: Scalar): { D: Scalar; share: readonly Scalar[] };
  /** The part of its D that numbers resolve of a contact of a stiff pair; the least of them is the `part` that `resolved` wants. */
  resolvedPart(slot: Int, D: Scalar, diagA: readonly Scalar[]): Scalar;
  /** Whether R of some pair may be less than float32 resolves: then `resolved` is wanted. */
  readonly anyStiff: boolean;
  /** Whether R of some pair may be so little that a step of Newton is not exact: then `isInexact` is wanted. */
  readonly anyInexact: boolean;
  /** Whether D of a contact, given J M⁻¹ Jᵀ of its directions, leaves so few digits of M that it is not. */
  isInexact(slot: Int, D: Scalar, diagA: readonly Scalar[]): Bool;
  /** 1 for slots of such pairs, else 0. */
  readonly stiff: (slot: Int) => Int;
  /** Whether a contact makes rows: one in the gap does only if it pulls. */
  makesRows(slot: Int): Bool;
  /** Whether it pulls across the gap, along its normal alone. */
  isTether(slot: Int): Bool;
  /** What moving surfaces add to velocities along the normal, two tangents and the spin. */
  surface(slot: Int): readonly Scalar[];
  /** Reference accelerations of the contact's directions, given velocities along them and 1 / R of the first row. */
  aref(slot: Int, impedance: Scalar, vel: readonly Scalar[], D: Scalar): Scalar[];
}

/** Whether worlds may have friction of their own; otherwise pairs of a kind have the same. */
const hasOwnFriction = ({ model, geom_friction, pair_friction }: ModelView): boolean =>
  (model.opt.enableflags & mjtEnableBit.OVERRIDE) === 0 && (geom_friction.isOwn || pair_friction.isOwn);

/** Friction of a pair: folded by the pair finder, and mixed here if a geom has its own in each world. */
function pairFriction(m: ModelView, p: GeomPair): readonly Scalar[] {
  const { model } = m;
  if (!hasOwnFriction(m)) return p.friction;
  if (p.ipair >= 0) {
    const own = m.pair_friction.run(5 * p.ipair, 5);
    return own.some(isNode) ? own.map((x) => max(x, mjMINMU)) : p.friction;
  }
  const [a, b] = [p.geom1, p.geom2].map((g) => [0, 0, 1, 2, 2].map((k) => m.geom_friction.at(3 * g + k)));
  if (![...a, ...b].some(isNode)) return p.friction;
  return mixFriction(model, p, (g) => (g === p.geom1 ? a : b), max).map((x) => max(x, mjMINMU));
}

/** The least that a pair's friction is in any world. */
function leastFriction(m: ModelView, p: GeomPair): readonly number[] {
  if (pairFriction(m, p) === p.friction) return p.friction;
  const of = (column: Column, ids: readonly number[]) => ids.map((i) => column.least(i));
  const mixed =
    p.ipair >= 0
      ? of(
          m.pair_friction,
          [0, 1, 2, 3, 4].map((k) => 5 * p.ipair + k),
        )
      : mixFriction(
          m.model,
          p,
          (g) =>
            of(
              m.geom_friction,
              [0, 0, 1, 2, 2].map((k) => 3 * g + k),
            ),
          Math.max,
        );
  return mixed.map((x) => Math.max(x, mjMINMU));
}

/** Friction of two geoms: of the one with priority, or the larger of each. */
function mixFriction<T>(
  { geom_priority }: Model,
  p: GeomPair,
  of: (geom: number) => readonly T[],
  larger: (a: T, b: T) => T,
): readonly T[] {
  const [a, b] = [of(p.geom1), of(p.geom2)];
  const [first, second] = [geom_priority[p.geom1], geom_priority[p.geom2]];
  return first === second ? a.map((x, k) => larger(x, b[k])) : first > second ? a : b;
}

/** Compliances by the arrays that they are of, which pairs of like geoms share. */
function compliances(): typeof compliance {
  const known = new Map<ArrayLike<number>, Map<ArrayLike<number>, Compliance>>();
  return (solref, solimp) => {
    const those = known.get(solref) ?? new Map<ArrayLike<number>, Compliance>();
    known.set(solref, those);
    const found = those.get(solimp) ?? compliance(solref, solimp);
    those.set(solimp, found);
    return found;
  };
}

/** Whether contacts of a kind pull across their gap. */
const isTethering = ({ gap, adhesion }: PairNumbers): boolean => gap > 0 && adhesion !== 0;

/** Numbers of each slot that only the pair decides, folded where all slots agree. */
function slotParams(m: ModelView, slots: ContactSlots, complianceOf: typeof compliance) {
  const { pairs } = slots;
  const { model } = m;
  const of = (name: string, f: (pair: number) => Scalar) => slots.table(`con_${name}`, f);
  const ofKind = (name: string, f: (p: PairNumbers, kind: number) => Scalar) => slots.ofKind(`con_${name}`, f);
  const normal = pairs.kinds.map((p) => complianceOf(p.solref, p.solimp));
  const tangent = pairs.kinds.map((p) => {
    const own = p.solreffriction[0] !== 0 || p.solreffriction[1] !== 0;
    return complianceOf(own ? p.solreffriction : p.solref, p.solimp);
  });
  const column = (suffix: string) => (name: string, f: (kind: number) => number) =>
    ofKind(`${name}${suffix}`, (_, kind) => f(kind));
  const ofBody = m.body_invweight0.isOwn
    ? undefined
    : Array.from(model.geom_bodyid, (b) => m.body_invweight0.at(2 * b));
  const weightOf = (geom: number) => ofBody?.[geom] ?? m.body_invweight0.at(2 * model.geom_bodyid[geom]);
  const weight = (k: number) => add(weightOf(pairs.geom1[k]), weightOf(pairs.geom2[k]));
  const own = hasOwnFriction(m) ? pairs.map((p) => pairFriction(m, p)) : undefined;
  const kindOf = (k: number): PairNumbers => pairs.kinds[pairs.kind[k]];
  const frictionOf = (k: number) => own?.[k] ?? kindOf(k).friction;
  const ofFriction = (name: string, f: (friction: readonly Scalar[], p: PairNumbers) => Scalar) =>
    own ? of(name, (k) => f(own[k], kindOf(k))) : ofKind(name, (p) => f(p.friction, p));
  const impratio = Math.max(1e-15, m.opt.impratio);
  const pyramidal = m.opt.cone === mjtCone.PYRAMIDAL;
  // R of the first row in terms of (1 - d) / d; all edges of a pyramid share 2 mu² of it
  const hasEdges = (p: Pick<PairNumbers, "condim">) => pyramidal && p.condim > 1;
  const edges = (slide: Scalar): Scalar => mul(square(slide), 2 / impratio);
  const diag = (k: number) => {
    const [slide] = frictionOf(k);
    return hasEdges(kindOf(k)) ? mul(mul(weight(k), add(1, square(slide))), edges(slide)) : weight(k);
  };
  // MuJoCo bounds R before it takes 2 mu² of it: no other bound is reached where that leaves more than mjMINVAL
  const least = (k: number): Scalar => {
    const R = mul(leastCompliance(normal[pairs.kind[k]]), diag(k));
    const isBounded = hasEdges(kindOf(k)) && !(typeof R === "number" && R >= MINVAL);
    return isBounded ? mul(MINVAL, edges(frictionOf(k)[0])) : MINVAL;
  };
  const isPlain = own === undefined && ofBody?.every((x) => !isNode(x));
  const columns = isPlain
    ? pairColumns(pairs, Float64Array.from(ofBody as number[]), ({ friction: [slide], ...p }, kind) => ({
        edges: hasEdges(p) ? [1 + slide * slide, slide * slide * (2 / impratio)] : undefined,
        softness: leastCompliance(normal[kind]),
      }))
    : undefined;
  return {
    condim: ofKind("condim", (p) => p.condim),
    friction: [0, 1, 2, 3, 4].map((i) => ofFriction(`friction${i}`, (friction) => friction[i])),
    margin: ofKind("margin", (p) => p.margin),
    // up to where contacts make rows
    reach: ofKind("reach", (p) => (p.adhesion === 0 ? p.margin : p.margin + p.gap)),
    adhesion: ofKind("adhesion", (p) => p.adhesion),
    weight: pyramidal && pairs.kinds.some(isTethering) ? of("weight", weight) : undefined,
    diag: columns ? slots.column("con_diag", columns.diag) : of("diag", diag),
    edges: ofFriction("edges", ([slide], p) => (hasEdges(p) ? edges(slide) : 1)),
    least: columns && !columns.least ? ofKind("least_R", () => MINVAL) : of("least_R", least),
    // R of the tangents against that of the normal (elliptic)
    tangentD: [0, 1, 2, 3, 4].map((i) =>
      ofFriction(`tangentD${i}`, (friction) => div(mul(impratio, square(friction[i])), square(friction[0]))),
    ),
    mu: ofFriction("mu", ([slide]) => div(slide, Math.sqrt(impratio))),
    curve: impedanceCurves(column(""), (kind) => normal[kind]),
    normal: references(m, column("_normal"), normal),
    tangent: references(m, column("_tangent"), tangent),
  };
}

/** Contact rows of a model over its slots (mj_instantiateContact). Reads cdof, subtree_com. */
export function contactRows(m: ModelView, d: WorldData, slots: ContactSlots): ContactRows {
  const { model } = m;
  const { pairs } = slots;
  const dim = pairs.kinds.reduce((most, p) => Math.max(most, p.condim), 0);
  const complianceOf = compliances();
  const params = slotParams(m, slots, complianceOf);
  // registers are read once, before any loop over contacts: constants among them fold there
  const joint = d.cdof.isIndexed ? undefined : jointMotions(m, d, slots);
  const least = leastResolved(model, complianceOf);
  const stiff = new Uint8Array(pairs.length);
  const kept = new Float64Array(pairs.length);
  let anyInexact = false;
  const own = hasOwnFriction(m);
  const ofKind = pairs.kinds.map((p) => least.ofKind(p, p.friction));
  const { inexactCompliance, stiffCompliance } = m.form;
  for (let k = 0; k < pairs.length; k++) {
    const [geom1, geom2] = [pairs.geom1[k], pairs.geom2[k]];
    const R = least.of(ofKind[pairs.kind[k]], geom1, geom2);
    if (R < inexactCompliance) anyInexact = true;
    const pair = own ? pairs.at(k) : undefined;
    const low = pair ? least.of(least.ofKind(pair, leastFriction(m, pair)), geom1, geom2) : R;
    if (low < stiffCompliance) stiff[k] = 1;
    kept[k] = KEPT_STIFFNESS * low;
  }
  const anyStiff = stiff.includes(1);
  const leastKept = anyStiff ? slots.table("con_kept", (k) => kept[k]) : () => 0;
  const motions = anyStiff ? new PointMotions(m, d, slots) : undefined;
  const moving = Array.from({ length: model.nbody }, (_, body) => bodyDofs(model, body).length > 0);
  const isMoving = (geom: number) => moving[model.geom_bodyid[geom]];
  const gaps = pairs.kinds.some((p) => p.gap > 0 && p.adhesion === 0);
  const adhesive = pairs.kinds.some((p) => p.adhesion !== 0);
  const tethers = pairs.kinds.some(isTethering);
  const surface = surfaceVelocities(m, d, slots);
  const divisor = (D: Scalar): Scalar => (gaps ? max(D, MINVAL2) : D);
  const makesRows = (slot: Int): Bool => (gaps ? lt(slots.dist(slot), params.reach(slot)) : true);
  // an adhesive contact in the gap pulls along its normal alone
  const isTether = (slot: Int): Bool =>
    tethers ? and(ne(params.adhesion(slot), 0), ge(slots.dist(slot), params.margin(slot))) : false;
  const pyramidal = m.opt.cone === mjtCone.PYRAMIDAL;
  const flat = pyramidal || dim === 1;
  const condim = (slot: Int): Scalar => select(isTether(slot), 1, params.condim(slot), "f32");
  // that of the first row, an edge of a pyramid being its normal and a tangent
  const edgeAt = (slot: Int): { isEdge: Bool; slope: Scalar } => {
    const isEdge = pyramidal && dim > 1 ? gt(condim(slot), 1) : false;
    return { isEdge, slope: select(isEdge, params.friction[0](slot), 0) };
  };
  const firstRow = (J: readonly (readonly Scalar[])[], slope: Scalar) =>
    J[0].map((x, i) => ({ dof: i, value: add(x, mul(slope, J[1]?.[i] ?? 0)) }));
  const exactDiag = (J: readonly (readonly Scalar[])[], slot: Int): Scalar => {
    const { isEdge, slope } = edgeAt(slot);
    return mul(exactDiagonal(m, d, firstRow(J, slope)), select(isEdge, params.edges(slot), 1));
  };
  const column = (slot: Int) => {
    const { cdof, root, com, signsAt } = joint ?? jointMotions(m, d, slots);
    const frame = slots.frame(slot);
    const axes = [0, 1, 2].map((k) => matRow(frame, k));
    const pos = slots.pos(slot);
    const offset = new Map([...com].map(([b, c]) => [b, sub3(pos, c)]));
    const signs = signsAt(slot);
    const moved = motions?.at(slot);
    return (i: number): Scalar[] => {
      const sign = signs(i);
      const row = (k: number, normal: Vec3, point: Vec3, turn: Vec3): Scalar =>
        k < 3 ? dot3(axes[k], k === 0 ? normal : point) : dot3(axes[k - 3], turn);
      if (moved && sign !== 0) {
        const { turn, base, point } = moved(i, sign);
        return Array.from({ length: dim }, (_, k) => mul(sign, row(k, base, point, turn)));
      }
      const w = rotational(cdof[i]);
      // velocity of the contact point for a unit rate of dof i
      const u = translational(cdof[i]).map((x, k) => add(x, cross(w, offset.get(root[i])!)[k])) as unknown as Vec3;
      return Array.from({ length: dim }, (_, k) => {
        const value = row(k, u, u, w);
        return sign === 0 ? 0 : mul(sign, value);
      });
    };
  };
  const discrete = isDiscrete(model);
  const sides = (["geom1", "geom2"] as const).map((end, which) => ({
    body: slots.ofGeom(`con_body${which + 1}`, end, (g) => model.geom_bodyid[g], "i32"),
    moves: slots.ofGeom(`con_moves${which + 1}`, end, (g) => Number(isMoving(g)), "i32"),
  }));

  return {
    dim,
    slots,
    body: (slot, which) => sides[which].body(slot),
    moves: (slot, which) => {
      const moves = sides[which].moves(slot);
      return isNode(moves) ? ne(moves, 0) : moves !== 0;
    },
    anyCoupled: pairs.geom1.some((g, k) => isMoving(g) && isMoving(pairs.geom2[k])),
    column,
    jacobian(slot) {
      const at = column(slot);
      const columns = Array.from({ length: m.nv }, (_, i) => at(i));
      return Array.from({ length: dim }, (_, k) => columns.map((values) => values[k]));
    },
    signs: (slot) => (joint ?? jointMotions(m, d, slots)).signsAt(slot),
    cone: (slot) => ({
      dim,
      condim: condim(slot),
      friction: params.friction.slice(0, Math.max(0, dim - 1)).map((f) => f(slot)),
      tangentD: params.tangentD.slice(0, Math.max(0, dim - 1)).map((f) => f(slot)),
      mu: params.mu(slot),
    }),
    anyStiff,
    anyInexact,
    isInexact(slot, D, diagA) {
      return needsAnother(m, flat, this.cone(slot), D, diagA);
    },
    motions,
    stiff: anyStiff ? slots.table("con_stiff", (k) => stiff[k], "i32") : slots.ofKind("con_stiff", () => 0, "i32"),
    stiffness(slot) {
      const imp = impedance(params.curve(slot), sub(slots.dist(slot), params.margin(slot)));
      const estimate = params.weight
        ? select(isTether(slot), params.weight(slot), params.diag(slot))
        : params.diag(slot);
      const diag = hasExactDiagonal(model) ? exactDiag(this.jacobian(slot), slot) : estimate;
      const weighs = discrete && !hasExactDiagonal(model);
      const weight = () =>
        contactWeight(m, d, {
          pos: slots.pos(slot),
          frame: slots.frame(slot),
          slope: edgeAt(slot).slope,
          bodies: [this.body(slot, 0), this.body(slot, 1)],
          jac: () => firstRow(this.jacobian(slot), edgeAt(slot).slope),
        });
      const weighed = weighs ? mul(diag, weight()) : diag;
      const R = regularizer(imp, weighed, params.least(slot));
      const D = div(discrete ? atEnd(m, params.normal(slot), imp, true).scale : 1, R);
      return { impedance: imp, D: gaps ? select(makesRows(slot), D, 0) : D };
    },
    makesRows,
    isTether,
    surface,
    resolved(slot, D, diagA, part) {
      const together = part !== undefined && { part: max(part, leastKept(slot)), isStiff: eq(this.stiff(slot), 1) };
      return resolvedStiffness(m, flat, this.cone(slot), divisor(D), diagA, together || undefined);
    },
    resolvedPart(slot, D, diagA) {
      return select(eq(this.stiff(slot), 1), resolvedPart(m, flat, this.cone(slot), divisor(D), diagA), 1);
    },
    aref(slot, imp, vel, D) {
      const normal = params.normal(slot);
      const tangent = pyramidal ? normal : params.tangent(slot);
      const sliding = surface(slot);
      const past = () => sub(slots.dist(slot), params.margin(slot));
      const of = { normal, tangent, pyramidal, sliding };
      const ends = discrete ? contactAref(m, { ...of, distance: past() }, imp, vel) : undefined;
      return vel.map((v, k) => {
        if (k > 0) return ends?.[k] ?? mul(-1, mul(tangent.B, add(v, sliding[k] ?? 0)));
        const distance = past();
        const aref = ends?.[0] ?? mul(-1, add(mul(normal.B, v), mul(mul(normal.K, imp), distance)));
        if (!adhesive) return aref;
        // the pull is held at rest by a push of as much, over the edges of a pyramid
        const dims = condim(slot);
        const edges = pyramidal ? select(eq(dims, 1), 1, mul(2, sub(dims, 1))) : 1;
        return add(aref, div(params.adhesion(slot), mul(divisor(D), edges)));
      });
    },
  };
}
