// constraint rows at the end of the step, as the integrator `discrete` takes them
import { add, div, max, min, mul, neg, sqrt, square, type Scalar } from "../../trace/scalar.ts";
import { MINVAL } from "../../trace/vector.ts";
import { mjtDisableBit } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import { endReference, UNBOUNDED, type Compliance, type Reference } from "./impedance.ts";
import { isDiscrete } from "./metric-weights.ts";
import type { ModelView } from "../view.ts";

/** A row's spring and damper where they are taken at the end of the step. */
export interface EndOfStep {
  readonly B: Scalar;
  /** K d */
  readonly stiffness: Scalar;
  /** 1 + h B + h² K d: what divides R and the reference acceleration. */
  readonly scale: Scalar;
  /** The reference acceleration, from distance and velocity now. */
  aref(distance: Scalar, vel: Scalar): Scalar;
}

/**
 * The spring and damper of a row at the end of the step: J (v + h qacc) stands in its velocity, and h times that more in its
 * distance, so that J qacc is on both sides. `bounded`: no stiffer than what ends at rest in one step without a rebound.
 */
export function atEnd(m: ModelView, { K, B, most = UNBOUNDED }: Reference, imp: Scalar, bounded: boolean): EndOfStep {
  const h = m.timestep;
  const own = mul(mul(K, imp), square(h));
  const isBounded = bounded && most !== UNBOUNDED;
  const share = isBounded ? min(1, div(most, max(own, MINVAL))) : 1;
  const stiffness = mul(mul(K, imp), share);
  const damping = isBounded ? mul(B, sqrt(share)) : B;
  const scale = add(1, mul(h, add(damping, mul(h, stiffness))));
  return {
    B: damping,
    stiffness,
    scale,
    aref: (distance, vel) => neg(div(add(mul(damping, vel), mul(stiffness, add(distance, mul(h, vel)))), scale)),
  };
}

/** The most that dividing by that scale may lower R, by the model's own time step. */
export function mostScale(model: Model, c: Compliance): number {
  const { opt } = model;
  if (!isDiscrete(model)) return 1;
  const { K, B, most = UNBOUNDED } = endReference(c, !(opt.disableflags & mjtDisableBit.REFSAFE));
  const h = opt.timestep;
  const own = Number(K) * h * h;
  return 1 + h * Number(B) + Math.min(own, Number(most));
}

/** What a contact's reference accelerations follow from at the end of the step. */
interface ContactEnd {
  readonly normal: Reference;
  readonly tangent: Reference;
  readonly pyramidal: boolean;
  readonly distance: Scalar;
  readonly sliding: readonly Scalar[];
}

/** Reference accelerations of its directions: of an elliptic cone those after the normal have dampers alone, of pyramids they are parts of edges. */
export function contactAref(m: ModelView, c: ContactEnd, imp: Scalar, vel: readonly Scalar[]): Scalar[] {
  const normal = atEnd(m, c.normal, imp, true);
  const slides = c.pyramidal ? normal : atEnd(m, { ...c.tangent, K: 0 }, imp, false);
  return vel.map((v, k) => (k > 0 ? slides.aref(0, add(v, c.sliding[k] ?? 0)) : normal.aref(c.distance, v)));
}
