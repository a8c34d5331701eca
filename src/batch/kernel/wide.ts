// which models kernels compute in float64 for, where the device can
import { mjtDisableBit, mjtEq, mjtGeom } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import { FLAT, geomPairs } from "../../model/pairs.ts";
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

/**
 * Whether a cylinder with a margin may rest on something flat, or that on it: between level corners MuJoCo's search ends at a
 * place that float32 does not tell in every step (docs/decisions/0175). Parts of one robot meet for moments, and at edges.
 */
function mayLieRound(model: Model): boolean {
  const { geom_type, geom_bodyid, body_treeid } = model;
  if (!geom_type.includes(mjtGeom.CYLINDER)) return false;
  return geomPairs(model).some(({ geom1, geom2, margin, gap }) => {
    const geoms = [geom1, geom2];
    const [tree1, tree2] = geoms.map((g) => body_treeid[geom_bodyid[g]]);
    const types = geoms.map((g) => geom_type[g]);
    return margin + gap > 0 && tree1 !== tree2 && types.includes(mjtGeom.CYLINDER) && types.every((t) => FLAT.has(t));
  });
}

function losesFloat32(model: Model): boolean {
  const { neq, eq_type, opt } = model;
  const isOff = (opt.disableflags & (mjtDisableBit.EQUALITY | mjtDisableBit.CONSTRAINT)) !== 0;
  const ties = Array.from({ length: isOff ? 0 : neq }, (_, i) => eq_type[i]);
  // links of loops that are closed give way to one another as bodies of a chain do
  if (ties.some((type) => type === mjtEq.CONNECT || type === mjtEq.WELD)) return true;
  // chains alone are stepped by articulated bodies, which lose nothing
  if (hasLightChain(model) && !isWrittenOut(model)) return true;
  if (mayLieRound(model)) return true;
  const isShort = opt.impratio >= STIFF_FRICTION && opt.iterations < FEW_ITERATIONS;
  const isStiff = opt.impratio >= STIFF_WITHOUT_SLIP && opt.noslip_iterations > 0;
  return (isShort || isStiff) && geomPairs(model).length > 0;
}
