// the constraint solver's space over bodies: no matrix over dofs, for models with many
import { breakIf, each, loop, variable, when, type Variable } from "../../trace/control.ts";
import {
  add,
  and,
  eq,
  ge,
  mul,
  neg,
  not,
  or,
  select,
  sub,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { add6, dot6, mulInertVec, scale6, spatial, ZERO6, type Spatial } from "../../trace/spatial.ts";
import { cross, row as matRow, sub3 } from "../../trace/vector.ts";
import { addOuter, Articulated, bodyMotions, dofForces, eachDofBetween, SYM6 } from "../smooth/articulated.ts";
import type { ContactLaw } from "../constraint/cone.ts";
import type { ContactRows } from "../constraint/contact-rows.ts";
import { copyField, dotFields } from "../smooth/sparsity.ts";
import { FEW_ITERATIONS } from "./precision.ts";
import type { Row, RowLaw } from "../constraint/rows.ts";
import type { ContactAt, DofVector, Frame, Space } from "./space.ts";
import { DiagA } from "./diag-a.ts";
import { coupledRow, CoupledContacts, solveCoupled } from "./coupling.ts";
import { Field, type WorldData, type ModelView } from "../view.ts";

/** Dofs and bodies up to which the trees are walked in line: an access at a constant index costs a fiftieth. */
const MAX_IN_LINE = 160;

/** A contact's frame and the arms of its two bodies about their trees' centres of mass. */
interface BodyContact extends ContactAt {
  /** Rows of the Jacobian against the motion of each body; undefined for one that never moves. */
  readonly first: Side | undefined;
  readonly second: Side | undefined;
}
interface Side {
  readonly body: Int;
  readonly rows: readonly Spatial[];
}

/** A row over several dofs, whose part of the Hessian is beside the trees. */
interface CoupledRow {
  readonly row: Row;
  readonly hessian: Variable;
}

/** What is implicit in the velocities: -h dF/dv of each dof, and the accelerations with it. */
export interface ImplicitDofs {
  readonly diagonal: Field;
  readonly qacc: Field;
}

/** What a turn solves. */
const TURN = { SMOOTH: 0, NEWTON: 1, IMPLICIT: 2, END: 3 } as const;

/**
 * Newton without a Hessian over dofs. A vector over dofs comes with the motions it gives the bodies, and a gradient is
 * held as forces on dofs beside forces on bodies: then M, Jacobians and their transposes are sums over the trees. The
 * Hessian of what holds a body against the world is a stiffness of that body and is solved by articulated bodies;
 * what couples moving bodies comes in by conjugate gradients, preconditioned by that.
 */
export class BodySpace implements Space {
  readonly qacc: Field;
  readonly search: Field;
  readonly #m: ModelView;
  readonly #d: WorldData;
  readonly #contacts: ContactRows;
  readonly #law: (index: Int, slot: Int) => ContactLaw;
  readonly #implicit: ImplicitDofs | undefined;
  readonly #tree: Articulated;
  /** Motions of the bodies for qacc and search. */
  readonly #motion: Readonly<Record<DofVector, Field>>;
  /** The gradient: forces on dofs, forces on bodies. */
  readonly #grad: Field;
  readonly #wrench: Field;
  /** What rows add to the Hessian's diagonal. */
  readonly #diagonal: Field;
  /** Rows over several dofs, in this pass. */
  #couplings: CoupledRow[] = [];
  /** Whether the geoms of a slot belong to two moving bodies. */
  readonly #isCoupled: (slot: Int) => Bool;
  /** Whether what is implicit starts from the forces: far from the minimum, they are not what qacc would need. */
  readonly #forced: boolean;
  /** The turn that is being traced. */
  #isTurn: (kind: number) => Bool = () => false;
  #start = (): void => {};

  constructor(
    m: ModelView,
    d: WorldData,
    contacts: ContactRows,
    law: (index: Int, slot: Int) => ContactLaw,
    implicit: ImplicitDofs | undefined,
  ) {
    this.#m = m;
    this.#d = d;
    this.#contacts = contacts;
    this.#law = law;
    this.#implicit = implicit;
    this.#tree = new Articulated(m, d);
    this.qacc = new Field("x", m.nv);
    this.search = new Field("search", m.nv);
    this.#motion = { qvel: d.cvel, qacc: this.#bodies("motion"), search: this.#bodies("v") };
    this.#grad = new Field("grad", m.nv);
    this.#wrench = this.#bodies("grad_body");
    this.#diagonal = new Field("diagonal", m.nv);
    const { moves } = contacts;
    this.#forced = implicit !== undefined && m.opt.iterations < FEW_ITERATIONS;
    this.#isCoupled = (slot) => and(moves(slot, 0), moves(slot, 1));
  }

  #bodies(name: string): Field {
    return new Field(name, 6 * this.#m.nbody, 6);
  }

  /** The motions of qacc are those that the smooth solve has left. */
  startAtSmooth(): void {
    const [m, d, motion] = [this.#m, this.#d, this.#motion];
    bodyMotions(m, d, this.search, motion.search);
  }

  contact(slot: Int): BodyContact {
    const [contacts, m, d, motion] = [this.#contacts, this.#m, this.#d, this.#motion];
    const { frame, pos } = contacts.slots;
    const f = frame(slot);
    const axes = [0, 1, 2].map((k) => matRow(f, k));
    const p = pos(slot);
    const side = (which: 0 | 1): Side | undefined => {
      if (contacts.moves(slot, which) === false) return undefined;
      const body = contacts.body(slot, which);
      const arm = sub3(p, d.subtree_com.vec3(m.body_rootid.at(body)));
      const rows = Array.from({ length: contacts.dim }, (_, k): Spatial =>
        k < 3 ? spatial(cross(arm, axes[k]), axes[k]) : spatial(axes[k - 3], [0, 0, 0]),
      );
      return { body, rows };
    };
    const [first, second] = [side(0), side(1)];
    return {
      first,
      second,
      times: (x) => this.#relative(motion[x], first, second),
      diagA: () => this.#diagA(slot, first, second),
    };
  }

  /** Over the dofs between the two bodies: what moves both alike moves neither against the other. */
  #diagA(slot: Int, first: Side | undefined, second: Side | undefined): Scalar[] {
    const [m, d, contacts] = [this.#m, this.#d, this.#contacts];
    const pos = contacts.slots.pos(slot);
    const diagA = new DiagA(m, contacts.dim, pos);
    eachDofBetween(m, contacts.body(slot, 0), contacts.body(slot, 1), (dof, body, ofFirst) => {
      const axis = d.cdof.spatial(dof);
      const rows = (first ?? second)!.rows.map((r, k) =>
        first && second ? r.map((x, c) => select(ofFirst, x, second.rows[k][c])) : r,
      );
      const J = rows.map((r) => dot6(r as unknown as Spatial, axis));
      diagA.add(dof, axis, J, sub3(pos, d.subtree_com.vec3(m.body_rootid.at(body))));
    });
    return diagA.get();
  }

  /** J x of a contact from the motions of its bodies. */
  #relative(motion: Field, first: Side | undefined, second: Side | undefined): Scalar[] {
    const of = (s: Side | undefined) => (s ? motion.spatial(s.body) : undefined);
    const [a, b] = [of(first), of(second)];
    return Array.from({ length: this.#contacts.dim }, (_, k) =>
      sub(b ? dot6(second!.rows[k], b) : 0, a ? dot6(first!.rows[k], a) : 0),
    );
  }

  /** wrench += Jᵀ f of a contact, times `sign`. */
  #push(wrench: Field, at: BodyContact, force: readonly Scalar[], sign: 1 | -1): void {
    const add1 = (s: Side | undefined, own: 1 | -1) => {
      if (!s) return;
      const total = s.rows.reduce<Spatial>((sum, r, k) => add6(sum, scale6(r, force[k])), ZERO6);
      wrench.setRow(s.body, add6(wrench.spatial(s.body), scale6(total, own * sign)));
    };
    add1(at.first, -1);
    add1(at.second, 1);
  }

  searchMv(): Scalar {
    const { search } = this;
    const [m, d, motion] = [this.#m, this.#d, this.#motion];
    const total = variable("searchMv", 0);
    each(m.nv, (i) => total.set(add(total.get(), mul(this.#tree.armature(i), mul(search.at(i), search.at(i))))));
    each(
      m.nbody,
      (b) => {
        const v = motion.search.spatial(b);
        total.set(add(total.get(), dot6(v, mulInertVec(d.cinert.inertia(b), v))));
      },
      { start: 1 },
    );
    return total.get();
  }

  move(alpha: Scalar): void {
    const { qacc, search } = this;
    const [m, motion] = [this.#m, this.#motion];
    each(m.nv, (i) => qacc.set(i, add(qacc.at(i), mul(alpha, search.at(i)))));
    axpy(motion.qacc, alpha, motion.search);
  }

  startGrad(): void {
    const { qacc } = this;
    const [m, d, motion, implicit, forced] = [this.#m, this.#d, this.#motion, this.#implicit, this.#forced];
    const isSmooth = this.#isTurn(TURN.SMOOTH);
    const isImplicit = implicit ? this.#isTurn(TURN.IMPLICIT) : false;
    const [grad, wrench, diagonal] = [this.#grad, this.#wrench, this.#diagonal];
    this.#couplings = [];
    // qacc is not known before the first solve
    const known = forced ? not(or(isSmooth, isImplicit)) : not(isSmooth);
    const sign = select(isImplicit, -1, 1);
    each(m.nv, (i) => {
      const inertial = select(known, mul(sign, mul(this.#tree.armature(i), qacc.at(i))), 0);
      const force = forced ? select(isImplicit, d.qfrc_constraint.at(i), 0) : 0;
      const given = add(d.qfrc_smooth.at(i), force);
      grad.set(i, sub(inertial, forced ? given : select(isImplicit, 0, given)));
      diagonal.set(i, implicit ? select(isImplicit, implicit.diagonal.at(i), 0) : 0);
    });
    wrench.setRow(0, ZERO6);
    each(
      m.nbody,
      (b) => {
        const momentum = mulInertVec(d.cinert.inertia(b), motion.qacc.spatial(b));
        wrench.setRow(
          b,
          momentum.map((x) => select(known, mul(sign, x), 0)),
        );
      },
      { start: 1 },
    );
    this.#tree.clear();
  }

  addRow(row: Row, law: RowLaw): void {
    const [grad, diagonal] = [this.#grad, this.#diagonal];
    for (const { dof, value } of row.jac) grad.set(dof, sub(grad.at(dof), mul(value, law.force)));
    if (row.jac.length > 1) {
      const hessian = variable("row_hessian");
      hessian.set(law.hessian);
      this.#couplings.push({ row, hessian });
    } else {
      const [{ dof, value }] = row.jac;
      diagonal.set(dof, add(diagonal.at(dof), mul(mul(value, value), law.hessian)));
    }
  }

  addContact(_index: Int, slot: Int, law: ContactLaw, at: BodyContact): void {
    this.#push(this.#wrench, at, law.force, -1);
    const stiffen = (s: Side | undefined) => {
      if (s) this.#tree.stiffen(s.body, stiffness(law, s.rows));
    };
    // a body against the world; if both may move, that is seen at run time
    if (!at.first) stiffen(at.second);
    else if (!at.second) stiffen(at.first);
    else {
      when(not(this.#isCoupled(slot)), () => {
        const moves = this.#contacts.moves(slot, 1);
        const rows = at.second!.rows.map(
          (r, k) => r.map((x, c) => select(moves, x, at.first!.rows[k][c])) as unknown as Spatial,
        );
        stiffen({ body: select(moves, at.second!.body, at.first!.body, "i32"), rows });
      });
    }
  }

  /**
   * The turns of one evaluation, all of them solves of the same trees: without constraints from rest, which gives
   * qacc_smooth; Newton's iterations; with what is implicit, from the momentum of qacc. The code of a solve is long.
   */
  iterate({ iterations, done, start, finish }: Frame, body: Parameters<Space["iterate"]>[1]): void {
    const { search } = this;
    const implicit = this.#implicit;
    const turn = variable("turn", TURN.SMOOTH, "i32");
    const last = implicit ? TURN.IMPLICIT : TURN.END;
    loop(
      iterations + 2,
      (k) => {
        const now = turn.get();
        const is = (kind: number): Bool => eq(now, kind);
        breakIf(is(TURN.END));
        if (this.#forced) when(is(TURN.IMPLICIT), finish);
        [this.#isTurn, this.#start] = [is, start];
        body(
          (newton) => when(is(TURN.NEWTON), newton),
          () => sub(k, 1),
        );
        if (implicit) when(is(TURN.IMPLICIT), () => copyField(search, implicit.qacc));
        const over = or(done.get(), ge(k, iterations));
        const next = select(over, last, TURN.NEWTON, "i32");
        turn.set(select(is(TURN.IMPLICIT), TURN.END, next, "i32"));
      },
      { label: "turns" },
    );
    if (!this.#forced) finish();
  }

  setSearch(): void {
    const { search } = this;
    const [d, motion] = [this.#d, this.#motion];
    this.#solve();
    when(this.#isTurn(TURN.SMOOTH), () => {
      copyField(search, d.qacc_smooth);
      copyField(motion.search, motion.qacc);
      this.#start();
    });
  }

  /** search and its motions. */
  #solve(): void {
    const { search } = this;
    const [m, motion, contacts] = [this.#m, this.#motion, this.#contacts];
    const [grad, wrench, tree] = [this.#grad, this.#wrench, this.#tree];
    const inLine = m.nv + m.nbody <= MAX_IN_LINE;
    tree.factor((i) => this.#diagonal.at(i), inLine);
    if (this.#couplings.length === 0 && !contacts.anyCoupled) {
      const against = (b: Int) => scale6(wrench.spatial(b), -1);
      tree.solve((i) => neg(grad.at(i)), search, motion.search, against, inLine);
      return;
    }
    const pushed = this.#bodies("coupled_wrench");
    const pushedDofs = this.#couplings.length > 0 ? new Field("coupled_force", m.nv) : undefined;
    const rows = this.#couplings.map(({ row, hessian }) =>
      coupledRow(row, select(this.#isTurn(TURN.NEWTON), hessian.get(), 0), search, pushedDofs!),
    );
    const coupled = new CoupledContacts<BodyContact>(contacts, {
      contact: (slot) => this.contact(slot),
      along: (at) => this.#relative(motion.search, at.first, at.second),
      push: (at, f) => this.#push(pushed, at, f, 1),
      law: this.#law,
    });
    if (contacts.anyCoupled) coupled.find(this.#isTurn(TURN.NEWTON), this.#isCoupled);
    solveCoupled({
      each(body) {
        rows.forEach(body);
        if (contacts.anyCoupled) coupled.each(body);
      },
      clear() {
        each(m.nbody, (b) => pushed.setRow(b, ZERO6));
        if (pushedDofs) each(m.nv, (i) => pushedDofs.set(i, 0));
      },
      solve(share) {
        const force = (i: Int) => add(mul(share, grad.at(i)), pushedDofs ? pushedDofs.at(i) : 0);
        const onBody = (b: Int) => add6(scale6(wrench.spatial(b), share), pushed.spatial(b));
        tree.solve(force, search, motion.search, onBody, inLine);
      },
    });
  }

  gradSearch(): Scalar {
    return add(dotFields(this.#grad, this.search), dotRows(this.#wrench, this.#motion.search));
  }

  residualForce(): void {
    const { qacc } = this;
    const [m, d, motion] = [this.#m, this.#d, this.#motion];
    // of its own: nothing of this is left if nothing reads qfrc_constraint
    const wrench = this.#bodies("momentum");
    wrench.setRow(0, ZERO6);
    each(m.nbody, (b) => wrench.setRow(b, mulInertVec(d.cinert.inertia(b), motion.qacc.spatial(b))), { start: 1 });
    dofForces(m, d, wrench, (i, force) => {
      const inertial = add(force, mul(this.#tree.armature(i), qacc.at(i)));
      d.qfrc_constraint.set(i, sub(inertial, d.qfrc_smooth.at(i)));
    });
  }

  sumForces(visit: Parameters<Space["sumForces"]>[0]): void {
    const [m, d] = [this.#m, this.#d];
    const total = d.qfrc_constraint;
    const wrench = this.#bodies("constraint");
    each(m.nv, (i) => total.set(i, 0));
    each(m.nbody, (b) => wrench.setRow(b, ZERO6));
    visit(
      (row, force) => {
        for (const { dof, value } of row.jac) total.set(dof, add(total.at(dof), mul(value, force)));
      },
      (slot, force) => this.#push(wrench, this.contact(slot), force, 1),
    );
    dofForces(m, d, wrench, (i, force) => total.set(i, add(total.at(i), force)));
  }
}

/** Cᵀ W C of a contact against one body. */
function stiffness(law: ContactLaw, rows: readonly Spatial[]): Scalar[] {
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

/** a += scale b, row by row. */
function axpy(a: Field, scale: Scalar, b: Field): void {
  each(a.rows, (i) => a.setRow(i, add6(a.spatial(i), scale6(b.spatial(i), scale))));
}

/** The sum over bodies of the inner products of spatial vectors. */
function dotRows(a: Field, b: Field): Scalar {
  const total = variable("dot", 0);
  each(a.rows, (i) => total.set(add(total.get(), dot6(a.spatial(i), b.spatial(i)))), { start: 1 });
  return total.get();
}
