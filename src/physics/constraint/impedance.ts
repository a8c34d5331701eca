// the impedance and reference of constraint rows (getimpedance, mj_makeImpedance)
import {
  add,
  div,
  isNode,
  le,
  max,
  min,
  mul,
  ne,
  neg,
  select,
  square,
  sub,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { pow } from "../../trace/math.ts";
import { MINVAL } from "../../trace/vector.ts";
import { mjMAXIMP, mjMINIMP, mjtDisableBit } from "../../model/enums.ts";
import { isDiscrete } from "./metric-weights.ts";
import type { ModelView } from "../view.ts";

const bounded = (x: number) => Math.min(mjMAXIMP, Math.max(mjMINIMP, x));

/** solref and solimp of one constraint, checked and prepared as MuJoCo does; numbers, one set for each constraint. */
export interface Compliance {
  readonly dmin: number;
  readonly dmax: number;
  readonly width: number;
  readonly midpoint: number;
  readonly power: number;
  /** Whether solref is (time constant, damping ratio) rather than (-stiffness, -damping). */
  readonly standard: boolean;
  readonly solref: readonly [number, number];
}

export function compliance(solref: ArrayLike<number>, solimp: ArrayLike<number>): Compliance {
  // mixed signs are MuJoCo's default
  const mixed = solref[0] > 0 !== solref[1] > 0;
  const ref: [number, number] = mixed ? [0.02, 1] : [solref[0], solref[1]];
  return {
    dmin: bounded(solimp[0]),
    dmax: bounded(solimp[1]),
    width: Math.max(0, solimp[2]),
    midpoint: bounded(solimp[3]),
    power: Math.max(1, solimp[4]),
    standard: ref[0] > 0,
    solref: ref,
  };
}

/** Numbers of a compliance that impedance() reads: constants, or reads of a table by slot. */
export interface ImpedanceNumbers {
  readonly dmin: Scalar;
  /** dmax - dmin */
  readonly rise: Scalar;
  /** 1 / width, 0 for a flat impedance. */
  readonly inverseWidth: Scalar;
  readonly midpoint: Scalar;
  readonly power: Scalar;
  /** Factors of the two halves of the curve. */
  readonly lower: Scalar;
  readonly upper: Scalar;
}

/** Those numbers for one compliance. A flat curve has its mean everywhere. */
export function impedanceNumbers(c: Compliance): { [K in keyof ImpedanceNumbers]: number } {
  const flat = c.dmin === c.dmax || c.width <= MINVAL;
  return {
    dmin: flat ? 0.5 * (c.dmin + c.dmax) : c.dmin,
    rise: flat ? 0 : c.dmax - c.dmin,
    inverseWidth: flat ? 0 : 1 / c.width,
    midpoint: c.midpoint,
    power: c.power,
    lower: 1 / c.midpoint ** (c.power - 1),
    upper: 1 / (1 - c.midpoint) ** (c.power - 1),
  };
}

function power(x: Scalar, p: Scalar): Scalar {
  if (p === 1) return x;
  if (p === 2) return square(x);
  // pow wants a positive base
  return pow(max(x, MINVAL), p);
}

/** d(r): how much of the constraint violation is corrected, between dmin and dmax. */
export function impedance(n: ImpedanceNumbers, distance: Scalar): Scalar {
  if (n.rise === 0) return n.dmin;
  const signed = mul(distance, n.inverseWidth);
  const x = min(max(signed, neg(signed)), 1);
  if (n.power === 1) return add(n.dmin, mul(n.rise, x));
  const low = mul(n.lower, power(x, n.power));
  const high = sub(1, mul(n.upper, power(sub(1, x), n.power)));
  return add(n.dmin, mul(n.rise, select(le(x, n.midpoint), low, high)));
}

/** Stiffness K and damping B of the reference acceleration: aref = -B vel - K d (pos - margin). */
export interface Reference {
  readonly K: Scalar;
  readonly B: Scalar;
  /** The most that K d h² of limits and contacts may be, where rows are taken at the end of the step. */
  readonly most?: Scalar;
}

/** More than any K d h² that a row is bounded to. */
export const UNBOUNDED = 1e20;

/** The reference of one constraint, safe for the integrator if that is asked for. */
export function reference(m: ModelView, c: Compliance): Reference {
  const [r0, r1] = c.solref;
  const safe = !(m.opt.disableflags & mjtDisableBit.REFSAFE);
  if (isDiscrete(m.model)) return endReference(c, safe);
  if (!c.standard) return { K: -r0 / Math.max(MINVAL, c.dmax * c.dmax), B: -r1 / Math.max(MINVAL, c.dmax) };
  // a time constant below two steps would not be stable
  const timeconst = safe ? max(r0, mul(2, m.timestep)) : r0;
  return {
    K: div(1, mul(square(timeconst), c.dmax * c.dmax * r1 * r1)),
    B: div(2, mul(timeconst, c.dmax)),
  };
}

/** The same where any time constant is stable: bounded by the step, at the impedance that a row has (`atEnd`). */
export function endReference({ standard, solref: [r0, r1], dmax }: Compliance, safe: boolean): Reference {
  const most = standard && safe ? 1 : UNBOUNDED;
  if (!standard) return { K: -r0 / Math.max(MINVAL, dmax * dmax), B: -r1 / Math.max(MINVAL, dmax), most };
  return { K: 1 / Math.max(MINVAL, (r0 * dmax * r1) ** 2), B: 2 / Math.max(MINVAL, r0 * dmax), most };
}

const CURVE = ["dmin", "rise", "inverseWidth", "midpoint", "power", "lower", "upper"] as const;

/** The impedance numbers at runtime places: `column` gives the constants of each place. */
export function impedanceCurves(
  column: (name: string, of: (place: number) => number) => (place: Int) => Scalar,
  at: (place: number) => Compliance,
): (place: Int) => ImpedanceNumbers {
  const known = new Map<Compliance, ReturnType<typeof impedanceNumbers>>();
  const numbers = (c: Compliance) => {
    const found = known.get(c) ?? impedanceNumbers(c);
    known.set(c, found);
    return found;
  };
  const columns = CURVE.map((n) => column(n, (place) => numbers(at(place))[n]));
  return (place) => Object.fromEntries(CURVE.map((n, i) => [n, columns[i](place)])) as unknown as ImpedanceNumbers;
}

/** K and B at runtime places: those of distinct solref and dmax are few, so they are computed once each and picked. */
export function references(
  m: ModelView,
  column: (name: string, of: (place: number) => number) => (place: Int) => Scalar,
  places: readonly Compliance[],
): (place: Int) => Reference {
  const keyOf = (c: Compliance) => JSON.stringify([c.solref, c.dmax]);
  const distinct = [...new Set(places)];
  const kinds = new Map(distinct.map((c) => [keyOf(c), c]));
  const keys = [...kinds.keys()];
  const values = [...kinds.values()].map((c) => reference(m, c));
  const kindOf = new Map(distinct.map((c) => [c, keys.indexOf(keyOf(c))]));
  const kind = column("kind", (place) => kindOf.get(places[place])!);
  return (place) => {
    const which = kind(place);
    if (!isNode(which)) return values[which] ?? { K: 0, B: 0 };
    return values.reduce((a, b, i) => ({
      K: select(ne(which, i), a.K, b.K),
      B: select(ne(which, i), a.B, b.B),
      ...(a.most === undefined ? {} : { most: select(ne(which, i), a.most, b.most!) }),
    }));
  };
}

/** R = (1 - d) / d * diagApprox, at least `least`. */
export const regularizer = (d: Scalar, diagApprox: Scalar, least: Scalar = MINVAL): Scalar =>
  max(mul(div(sub(1, d), d), diagApprox), least);

/** The least (1 - d) / d of a compliance. */
export const leastCompliance = ({ dmin, dmax }: Compliance): number =>
  (1 - Math.max(dmin, dmax)) / Math.max(dmin, dmax);
