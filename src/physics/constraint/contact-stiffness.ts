// what numbers resolve of a contact's R: which pairs may have less, how much of it is kept, which steps want another
import {
  and,
  add,
  div,
  eq,
  gt,
  lt,
  max,
  min,
  mul,
  or,
  select,
  square,
  sub,
  type Bool,
  type Scalar,
} from "../../trace/scalar.ts";
import { mjtCone } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import type { PairNumbers } from "../../model/pairs.ts";
import type { ModelView } from "../view.ts";
import type { ConeParams } from "./cone.ts";
import { mostScale } from "./end-of-step.ts";
import { type compliance, type Compliance, leastCompliance } from "./impedance.ts";

/** Below the diagonal of A of anything that moves: keeps a quotient finite in float32. */
export const MINVAL2 = 1e-30;

/** How stiff the stiffest contact of a pair stays, against J M⁻¹ Jᵀ, beside another pair that is stiffer. */
export const KEPT_STIFFNESS = 1e8;

/**
 * J M⁻¹ Jᵀ of a normal as a part of a tangent's, below which the normal has a lever so short that what rounds in it counts:
 * those of hinges that all but meet the contact have 1e-4 and less, feet of legs 0.1 and more.
 */
const SHORT_LEVER = 1e-2;

/** How far from its body's centre of mass a geom reaches. */
function reach(model: Model, geom: number): number {
  const body = model.geom_bodyid[geom];
  const offset = [0, 1, 2].map((k) => model.geom_pos[3 * geom + k] - model.body_ipos[3 * body + k]);
  return Math.hypot(...offset) + model.geom_rbound[geom];
}

/** What pairs of a kind share of it. */
interface LeastOfKind {
  readonly soft: number;
  readonly mu2: number;
  readonly pyramidal: boolean;
  readonly edges: number;
}

/**
 * The least that R of a pair's contacts may be, relative to the largest J M⁻¹ Jᵀ of a point of its geoms: by the least that
 * its diagApprox allows, and as far as the inverse weights of bodies tell. `friction`: the least that its friction is. What
 * pairs of a kind share is made once.
 */
export function leastResolved(model: Model, complianceOf: typeof compliance) {
  const inverseWeights = Float64Array.from({ length: 2 * model.ngeom }, (_, i) => {
    const geom = i >> 1;
    const own = model.body_invweight0[2 * model.geom_bodyid[geom] + (i % 2)];
    return i % 2 === 0 ? own : own * reach(model, geom) ** 2;
  });
  const impratio = Math.max(1e-15, model.opt.impratio);
  const isPyramidal = model.opt.cone === mjtCone.PYRAMIDAL;
  const softness = new Map<Compliance, number>();
  const softnessOf = (own: Compliance): number => {
    let found = softness.get(own);
    if (found === undefined) softness.set(own, (found = leastCompliance(own) / mostScale(model, own)));
    return found;
  };
  const ofKind = ({ condim, solref, solimp }: PairNumbers, friction: readonly number[]): LeastOfKind => {
    const mu2 = friction[0] ** 2;
    const largest = Math.max(...friction);
    const pyramidal = isPyramidal && condim > 1;
    const tangent = condim > 1 ? (impratio * largest * largest) / mu2 : 1;
    const edges = pyramidal ? 1 + largest ** 2 : Math.max(1, tangent);
    return { soft: softnessOf(complianceOf(solref, solimp)), mu2, pyramidal, edges };
  };
  const of = ({ soft, mu2, pyramidal, edges }: LeastOfKind, geom1: number, geom2: number): number => {
    const [first, second] = [2 * geom1, 2 * geom2];
    const weight = inverseWeights[first] + inverseWeights[second];
    // weights are the means over three axes
    const most = 3 * (weight + (inverseWeights[first + 1] + inverseWeights[second + 1]));
    const diag = pyramidal ? (weight * (1 + mu2) * 2 * mu2) / impratio : weight;
    return (soft * diag) / (most * edges);
  };
  return { ofKind, of };
}

const hasDirection = (p: ConeParams, k: number): Bool => gt(p.condim, k + 1);

