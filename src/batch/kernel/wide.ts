// which models kernels compute in float64 for, where the device can
import { mjtDisableBit, mjtEq } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import { geomPairs } from "../../model/pairs.ts";
import { hasLightChain, isWrittenOut } from "../../physics/smooth/light-chains.ts";
import { FEW_ITERATIONS } from "../../physics/solver/precision.ts";
import type { Arithmetic } from "./arithmetic.ts";
import type { Target } from "./emission.ts";

/** Friction this much stiffer than normals, in iterations this few, end a step where float32 has lost what the next would bring back. */
const STIFF_FRICTION = 10;

/** Friction this much stiffer than normals, made free of slip: noslip leaves out the R that keeps many contacts of a body apart. */
const STIFF_WITHOUT_SLIP = 100;

/** Velocities (m/s, rad/s) that rounding alone may throw a world by in its first step. */
const MOST_THROWN = 1e-4;

/**
 * Whether kernels compute in float64: as asked for, else for models whose steps float32 loses (docs/decisions/0123).
 * Adapters never do, since WGSL has float32 alone. A function of the model and of the kind of device, as the form is.
 * Tasks start where they say, not where the model does.
 */
export function isWide(model: Model, asked: Arithmetic | undefined, target: Target, startsAtRest = false): boolean {
  if (target !== "none") return false;
  const isThrown = startsAtRest && (model.restRounding ?? 0) > MOST_THROWN;
  return asked === undefined ? isThrown || losesFloat32(model) : asked === "float64";
}

function losesFloat32(model: Model): boolean {
  const { neq, eq_type, opt } = model;
  const isOff = (opt.disableflags & (mjtDisableBit.EQUALITY | mjtDisableBit.CONSTRAINT)) !== 0;
  const ties = Array.from({ length: isOff ? 0 : neq }, (_, i) => eq_type[i]);
  // links of loops that are closed give way to one another as bodies of a chain do
  if (ties.some((type) => type === mjtEq.CONNECT || type === mjtEq.WELD)) return true;
  // chains alone are stepped by articulated bodies, which lose nothing
  if (hasLightChain(model) && !isWrittenOut(model)) return true;
  const isShort = opt.impratio >= STIFF_FRICTION && opt.iterations < FEW_ITERATIONS;
  const isStiff = opt.impratio >= STIFF_WITHOUT_SLIP && opt.noslip_iterations > 0;
  return (isShort || isStiff) && geomPairs(model).length > 0;
}
