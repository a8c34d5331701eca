// the force law of one contact in its own frame: pyramidal and elliptic friction cones
import {
  add,
  and,
  dotn,
  div,
  eq,
  ge,
  gt,
  le,
  lt,
  max,
  mul,
  neg,
  not,
  or,
  select,
  sqrt,
  square,
  sub,
  sum,
  type Bool,
  type Scalar,
} from "../../trace/scalar.ts";
import { MINVAL } from "../../trace/vector.ts";
import { mjtCone } from "../../model/enums.ts";

/** Force, Hessian and cost of a contact at Jaref = J qacc - aref in the contact frame. */
export interface ContactLaw {
  /** Wrench along normal, tangents, torsion, roll: -d cost / d Jaref. */
  readonly force: readonly Scalar[];
  /** d² cost / d Jaref²: entry (i, j), symmetric. */
  readonly hessian: (i: number, j: number) => Scalar;
  /** vᵀ (d² cost / d Jaref²) v by a formula of its own, where one is shorter. */
  readonly along?: (v: readonly Scalar[]) => Scalar;
  /** Begins products (d² cost / d Jaref²) v, where they take less than all entries. */
  readonly weighing?: () => (v: readonly Scalar[]) => Scalar[];
  /** Force and Hessian of a contact that pushes, where that is known. */
  readonly inTouch?: Pick<ContactLaw, "force" | "hessian">;
  readonly cost: Scalar;
  /** Which pieces of the piecewise quadratic cost hold here (efc_state). */
  readonly state: readonly Bool[];
  /** Whether Jaref is in the cone (mjCNSTRSTATE_CONE): its cost is not quadratic, a Newton step not exact. */
  readonly inCone: Bool;
}

/** Parameters of one contact's cone. */
export interface ConeParams {
  /** Largest condim of all contacts: dimensions that are carried. */
  readonly dim: number;
  /** This contact's condim, if contacts differ. */
  readonly condim: Scalar;
  /** Friction coefficient of each direction after the normal. */
  readonly friction: readonly Scalar[];
  /** 1 / R of each direction after the normal, relative to that of the normal (elliptic). */
  readonly tangentD: readonly Scalar[];
  /** Friction of the regularised cone (mjContact.mu, elliptic). */
  readonly mu: Scalar;
  /** The part of D that each direction after the normal has, where numbers resolve no more of it; 1 by default. */
  readonly share?: readonly Scalar[];
  /** `normalD`, where it was made before. */
  readonly Dm?: Scalar;
}

/** 1 / R of the normal as the cone between its sides has it (elliptic). */
export const normalD = (mu: Scalar, D: Scalar): Scalar => div(D, mul(square(mu), add(1, square(mu))));

/** The law of a contact (mj_constraintUpdate). `D`: 1 / R of the normal (elliptic) or of each edge (pyramidal). */
export function contactLaw(cone: number, p: ConeParams, D: Scalar, Jaref: readonly Scalar[]): ContactLaw {
  return cone === mjtCone.PYRAMIDAL || p.dim === 1 ? pyramidal(p, D, Jaref) : elliptic(narrowed(p), D, Jaref);
}

/** An elliptic cone's D along a tangent goes by the square of its friction. */
export function narrowed(p: ConeParams): ConeParams {
  if (!p.share) return p;
  return {
    ...p,
    friction: p.friction.map((f, k) => mul(f, sqrt(p.share![k]))),
    tangentD: p.tangentD.map((t, k) => mul(t, p.share![k])),
  };
}

/** Edges normal ± mu_k tangent_k; a frictionless contact has the normal alone. */
function pyramidal(p: ConeParams, D: Scalar, Jaref: readonly Scalar[]): ContactLaw {
  const force: Scalar[] = Array(p.dim).fill(0);
  const diagonal: Scalar[] = Array(p.dim).fill(0);
  const coupling: Scalar[] = Array(p.dim).fill(0);
  const state: Bool[] = [];
  let cost: Scalar = 0;

  // one edge: value along it, where it exists, and its part of direction k
  const edge = (x: Scalar, exists: Bool, k: number, mu: Scalar) => {
    const active = and(exists, lt(x, 0));
    const w = select(active, p.share && k > 0 ? mul(D, p.share[k - 1]) : D, 0);
    const f = neg(mul(w, x));
    state.push(active);
    cost = sub(cost, mul(0.5, mul(f, x)));
    force[0] = add(force[0], f);
    diagonal[0] = add(diagonal[0], w);
    if (k === 0) return;
    force[k] = add(force[k], mul(mu, f));
    coupling[k] = add(coupling[k], mul(mu, w));
    diagonal[k] = add(diagonal[k], mul(square(mu), w));
  };

  edge(Jaref[0], eq(p.condim, 1), 0, 0);
  for (let k = 1; k < p.dim; k++) {
    const exists = gt(p.condim, k);
    const mu = p.friction[k - 1];
    const side = mul(mu, Jaref[k]);
    edge(add(Jaref[0], side), exists, k, mu);
    edge(sub(Jaref[0], side), exists, k, neg(mu));
  }

  const hessian = (i: number, j: number): Scalar =>
    i === j ? diagonal[i] : i === 0 ? coupling[j] : j === 0 ? coupling[i] : 0;
  return { force, hessian, cost, state, inCone: false };
}

