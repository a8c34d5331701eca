// contacts as body space sees them: rows against the motions of two bodies
import { when } from "../../trace/control.ts";
import { current } from "../../trace/graph.ts";
import {
  add,
  and,
  isNode,
  mul,
  ne,
  not,
  or,
  select,
  sub,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { add6, dot6, rotational, scale6, spatial, translational, ZERO6, type Spatial } from "../../trace/spatial.ts";
import { cross, lengthSquared, row as matRow, sub3 } from "../../trace/vector.ts";
import type { ContactLaw } from "../constraint/cone.ts";
import type { ContactRows } from "../constraint/contact-rows.ts";
import { addOuter, SYM6, weighedSquare, type Articulated } from "../smooth/articulated.ts";
import { treeFrames, type BodyFrames } from "../smooth/body-frames.ts";
import { eachDofBetween } from "../smooth/each-body.ts";
import type { Field, WorldData, ModelView } from "../view.ts";
import { DiagA } from "./diag-a.ts";
import type { FreeBodies } from "./free-bodies.ts";
import type { TouchedTrees } from "./touched-trees.ts";
import type { ContactAt, DofVector } from "./space.ts";

/** A contact with its Jacobian against the motion of each body; undefined for one that never moves. */
export interface BodyContact extends ContactAt {
  readonly first: Side | undefined;
  readonly second: Side | undefined;
}
/** What a contact's Jacobian is made of. */
export type Sides = Pick<BodyContact, "first" | "second">;
interface Side {
  readonly body: Int;
  readonly rows: readonly Spatial[];
}

/** What contacts of one body add to, and the marks of what they add to, if some are kept. */
interface Stiffened {
  readonly tree: Articulated;
  readonly touched: TouchedTrees | undefined;
}

/** The contacts of a model over their slots. */
export class BodyContacts {
  readonly #m: ModelView;
  readonly #d: WorldData;
  readonly #frames: BodyFrames;
  readonly #free: FreeBodies | undefined;
  readonly rows: ContactRows;

  constructor(m: ModelView, d: WorldData, rows: ContactRows, frames: BodyFrames, free: FreeBodies | undefined) {
    this.#m = m;
    this.#d = d;
    this.#frames = frames;
    this.#free = free;
    this.rows = rows;
  }

  /** Whether a contact may be solved beside the trees and the blocks of free bodies. */
  get anyCoupled(): boolean {
    return this.rows.anyStiff || (this.rows.anyCoupled && !this.#free?.areAll);
  }

  /**
   * Whether the contact of a slot is solved beside the trees: if it couples two moving bodies that are not both free, and
   * if it is so stiff that a body's inertia would be lost to rounding beside its stiffness.
   */
  isCoupled(slot: Int): Bool {
    const stiff = this.rows.stiff(slot);
    const ties = and(this.#couples(slot), not(this.#areFree(slot)));
    return or(ties, isNode(stiff) ? ne(stiff, 0) : stiff !== 0);
  }

  #couples(slot: Int): Bool {
    return and(this.rows.moves(slot, 0), this.rows.moves(slot, 1));
  }

  /** Whether both bodies of a contact are free. */
  #areFree(slot: Int): Bool {
    const free = this.#free;
    return free ? and(free.has(this.rows.body(slot, 0)), free.has(this.rows.body(slot, 1))) : false;
  }

  /** `motion`: of the bodies, for the vectors over dofs. */
  at(slot: Int, motion: Readonly<Record<DofVector, Field>>): BodyContact {
    const { first, second } = this.#sides(slot, this.#frames);
    return {
      first,
      second,
      times: (x) => this.times(motion[x], { first, second }),
      // about the trees' centres, which the dofs between two bodies share
      diagA: () => this.#diagA(slot, this.#sides(slot, treeFrames(this.#m, this.#d))),
    };
  }

  #sides(slot: Int, frames: BodyFrames): Sides {
    const { rows } = this;
    const { frame, pos } = rows.slots;
    const f = frame(slot);
    const axes = [0, 1, 2].map((k) => matRow(f, k));
    const p = pos(slot);
    const side = (which: 0 | 1): Side | undefined => {
      if (rows.moves(slot, which) === false) return undefined;
      const body = rows.body(slot, which);
      const arm = sub3(p, frames.centre(body));
      const J = Array.from({ length: rows.dim }, (_, k): Spatial =>
        k < 3 ? spatial(cross(arm, axes[k]), axes[k]) : spatial(axes[k - 3], [0, 0, 0]),
      );
      return { body, rows: J };
    };
    return { first: side(0), second: side(1) };
  }

  /** Over the dofs between the two bodies: what moves both alike moves neither against the other. */
  #diagA(slot: Int, { first, second }: Sides): Scalar[] {
    const [m, d, contacts] = [this.#m, this.#d, this.rows];
    const diagA = new DiagA(m, contacts.dim);
    const pos = contacts.slots.pos(slot);
    const place2 = lengthSquared(pos);
    eachDofBetween(m, contacts.body(slot, 0), contacts.body(slot, 1), (dof, body, ofFirst) => {
      const axis = d.cdof.spatial(dof);
      const rows = (first ?? second)!.rows.map((r, k) =>
        first && second ? r.map((x, c) => select(ofFirst, x, second.rows[k][c])) : r,
      );
      const J = rows.map((r) => dot6(r as unknown as Spatial, axis));
      // rows about the bodies' points know levers to rounding of the place in the world
      const [turn, v] = [rotational(axis), translational(axis)];
      const arm = sub3(pos, d.subtree_com.vec3(m.body_rootid.at(body)));
      const size2 = add(lengthSquared(v), mul(lengthSquared(turn), add(place2, lengthSquared(arm))));
      diagA.add(dof, { turn, size2: [size2, size2] }, J);
    });
    return diagA.get();
  }

  /** J x of a contact from the motions of its bodies. */
  times(motion: Field, { first, second }: Sides): Scalar[] {
    const of = (s: Side | undefined) => (s ? motion.spatial(s.body) : undefined);
    const [a, b] = [of(first), of(second)];
    return Array.from({ length: this.rows.dim }, (_, k) =>
      sub(b ? dot6(second!.rows[k], b) : 0, a ? dot6(first!.rows[k], a) : 0),
    );
  }

  /** Adds a contact's Hessian to the stiffness of its body, unless it is solved beside the trees. */
  stiffen(to: Stiffened, slot: Int, law: ContactLaw, at: BodyContact): void {
    if (!this.rows.anyStiff) this.#stiffen(to, slot, law, at);
    else when(not(this.isCoupled(slot)), () => this.#stiffen(to, slot, law, at));
  }

  #stiffen({ tree, touched }: Stiffened, slot: Int, law: ContactLaw, at: BodyContact): void {
    const stiffen = (s: Side | undefined) => {
      if (!s) return;
      tree.stiffen(s.body, stiffness(law, s.rows));
      touched?.touch(s.body);
    };
    const free = this.#free;
    if (free && at.first && at.second) {
      const [first, second] = [at.first, at.second];
      when(and(this.#couples(slot), this.#areFree(slot)), () => {
        stiffen(first);
        stiffen(second);
        free.tie(first.body, second.body, first.rows, second.rows, law.hessian);
      });
    }
    // a body against the world; if both may move, that is seen at run time
    if (!at.first) stiffen(at.second);
    else if (!at.second) stiffen(at.first);
    else {
      when(not(this.#couples(slot)), () => {
        const moves = this.rows.moves(slot, 1);
        const rows = at.second!.rows.map(
          (r, k) => r.map((x, c) => select(moves, x, at.first!.rows[k][c])) as unknown as Spatial,
        );
        stiffen({ body: select(moves, at.second!.body, at.first!.body, "i32"), rows });
      });
    }
  }
}

