// one step of Newton's method for the direction of least overlap of curved shapes
import { add, and, div, gt, max, min, mul, sqrt, square, sub, type Bool, type Scalar } from "../../../trace/scalar.ts";
import { add3, cross, dot3, mulMatTVec, neg3, scale3, type Mat3, type Vec3 } from "../../../trace/vector.ts";
import { across, unit } from "./directions.ts";
import { curvature, type Core } from "./support.ts";

export interface NewtonStep {
  readonly to: Vec3;
  /** Before it is shortened, rad. */
  readonly length: Scalar;
  /** Whether the overlap has a minimum there, by its second derivative. */
  readonly descends: Bool;
}

/** The step from the unit direction `n` on the sphere: `h` is the overlap there, `slope` its derivative. */
export function newtonStep(a: Core, b: Core, rot: Mat3, n: Vec3, h: Scalar, slope: Vec3): NewtonStep {
  const u = across(n);
  const v = cross(n, u);
  const local = (x: Vec3) => mulMatTVec(rot, x);
  const onFirst = curvature(a, n, u, v);
  const onSecond = curvature(b, neg3(local(n)), local(u), local(v));
  const [uu, uv, vv] = [0, 1, 2].map((k) => add(onFirst[k], onSecond[k]));
  const [p11, p22] = [sub(uu, h), sub(vv, h)];
  const det = sub(mul(p11, p22), square(uv));
  const [gu, gv] = [dot3(slope, u), dot3(slope, v)];
  const inverse = div(-1, max(det, 1e-20));
  const du = mul(sub(mul(p22, gu), mul(uv, gv)), inverse);
  const dv = mul(sub(mul(p11, gv), mul(uv, gu)), inverse);
  const step = sqrt(add(square(du), square(dv)));
  const short = min(1, div(0.3, max(step, 1e-20)));
  const convex = and(gt(p11, 0), gt(det, 1e-20));
  return {
    to: unit(add3(n, add3(scale3(u, mul(du, short)), scale3(v, mul(dv, short))))),
    length: step,
    descends: convex,
  };
}
