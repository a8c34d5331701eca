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
import type { DofPart, DofParts } from "../constraint/dof-signs.ts";
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
    const own = this.#bits(slot);
    if (isFirst && isNode(own)) this.#keptBits.set(index, own);
    const bits = isFirst || !isNode(own) ? own : this.#keptBits.get(index);
    const made = isFirst ? this.#keep(slot, index, bits) : undefined;
    return {
      times: (x) => this.#times(index, bits, x),
      diagA: () => (made ?? this.#diagA(slot, index, bits)).get(),
      clear: (isMovable) => this.#clear(index, bits, isMovable),
      addTo: (grad, H, law) => this.#addTo(grad, H, law, index, bits),
    };
  }

  /** Visits the dofs of a part that move a contact, group by group; `then` follows where there are any. */
  #eachGroup({ groups }: DofPart, bits: Int, visit: (dofs: readonly number[]) => void, then?: () => void): void {
    const nest = (k: number) => {
      if (k === groups.length) return;
      // asked for here: few of all groups are
      when(groups[k].moves(bits), () => {
        visit(groups[k].dofs);
        nest(k + 1);
        if (k === 0) then?.();
      });
    };
    nest(0);
  }

  /** The same of a part that moves it, without branches: of groups that do not `J` has zeros. */
  #allDofs(
    index: Int,
    { groups }: DofPart,
    bits: Int,
    visit: (dofs: readonly number[], J: (dof: number) => readonly Scalar[]) => void,
  ): void {
    groups.forEach(({ dofs, moves }, k) => {
      const isMoved = k === 0 || moves(bits);
      visit(dofs, (i) => this.#column(i, index).map((x) => select(isMoved, x, 0)));
    });
  }

  #eachDof(bits: Int, visit: (dof: number) => void): void {
    this.#parts.forEach((part) => this.#eachGroup(part, bits, (dofs) => dofs.forEach(visit)));
  }

  #column(dof: number, index: Int): Scalar[] {
    return this.#kept[dof].map((x) => x.get(index));
  }

  #times(index: Int, bits: Int, x: Field): Scalar[] {
    const totals = Array.from({ length: this.#contacts.dim }, () => variable("J_times", 0));
    const addDofs = (dofs: readonly number[]) => {
      const columns = dofs.map((i) => this.#column(i, index));
      totals.forEach((total, k) =>
        total.set(dofs.reduce((t, i, at) => add(t, mul(columns[at][k], x.at(i))), total.get())),
      );
    };
    for (const part of this.#parts) this.#eachGroup(part, bits, addDofs);
    return totals.map((t) => t.get());
  }

  /** Makes the Jacobian of a contact, and of stiff pairs what is made of the same motions. */
  #keep(slot: Int, index: Int, bits: Int): DiagA | undefined {
    const column = this.#contacts.column(slot);
    const keep = (i: number) => column(i).forEach((x, k) => this.#kept[i][k].set(index, x));
    if (this.#contacts.motions) return this.#diagA(slot, index, bits, keep);
    this.#eachDof(bits, keep);
    return undefined;
  }

  #diagA(slot: Int, index: Int, bits: Int, before: (dof: number) => void = () => {}): DiagA {
    const diagA = new DiagA(this.#m, this.#contacts.dim);
    const moved = this.#contacts.motions?.at(slot);
    const signs = this.#contacts.signs(slot);
    this.#eachDof(bits, (i) => {
      before(i);
      const sign = signs(i);
      diagA.add(i, moved?.(i, sign), this.#column(i, index), square(sign));
    });
    return diagA;
  }

  #clear(index: Int, bits: Int, isMovable: (direction: number) => Bool): void {
    const { dim } = this.#contacts;
    const movable = Array.from({ length: dim }, (_, k) => isMovable(k));
    // a world that skips this as all of its directions are movable would write what it holds
    const clearDof = (i: number) => this.#kept[i].forEach((x, k) => x.set(index, select(movable[k], x.get(index), 0)));
    when(not(movable.reduce(and)), () => {
      this.#eachDof(bits, clearDof);
    });
  }

  #addTo(grad: Field, H: PartedHessian | undefined, law: ContactLaw, index: Int, bits: Int): void {
    const weigh = H && law.weighing?.();
    // made once, not in the branch of each part: which parts move it, and its second derivatives
    for (const { groups } of this.#parts) groups[0].moves(bits);
    const entries = law.force.map((_, a) => law.force.map((__, b) => (H && !weigh ? law.hessian(a, b) : 0)));
    this.#parts.forEach((part, at) => {
      const weighed = new Map<number, readonly Scalar[]>();
      const weighDof = (j: number, J: readonly Scalar[]) => {
        weighed.set(j, weigh?.(J) ?? J.map((_, a) => sum(J.map((value, b) => mul(entries[a][b], value)))));
      };
      const addEntries = (i: number, columns: readonly number[], J: readonly Scalar[]) => {
        for (const j of columns) {
          if (j > i || !H!.sparsity.has(i, j)) continue;
          const e = H!.sparsity.index(i, j);
          H!.entries.set(e, add(H!.entries.at(e), dotn(J, weighed.get(j)!)));
        }
      };
      const addGroup = (dofs: readonly number[]) => {
        for (const i of dofs) grad.set(i, sub(grad.at(i), dotn(law.force, this.#column(i, index))));
        if (!H) return;
        for (const j of dofs) weighDof(j, this.#column(j, index));
        for (const i of dofs) addEntries(i, part.dofs, this.#column(i, index));
      };
      // parts of one tree, or of two that touch
      const couple = () => {
        this.#parts.slice(at + 1).forEach((other, next) => {
          const to = at + 1 + next;
          const isCoupled = (i: number) => part.dofs.some((j) => H!.sparsity.has(i, j));
          if (!other.dofs.some(isCoupled)) return;
          when(other.groups[0].moves(bits), () => {
            H!.couple(to, at);
            this.#allDofs(index, part, bits, (columns, J) => {
              // those of the first group are there
              if (columns !== part.groups[0].dofs) for (const j of columns) weighDof(j, J(j));
              this.#allDofs(index, other, bits, (dofs, J) => dofs.forEach((i) => addEntries(i, columns, J(i))));
            });
          });
        });
      };
      this.#eachGroup(part, bits, addGroup, H && couple);
    });
  }
}