/** The regularised elliptic cone: satisfied above it, quadratic below its polar, a cone between. */
function elliptic(p: ConeParams, D: Scalar, Jaref: readonly Scalar[]): ContactLaw {
  const { mu } = p;
  const exists = (k: number): Bool => gt(p.condim, k);
  const u = Jaref.map((x, k) => (k === 0 ? mul(x, mu) : select(exists(k), mul(x, p.friction[k - 1]), 0)));
  const N = u[0];
  const T = sqrt(sum(u.slice(1).map(square)));
  const frictionless = eq(p.condim, 1);
  const noTangent = le(T, 0);

  const top = or(ge(N, mul(mu, T)), and(noTangent, ge(N, 0)));
  const bottom = and(not(top), or(le(add(mul(mu, N), T), 0), noTangent));
  const middle = and(not(top), not(bottom));

  const quadratic = (k: number) => (k === 0 ? D : select(exists(k), mul(D, p.tangentD[k - 1]), 0));
  const Dm = p.Dm ?? normalD(mu, D);
  const NmT = sub(N, mul(mu, T));
  const inverseT = div(1, max(T, MINVAL));
  const factor = (k: number) => (k === 0 ? mu : select(exists(k), p.friction[k - 1], 0));

  // a frictionless contact is quadratic below zero
  const isTop = select3(frictionless, ge(Jaref[0], 0), top);
  const isMiddle = and(middle, not(frictionless));
  const coneForce = neg(mul(mul(Dm, NmT), mu));
  const pushes: Scalar[] = [];
  const force = Jaref.map((x, k) => {
    const flat = neg(mul(quadratic(k), x));
    const curved = k === 0 ? coneForce : neg(mul(mul(coneForce, inverseT), mul(u[k], factor(k))));
    pushes.push(select(isMiddle, curved, flat));
    return select(isTop, 0, pushes[k]);
  });
  const flatCost = mul(0.5, sum(Jaref.map((x, k) => mul(quadratic(k), square(x)))));
  const cost = select(isTop, 0, select(isMiddle, mul(0.5, mul(Dm, square(NmT))), flatCost));

  const slope = mul(mu, inverseT);
  const bend = mul(mul(mu, N), mul(inverseT, square(inverseT)));
  const trace = sub(square(mu), mul(mul(mu, N), inverseT));
  const bends = (a: number, b: number): Scalar => {
    const [i, j] = a <= b ? [a, b] : [b, a];
    let cone: Scalar;
    if (j === 0) cone = 1;
    else if (i === 0) cone = neg(mul(slope, u[j]));
    else cone = add(mul(bend, mul(u[i], u[j])), i === j ? trace : 0);
    const curved = mul(Dm, mul(mul(factor(i), factor(j)), cone));
    const flat = i === j ? quadratic(i) : 0;
    return select(isMiddle, curved, flat);
  };
  const hessian = (a: number, b: number): Scalar => select(isTop, 0, bends(a, b));
  const inTouch = { force: pushes, hessian: bends };
  const along = (v: readonly Scalar[]): Scalar => {
    const du = v.map((x, k) => mul(factor(k), x));
    const rate = mul(dotn(u.slice(1), du.slice(1)), inverseT);
    const turning = sub(dotn(du.slice(1), du.slice(1)), square(rate));
    const straight = square(sub(du[0], mul(mu, rate)));
    const curved = mul(Dm, sub(straight, mul(NmT, mul(mul(mu, inverseT), turning))));
    const flat = v.reduce<Scalar>((total, x, k) => add(total, mul(quadratic(k), square(x))), 0);
    return select(isTop, 0, select(isMiddle, curved, flat));
  };
  if (p.dim <= 3) return { force, hessian, cost, state: [isTop], inCone: isMiddle, along, inTouch };

  const weighing = () => {
    // a diagonal, the square of N' - mu T', and what the direction of sliding takes from the diagonal
    const bent = mul(Dm, mul(neg(NmT), slope));
    const [ofSquare, ofBend] = [select(isMiddle, Dm, 0), select(isMiddle, bent, 0)];
    const ofSliding = mul(ofBend, square(inverseT));
    const pull = u.map((x, k) => (k === 0 ? 0 : mul(x, factor(k))));
    const diagonal = Jaref.map((_, k) => {
      const curved = k === 0 ? 0 : mul(ofBend, square(factor(k)));
      return select(isTop, 0, select(isMiddle, curved, quadratic(k)));
    });
    return (v: readonly Scalar[]): Scalar[] => {
      const t = dotn(pull.slice(1), v.slice(1));
      const rate = mul(ofSquare, sub(mul(mu, v[0]), mul(slope, t)));
      const along = neg(add(mul(slope, rate), mul(ofSliding, t)));
      return v.map((x, k) => add(mul(diagonal[k], x), k === 0 ? mul(mu, rate) : mul(pull[k], along)));
    };
  };
  return { force, hessian, cost, state: [isTop], inCone: isMiddle, along, inTouch, weighing };
}

const select3 = (c: Bool, a: Bool, b: Bool): Bool => or(and(c, a), and(not(c), b));

/** Curvature of the cost along a direction: jvᵀ H jv. `isShort`: by the law's own formula, if it has one. */
export function curvature(law: ContactLaw, v: readonly Scalar[], isShort = false): Scalar {
  if (isShort && law.along) return law.along(v);
  return dotn(
    v,
    v.map((_, i) =>
      dotn(
        v.map((_, j) => law.hessian(i, j)),
        v,
      ),
    ),
  );
}

/** Whether efc_state differs. */
export function changed(a: readonly Bool[], b: readonly Bool[]): Bool {
  return a.reduce<Bool>((any, x, k) => or(any, differ(x, b[k])), false);
}

const differ = (a: Bool, b: Bool): Bool => or(and(a, not(b)), and(not(a), b));
