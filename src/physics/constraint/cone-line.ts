// the cost of a contact with an elliptic cone along a line: what is the same at all of its points, and what one of them takes
import {
  add,
  and,
  band,
  bor,
  div,
  dotn,
  ge,
  gt,
  max,
  mul,
  ne,
  neg,
  not,
  or,
  select,
  sqrt,
  square,
  sub,
  sum,
  toU32,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { MINVAL } from "../../trace/vector.ts";
import { changed, narrowed, normalD, type ConeParams } from "./cone.ts";

/** Bits of `ConeStart.start`. */
const [FREE, IN_CONE] = [1, 2];

/** Where a contact is where a line begins. */
export interface ConeStart {
  /** A bit if it pushes nothing, another one if it is in the cone. */
  readonly start: Int;
  /** 1 / T, and N less mu T. */
  readonly inverseT: Scalar;
  readonly past: Scalar;
}

/** A contact along Jaref + alpha v. N and T are those of the cone, T the length of the tangents u. */
export interface ConeLine {
  /** Friction of the regularised cone. */
  readonly mu: Scalar;
  /** 1 / R of the normal over mu² (1 + mu²). */
  readonly Dm: Scalar;
  /** N and u at the start, and their rates. */
  readonly N: Scalar;
  readonly u: readonly Scalar[];
  readonly dN: Scalar;
  readonly du: readonly Scalar[];
  /** The square of the length of `du`. */
  readonly dudu: Scalar;
  /** Second derivative of the cost where it is quadratic, and by how much its slope at the start is more than that of `slope`. */
  readonly flat: Scalar;
  readonly beside: Scalar;
  /** First derivative at the start. */
  readonly slope: Scalar;
  readonly start: ConeStart["start"];
}

/** A point of a line. */
export interface ConePoint {
  /** Slope less that at the start. */
  readonly rise: Scalar;
  readonly curvature: Scalar;
  /** Whether the contact pushes nothing, and whether it is in the cone, where its cost is not quadratic. */
  readonly isFree: Bool;
  readonly inCone: Bool;
}

/** Where a contact is, and how it slides there. */
function sliding({ mu }: Pick<ConeLine, "mu">, N: Scalar, u: readonly Scalar[]) {
  const T = sqrt(sum(u.map(square)));
  const isFree = ge(N, mul(mu, T));
  const inCone = and(not(isFree), gt(add(mul(mu, N), T), 0));
  return { isFree, inCone, inverseT: div(1, max(T, MINVAL)), past: sub(N, mul(mu, T)) };
}

/** N and u of a contact. */
function inCone(p: ConeParams, [normal, ...tangents]: readonly Scalar[]): readonly [Scalar, ...Scalar[]] {
  const ofTangent = (x: Scalar, k: number) => select(gt(p.condim, k + 1), mul(x, p.friction[k]), 0);
  return [mul(normal, p.mu), ...tangents.map(ofTangent)];
}

/** Where a line begins, which the law of the contact there has made most of. */
export function coneStart(cone: ConeParams, Jaref: readonly Scalar[]): ConeStart {
  const p = narrowed(cone);
  const [N, ...u] = inCone(p, Jaref);
  const { isFree, inCone: isInside, inverseT, past } = sliding(p, N, u);
  const of = (is: Bool, bit: number) => select(is, toU32(bit), toU32(0), "u32");
  return { start: bor(of(isFree, FREE), of(isInside, IN_CONE)), inverseT, past };
}

const has = ({ start }: Pick<ConeStart, "start">, bit: number): Bool => ne(band(start, toU32(bit)), toU32(0));

/** The line of a contact from Jaref along v. `D`: 1 / R of the normal; `at`: where it begins. */
export function coneLine(
  cone: ConeParams,
  D: Scalar,
  Jaref: readonly Scalar[],
  v: readonly Scalar[],
  at: ConeStart,
): ConeLine {
  const p = narrowed(cone);
  const { mu } = p;
  const [[N, ...u], [dN, ...du]] = [Jaref, v].map((x) => inCone(p, x));
  const Dm = p.Dm ?? normalD(mu, D);
  const weighed = v.map((x, k) =>
    k === 0 ? mul(D, x) : select(gt(p.condim, k), mul(mul(D, p.tangentD[k - 1]), x), 0),
  );
  const straight = dotn(weighed, Jaref);
  const bent = mul(Dm, mul(at.past, sub(dN, mul(mu, mul(dotn(u, du), at.inverseT)))));
  const slope = select(has(at, FREE), 0, select(has(at, IN_CONE), bent, straight));
  return {
    mu,
    Dm,
    N,
    u,
    dN,
    du,
    slope,
    dudu: dotn(du, du),
    flat: dotn(weighed, v),
    beside: sub(straight, slope),
    start: at.start,
  };
}

/** Whether the cost at a point and that at the start of a line are not one parabola. */
export function partsFrom(line: ConeLine, here: ConePoint): Bool {
  return or(changed([has(line, FREE)], [here.isFree]), or(has(line, IN_CONE), here.inCone));
}

/** Whether a contact is in another part of its cone than at the start of a line. */
export function movesFrom(line: ConeLine, here: ConePoint): Bool {
  return changed([has(line, FREE), has(line, IN_CONE)], [here.isFree, here.inCone]);
}

/** The point at `alpha`. */
export function alongCone(line: ConeLine, alpha: Scalar): ConePoint {
  const { mu, Dm, dN, du, flat } = line;
  const u = line.u.map((x, k) => add(x, mul(alpha, du[k])));
  const { isFree, inCone, inverseT, past } = sliding(line, add(line.N, mul(alpha, dN)), u);
  const dT = mul(dotn(u, du), inverseT);
  const rate = sub(dN, mul(mu, dT));
  const bent = sub(mul(Dm, mul(past, rate)), line.slope);
  const turning = mul(sub(line.dudu, square(dT)), inverseT);
  const curved = mul(Dm, sub(square(rate), mul(mul(mu, past), turning)));
  return {
    rise: select(isFree, neg(line.slope), select(inCone, bent, add(line.beside, mul(alpha, flat)))),
    curvature: select(isFree, 0, select(inCone, curved, flat)),
    isFree,
    inCone,
  };
}
