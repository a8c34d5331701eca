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
/** Vectors of the conjugate gradients over coupling rows: multiplier, residual, W r, direction, W p, A p. */
type CgVector = "l" | "r" | "g" | "p" | "f" | "q";
const CG_VECTORS: readonly CgVector[] = ["l", "r", "g", "p", "f", "q"];

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
  /** W x, with the Hessian of its own cost. */
  weigh(x: readonly Scalar[]): Scalar[];
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
    const vector = (name: CgVector) => Array.from({ length: contacts.dim }, (_, k) => array(`coupled_${name}${k}`, n));
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
          weigh: (x) => {
            const law = side.law(list.index.get(t), slot);
            return Array.from({ length: dim }, (_, i) =>
              dotn(
                x.map((__, j) => law.hessian(i, j)),
                x,
              ),
            );
          },
        });
      },
      { label: "coupled" },
    );
  }
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
    weigh: ([v]) => [mul(hessian, v)],
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
 * H search = -grad with couplings. Let A be the trees' Hessian, C and W the Jacobians and Hessians of the couplings. Then
 * e = C search fulfils (1 + C A⁻¹ Cᵀ W) e = -C A⁻¹ grad: conjugate gradients in the inner product of W, over as
 * many numbers as the couplings have, preconditioned by each coupling's own part: the residuals of soft couplings then
 * count beside those of stiff ones. Each turn is one solve of the trees; one more gives the search direction. Every pass is
 * written once: the first turn, which has no direction yet, takes the residual for one.
 */
export function solveCoupled({ each, clear, solve }: CoupledSystem): void {
  const tolerance = current().exact ? INNER_TOLERANCE.exact : INNER_TOLERANCE.float32;
  const start = variable("rr0", 0);
  const rr = variable("rr", 0);
  const beta = variable("beta", 0);
  const total = variable("sum", 0);
  // part of the gradient that a solve takes: all of it first and last, none in between
  const share = variable("share", -1);
  const last = flag("last", false);
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
          const next = (x: "r" | "g", was: "p" | "f") => {
            const old = t.get(was);
            const P = t.preconditioner;
            return t.get(x).map((v, c) => add(mul(P, v), select(gt(k, 1), mul(beta.get(), old[c]), 0)));
          };
          const f = next("g", "f");
          t.set("p", next("r", "p"));
          t.set("f", f);
          const l = t.get("l");
          t.push(f.map((x, c) => select(last.get(), neg(l[c]), x)));
        }),
      );
      solve(share.get());
      // q = (1 + C A⁻¹ Cᵀ W) p
      total.set(0);
      each((t) => {
        const p = t.get("p");
        const q = t.along().map((s, c) => add(s, select(later, p[c], 0)));
        t.set("q", q);
        total.set(add(total.get(), mul(t.weight, dotn(t.get("f"), q))));
      });
      const alpha = div(rr.get(), max(total.get(), TINY));
      total.set(0);
      each((t) => {
        const [q, f, l] = [t.get("q"), t.get("f"), t.get("l")];
        const r = t.get("r").map((x, c) => select(later, sub(x, mul(alpha, q[c])), q[c]));
        const g = t.weigh(r);
        t.set(
          "l",
          l.map((x, c) => select(later, add(x, mul(alpha, f[c])), 0)),
        );
        t.set("r", r);
        t.set("g", g);
        total.set(add(total.get(), mul(mul(t.weight, t.preconditioner), dotn(r, g))));
      });
      done.set(last.get());
      start.set(select(first, total.get(), start.get()));
      // nothing couples: the trees' own solution is it
      done.set(or(done.get(), and(first, not(gt(total.get(), TINY)))));
      const near = not(gt(total.get(), max(mul(tolerance, start.get()), TINY)));
      last.set(or(near, ge(k, INNER_ITERATIONS)));
      beta.set(div(total.get(), max(rr.get(), TINY)));
      rr.set(total.get());
      share.set(select(last.get(), -1, 0));
    },
    { label: "inner" },
  );
}