/** Sides with other values for their bodies and rows. */
export function withValues({ first, second }: Sides, value: (x: Scalar) => Scalar): Sides {
  const side = (of: Side | undefined): Side | undefined =>
    of && { body: value(of.body), rows: of.rows.map((row) => row.map(value) as unknown as Spatial) };
  return { first: side(first), second: side(second) };
}

/** wrench += Jᵀ f of a contact, times `sign`. */
export function push(wrench: Field, at: Sides, force: readonly Scalar[], sign: 1 | -1): void {
  const addSide = (s: Side | undefined, own: 1 | -1) => {
    if (!s) return;
    const total = s.rows.reduce<Spatial>((sum, r, k) => add6(sum, scale6(r, force[k])), ZERO6);
    wrench.setRow(s.body, add6(wrench.spatial(s.body), scale6(total, own * sign)));
  };
  addSide(at.first, -1);
  addSide(at.second, 1);
}

/** Jᵀ W J of a contact against one body. */
function stiffness(law: ContactLaw, rows: readonly Spatial[]): readonly Scalar[] {
  // a third of the products; float32 keeps its bits
  if (current().exact) return weighedSquare(rows, law.hessian);
  const K: Scalar[] = Array(SYM6).fill(0);
  rows.forEach((a, i) => {
    addOuter(K, a, a, law.hessian(i, i));
    for (let j = 0; j < i; j++) {
      const w = law.hessian(i, j);
      if (w !== 0) addOuter(K, a, rows[j], w);
    }
  });
  return K;
}
