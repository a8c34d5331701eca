// a line search for each island, as MuJoCo's Newton has them: where iterations end it early, they are part of the result
import {
  array,
  each,
  flag,
  increase,
  loop,
  table,
  variable,
  when,
  type LocalArray,
  type Variable,
} from "../../trace/control.ts";
import { add, and, div, eq, max, mul, select, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import { mjtDisableBit } from "../../model/enums.ts";
import type { ContactRows } from "../constraint/contact-rows.ts";
import { listRows, type Row, type Rows } from "../constraint/rows.ts";
import type { ModelView } from "../view.ts";
import { findIslands, type Islands } from "./islands.ts";
import { FEW_ITERATIONS, usesNewton } from "./precision.ts";
import type { Coupled, ProductsOf, SolverSpace } from "./space.ts";
import type { Weights } from "./trees.ts";

/** Whether a world may have several islands, and Newton's iterations or its line search end before the minimum. */
export const searchesIslands = (m: ModelView): boolean =>
  m.model.ntree > 1 &&
  (m.opt.disableflags & mjtDisableBit.ISLAND) === 0 &&
  usesNewton(m) &&
  Math.min(m.opt.iterations, m.opt.ls_iterations) < FEW_ITERATIONS;

/** What a search keeps of an island from one iteration to the next, and what it is at the start. */
interface Kept {
  readonly variable: Variable;
  readonly initial: number;
  readonly type?: "f32" | "i32";
}

/** The islands of a world while one of them is searched: sums over dofs and bodies are then of that one. */
export class IslandLines implements Weights {
  readonly #count: number;
  readonly #islands: Islands;
  readonly #current = variable("searched_island", 0, "i32");
  #kept: readonly (Kept & { readonly values: LocalArray })[] = [];
  readonly #done: LocalArray;
  readonly #alpha: LocalArray;
  /** What constraints cost without their forces. */
  readonly #cost: LocalArray;
  readonly #inertia: (tree: Int) => Scalar;
  readonly #treeOfDof: (dof: Int) => Int;
  readonly #treeOfBody: (body: Int) => Int;
  /** Whether what is traced now is the search of one island. */
  #isOne = false;

  constructor(m: ModelView, rows: Rows, contacts: ContactRows, coupled?: Coupled) {
    const { model } = m;
    this.#count = model.ntree;
    this.#islands = findIslands(m, listRows(rows), contacts, coupled);
    const inertia: number[] = Array(model.ntree).fill(0);
    model.dof_treeid.forEach((tree, i) => (inertia[tree] += model.dof_M0[i]));
    this.#inertia = table("island_inertia", inertia);
    this.#treeOfDof = table("dof_tree", model.dof_treeid, "i32");
    // what never moves adds nothing to any island
    const trees = Array.from(model.body_treeid, (tree) => Math.max(tree, 0));
    this.#treeOfBody = table("body_tree", trees, "i32");
    this.#done = array("island_done", model.ntree, "i32");
    this.#alpha = array("island_alpha", model.ntree);
    this.#cost = array("island_cost", model.ntree);
    each(model.ntree, (t) => {
      this.#done.set(t, 0);
      this.#cost.set(t, 0);
    });
  }

  /** Tells what else is of each island; once, before any search. */
  keep(kept: readonly Kept[]): void {
    this.#kept = kept.map((k, i) => ({ ...k, values: array(`island_kept${i}`, this.#count, k.type) }));
    each(this.#count, (t) => {
      for (const { values, initial } of this.#kept) values.set(t, initial);
    });
  }

  row = (): Scalar => 1;
  contact = (): Scalar => 1;
  dof = (i: Int): Scalar => this.#isIn(this.#treeOfDof(i));
  body = (b: Int): Scalar => this.#isIn(this.#treeOfBody(b));

  #isIn(tree: Int): Scalar {
    return this.#isOne ? select(eq(this.#islands.ofTree(tree), this.#current.get()), 1, 0, "f32") : 1;
  }

  /** Adds to what the island of a row or a contact costs without constraint forces. */
  addRowCost(row: Row, cost: Scalar): void {
    this.#addCost(this.#islandOf(row), cost);
  }
  addContactCost(slot: Int, cost: Scalar): void {
    this.#addCost(this.#islands.ofContact(slot), cost);
  }
  #addCost(island: Int, x: Scalar): void {
    this.#cost.set(island, add(this.#cost.get(island), x));
  }

  #islandOf(row: Row): Int {
    return this.#islands.ofTree(this.#treeOfDof(row.jac[0].dof));
  }

  /** Runs `body` if a row, or a contact, is of the island. */
  ofRow(row: Row, body: () => void): void {
    this.#within(this.#islandOf(row), body);
  }
  ofContact(slot: Int, body: () => void): void {
    this.#within(this.#islands.ofContact(slot), body);
  }
  #within(island: Int, body: () => void): void {
    when(eq(island, this.#current.get()), body);
  }

  /** gradᵀ search of the island. */
  gradSearch(addUp: (add: ProductsOf) => void): Scalar {
    const total = variable("island_slope", 0);
    addUp({
      dof: (i, x) => increase(total, mul(this.dof(i), x)),
      body: (b, x) => increase(total, mul(this.body(b), x)),
    });
    return total.get();
  }

  /** 1 / the inertia of the island. */
  scale(): Scalar {
    const sum = variable("island_sum", 0);
    each(this.#count, (t) => {
      const own = eq(this.#islands.ofTree(t), this.#current.get());
      increase(sum, select(own, this.#inertia(t), 0));
    });
    return div(1, max(sum.get(), 1e-30));
  }

  /** Searches each island that is not done: `one` tells how far it goes, and whether it is done. `cost`: without forces. */
  eachIsland(one: (cost: Scalar) => { readonly alpha: Scalar; readonly done: Bool }): void {
    const [done, alphas, current] = [this.#done, this.#alpha, this.#current];
    each(this.#count, (t) => alphas.set(t, 0));
    loop(
      this.#count,
      (t) => {
        when(and(eq(this.#islands.ofTree(t), t), eq(done.get(t), 0)), () => {
          current.set(t);
          for (const { variable: v, values } of this.#kept) v.set(values.get(t));
          this.#isOne = true;
          const found = one(this.#cost.get(t));
          this.#isOne = false;
          alphas.set(t, found.alpha);
          done.set(t, select(found.done, 1, 0, "i32"));
          for (const { variable: v, values } of this.#kept) values.set(t, v.get());
        });
      },
      { label: "islands" },
    );
  }

  /** How far the island of a contact goes. */
  alphaOf(slot: Int): Scalar {
    return this.#alpha.get(this.#islands.ofContact(slot));
  }

  /** Has the search direction reach as far as each island goes. */
  scaleSearch(space: SolverSpace): void {
    const alphaOf = (tree: Int) => this.#alpha.get(this.#islands.ofTree(tree));
    space.restrict(
      (i) => alphaOf(this.#treeOfDof(i)),
      (b) => alphaOf(this.#treeOfBody(b)),
    );
  }

  /** Whether all islands are done. */
  areDone(): Bool {
    const all = flag("islands_done", true);
    each(this.#count, (t) => {
      const isOver = select(eq(this.#islands.ofTree(t), t), this.#done.get(t), 1, "i32");
      all.set(and(all.get(), eq(isOver, 1)));
    });
    return all.get();
  }
}
