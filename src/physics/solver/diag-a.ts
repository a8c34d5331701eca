// the diagonal of A = J M⁻¹ Jᵀ of a contact, estimated: how far dofs move each of its directions
import { variable } from "../../trace/control.ts";
import { current } from "../../trace/graph.ts";
import { add, gt, mul, select, square, type Int, type Scalar } from "../../trace/scalar.ts";
import { rotational, translational, type Spatial } from "../../trace/spatial.ts";
import { dot3, type Vec3 } from "../../trace/vector.ts";
import type { ModelView } from "../view.ts";

/** An entry of J below this part of the numbers that it is the difference of is nothing but rounding. */
const rounding = () => (current().exact ? 1e-14 : 1e-6);

/**
 * J diag(M⁻¹ at qpos0) Jᵀ of a contact's directions, summed over the dofs that move its bodies against each other.
 * A direction in which all entries of J are rounding gets an exact 0: no dof moves it.
 */
export class DiagA {
  readonly #m: ModelView;
  readonly #sum: ReturnType<typeof variable>[];
  readonly #size2: Scalar;
  readonly #translation = variable("diagA_m", 0);
  readonly #rotation = variable("diagA_rad", 0);

  /** `pos`: the contact point, global. */
  constructor(m: ModelView, dim: number, pos: Vec3) {
    this.#m = m;
    this.#sum = Array.from({ length: dim }, (_, k) => variable(`diagA${k}`, 0));
    this.#size2 = dot3(pos, pos);
  }

  /** Adds a dof: its motion axis, its column of J, and the contact's arm about the tree's centre of mass. */
  add(dof: Int, cdof: Spatial, J: readonly Scalar[], arm: Vec3): void {
    const weight = this.#m.dof_invweight0.at(dof);
    const [v, w] = [translational(cdof), rotational(cdof)];
    const turns = dot3(w, w);
    const moves = add(dot3(v, v), mul(turns, add(this.#size2, dot3(arm, arm))));
    this.#translation.set(add(this.#translation.get(), mul(weight, moves)));
    this.#rotation.set(add(this.#rotation.get(), mul(weight, turns)));
    this.#sum.forEach((t, k) => t.set(add(t.get(), mul(weight, square(J[k])))));
  }

  get(): Scalar[] {
    return this.#sum.map((t, k) => {
      const noise = mul(rounding() ** 2, (k < 3 ? this.#translation : this.#rotation).get());
      return select(gt(t.get(), noise), t.get(), 0);
    });
  }
}
