// what the solver keeps of each active contact
import { array, type LocalArray } from "../../trace/control.ts";
import { add, mul, type Int, type Scalar } from "../../trace/scalar.ts";
import { contactLaw, type ContactLaw } from "../constraint/cone.ts";
import type { ContactRows } from "../constraint/contact-rows.ts";
import type { ModelView } from "../view.ts";

/** Contact quantities at run time: jar at the current point and its change along the search direction. */
export class ContactState {
  private readonly rows: ContactRows;
  private readonly jar: LocalArray[];
  private readonly step: LocalArray[];
  private readonly stiffness: LocalArray;

  constructor(rows: ContactRows) {
    this.rows = rows;
    const n = Math.max(1, rows.slots.nconmax);
    this.jar = Array.from({ length: rows.dim }, (_, k) => array(`jar${k}`, n));
    this.step = Array.from({ length: rows.dim }, (_, k) => array(`jv${k}`, n));
    this.stiffness = array("con_D", n);
  }

  each(body: (index: Int, slot: Int) => void): void {
    this.rows.slots.each(body);
  }

  start(index: Int, D: Scalar, jar: readonly Scalar[], step: readonly Scalar[]): void {
    this.stiffness.set(index, D);
    this.setJar(index, jar);
    this.setStep(index, step);
  }

  /** jar at `alpha` along the search direction. */
  at(index: Int, alpha: Scalar): Scalar[] {
    return this.jar.map((a, k) => add(a.get(index), mul(alpha, this.step[k].get(index))));
  }

  jarOf(index: Int): Scalar[] {
    return this.jar.map((a) => a.get(index));
  }

  stepOf(index: Int): Scalar[] {
    return this.step.map((a) => a.get(index));
  }

  setJar(index: Int, jar: readonly Scalar[]): void {
    jar.forEach((x, k) => this.jar[k].set(index, x));
  }

  setStep(index: Int, step: readonly Scalar[]): void {
    step.forEach((x, k) => this.step[k].set(index, x));
  }

  law(m: ModelView, index: Int, slot: Int, jar: readonly Scalar[]): ContactLaw {
    return contactLaw(m.opt.cone, this.rows.cone(slot), this.stiffness.get(index), jar);
  }
}
