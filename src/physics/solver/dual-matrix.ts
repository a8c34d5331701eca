// matrix of the dual of all rows, A = J M⁻¹ Jᵀ, as MuJoCo has it (efc_AR): a residual is then a sum over forces
import { array, each, increase, loop, variable, when, type LocalArray } from "../../trace/control.ts";
import { add, and, ge, gt, min, mul, ne, select, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import type { ConeParams } from "../constraint/cone.ts";
import type { Field } from "../view.ts";
import type { DualRows } from "./dual-rows.ts";

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

/** A, b, J and M⁻¹ Jᵀ by place. Where private memory is a CPU's: places are squared. */
export class DualMatrix {
  readonly #nv: number;
  /** Odd, so that rows do not fall on the same lines of a cache. */
  readonly #stride: number;
  readonly #A: LocalArray;
  readonly #b: LocalArray;
  readonly #J: LocalArray;
  readonly #solved: LocalArray;

  private constructor(nv: number, places: number) {
    this.#nv = nv;
    this.#stride = places | 1;
    this.#A = array("efc_A", places * this.#stride);
    this.#b = array("efc_b", places);
    this.#J = array("efc_J", places * nv);
    this.#solved = array("efc_solved", places * nv);
  }

  /** Undefined where it is more than a lane should keep. */
  static of(nv: number, places: number): DualMatrix | undefined {
    return places > 0 && places * (places + 2 * nv) <= MOST ? new DualMatrix(nv, places) : undefined;
  }

  /** b of a row that is not of a contact, whose J is `DualRows`' own. */
  keepRow(place: Int, b: Scalar): void {
    this.#b.set(place, b);
  }

  #keep(place: Int, J: readonly Scalar[], b: Scalar): void {
    const at = mul(place, this.#nv);
    J.forEach((x, i) => this.#J.set(add(at, i), x));
    this.#b.set(place, b);
  }

  /** M⁻¹ Jᵀ of a row; of a contact's direction until its rows are kept, from its first place on. */
  keepSolved(place: Int, x: Field): void {
    const at = mul(place, this.#nv);
    each(this.#nv, (i) => this.#solved.set(add(at, i), x.at(i)));
  }

  /** Rows of a contact's edges, or of its directions, from a place on, where what its directions solve to is kept. */
  keepContact(first: Int, { width, edges, cone, J, b }: ContactBlock): void {
    const dim = J.length;
    const slope = (e: number): Scalar => {
      const [k, sign] = [1 + (e >> 1), e % 2 ? -1 : 1];
      return mul(sign, select(gt(cone.condim, k), cone.friction[k - 1], 0));
    };
    const slopes = Array.from({ length: edges ? width : 0 }, (_, e) => slope(e));
    const along = (x: readonly Scalar[], e: number) => (edges ? add(x[0], mul(slopes[e], x[1 + (e >> 1)])) : x[e]);
    for (let e = 0; e < width; e++) {
      const row = J[0].map((_, i) =>
        along(
          J.map((of) => of[i]),
          e,
        ),
      );
      this.#keep(add(first, e), row, along(b, e));
    }
    if (!edges) return;
    const at = (k: number, i: Int) => add(mul(add(first, k), this.#nv), i);
    each(this.#nv, (i) => {
      const x = Array.from({ length: dim }, (_, k) => this.#solved.get(at(k, i)));
      slopes.forEach((_, e) => this.#solved.set(at(e, i), along(x, e)));
    });
  }

  /** A of the first `count` places, of which rows come first; those that are not active have zeros. */
  build(count: Int, rows: DualRows, isActive: (place: Int) => Bool, x: Field): void {
    loop(
      count,
      (i) => {
        const own = mul(i, this.#nv);
        const entry = variable("entry", 0);
        const put = (j: Int, product: () => Scalar) => {
          entry.set(0);
          when(and(isActive(i), isActive(j)), () => entry.set(product()));
          this.#A.set(add(mul(i, this.#stride), j), entry.get());
          this.#A.set(add(mul(j, this.#stride), i), entry.get());
        };
        if (rows.count > 0)
          loop(min(add(i, 1), rows.count), (j) =>
            put(j, () => rows.along(j, (dof) => this.#solved.get(add(own, dof)))),
          );
        when(ge(i, rows.count), () => {
          each(this.#nv, (k) => x.set(k, this.#solved.get(add(own, k))));
          loop(add(i, 1), (j) => put(j, () => this.#product(j, x)), { start: rows.count });
        });
      },
      { label: "efc_A" },
    );
  }

  /** A row of a contact times x. */
  #product(place: Int, x: Field): Scalar {
    const [at, sum] = [mul(place, this.#nv), variable("along", 0)];
    sum.set(0);
    each(this.#nv, (k) => increase(sum, mul(this.#J.get(add(at, k)), x.at(k))));
    return sum.get();
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
        when(ne(f, 0), () => increase(sum, mul(this.#A.get(add(at, j)), f)));
      },
      { label: "residual" },
    );
    return sum.get();
  }
}
