// what the solver keeps of each active contact: its rows of Jaref, jv and efc_D
import { array, type LocalArray } from "../../trace/control.ts";
import {
  add,
  and,
  dotn,
  gt,
  max,
  mul,
  neg,
  or,
  select,
  sub,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { changed, contactLaw, curvature, type ConeParams, type ContactLaw } from "../constraint/cone.ts";
import { alongCone, coneLine, coneStart, movesFrom, partsFrom } from "../constraint/cone-line.ts";
import type { ContactRows } from "../constraint/contact-rows.ts";
import type { ModelView } from "../view.ts";
import { ConeLines } from "./cone-lines.ts";
import { KeptCones } from "./kept-cones.ts";
import { searchesIslands } from "./island-lines.ts";
import { KeptLaw, type LawBefore } from "./kept-law.ts";
import { FEW_ITERATIONS, hasCones } from "./precision.ts";
import type { ContactAt } from "./space.ts";
import { hasWeights } from "./trees.ts";

/** A point of the search direction beside its start. */
interface Along {
  /** How much less the forces push along the direction than at the start. */
  readonly changes: Scalar;
  /** Second derivative of the cost. */
  readonly curvature: Scalar;
  /** Whether the costs here and at the start are not one parabola. */
  readonly parts: Bool;
  /** Whether the contact is in another part of its cone than at the start. */
  readonly moves: () => Bool;
  /** The cost beyond that at the start and what its forces push until here. */
  readonly apart: () => Scalar;
}

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
  /** What costs are weighed by, where there is room for it and contacts differ: each lane would look it up by its pair. */
  readonly #weight: LocalArray | undefined;
  /** The law at Jaref, where there is room for it: what searches compare others with. */
  readonly #law: KeptLaw | undefined;
  /** Lines of cones, where there is room for them and a search asks for no costs. */
  readonly #lines: ConeLines | undefined;
  /** Cones as laws and lines take them, in straight-line code where there are lines. */
  readonly #cones: KeptCones | undefined;
  #diagA: readonly LocalArray[] = [];
  #isCleared = false;

  constructor(m: ModelView, rows: ContactRows) {
    this.#m = m;
    this.#rows = rows;
    const n = Math.max(1, rows.slots.nconmax);
    this.#Jaref = Array.from({ length: rows.dim }, (_, k) => array(`Jaref${k}`, n, "f32", true));
    this.#jv = Array.from({ length: rows.dim }, (_, k) => array(`jv${k}`, n, "f32", true));
    this.#D = array("efc_D", n, "f32", true, true);
    this.#weight = m.form.hasRoom && hasWeights(m, rows) ? array("con_weight", n, "f32", true, true) : undefined;
    const goesOn = m.opt.ls_iterations >= FEW_ITERATIONS && !searchesIslands(m);
    this.#lines = m.form.hasRoom && hasCones(m, rows) && goesOn ? new ConeLines(rows.dim, n) : undefined;
    this.#cones = this.#lines && !m.form.loops ? new KeptCones(n) : undefined;
    this.#law = m.form.hasRoom && !this.#lines ? new KeptLaw(rows.dim, n) : undefined;
    if (!rows.anyStiff) return;
    this.#movable = Array.from({ length: rows.dim }, (_, k) => array(`movable${k}`, n, "f32", true, true));
    if (this.#cones) return;
    this.#share = Array.from({ length: rows.dim - 1 }, (_, k) => array(`share${k}`, n, "f32", true, true));
  }

  /** Whether searches ask for no costs, and keep lines of cones. */
  get keepsLines(): boolean {
    return this.#lines !== undefined;
  }

  each(body: (index: Int, slot: Int) => void): void {
    this.#rows.slots.each(body);
  }

  start(index: Int, D: Scalar, Jaref: readonly Scalar[], jv: readonly Scalar[]): void {
    this.#D.set(index, D);
    this.setJaref(index, Jaref);
    this.setJv(index, jv);
  }

  /** Keeps what costs of a contact are weighed by; returns it. */
  keepWeight(index: Int, weight: Scalar): Scalar {
    this.#weight?.set(index, weight);
    return weight;
  }

  /** What was kept, where there was room; `made`: what it is elsewhere. */
  weight(index: Int, made: () => Scalar): Scalar {
    return this.#weight?.get(index) ?? made();
  }

  /** Keeps J M⁻¹ Jᵀ of directions for another pass; returns it. */
  keepDiagA(index: Int, diagA: readonly Scalar[]): readonly Scalar[] {
    const n = Math.max(1, this.#rows.slots.nconmax);
    this.#diagA = diagA.map((_, k) => array(`con_diagA${k}`, n, "f32", true, true));
    this.#diagA.forEach((a, k) => a.set(index, diagA[k]));
    return diagA;
  }

  diagA(index: Int): Scalar[] {
    return this.#diagA.map((a) => a.get(index));
  }

  /** Keeps which directions are movable, and what numbers resolve of D; returns that of the first row. */
  resolve(index: Int, slot: Int, nominal: Scalar, diagA: readonly Scalar[], part?: Scalar): Scalar {
    const cone = this.#cones && this.#rows.cone(slot);
    const resolved = this.#rows.anyStiff ? this.#rows.resolved(slot, nominal, diagA, part) : undefined;
    const D = resolved?.D ?? nominal;
    this.#movable?.forEach((a, k) => a.set(index, select(gt(diagA[k], 0), 1, 0)));
    this.#share?.forEach((a, k) => a.set(index, resolved!.share[k]));
    this.#cones?.set(index, { ...cone!, share: resolved?.share }, D);
    return D;
  }

  /** Values by direction, 0 where no dof moves the contact. */
  inMovable(index: Int, values: readonly Scalar[]): Scalar[] {
    return values.map((x, k) => (this.#movable ? select(this.isMovable(index, k), x, 0) : x));
  }

  /** Makes rows of a kept Jacobian zero that no dof moves: what is multiplied with it need not ask. */
  clear(index: Int, at: ContactAt): void {
    if (!this.#movable || !at.clear) return;
    at.clear((k) => this.isMovable(index, k));
    this.#isCleared = true;
  }

  /** Products with the Jacobian of a contact, 0 where no dof moves it. */
  products(index: Int, values: readonly Scalar[]): readonly Scalar[] {
    return this.#isCleared ? values : this.inMovable(index, values);
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

  #cone(index: Int, slot: Int): ConeParams {
    if (this.#cones) return this.#cones.get(index, this.#rows.dim);
    const share = this.#share?.map((a) => a.get(index));
    const cone = this.#rows.cone(slot);
    return share ? { ...cone, share } : cone;
  }

  #fullLaw(index: Int, slot: Int, Jaref: readonly Scalar[], D = this.#D.get(index)): ContactLaw {
    return contactLaw(this.#m.opt.cone, this.#cone(index, slot), D, Jaref);
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

  /** The same, to add to gradient and Hessian if it is in touch. */
  lawInTouch(index: Int, slot: Int, Jaref: readonly Scalar[]): ContactLaw {
    if (!this.#lines || (this.#movable && !this.#isCleared)) return this.law(index, slot, Jaref);
    const law = this.#fullLaw(index, slot, Jaref);
    return { ...law, ...law.inTouch };
  }

  /** The same product without directions in which no dof moves the contact. */
  #inMovable(index: Int, product: (v: readonly Scalar[]) => Scalar[]): (v: readonly Scalar[]) => Scalar[] {
    return (v) => this.inMovable(index, product(this.inMovable(index, v)));
  }

  /** Keeps the law at Jaref, as it is now. */
  keepLaw(index: Int, slot: Int, Jaref: readonly Scalar[], law: ContactLaw): void {
    this.#law?.set(index, law);
    this.#lines?.begin(index, coneStart(this.#cone(index, slot), Jaref));
  }

  /** The contact at `alpha` along the search direction; `isFirst` at the first point of a search. */
  along(index: Int, slot: Int, alpha: Scalar, isFirst: boolean): Along {
    if (this.#lines) return this.#alongCone(this.#lines, index, slot, alpha, isFirst);
    const jv = this.jv(index);
    const before = this.#lawBefore(index, slot);
    const law = this.law(index, slot, this.at(index, alpha));
    const less = law.force.map((f, k) => sub(f, before.force[k]));
    return {
      changes: dotn(less, jv),
      curvature: curvature(law, jv, this.#m.form.hasRoom),
      parts: or(before.differs(law), or(before.inCone, law.inCone)),
      moves: () => before.differs(law),
      apart: () => add(sub(law.cost, before.cost), mul(alpha, dotn(before.force, jv))),
    };
  }

  #alongCone(lines: ConeLines, index: Int, slot: Int, alpha: Scalar, isFirst: boolean): Along {
    const kept = this.#cones?.get(index, this.#rows.dim);
    if (isFirst) {
      const [D, Jaref, jv] = [this.#D.get(index), this.Jaref(index), this.jv(index)];
      const line = coneLine(kept ?? this.#cone(index, slot), D, Jaref, jv, lines.beginning(index));
      lines.set(index, line, kept !== undefined);
    }
    const line = lines.get(index, kept);
    const here = alongCone(line, alpha);
    return {
      changes: neg(here.rise),
      curvature: here.curvature,
      parts: partsFrom(line, here),
      moves: () => movesFrom(line, here),
      apart: () => {
        throw new Error("a search that asks for costs keeps no lines");
      },
    };
  }

  /** The law at Jaref, as it was kept; where there is no room it is made anew. */
  #lawBefore(index: Int, slot: Int): LawBefore {
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
