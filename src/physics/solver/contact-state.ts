// what the solver keeps of each active contact
import { array, type LocalArray } from "../../trace/control.ts";
import { add, and, dotn, gt, max, mul, select, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import { contactLaw, type ContactLaw } from "../constraint/cone.ts";
import type { ContactRows } from "../constraint/contact-rows.ts";
import type { ModelView } from "../view.ts";

/** Contact quantities at run time: jar at the current point and its change along the search direction. */
export class ContactState {
  readonly #rows: ContactRows;
  readonly #jar: LocalArray[];
  readonly #step: LocalArray[];
  readonly #stiffness: LocalArray;
  /** 1 for each direction in which some dof moves the contact, else 0; all of them if that need not be asked. */
  readonly #free: readonly LocalArray[] | undefined;
  /** The part of D that numbers resolve, by direction after the normal. */
  readonly #share: readonly LocalArray[] | undefined;

  constructor(rows: ContactRows) {
    this.#rows = rows;
    const n = Math.max(1, rows.slots.nconmax);
    this.#jar = Array.from({ length: rows.dim }, (_, k) => array(`jar${k}`, n));
    this.#step = Array.from({ length: rows.dim }, (_, k) => array(`jv${k}`, n));
    this.#stiffness = array("con_D", n);
    if (!rows.anyStiff) return;
    this.#free = Array.from({ length: rows.dim }, (_, k) => array(`free${k}`, n));
    this.#share = Array.from({ length: rows.dim - 1 }, (_, k) => array(`share${k}`, n));
  }

  each(body: (index: Int, slot: Int) => void): void {
    this.#rows.slots.each(body);
  }

  start(index: Int, D: Scalar, jar: readonly Scalar[], step: readonly Scalar[]): void {
    this.#stiffness.set(index, D);
    this.setJar(index, jar);
    this.setStep(index, step);
  }

  /** Keeps which directions are free, and what numbers resolve of D; returns that of the first row. */
  resolve(index: Int, slot: Int, D: Scalar, mobility: readonly Scalar[]): Scalar {
    const resolved = this.#rows.resolved(slot, D, mobility);
    this.#free?.forEach((a, k) => a.set(index, select(gt(mobility[k], 0), 1, 0)));
    this.#share?.forEach((a, k) => a.set(index, resolved.share[k]));
    return resolved.D;
  }

  /** Values along the contact's directions, 0 if no dof moves it. */
  moving(index: Int, values: readonly Scalar[]): Scalar[] {
    return values.map((x, k) => (this.#free ? select(this.isFree(index, k), x, 0) : x));
  }

  isFree(index: Int, direction: number): Bool {
    return this.#free ? gt(this.#free[direction].get(index), 0) : true;
  }

  /** jar at `alpha` along the search direction. */
  at(index: Int, alpha: Scalar): Scalar[] {
    return this.#jar.map((a, k) => add(a.get(index), mul(alpha, this.#step[k].get(index))));
  }

  jarOf(index: Int): Scalar[] {
    return this.#jar.map((a) => a.get(index));
  }

  stepOf(index: Int): Scalar[] {
    return this.#step.map((a) => a.get(index));
  }

  setJar(index: Int, jar: readonly Scalar[]): void {
    jar.forEach((x, k) => this.#jar[k].set(index, x));
  }

  setStep(index: Int, step: readonly Scalar[]): void {
    step.forEach((x, k) => this.#step[k].set(index, x));
  }

  law(m: ModelView, index: Int, slot: Int, jar: readonly Scalar[], D = this.#stiffness.get(index)): ContactLaw {
    const share = this.#share?.map((a) => a.get(index));
    const cone = this.#rows.cone(slot);
    return contactLaw(m.opt.cone, share ? { ...cone, share } : cone, D, jar);
  }

  /** The law as the dofs feel it: without the directions in which none of them moves the contact. */
  felt(m: ModelView, index: Int, slot: Int, jar: readonly Scalar[], D?: Scalar): ContactLaw {
    const law = this.law(m, index, slot, jar, D);
    if (!this.#free) return law;
    const both = (i: number, j: number) => and(this.isFree(index, i), this.isFree(index, j));
    const force = this.moving(index, law.force);
    // what a normal that nothing moves costs is the same everywhere, and would drown all else
    const cost = max(mul(-0.5, dotn(force, jar)), 0);
    return {
      ...law,
      force,
      hessian: (i, j) => select(both(i, j), law.hessian(i, j), 0),
      cost: select(this.isFree(index, 0), law.cost, cost),
    };
  }

  /** The wrench of a contact at `jar`. What no dof relieves is pushed as hard as MuJoCo does. */
  wrench(m: ModelView, index: Int, slot: Int, jar: readonly Scalar[]): readonly Scalar[] {
    const { force } = this.law(m, index, slot, jar);
    if (!this.#free) return force;
    const alone = jar.map((x, k) => (k === 0 ? x : 0));
    const { D } = this.#rows.stiffness(slot);
    const [normal] = contactLaw(m.opt.cone, this.#rows.cone(slot), D, alone).force;
    return force.map((f, k) => (k === 0 ? select(this.isFree(index, 0), f, normal) : f));
  }
}