/** J M⁻¹ Jᵀ of the stiffest row of a contact in terms of R of its first; edges of a pyramid push the normal together. */
function stiffest(pyramidal: boolean, p: ConeParams, [normal, ...others]: readonly Scalar[]): Scalar {
  const factor = (k: number) => (pyramidal ? square(p.friction[k]) : p.tangentD[k]);
  const rows = others.map((x, k) => select(hasDirection(p, k), mul(factor(k), x), 0));
  const most = rows.reduce((a, b) => max(a, b), pyramidal ? 0 : normal);
  return pyramidal ? mul(edgesOf(p), add(normal, most)) : most;
}

/** Edges of a pyramid, which push the normal together. */
const edgesOf = (p: ConeParams): Scalar => max(1, mul(2, sub(p.condim, 1)));

/** Whether what a contact of this D takes of M's digits wants another step of Newton after one that changes no state. */
export const needsAnother = (
  { form }: ModelView,
  pyramidal: boolean,
  p: ConeParams,
  D: Scalar,
  diagA: readonly Scalar[],
): Bool => gt(mul(D, stiffest(pyramidal, p, diagA)), 1 / form.inexactCompliance);

/**
 * D of a contact as far as numbers resolve it. It keeps the shape of its cone, whose stiffest direction decides: were one
 * to yield more than others, a normal with a short lever would win over the friction that holds it. Where no dof moves the
 * normal, its force and the friction that it allows are as good as infinite, and each direction stands alone. `together`: what
 * part of D a contact whose normal moves has, whatever it resolves by itself, if it is stiff.
 */
export function resolvedStiffness(
  { form }: ModelView,
  pyramidal: boolean,
  p: ConeParams,
  D: Scalar,
  diagA: readonly Scalar[],
  together?: { readonly part: Scalar; readonly isStiff: Bool },
): { D: Scalar; share: readonly Scalar[] } {
  const [normal, ...others] = diagA;
  const hasLever = others.length > 1 && form.keptCompliance > 0;
  const isKept = hasLever
    ? and(
        gt(normal, mul(SHORT_LEVER, max(others[0], others[1]))),
        lt(mul(D, stiffest(pyramidal, p, diagA)), 1 / form.keptCompliance),
      )
    : false;
  const most = (x: Scalar) => select(isKept, D, div(1, max(mul(form.resolvedCompliance, x), MINVAL2)));
  const share = (x: Scalar) => min(1, div(most(x), D));
  const isFree = gt(normal, 0);
  const partOr = (own: Scalar, of: Scalar) =>
    together ? select(and(together.isStiff, isFree), mul(together.part, of), own) : own;
  if (pyramidal) {
    const alone = or(eq(p.condim, 1), false);
    // with little friction all edges are the normal, and as stiff as all of them; the floor of loops bears that
    const count = form.loops ? 1 : edgesOf(p);
    const edges = others.map((x, k) => share(max(mul(count, normal), add(normal, mul(square(p.friction[k]), x)))));
    const least = edges.reduce((a, x, k) => select(hasDirection(p, k), min(a, x), a), 1);
    return {
      D: select(alone, partOr(min(D, most(normal)), D), D),
      share: edges.map((x) => select(isFree, partOr(least, 1), x)),
    };
  }
  const rows = others.map((x, k) => select(hasDirection(p, k), mul(p.tangentD[k], x), 0));
  return {
    D: select(isFree, partOr(min(D, most(rows.reduce((a, b) => max(a, b), normal))), D), D),
    share: rows.map((x) => select(isFree, 1, share(x))),
  };
}

/** The part of its D that numbers resolve of a contact by itself; 1 where no dof moves the normal. */
export function resolvedPart(...contact: Parameters<typeof resolvedStiffness>): Scalar {
  const [, pyramidal, p, given, [normal]] = contact;
  const { D, share } = resolvedStiffness(...contact);
  const edges = share.reduce<Scalar>((a, x, k) => select(hasDirection(p, k), min(a, x), a), 1);
  return select(gt(normal, 0), pyramidal ? min(edges, div(D, given)) : div(D, given), 1);
}
