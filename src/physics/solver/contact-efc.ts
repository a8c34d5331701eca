// what the solver keeps of each active contact: its rows of Jaref, jv and efc_D
import { array, type LocalArray } from "../../trace/control.ts";
import { add, and, dotn, gt, max, mul, select, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import { changed, contactLaw, type ContactLaw } from "../constraint/cone.ts";
import type { ContactRows } from "../constraint/contact-rows.ts";
import type { ModelView } from "../view.ts";
import { KeptLaw, type LawBefore } from "./kept-law.ts";

/** Rows of the active contacts, by the contact's runtime index; `dim` each, along normal, tangents, torsion, roll. */
export class ContactEfc {
  readonly #m: ModelView;
  readonly #rows: ContactRows;
  /** J qacc - aref. */
  readonly #Jaref: LocalArray[];
  /** J search. */
  readonly #jv: LocalArray[];
  /** efc_D of the contact's first row. */
  readonly #D: LocalArray;
  /** 1 for each direction that some dof moves, else 0; undefined if some dof moves all of them. */
  readonly #movable: readonly LocalArray[] | undefined;
  /** The part of D that numbers resolve, by direction after the normal. */
  readonly #share: readonly LocalArray[] | undefined;
  /** The law at Jaref, where there is room for it: what searches compare others with. */
  readonly #law: KeptLaw | undefined;

  constructor(m: ModelView, rows: ContactRows) {
    this.#m = m;
    this.#rows = rows;
    const n = Math.max(1, rows.slots.nconmax);
    this.#Jaref = Array.from({ length: rows.dim }, (_, k) => array(`Jaref${k}`, n, "f32", true));
    this.#jv = Array.from({ length: rows.dim }, (_, k) => array(`jv${k}`, n, "f32", true));
    this.#D = array("efc_D", n, "f32", true);
    this.#law = m.form.hasRoom ? new KeptLaw(rows.dim, n) : undefined;
    if (!rows.anyStiff) return;
    this.#movable = Array.from({ length: rows.dim }, (_, k) => array(`movable${k}`, n, "f32", true));
    this.#share = Array.from({ length: rows.dim - 1 }, (_, k) => array(`share${k}`, n, "f32", true));
  }

  each(body: (index: Int, slot: Int) => void): void {
    this.#rows.slots.each(body);
  }

  start(index: Int, D: Scalar, Jaref: readonly Scalar[], jv: readonly Scalar[]): void {
    this.#D.set(index, D);
    this.setJaref(index, Jaref);
    this.setJv(index, jv);
  }

  /** Keeps which directions are movable, and what numbers resolve of D; returns that of the first row. */
  resolve(index: Int, slot: Int, D: Scalar, diagA: readonly Scalar[]): Scalar {
    const resolved = this.#rows.resolved(slot, D, diagA);
    this.#movable?.forEach((a, k) => a.set(index, select(gt(diagA[k], 0), 1, 0)));
    this.#share?.forEach((a, k) => a.set(index, resolved.share[k]));
    return resolved.D;
  }

  /** Values by direction, 0 where no dof moves the contact. */
  inMovable(index: Int, values: readonly Scalar[]): Scalar[] {
    return values.map((x, k) => (this.#movable ? select(this.isMovable(index, k), x, 0) : x));
  }

  isMovable(index: Int, direction: number): Bool {
    return this.#movable ? gt(this.#movable[direction].get(index), 0) : true;
  }

  /** Jaref at `alpha` along the search direction. */
  at(index: Int, alpha: Scalar): Scalar[] {
    return this.#Jaref.map((a, k) => add(a.get(index), mul(alpha, this.#jv[k].get(index))));
  }

  Jaref(index: Int): Scalar[] {
    return this.#Jaref.map((a) => a.get(index));
  }

  jv(index: Int): Scalar[] {
    return this.#jv.map((a) => a.get(index));
  }

  setJaref(index: Int, Jaref: readonly Scalar[]): void {
    Jaref.forEach((x, k) => this.#Jaref[k].set(index, x));
  }

  setJv(index: Int, jv: readonly Scalar[]): void {
    jv.forEach((x, k) => this.#jv[k].set(index, x));
  }

  #fullLaw(index: Int, slot: Int, Jaref: readonly Scalar[], D = this.#D.get(index)): ContactLaw {
    const share = this.#share?.map((a) => a.get(index));
    const cone = this.#rows.cone(slot);
    return contactLaw(this.#m.opt.cone, share ? { ...cone, share } : cone, D, Jaref);
  }

  /** The force law at Jaref, without the directions in which no dof moves the contact. */
  law(index: Int, slot: Int, Jaref: readonly Scalar[], D?: Scalar): ContactLaw {
    const law = this.#fullLaw(index, slot, Jaref, D);
    if (!this.#movable) return law;
    const both = (i: number, j: number) => and(this.isMovable(index, i), this.isMovable(index, j));
    const force = this.inMovable(index, law.force);
    // what a normal that nothing moves costs is the same everywhere, and would drown all else
    const cost = max(mul(-0.5, dotn(force, Jaref)), 0);
    const weighing = law.weighing && (() => this.#inMovable(index, law.weighing!()));
    return {
      ...law,
      ...(weighing && { weighing }),
      force,
      hessian: (i, j) => select(both(i, j), law.hessian(i, j), 0),
      cost: select(this.isMovable(index, 0), law.cost, cost),
    };
  }

  /** The same product without directions in which no dof moves the contact. */
  #inMovable(index: Int, product: (v: readonly Scalar[]) => Scalar[]): (v: readonly Scalar[]) => Scalar[] {
    return (v) => this.inMovable(index, product(this.inMovable(index, v)));
  }

  /** Keeps the law at Jaref, as it is now. */
  keepLaw(index: Int, law: ContactLaw): void {
    this.#law?.set(index, law);
  }

  /** The law at Jaref, as it was kept; where there is no room it is made anew. */
  lawBefore(index: Int, slot: Int): LawBefore {
    if (this.#law) return this.#law.at(index);
    const law = this.law(index, slot, this.at(index, 0));
    return { ...law, differs: (other) => changed(law.state, other.state) };
  }

  /** The wrench of a contact at Jaref. A normal that no dof moves is pushed as hard as MuJoCo does. */
  wrench(index: Int, slot: Int, Jaref: readonly Scalar[]): readonly Scalar[] {
    const { force } = this.#fullLaw(index, slot, Jaref);
    if (!this.#movable) return force;
    const alone = Jaref.map((x, k) => (k === 0 ? x : 0));
    const { D } = this.#rows.stiffness(slot);
    const [normal] = contactLaw(this.#m.opt.cone, this.#rows.cone(slot), D, alone).force;
    return force.map((f, k) => (k === 0 ? select(this.isMovable(index, 0), f, normal) : f));
  }
}
