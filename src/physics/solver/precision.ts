// how far the constraint solver goes, and what float32 resolves of it
import { current } from "../../trace/graph.ts";
import { mjtCone, mjtSolver } from "../../model/enums.ts";
import type { ContactRows } from "../constraint/contact-rows.ts";
import type { ModelView } from "../view.ts";

/** With fewer iterations the solver may stop far from the minimum: the result then depends on the path, and MuJoCo's is followed. */
export const FEW_ITERATIONS = 20;
/** Whether the solver has iterations, and steps of its line search, to come to accelerations that are those of its forces. */
export const goesToTheEnd = (opt: ModelView["opt"]): boolean =>
  opt.iterations >= FEW_ITERATIONS && opt.ls_iterations >= FEW_ITERATIONS;
/**
 * Whether the direction is Newton's. A model that asks for CG gets Newton too, unless its iterations are few: CG sometimes
 * stops far from the minimum, and does not converge on stiff or conflicting constraints in any practical number of
 * iterations.
 */
export const usesNewton = (m: ModelView): boolean =>
  m.opt.solver !== mjtSolver.CG || m.opt.iterations >= FEW_ITERATIONS;
/** Whether contacts may have elliptic cones: their cost along a line is no piecewise parabola, and no step of Newton's exact. */
export const hasCones = (m: ModelView, { dim, slots }: ContactRows): boolean =>
  m.opt.cone === mjtCone.ELLIPTIC && dim > 1 && slots.pairs.length > 0;
/** Whether line searches over elliptic cones end as in float32, also where worlds step in float64; the reference goes on to the end. */
export const endsEarly = (m: ModelView, contacts: ContactRows): boolean =>
  hasCones(m, contacts) && (!current().exact || current().wide);
/**
 * A line search stops once the slope has fallen by this factor. Iterations that go on to the minimum need no more; for
 * few of them it goes as far as it can. Beside elliptic cones a search that goes farther saves no iteration.
 */
export function slopeReduction(m: ModelView, contacts: ContactRows): number {
  const few = m.opt.iterations < FEW_ITERATIONS;
  if (endsEarly(m, contacts) && !few) return 0.1;
  if (current().exact) return 1e-12;
  return few ? 1e-6 : 1e-4;
}
/**
 * How long Newton's decrement may go without halving beside stiff contacts before what is left is taken for rounding.
 * Iterations count `near` where it is up to `noise.near` times what may be noise (FLOAT32_NOISE), 1 up to `noise.far`, and
 * beyond not at all; up to `noise.sure` two are enough. Of contacts that start deep the cost without forces, which noise is
 * told by, is far more than at the minimum.
 */
export const PATIENCE = { iterations: 32, near: 2, noise: { sure: 1e-2, near: 1e2, far: 1e4 } };
/** Newton decrement, relative to the cost scale, that float32 resolves. */
export const FLOAT32_TOLERANCE = 1e-10;
/**
 * The same relative to the cost without any constraint force: smaller decrements may be noise. Newton's next decrement
 * would be far smaller yet; CG's falls slowly, so that it goes on to what noise was measured to be at most.
 */
export const FLOAT32_NOISE = { newton: 1e-12, cg: 1e-14 };
