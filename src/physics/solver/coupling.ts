// conjugate gradients for the rows and contacts that couple trees of bodies in the solver's Hessian
import { array, breakIf, flag, increase, loop, variable, when, type LocalArray } from "../../trace/control.ts";
import { current } from "../../trace/graph.ts";
import {
  add,
  and,
  div,
  dotn,
  eq,
  ge,
  gt,
  isNode,
  lt,
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

/** Most iterations of the inner conjugate gradient, and the ratio of |r|² to its largest value at which it has converged. */
const INNER_ITERATIONS = 60;
const INNER_TOLERANCE = { exact: 1e-20, float32: 1e-10 };
/**
 * Turns in which float32 goes on to all that it resolves: all of them where few iterations follow. The few contacts of a robot
 * with itself are solved in fewer, and Newton's first step may then be taken for exact; a heap takes many, and has further
 * iterations to correct it.
 */
const THOROUGH = { turns: 12, tolerance: 1e-13 };
/** The same beside elliptic cones after an iteration in which a contact slid or changed its state: another will follow. */
const ROUGH = 1e-7;
const TINY = 1e-30;
/** Relative size of a pivot, to the diagonal it comes from, below which it is rounding. */
const PIVOT = { exact: 1e-14, float32: 1e-6 };
/** Vectors of the conjugate gradients: solution x, residual r, direction p, product A p, and the largest |r|² so far. */
type CgVector = "x" | "r" | "p" | "Ap" | "rr_max";
const CG_VECTORS: readonly CgVector[] = ["x", "r", "p", "Ap", "rr_max"];

/** A row or contact that couples bodies, as a pass over all of them visits it. */
export interface Coupling {
  get(name: CgVector): Scalar[];
  set(name: CgVector, values: readonly Scalar[]): void;
  /** C v, where v are the accelerations that the last solve of the trees has given. */
  jacVec(): Scalar[];
  /** Adds Cᵀ f to the right-hand side of the next solve of the trees. */
  addForce(f: readonly Scalar[]): void;
  /** Factor of its terms in sums over couplings. */
  readonly weight: Scalar;
  /** Approximate inverse of its diagonal block of the system: 1 / (1 + trace of C A⁻¹ Cᵀ W). */
  readonly preconditioner: Scalar;
  /** L and Lᵀ, where L Lᵀ = W, the Hessian of its cost. */
  root(): Root;
}

interface Root {
  times(x: readonly Scalar[]): Scalar[];
  transposed(x: readonly Scalar[]): Scalar[];
}

/** What contacts read of bodies, and add to them. */
interface ContactSide<Sides, At extends Sides> {
  /** Whether there is room to keep what a contact is: it is computed again in each pass otherwise. */
  readonly hasRoom: boolean;
  contact(slot: Int): At;
  /** The sides with other values in place of their own. */
  replace(at: Sides, value: (x: Scalar) => Scalar): Sides;
  jacVec(at: Sides): Scalar[];
  addForce(at: Sides, f: readonly Scalar[]): void;
  law(index: Int, slot: Int): ContactLaw;
  weight(slot: Int): Scalar;
  diagA(at: At): Scalar[];
}

/** The list of contacts that couple moving bodies, and the conjugate gradient's vectors over it. */
export class CoupledContacts<Sides, At extends Sides> {
  readonly #contacts: ContactRows;
  readonly #side: ContactSide<Sides, At>;
  readonly #list: { readonly index: LocalArray; readonly slot: LocalArray };
  readonly #vectors: Readonly<Record<CgVector, readonly LocalArray[]>>;
  readonly #preconditioner: LocalArray;
  /** What a contact is, and its factor, as the last `find` kept it; undefined without room. */
  #kept: { readonly at: (k: Int) => Sides; readonly root: (k: Int) => Root } | undefined;
  readonly #count = variable("coupled", 0, "i32");

  constructor(contacts: ContactRows, side: ContactSide<Sides, At>) {
    const n = Math.max(1, contacts.slots.nconmax);
    this.#contacts = contacts;
    this.#side = side;
    this.#list = { index: array("coupled_index", n, "i32", true), slot: array("coupled_slot", n, "i32", true) };
    this.#preconditioner = array("coupled_P", n, "f32", true);
    const vector = (name: CgVector) =>
      Array.from({ length: name === "rr_max" ? 1 : contacts.dim }, (_, k) =>
        array(`coupled_${name}${k}`, n, "f32", true),
      );
    this.#vectors = Object.fromEntries(CG_VECTORS.map((name) => [name, vector(name)])) as never;
  }

  /** Fills the list where `counts` holds, else leaves it empty; called before the passes over it, as is `found` for each contact. */
  find(counts: Bool, isCoupled: (slot: Int) => Bool, found: (at: At) => void): void {
    const [list, count, side] = [this.#list, this.#count, this.#side];
    count.set(0);
    when(counts, () => {
      this.#contacts.slots.each((index, slot) => {
        const take = (lawOf: () => ContactLaw) => {
          list.index.set(count.get(), index);
          list.slot.set(count.get(), slot);
          const law = lawOf();
          const at = side.contact(slot);
          found(at);
          const stiffness = sum(side.diagA(at).map((a, k) => mul(a, law.hessian(k, k))));
          if (side.hasRoom) this.#keep(count.get(), at, choleskyRows(law, this.#contacts.dim));
          this.#preconditioner.set(count.get(), div(1, add(1, stiffness)));
          increase(count, 1);
        };
        when(isCoupled(slot), () => {
          if (!side.hasRoom) return take(() => side.law(index, slot));
          // one whose cost is not curved, as in the gap of an adhesive geom, has no part in the system
          const law = side.law(index, slot);
          when(isCurved(law, this.#contacts.dim), () => take(() => law));
        });
      });
    });
  }

  #keep(k: Int, at: Sides, L: readonly (readonly Scalar[])[]): void {
    const places = new Map<Scalar, LocalArray>();
    const put = (x: Scalar): Scalar => {
      if (isNode(x) && !places.has(x)) {
        const place = array(`coupled_kept${places.size}`, this.#preconditioner.length, x.type, true);
        place.set(k, x);
        places.set(x, place);
      }
      return x;
    };
    this.#side.replace(at, put);
    L.flat().forEach(put);
    const read = (from: Int) => (x: Scalar) => places.get(x)?.get(from) ?? x;
    this.#kept = {
      at: (from) => this.#side.replace(at, read(from)),
      root: (from) => rootOf(L.map((row) => row.map(read(from)))),
    };
  }

  each(body: (coupling: Coupling) => void): void {
    const [list, vectors, side, preconditioner] = [this.#list, this.#vectors, this.#side, this.#preconditioner];
    const { dim } = this.#contacts;
    loop(
      this.#count.get(),
      (k) => {
        const slot = list.slot.get(k);
        // only passes that need the contact read it
        let at: Sides | undefined;
        const kept = this.#kept;
        const here = () => (at ??= kept ? kept.at(k) : side.contact(slot));
        body({
          get: (name) => vectors[name].map((a) => a.get(k)),
          set: (name, values) => values.forEach((x, c) => vectors[name][c].set(k, x)),
          jacVec: () => side.jacVec(here()),
          addForce: (f) => side.addForce(here(), f),
          get preconditioner() {
            return preconditioner.get(k);
          },
          get weight() {
            return side.weight(slot);
          },
          root: () => kept?.root(k) ?? rootOf(choleskyRows(side.law(list.index.get(k), slot), dim)),
        });
      },
      { label: "coupled" },
    );
  }
}

/** Whether the cost of a contact is curved along any direction. */
const isCurved = ({ hessian }: Pick<ContactLaw, "hessian">, dim: number): Bool =>
  gt(sum(Array.from({ length: dim }, (_, k) => hessian(k, k))), 0);

/** Rows of the Cholesky factor of a Hessian, as a contact's. Directions in which its cost has no curvature have no pivot: their columns are zero. */
export function choleskyRows({ hessian }: Pick<ContactLaw, "hessian">, dim: number): Scalar[][] {
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
  return L;
}

function rootOf(L: readonly (readonly Scalar[])[]): Root {
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

/** A row over several dofs; its vectors are scalars. `hessian`: second derivative of its cost; `diagA`: its diagonal entry of J M⁻¹ Jᵀ. */
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
    jacVec: () => [rowDot(row, (i) => x.at(i))],
    addForce: ([f]) => {
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

/** The system that the inner iteration solves. */
interface CoupledSystem {
  /** Whether few iterations follow that could correct what a search direction is off by. */
  readonly fewFollow: boolean;
  /** Whether a rough solution does, since another will follow it. */
  readonly isRough: Bool;
  each(body: (coupling: Coupling) => void): void;
  /** Sets the couplings' part of the right-hand side to zero. */
  clear(isFirst: Bool): void;
  /** Solves the trees for `share` times the gradient plus the couplings' forces; `isFirst`: of the solves of a system. */
  solve(share: Scalar, isFirst: Bool): void;
}

/**
 * Solves H search = -grad where H = A + Cᵀ L Lᵀ C: A is the Hessian of the trees, C the Jacobian of the couplings, L Lᵀ
 * the Hessian of their cost. y = Lᵀ C search fulfils (1 + Lᵀ C A⁻¹ Cᵀ L) y = -Lᵀ C A⁻¹ grad, which conjugate gradients
 * solve in as many unknowns as the couplings have rows. The preconditioner scales each coupling by its own diagonal
 * block, so that residuals of soft couplings count beside those of stiff ones; directions without curvature drop out.
 * Each iteration solves the trees once, and a last one gives search = -A⁻¹ (grad + Cᵀ L y). The first iteration, which
 * has no direction yet, computes the right-hand side by the same passes, so that each is emitted once.
 */
export function solveCoupled({ fewFollow, isRough, each, clear, solve }: CoupledSystem): void {
  const { exact } = current();
  const rr = variable("rr", 0);
  const beta = variable("beta", 0);
  const total = variable("sum", 0);
  // the gradient is part of the right-hand side in the first and the last solve, not in between
  const share = variable("share", -1);
  const last = flag("last", false);
  const converged = flag("converged", true);
  const done = flag("solved", false);
  loop(
    INNER_ITERATIONS + 2,
    (k) => {
      breakIf(done.get());
      const first = eq(k, 0);
      const tolerance = exact
        ? INNER_TOLERANCE.exact
        : fewFollow
          ? THOROUGH.tolerance
          : select(isRough, ROUGH, select(lt(k, THOROUGH.turns), THOROUGH.tolerance, INNER_TOLERANCE.float32));
      const later = not(first);
      clear(first);
      when(later, () =>
        each((coupling) => {
          // the first direction has none before it
          const [r, previous, x] = [coupling.get("r"), coupling.get("p"), coupling.get("x")];
          const z = r.map((ri) => mul(coupling.preconditioner, ri));
          const p = z.map((zi, c) => add(zi, select(gt(k, 1), mul(beta.get(), previous[c]), 0)));
          coupling.set("p", p);
          coupling.addForce(coupling.root().times(p.map((pi, c) => select(last.get(), neg(x[c]), pi))));
        }),
      );
      solve(share.get(), first);
      // A p = (1 + Lᵀ C A⁻¹ Cᵀ L) p
      total.set(0);
      each((coupling) => {
        const p = coupling.get("p");
        const product = coupling.root().transposed(coupling.jacVec());
        const Ap = product.map((s, c) => add(s, select(later, p[c], 0)));
        coupling.set("Ap", Ap);
        increase(total, mul(coupling.weight, dotn(p, Ap)));
      });
      const alpha = div(rr.get(), max(total.get(), TINY));
      total.set(0);
      converged.set(true);
      each((coupling) => {
        const [Ap, p, x] = [coupling.get("Ap"), coupling.get("p"), coupling.get("x")];
        const r = coupling.get("r").map((ri, c) => select(later, sub(ri, mul(alpha, Ap[c])), Ap[c]));
        const next = x.map((xi, c) => select(later, add(xi, mul(alpha, p[c])), 0));
        coupling.set("x", next);
        coupling.set("r", r);
        const square = dotn(r, r);
        const largest = max(square, select(later, coupling.get("rr_max")[0], 0));
        coupling.set("rr_max", [largest]);
        converged.set(and(converged.get(), not(gt(square, mul(tolerance, largest)))));
        increase(total, mul(mul(coupling.weight, coupling.preconditioner), square));
      });
      done.set(last.get());
      // without couplings the solution of the trees is the whole solution
      done.set(or(done.get(), and(first, not(gt(total.get(), TINY)))));
      last.set(or(or(converged.get(), not(gt(total.get(), TINY))), ge(k, INNER_ITERATIONS)));
      beta.set(div(total.get(), max(rr.get(), TINY)));
      rr.set(total.get());
      share.set(select(last.get(), -1, 0));
    },
    { label: "inner" },
  );
}
