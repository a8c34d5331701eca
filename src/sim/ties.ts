// what ties moving bodies to one another in the solver's Hessian, beside the trees
import { array, loop, variable, when, type LocalArray } from "../trace/control.ts";
import { add, dotn, mul, type Bool, type Int, type Scalar } from "../trace/scalar.ts";
import type { ContactLaw } from "./cone.ts";
import type { ContactRows } from "./contact_rows.ts";
import { rowDot, type Row, type RowLaw } from "./rows.ts";
import type { Field } from "./view.ts";

/** Numbers that the inner iteration keeps of each tie: as many vectors as names. */
type Kept = "l" | "r" | "g" | "p" | "f" | "q";
const KEPT: readonly Kept[] = ["l", "r", "g", "p", "f", "q"];

/** A row or contact that ties bodies together, while a pass stands at it. */
export interface Tie {
  get(name: Kept): Scalar[];
  set(name: Kept, values: readonly Scalar[]): void;
  /** C x, of what the last solve has left. */
  along(): Scalar[];
  /** Adds Cᵀ f to what the next solve takes. */
  push(f: readonly Scalar[]): void;
  /** W x, with the tie's own Hessian. */
  weigh(x: readonly Scalar[]): Scalar[];
}

/** How contacts act on bodies. */
interface ContactSide<At> {
  contact(slot: Int): At;
  along(at: At): Scalar[];
  push(at: At, f: readonly Scalar[]): void;
  law(index: Int, slot: Int): ContactLaw;
}

/** The contacts that tie bodies, as a list, and vectors over them. */
export class TiedContacts<At> {
  private readonly contacts: ContactRows;
  private readonly side: ContactSide<At>;
  private readonly list: { readonly index: LocalArray; readonly slot: LocalArray };
  private readonly kept: Readonly<Record<Kept, readonly LocalArray[]>>;
  private readonly count = variable("ties", 0, "i32");

  constructor(contacts: ContactRows, side: ContactSide<At>) {
    const n = Math.max(1, contacts.slots.nconmax);
    this.contacts = contacts;
    this.side = side;
    this.list = { index: array("tie_index", n, "i32"), slot: array("tie_slot", n, "i32") };
    const vector = (name: Kept) => Array.from({ length: contacts.dim }, (_, k) => array(`tie_${name}${k}`, n));
    this.kept = Object.fromEntries(KEPT.map((name) => [name, vector(name)])) as never;
  }

  /** Lists those contacts; before any pass. */
  find(isTied: (slot: Int) => Bool): void {
    const { list, count } = this;
    count.set(0);
    this.contacts.slots.each((index, slot) => {
      when(isTied(slot), () => {
        list.index.set(count.get(), index);
        list.slot.set(count.get(), slot);
        count.set(add(count.get(), 1));
      });
    });
  }

  each(body: (tie: Tie) => void): void {
    const { list, kept, side } = this;
    const { dim } = this.contacts;
    loop(
      this.count.get(),
      (t) => {
        const slot = list.slot.get(t);
        // read where a pass needs it
        let at: At | undefined;
        const here = () => (at ??= side.contact(slot));
        body({
          get: (name) => kept[name].map((a) => a.get(t)),
          set: (name, values) => values.forEach((x, k) => kept[name][k].set(t, x)),
          along: () => side.along(here()),
          push: (f) => side.push(here(), f),
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
      { label: "ties" },
    );
  }
}

/** A row over several dofs: its numbers are in registers. */
export function rowTie(row: Row, law: RowLaw, x: Field, force: Field): Tie {
  const kept = Object.fromEntries(KEPT.map((name) => [name, variable(`row_${name}`, 0)]));
  return {
    get: (name) => [kept[name].get()],
    set: (name, [value]) => kept[name].set(value),
    along: () => [rowDot(row, (i) => x.at(i))],
    push: ([f]) => {
      for (const { dof, value } of row.jac) force.set(dof, add(force.at(dof), mul(value, f)));
    },
    weigh: ([v]) => [mul(law.slope, v)],
  };
}
