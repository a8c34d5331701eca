// A = J M⁻¹ Jᵀ of all rows of the dual, as MuJoCo has it (efc_AR): a residual is then a sum over forces
import { array, each, loop, variable, when, type LocalArray } from "../../trace/control.ts";
import { add, gt, mul, ne, select, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import type { ConeParams } from "../constraint/cone.ts";
import { Field } from "../view.ts";

/** Most entries that a lane keeps. */
const MOST = 1 << 20;

/** What a contact's rows are made of: its directions' rows of J, and b of them. */
interface ContactBlock {
  readonly width: number;
  /** Whether its rows are edges of a pyramid. */
  readonly edges: boolean;
  readonly cone: ConeParams;
  readonly J: readonly (readonly Scalar[])[];
  readonly b: readonly Scalar[];
}

/** A, b and J by place. Where private memory is a CPU's: places are squared. */
export class DualMatrix {
  readonly #nv: number;
  /** Odd, so that rows do not fall on the same lines of a cache. */
  readonly #stride: number;
  readonly #A: LocalArray;
  readonly #b: LocalArray;
  readonly #J: LocalArray;

  private constructor(nv: number, places: number) {
    this.#nv = nv;
    this.#stride = places | 1;
    this.#A = array("efc_A", places * this.#stride);
    this.#b = array("efc_b", places);
    this.#J = array("efc_J", places * nv);
  }

  /** Undefined where it is more than a lane should keep. */
  static of(nv: number, places: number): DualMatrix | undefined {
    return places > 0 && places * (places + nv) <= MOST ? new DualMatrix(nv, places) : undefined;
  }

  /** A row of J, and b of it. */
  keep(place: Int, J: readonly Scalar[] | Field, b: Scalar): void {
    const at = mul(place, this.#nv);
    const put = (i: Int, x: Scalar) => this.#J.set(add(at, i), x);
    if (J instanceof Field) each(this.#nv, (i) => put(i, J.at(i)));
    else J.forEach((x, i) => put(i, x));
    this.#b.set(place, b);
  }

  /** Rows of a contact's edges, or of its directions, from a place on. */
  keepContact(first: Int, { width, edges, cone, J, b }: ContactBlock): void {
    for (let e = 0; e < width; e++) {
      const [k, sign] = [1 + (e >> 1), e % 2 ? -1 : 1];
      const mu = edges ? mul(sign, select(gt(cone.condim, k), cone.friction[k - 1], 0)) : 0;
      const along = (x: readonly Scalar[]) => (edges ? add(x[0], mul(mu, x[k])) : x[e]);
      const row = J[0].map((_, i) => along(J.map((of) => of[i])));
      this.keep(add(first, e), row, along(b));
    }
  }

  /** A of the first `count` places, whose rows are kept. `solve`: of a row of J, M⁻¹ Jᵀ in its place. */
  build(count: Int, isActive: (place: Int) => Bool, x: Field, solve: () => void): void {
    loop(
      count,
      (i) => {
        const own = mul(i, this.#nv);
        const set = (j: Int, value: Scalar) => {
          this.#A.set(add(mul(i, this.#stride), j), value);
          this.#A.set(add(mul(j, this.#stride), i), value);
        };
        when(
          isActive(i),
          () => {
            each(this.#nv, (k) => x.set(k, this.#J.get(add(own, k))));
            solve();
            loop(add(i, 1), (j) => {
              const at = mul(j, this.#nv);
              const sum = variable("entry", 0);
              sum.set(0);
              each(this.#nv, (k) => sum.set(add(sum.get(), mul(this.#J.get(add(at, k)), x.at(k)))));
              set(j, sum.get());
            });
          },
          () => loop(add(i, 1), (j) => set(j, 0)),
        );
      },
      { label: "efc_A" },
    );
  }

  /** b + A f of a row, without R f; `count`: of the places that forces have. */
  residual(place: Int, force: LocalArray, count: Int): Scalar {
    const at = mul(place, this.#stride);
    const sum = variable("residual", 0);
    sum.set(this.#b.get(place));
    loop(
      count,
      (j) => {
        // many push with nothing: limits that are not reached, edges of pyramids
        const f = force.get(j);
        when(ne(f, 0), () => sum.set(add(sum.get(), mul(this.#A.get(add(at, j)), f))));
      },
      { label: "residual" },
    );
    return sum.get();
  }
}
