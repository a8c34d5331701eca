// the diagonal of A = J M⁻¹ Jᵀ of a contact, estimated: how far dofs move each of its directions
import { increase, variable } from "../../trace/control.ts";
import { current } from "../../trace/graph.ts";
import { gt, mul, select, square, type Int, type Scalar } from "../../trace/scalar.ts";
import { lengthSquared } from "../../trace/vector.ts";
import type { PointMotion } from "../constraint/contact-arms.ts";
import type { ModelView } from "../view.ts";

/** An entry of J below this part of the numbers that it is the difference of is nothing but rounding. */
const rounding = () => (current().exact ? 1e-14 : 1e-6);

/** What tells how much of an entry of J is rounding. */
type DofMotion = Pick<PointMotion, "turn" | "size2">;

/**
 * J diag(M⁻¹ at qpos0) Jᵀ of a contact's directions, summed over the dofs that move its bodies against each other.
 * A direction in which all entries of J are rounding gets an exact 0: no dof moves it.
 */
export class DiagA {
  readonly #m: ModelView;
  readonly #sum: ReturnType<typeof variable>[];
  readonly #noise = [variable("diagA_normal", 0), variable("diagA_m", 0)];
  readonly #rotation = variable("diagA_rad", 0);

  constructor(m: ModelView, dim: number) {
    this.#m = m;
    this.#sum = Array.from({ length: dim }, (_, k) => variable(`diagA${k}`, 0));
  }

  /** Adds a dof: how it moves the contact, if that is known, and its column of J; `counts`: 0 if it moves other contacts alone. */
  add(dof: Int, motion: DofMotion | undefined, J: readonly Scalar[], counts: Scalar = 1): void {
    const weight = mul(counts, this.#m.dof_invweight0.at(dof));
    if (motion) {
      const { turn, size2 } = motion;
      this.#noise.forEach((t, k) => increase(t, mul(weight, size2[k])));
      increase(this.#rotation, mul(weight, lengthSquared(turn)));
    }
    this.#sum.forEach((t, k) => increase(t, mul(weight, square(J[k]))));
  }

  get(): Scalar[] {
    return this.#sum.map((t, k) => {
      const noise = mul(rounding() ** 2, (k < 3 ? this.#noise[Math.min(k, 1)] : this.#rotation).get());
      return select(gt(t.get(), noise), t.get(), 0);
    });
  }
}
