// whether a step of Newton's beside elliptic cones leaves nothing to gain, told from its own end before another one is made
import { flag } from "../../trace/control.ts";
import { and, div, le, mul, not, or, square, type Bool, type Scalar } from "../../trace/scalar.ts";

/**
 * What the next step would gain must be below this part of the tolerance: of qacc that leaves some last places of float32 at
 * most, since a slope along a step says the least that another may gain. A part of 1e-2 left up to 5e-5 of it.
 */
const SHARE = 1e-7;
/** From a step that gains more tolerances than this none is foretold: there a slope may vanish by chance. */
const FARTHEST = 1e8;

/**
 * Steps converge quadratically while no contact goes to another part of its cone: the next decrement is to this one about as the
 * square of the slope that is left at the end to that at the start.
 */
export class Foretold {
  readonly #moved = flag("moved", false);

  begin(): void {
    this.#moved.set(false);
  }

  /** Adds whether a row or a contact has another part of its cost at the end of the step than at its start. */
  add(moves: Bool): void {
    this.#moved.set(or(this.#moved.get(), moves));
  }

  /** `start`, `end`: the slopes along the step. */
  isLast(decrement: Scalar, start: Scalar, end: Scalar, tolerance: Scalar): Bool {
    const next = mul(decrement, square(div(end, start)));
    const isSmall = and(le(next, mul(SHARE, tolerance)), le(decrement, mul(FARTHEST, tolerance)));
    return and(isSmall, not(this.#moved.get()));
  }
}
