// what the constraint solver minimises, what it leaves, and how far float32 can go
import { current } from "../../trace/graph.ts";
import type { Int, Scalar } from "../../trace/scalar.ts";
import type { ContactRows } from "../constraint/contact-rows.ts";
import type { ContactLaw } from "../constraint/cone.ts";
import type { Rows } from "../constraint/rows.ts";
import type { Space } from "./space.ts";
import type { ModelView } from "../view.ts";

/** Everything the solver minimises over: rows, contacts, and the space that holds the quadratic part. */
export interface Problem {
  readonly rows: Rows;
  readonly contacts: ContactRows;
  /** `law`: what a contact does at the solver's current point, at its index and slot. */
  readonly space: (law: (index: Int, slot: Int) => ContactLaw) => Space;
}

/** What the solve leaves for later stages. */
export interface Solution {
  /** Force of a row, by its place in `listRows`. */
  readonly rowForce: (row: number) => Scalar;
  /** Wrench of a contact in its frame. */
  contactForce(index: Int, slot: Int): readonly Scalar[];
  readonly niter: Int;
}

/** Iterations below which the result may be far from the minimum: the way there is then part of it. */
export const FEW_ITERATIONS = 20;
/**
 * A line search stops if the slope has fallen by this factor. Iterations that go on to the minimum need no more; for
 * few of them float32 goes as far as it can.
 */
export function slopeReduction(m: ModelView): number {
  if (current().exact) return 1e-12;
  return m.opt.iterations < FEW_ITERATIONS ? 1e-6 : 1e-4;
}
/** Newton decrement, relative to the cost scale, that float32 resolves. */
export const FLOAT32_TOLERANCE = 1e-10;
/**
 * The same relative to the cost without any constraint force: smaller decrements may be noise. Newton's next decrement
 * would be far smaller yet; CG's falls slowly, so that it goes on to what noise was measured to be at most.
 */
export const FLOAT32_NOISE = { newton: 1e-12, cg: 1e-14 };
