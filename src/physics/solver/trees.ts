// what the solver weighs tree by tree: a heavy tree must not hide that a light one is far from its minimum
import { array, each, flag, increase, loop, table, variable, when, type LocalArray } from "../../trace/control.ts";
import { current } from "../../trace/graph.ts";
import {
  add,
  and,
  div,
  eq,
  ge,
  gt,
  le,
  lt,
  max,
  min,
  mul,
  ne,
  or,
  select,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import type { Model } from "../../model/model.ts";
import type { ContactRows } from "../constraint/contact-rows.ts";
import { dofsOfRows, type Row, type Rows } from "../constraint/rows.ts";
import { Field, type ModelView } from "../view.ts";
import { goesToTheEnd } from "./precision.ts";
import type { Coupled, ProductsOf } from "./space.ts";

/** Factors of sums over the world: of a dof, a body, a row, a contact at a slot. */
export interface Weights {
  dof(i: Int): Scalar;
  body(b: Int): Scalar;
  row(row: Row): Scalar;
  contact(slot: Int): Scalar;
}

/** A world of one tree, and a search that ends before the minimum: its sums are MuJoCo's. */
export const UNWEIGHTED: Weights = { dof: () => 1, body: () => 1, row: () => 1, contact: () => 1 };

/**
 * Whether costs of several trees are weighed: on the way to the minimum, and not beside contacts whose D is beyond
 * float32 in a Hessian over dofs. Rounding of those would then be as large as what others have left to gain.
 */
export const hasWeights = (m: ModelView, { anyStiff }: ContactRows): boolean =>
  hasIslands(m) && (!anyStiff || m.form.weighsStiffContacts);

/**
 * Whether each island says when it is done. Contacts whose D is beyond float32 cost so much that a part of it, which is
 * noise there, is all that other islands have left to gain.
 */
export const judgesIslands = (m: ModelView, { anyStiff }: ContactRows): boolean =>
  hasIslands(m) && anyStiff && !current().exact;

/** Whether a world may have several islands, and goes on to the minimum. */
const hasIslands = ({ model: { ntree, opt } }: ModelView): boolean => ntree > 1 && goesToTheEnd(opt);

/** Place of a tree; 0 is of what is static. */
const place = (tree: number): number => tree + 1;

/**
 * The kinematic trees of a world. Trees that rows or contacts hold together are an island; costs of different islands
 * depend on nothing in common, so each is weighed by the inverse of its inertia: the minimum stays where it is, and sums
 * over the world (slopes, costs, inner products of CG, what is left to gain, what is rounding) have parts of like size.
 */
export class Trees implements Weights {
  readonly #count: number;
  readonly #contacts: ContactRows;
  /** Trees that rows hold together share the least of their places. */
  readonly #tied: readonly number[];
  readonly #inertia: (place: Int) => Scalar;
  readonly #total: number;
  readonly #island: LocalArray;
  readonly #weight: LocalArray;
  /** gradᵀ search. */
  readonly #slope: Field;
  readonly #ofContact: readonly ((slot: Int) => Int)[];
  readonly #ofDof: (dof: Int) => Int;
  readonly #ofBody: (body: Int) => Int;
  readonly #canJoin: boolean;
  readonly #weighs: boolean;
  /** Of islands, at their first place: the cost without constraint forces, slope, and the last decrement. */
  readonly #cost: LocalArray | undefined;
  readonly #ofIsland: Readonly<Record<"slope" | "last", LocalArray>> | undefined;

  /** `coupled`: dofs that something holds together beside rows and contacts. */
  constructor(m: ModelView, rows: Rows, contacts: ContactRows, coupled: Coupled = []) {
    const { model } = m;
    this.#weighs = hasWeights(m, contacts);
    this.#contacts = contacts;
    this.#count = place(model.ntree);
    const inertia: number[] = Array(this.#count).fill(0);
    model.dof_treeid.forEach((tree, i) => (inertia[place(tree)] += model.dof_M0[i]));
    this.#total = inertia.reduce((a, b) => a + b);
    this.#inertia = table("tree_inertia", inertia);
    if (judgesIslands(m, contacts)) {
      const perPlace = (name: string) => array(`island_${name}`, this.#count);
      this.#cost = perPlace("cost");
      this.#ofIsland = { slope: perPlace("slope"), last: perPlace("last") };
    }
    this.#tied = tiedPlaces(model, rows, coupled, this.#count);
    this.#island = array("tree_island", this.#count, "i32");
    this.#weight = array("tree_weight", this.#count);
    this.#slope = new Field("tree_slope", this.#count);
    const treeOf = (geom: number) => place(model.body_treeid[model.geom_bodyid[geom]]);
    const { slots } = contacts;
    this.#ofContact = (["geom1", "geom2"] as const).map((g) => slots.ofGeom(`con_tree_${g}`, g, treeOf, "i32"));
    this.#ofDof = table("dof_place", Array.from(model.dof_treeid, place), "i32");
    this.#ofBody = table("body_place", Array.from(model.body_treeid, place), "i32");
    this.#canJoin = slots.pairs.geom1.some((g, k) => {
      const [a, b] = [treeOf(g), treeOf(slots.pairs.geom2[k])];
      return a !== b && a > 0 && b > 0;
    });
  }

  dof = (i: Int): Scalar => this.#weightOf(this.#ofDof(i));
  body = (b: Int): Scalar => this.#weightOf(this.#ofBody(b));
  row = (row: Row): Scalar => this.dof(row.jac[0].dof);

  contact = (slot: Int): Scalar => this.#weightOf(this.#ofSlot(slot));

  #weightOf(t: Int): Scalar {
    return this.#weighs ? this.#weight.get(t) : 1;
  }

  /** A tree that the contact touches. */
  #ofSlot(slot: Int): Int {
    const [a, b] = this.#ofContact.map((of) => of(slot));
    return max(a, b);
  }

  /** Finds the islands of the active contacts. */
  start(): void {
    const [island, weight] = [this.#island, this.#weight];
    for (let t = 0; t < this.#count; t++) {
      island.set(t, this.#tied[t]);
      this.#cost?.set(t, 0);
      this.#ofIsland?.last.set(t, 1e30);
    }
    if (this.#canJoin) this.#contacts.slots.each((_, slot) => this.#join(slot));
    const sum = variable("island_inertia");
    loop(
      this.#count,
      (t) => {
        sum.set(0);
        const own = island.get(t);
        loop(this.#count, (u) => increase(sum, select(eq(island.get(u), own), this.#inertia(u), 0)), {
          label: "trees",
        });
        weight.set(t, div(this.#total, max(sum.get(), 1e-30)));
      },
      { label: "trees" },
    );
  }

  /** Adds to what the island of a row or a contact costs without constraint forces. */
  addRowCost(row: Row, cost: Scalar): void {
    this.#addCost(this.#ofDof(row.jac[0].dof), cost);
  }
  addContactCost(slot: Int, cost: Scalar): void {
    this.#addCost(this.#ofSlot(slot), cost);
  }
  #addCost(t: Int, x: Scalar): void {
    const cost = this.#cost;
    if (!cost) return;
    const at = this.#island.get(t);
    cost.set(at, add(cost.get(at), x));
  }

  /**
   * Whether no island has anything to gain: what it gains is below `tolerance` in units of its own inertia, or is
   * noise, `share` of its own cost, and has not halved. `scaled`: what alpha and the scale make of a slope. Once an iteration.
   */
  settle(scaled: (slope: Scalar) => Scalar, tolerance: Scalar, share: Scalar): Bool {
    const [cost, { slope, last }] = [this.#cost!, this.#ofIsland!];
    const settled = flag("islands_settled", true);
    each(
      this.#count,
      (t) => {
        const decrement = scaled(slope.get(t));
        const small = le(mul(this.#weight.get(t), decrement), tolerance);
        const noise = and(le(decrement, mul(share, cost.get(t))), ge(decrement, mul(0.5, last.get(t))));
        last.set(t, decrement);
        settled.set(and(settled.get(), or(small, noise)));
      },
      { start: 1 },
    );
    return settled.get();
  }

  /**
   * gradᵀ search over the islands that descend; `search` is zeroed in the others, whose slope can only be rounding. After
   * `gradSearch`, before Mv is formed.
   */
  descent(restrict: (dof: (i: Int) => Scalar, body: (b: Int) => Scalar) => void): Scalar {
    const { slope } = this.#ofIsland!;
    each(this.#count, (t) => slope.set(t, 0));
    each(this.#count, (t) => {
      const at = this.#island.get(t);
      slope.set(at, add(slope.get(at), this.#slope.at(t)));
    });
    const descends = (t: Int) => select(lt(slope.get(this.#island.get(t)), 0), 1, 0, "f32");
    restrict(
      (i) => descends(this.#ofDof(i)),
      (b) => descends(this.#ofBody(b)),
    );
    return this.#sum((t) => mul(this.#weightOf(t), min(slope.get(t), 0)));
  }

  #join(slot: Int): void {
    const island = this.#island;
    const [a, b] = this.#ofContact.map((of) => of(slot));
    const [first, second] = [island.get(a), island.get(b)];
    when(and(and(gt(a, 0), gt(b, 0)), ne(first, second)), () => {
      loop(
        this.#count,
        (t) => {
          const own = island.get(t);
          island.set(t, select(eq(own, second), first, own, "i32"));
        },
        { label: "trees" },
      );
    });
  }

  /** gradᵀ search of the world, in which `addUp` adds the products of dofs and bodies. */
  gradSearch(addUp: (add: ProductsOf) => void): Scalar {
    const slope = this.#slope;
    each(this.#count, (t) => slope.set(t, 0));
    const addTo = (t: Int, x: Scalar) => slope.set(t, add(slope.at(t), x));
    addUp({ dof: (i, x) => addTo(this.#ofDof(i), x), body: (b, x) => addTo(this.#ofBody(b), x) });
    return this.#sum((t) => mul(this.#weightOf(t), slope.at(t)));
  }

  #sum(of: (t: Int) => Scalar): Scalar {
    const total = variable("trees", 0);
    each(this.#count, (t) => increase(total, of(t)), { start: 1 });
    return total.get();
  }
}

/** For each place the least one of those that rows, or what is coupled, hold together with it. */
function tiedPlaces(model: Model, rows: Rows, coupled: Coupled, count: number): number[] {
  const least = Array.from({ length: count }, (_, t) => t);
  for (const dofs of [...dofsOfRows(rows), ...coupled]) {
    if (dofs.length < 2) continue;
    const tied = new Set(dofs.map((dof) => least[place(model.dof_treeid[dof])]));
    const first = Math.min(...tied);
    least.forEach((t, i) => tied.has(t) && (least[i] = first));
  }
  return least;
}
