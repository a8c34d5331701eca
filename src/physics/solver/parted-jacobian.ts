// Jacobians of contacts over dofs, by parts of the trees and kept for the step: worlds without a part skip it
import { array, variable, when, type LocalArray } from "../../trace/control.ts";
import {
  add,
  and,
  dotn,
  isNode,
  mul,
  not,
  select,
  square,
  sub,
  sum,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import type { ContactLaw } from "../constraint/cone.ts";
import type { ContactRows } from "../constraint/contact-rows.ts";
import type { DofParts } from "../constraint/dof-signs.ts";
import type { Field, ModelView } from "../view.ts";
import { DiagA } from "./diag-a.ts";
import type { PartedHessian } from "./parted-hessian.ts";

/** A contact whose Jacobian is kept. */
interface KeptContact {
  /** J x */
  times(x: Field): Scalar[];
  diagA(): Scalar[];
  clear(isMovable: (direction: number) => Bool): void;
  /** grad -= Jᵀ force, H += Jᵀ W J */
  addTo(grad: Field, H: PartedHessian | undefined, law: ContactLaw): void;
}

export class PartedJacobian {
  readonly #m: ModelView;
  readonly #contacts: ContactRows;
  readonly #parts: DofParts["parts"];
  readonly #bits: DofParts["bits"];
  /** By dof and direction, of all contacts; of parts that do not move a contact anything. */
  readonly #kept: readonly (readonly LocalArray[])[];
  /** Which parts move each contact: a lane would look it up by its pair. */
  readonly #keptBits: LocalArray;

  constructor(m: ModelView, contacts: ContactRows, { parts, bits }: DofParts) {
    this.#m = m;
    this.#contacts = contacts;
    this.#parts = parts;
    this.#bits = bits;
    const { slots, dim } = contacts;
    const [directions, most] = [Array.from({ length: dim }, (_, k) => k), Math.max(1, slots.nconmax)];
    this.#kept = Array.from({ length: m.nv }, (_, i) =>
      directions.map((k) => array(`J${k}_${i}`, most, "f32", true, true)),
    );
    this.#keptBits = array("con_moved", most, "u32", true, true);
  }

  /** The contact of a slot, by its index; in the step's first pass over contacts its Jacobian is made. */
  contact(slot: Int, index: Int, isFirst: boolean): KeptContact {
    const made = this.#bits(slot);
    const bits = isFirst || !isNode(made) ? made : this.#keptBits.get(index);
    const moves = this.#parts.map((part) => part.moves(bits));
    if (isFirst) {
      if (isNode(made)) this.#keptBits.set(index, made);
      const column = this.#contacts.column(slot);
      const keep = (i: number) => column(i).forEach((x, k) => this.#kept[i][k].set(index, x));
      this.#parts.forEach(({ dofs }, at) => when(moves[at], () => dofs.forEach(keep)));
    }
    return {
      times: (x) => this.#times(index, moves, x),
      diagA: () => this.#diagA(slot, index, moves),
      clear: (isMovable) => this.#clear(index, moves, isMovable),
      addTo: (grad, H, law) => this.#addTo(grad, H, law, index, moves),
    };
  }

  #column(dof: number, index: Int): Scalar[] {
    return this.#kept[dof].map((x) => x.get(index));
  }

  #times(index: Int, moves: readonly Bool[], x: Field): Scalar[] {
    const totals = Array.from({ length: this.#contacts.dim }, () => variable("J_times", 0));
    const addDof = (i: number) =>
      this.#column(i, index).forEach((value, k) => totals[k].set(add(totals[k].get(), mul(value, x.at(i)))));
    this.#parts.forEach(({ dofs }, at) => when(moves[at], () => dofs.forEach(addDof)));
    return totals.map((t) => t.get());
  }

  #diagA(slot: Int, index: Int, moves: readonly Bool[]): Scalar[] {
    const diagA = new DiagA(this.#m, this.#contacts.dim);
    const moved = this.#contacts.motions?.at(slot);
    const signs = this.#contacts.signs(slot);
    const addDof = (i: number) => diagA.add(i, moved?.(i, signs[i]), this.#column(i, index), square(signs[i]));
    this.#parts.forEach(({ dofs }, at) => when(moves[at], () => dofs.forEach(addDof)));
    return diagA.get();
  }

  #clear(index: Int, moves: readonly Bool[], isMovable: (direction: number) => Bool): void {
    const { dim } = this.#contacts;
    const movable = Array.from({ length: dim }, (_, k) => isMovable(k));
    // a world that skips this as all of its directions are movable would write what it holds
    const clearDof = (i: number) => this.#kept[i].forEach((x, k) => x.set(index, select(movable[k], x.get(index), 0)));
    when(not(movable.reduce(and)), () => {
      this.#parts.forEach(({ dofs }, at) => when(moves[at], () => dofs.forEach(clearDof)));
    });
  }

  #addTo(grad: Field, H: PartedHessian | undefined, law: ContactLaw, index: Int, moves: readonly Bool[]): void {
    const weigh = H && law.weighing?.();
    // made once, not in the branch of each part
    const entries = law.force.map((_, a) => law.force.map((__, b) => (H && !weigh ? law.hessian(a, b) : 0)));
    this.#parts.forEach(({ dofs }, at) =>
      when(moves[at], () => {
        for (const i of dofs) grad.set(i, sub(grad.at(i), dotn(law.force, this.#column(i, index))));
        if (!H) return;
        const weighed = dofs.map((j) => {
          const J = this.#column(j, index);
          return weigh?.(J) ?? J.map((_, a) => sum(J.map((value, b) => mul(entries[a][b], value))));
        });
        const addRow = (i: number) =>
          dofs.forEach((j, k) => {
            if (j > i || !H.sparsity.has(i, j)) return;
            const e = H.sparsity.index(i, j);
            H.entries.set(e, add(H.entries.at(e), dotn(this.#column(i, index), weighed[k])));
          });
        dofs.forEach(addRow);
        // parts of one tree, or of two that touch
        this.#parts.slice(at + 1).forEach((other, next) => {
          const coupled = other.dofs.filter((i) => dofs.some((j) => H.sparsity.has(i, j)));
          if (coupled.length === 0) return;
          when(moves[at + 1 + next], () => {
            H.couple(at + 1 + next, at);
            coupled.forEach(addRow);
          });
        });
      }),
    );
  }
}
