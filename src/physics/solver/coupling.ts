// rows and contacts that couple moving bodies in the solver's Hessian, beside the trees: conjugate gradients
import { array, breakIf, flag, loop, variable, when, type LocalArray } from "../../trace/control.ts";
import { current } from "../../trace/graph.ts";
import {
  add,
  and,
  div,
  dotn,
  eq,
  ge,
  gt,
  max,
  mul,
  neg,
  not,
  or,
  select,
  sqrt,
  sub,
  sum,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import type { ContactLaw } from "../constraint/cone.ts";
import type { ContactRows } from "../constraint/contact-rows.ts";
import { rowDot, type Row } from "../constraint/rows.ts";
import type { Field } from "../view.ts";

/** Turns of the inner conjugate gradient, and how far below its start it ends. */
const INNER_ITERATIONS = 60;
const INNER_TOLERANCE = { exact: 1e-20, float32: 1e-10 };
const TINY = 1e-30;
/** Part of a direction's own curvature below which its pivot is rounding. */
const PIVOT = { exact: 1e-14, float32: 1e-6 };
/** Vectors of the conjugate gradients over coupling rows: solution, residual, direction, A p, and the most that |r|² was. */
type CgVector = "l" | "r" | "p" | "q" | "most";
const CG_VECTORS: readonly CgVector[] = ["l", "r", "p", "q", "most"];

/** A row or contact that couples bodies, while a pass stands at it. */
export interface Coupling {
  get(name: CgVector): Scalar[];
  set(name: CgVector, values: readonly Scalar[]): void;
  /** C x, of what the last solve has left. */
  along(): Scalar[];
  /** Adds Cᵀ f to what the next solve takes. */
  push(f: readonly Scalar[]): void;
  /** Factor of its part of sums over couplings. */
  readonly weight: Scalar;
  /** About the inverse of its own part of the system, 1 / (1 + trace of C A⁻¹ Cᵀ W). */
  readonly preconditioner: Scalar;
  /** L and Lᵀ, where L Lᵀ is W, the Hessian of its own cost. */
  root(): Root;
}

interface Root {
  times(x: readonly Scalar[]): Scalar[];
  transposed(x: readonly Scalar[]): Scalar[];
}

/** How contacts act on bodies. */
interface ContactSide<At> {
  contact(slot: Int): At;
  along(at: At): Scalar[];
  push(at: At, f: readonly Scalar[]): void;
  law(index: Int, slot: Int): ContactLaw;
  weight(slot: Int): Scalar;
  diagA(at: At): Scalar[];
}

/** The contacts that couple bodies, as a list, and vectors over them. */
export class CoupledContacts<At> {
  readonly #contacts: ContactRows;
  readonly #side: ContactSide<At>;
  readonly #list: { readonly index: LocalArray; readonly slot: LocalArray };
  readonly #vectors: Readonly<Record<CgVector, readonly LocalArray[]>>;
  readonly #preconditioner: LocalArray;
  readonly #count = variable("coupled", 0, "i32");

  constructor(contacts: ContactRows, side: ContactSide<At>) {
    const n = Math.max(1, contacts.slots.nconmax);
    this.#contacts = contacts;
    this.#side = side;
    this.#list = { index: array("coupled_index", n, "i32"), slot: array("coupled_slot", n, "i32") };
    this.#preconditioner = array("coupled_P", n);
    const vector = (name: CgVector) =>
      Array.from({ length: name === "most" ? 1 : contacts.dim }, (_, k) => array(`coupled_${name}${k}`, n));
    this.#vectors = Object.fromEntries(CG_VECTORS.map((name) => [name, vector(name)])) as never;
  }

  /** Lists those contacts, if there are any to `count`; before any pass. */
  find(counts: Bool, isCoupled: (slot: Int) => Bool): void {
    const [list, count, side] = [this.#list, this.#count, this.#side];
    count.set(0);
    when(counts, () => {
      this.#contacts.slots.each((index, slot) => {
        when(isCoupled(slot), () => {
          list.index.set(count.get(), index);
          list.slot.set(count.get(), slot);
          const { hessian } = side.law(index, slot);
          const stiffness = sum(side.diagA(side.contact(slot)).map((a, k) => mul(a, hessian(k, k))));
          this.#preconditioner.set(count.get(), div(1, add(1, stiffness)));
          count.set(add(count.get(), 1));
        });
      });
    });
  }

  each(body: (coupling: Coupling) => void): void {
    const [list, vectors, side, preconditioner] = [this.#list, this.#vectors, this.#side, this.#preconditioner];
    const { dim } = this.#contacts;
    loop(
      this.#count.get(),
      (t) => {
        const slot = list.slot.get(t);
        // read if a pass needs it
        let at: At | undefined;
        const here = () => (at ??= side.contact(slot));
        body({
          get: (name) => vectors[name].map((a) => a.get(t)),
          set: (name, values) => values.forEach((x, k) => vectors[name][k].set(t, x)),
          along: () => side.along(here()),
          push: (f) => side.push(here(), f),
          get preconditioner() {
            return preconditioner.get(t);
          },
          get weight() {
            return side.weight(slot);
          },
          root: () => cholesky(side.law(list.index.get(t), slot), dim),
        });
      },
      { label: "coupled" },
    );
  }
}

/** The Cholesky factor of a contact's Hessian; directions without a pivot, in which its cost has no curvature, are left out. */
function cholesky({ hessian }: ContactLaw, dim: number): Root {
  const L: Scalar[][] = [];
  const part = current().exact ? PIVOT.exact : PIVOT.float32;
  for (let j = 0; j < dim; j++) {
    const rest = (i: number) => sub(hessian(i, j), dotn(L[i].slice(0, j), L[j].slice(0, j)));
    for (let i = 0; i < dim; i++) L[i] ??= [];
    const pivot = rest(j);
    const least = max(mul(part, hessian(j, j)), TINY);
    const inverse = select(gt(pivot, least), div(1, sqrt(max(pivot, least))), 0);
    for (let i = j; i < dim; i++) L[i][j] = mul(rest(i), inverse);
  }
  return {
    times: (x) => L.map((row, i) => dotn(row.slice(0, i + 1), x.slice(0, i + 1))),
    transposed: (x) =>
      x.map((_, j) =>
        dotn(
          L.slice(j).map((row) => row[j]),
          x.slice(j),
        ),
      ),
  };
}

/** A row over several dofs: its vectors are in registers. `hessian`: of its cost; `diagA`: of its row of J M⁻¹ Jᵀ. */
export function coupledRow(
  row: Row,
  { hessian, diagA, weight }: { readonly hessian: Scalar; readonly diagA: Scalar; readonly weight: Scalar },
  x: Field,
  force: Field,
): Coupling {
  const vectors = Object.fromEntries(CG_VECTORS.map((name) => [name, variable(`row_${name}`, 0)]));
  return {
    get: (name) => [vectors[name].get()],
    set: (name, [value]) => vectors[name].set(value),
    along: () => [rowDot(row, (i) => x.at(i))],
    push: ([f]) => {
      for (const { dof, value } of row.jac) force.set(dof, add(force.at(dof), mul(value, f)));
    },
    weight,
    preconditioner: div(1, add(1, mul(hessian, diagA))),
    root() {
      const times = ([v]: readonly Scalar[]) => [mul(sqrt(hessian), v)];
      return { times, transposed: times };
    },
  };
}

/** What the inner iteration works with. */
interface CoupledSystem {
  each(body: (coupling: Coupling) => void): void;
  /** Takes back what was pushed. */
  clear(): void;
  /** Solves the trees for a share of the gradient beside what was pushed. */
  solve(share: Scalar): void;
}

/**
 * H search = -grad with couplings. Let A be the trees' Hessian, C the Jacobians of the couplings and L Lᵀ their Hessians.
 * Then y = Lᵀ C search fulfils (1 + Lᵀ C A⁻¹ Cᵀ L) y = -Lᵀ C A⁻¹ grad: conjugate gradients over as many numbers as the
 * couplings have, preconditioned by each coupling's own part: the residuals of soft couplings then count beside those
 * of stiff ones, and nothing is carried of directions in which a cost has no curvature. Each turn is one solve of the trees;
 * one more gives the search direction. Every pass is written once: the first turn, which has no direction yet, takes the
 * residual for one.
 */
export function solveCoupled({ each, clear, solve }: CoupledSystem): void {
  const tolerance = current().exact ? INNER_TOLERANCE.exact : INNER_TOLERANCE.float32;
  const rr = variable("rr", 0);
  const beta = variable("beta", 0);
  const total = variable("sum", 0);
  // part of the gradient that a solve takes: all of it first and last, none in between
  const share = variable("share", -1);
  const last = flag("last", false);
  const near = flag("near", true);
  const done = flag("solved", false);
  loop(
    INNER_ITERATIONS + 2,
    (k) => {
      breakIf(done.get());
      const first = eq(k, 0);
      const later = not(first);
      clear();
      when(later, () =>
        each((t) => {
          // nothing before the first direction
          const [r, was, l] = [t.get("r"), t.get("p"), t.get("l")];
          const p = r.map((v, c) => add(mul(t.preconditioner, v), select(gt(k, 1), mul(beta.get(), was[c]), 0)));
          t.set("p", p);
          t.push(t.root().times(p.map((x, c) => select(last.get(), neg(l[c]), x))));
        }),
      );
      solve(share.get());
      // q = (1 + Lᵀ C A⁻¹ Cᵀ L) p
      total.set(0);
      each((t) => {
        const p = t.get("p");
        const along = t.root().transposed(t.along());
        const q = along.map((s, c) => add(s, select(later, p[c], 0)));
        t.set("q", q);
        total.set(add(total.get(), mul(t.weight, dotn(p, q))));
      });
      const alpha = div(rr.get(), max(total.get(), TINY));
      total.set(0);
      near.set(true);
      each((t) => {
        const [q, p, l] = [t.get("q"), t.get("p"), t.get("l")];
        const r = t.get("r").map((x, c) => select(later, sub(x, mul(alpha, q[c])), q[c]));
        t.set(
          "l",
          l.map((x, c) => select(later, add(x, mul(alpha, p[c])), 0)),
        );
        t.set("r", r);
        const square = dotn(r, r);
        const most = max(square, select(later, t.get("most")[0], 0));
        t.set("most", [most]);
        near.set(and(near.get(), not(gt(square, mul(tolerance, most)))));
        total.set(add(total.get(), mul(mul(t.weight, t.preconditioner), square)));
      });
      done.set(last.get());
      // nothing couples: the trees' own solution is it
      done.set(or(done.get(), and(first, not(gt(total.get(), TINY)))));
      last.set(or(or(near.get(), not(gt(total.get(), TINY))), ge(k, INNER_ITERATIONS)));
      beta.set(div(total.get(), max(rr.get(), TINY)));
      rr.set(total.get());
      share.set(select(last.get(), -1, 0));
    },
    { label: "inner" },
  );
}
