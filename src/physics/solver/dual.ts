// the dual of the constraint solver's problem: forces f of the constraints, and the accelerations M⁻¹ Jᵀ f that they make
import { array, each, increase, loop, variable, when, type LocalArray } from "../../trace/control.ts";
import {
  add,
  div,
  dotn,
  eq,
  ge,
  gt,
  idiv,
  lt,
  max,
  mul,
  neg,
  or,
  select,
  sub,
  sum,
  toI32,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { mjtCone, mjtSolver } from "../../model/enums.ts";
import { contactLaw, type ConeParams } from "../constraint/cone.ts";
import type { ContactRows } from "../constraint/contact-rows.ts";
import { rowDot, rowLaw, type Row } from "../constraint/rows.ts";
import { Field, type ModelView, type WorldData } from "../view.ts";
import { DualMatrix } from "./dual-matrix.ts";
import { DualRows } from "./dual-rows.ts";
import type { PrimalSolution } from "./solution.ts";

/** One contact while it is visited. */
export interface DualContact {
  readonly index: Int;
  readonly cone: ConeParams;
  /** Rows of its Jacobian over all dofs. */
  readonly J: readonly (readonly Scalar[])[];
}

/**
 * Forces of all rows by place: those that are not of contacts, then `width` for each contact: the edges of a pyramid
 * (efc_force), or the directions of an elliptic cone. Of each contact J M⁻¹ Jᵀ is kept, not its Jacobian: that is made
 * of the contact's frame where it is visited, and M⁻¹ Jᵀ df by the factors of M, so that memory grows with the number of
 * contacts alone. PGS on a CPU has all of A (`DualMatrix`), and moves no accelerations.
 */
export class DualForces {
  readonly m: ModelView;
  readonly rows: readonly Row[];
  readonly contacts: ContactRows;
  readonly width: number;
  readonly dim: number;
  readonly isPyramidal: boolean;
  readonly places: number;
  readonly force: LocalArray;
  readonly #solveM: (x: Field) => void;
  /** M⁻¹ Jᵀ f. */
  readonly acceleration: Field;
  /** Jᵀ f, or Jᵀ of a change of f. */
  readonly #push: Field;
  readonly #solved: Field;
  /** Jᵀ f, where changes of f are added to it. */
  #total: Field | undefined;
  readonly #rowState: DualRows;
  readonly #matrix: DualMatrix | undefined;
  readonly #slot: LocalArray;
  readonly #b: readonly LocalArray[];
  readonly #R: readonly LocalArray[];
  /** Lower triangles of J M⁻¹ Jᵀ. */
  readonly #A: readonly (readonly LocalArray[])[];

  constructor(m: ModelView, rows: readonly Row[], contacts: ContactRows, solveM: (x: Field) => void) {
    this.m = m;
    this.rows = rows;
    this.contacts = contacts;
    this.#solveM = solveM;
    this.dim = contacts.dim;
    this.isPyramidal = m.opt.cone === mjtCone.PYRAMIDAL || this.dim === 1;
    this.width = this.isPyramidal ? Math.max(1, 2 * (this.dim - 1)) : this.dim;
    const [nrow, ncon] = [rows.length, this.dim > 0 ? contacts.slots.nconmax : 0];
    this.places = nrow + ncon * this.width;
    this.force = array("efc_force", Math.max(1, this.places));
    this.acceleration = new Field("dual_qacc", m.nv, 1, true);
    this.#push = new Field("dual_qfrc", m.nv, 1, true);
    this.#solved = new Field("dual_solved", m.nv);
    this.#rowState = new DualRows(rows);
    const isPgs = m.opt.solver === mjtSolver.PGS;
    this.#matrix = isPgs && m.form.hasRoom ? DualMatrix.of(m.nv, this.places) : undefined;
    const ofContacts = (name: string, type: "f32" | "i32" = "f32") => array(name, Math.max(1, ncon), type);
    const directions = Array.from({ length: this.dim }, (_, k) => k);
    this.#slot = ofContacts("dual_slot", "i32");
    this.#b = directions.map((k) => ofContacts(`con_b${k}`));
    this.#R = directions.map((k) => ofContacts(`con_R${k}`));
    this.#A = directions.map((i) => directions.slice(0, i + 1).map((j) => ofContacts(`con_A${i}${j}`)));
  }

  get nrow(): number {
    return this.rows.length;
  }

  /** Sets b = J qacc_smooth - aref, A and R, and the forces that the constraints have at an acceleration. */
  start(d: WorldData, qacc: Field, JarefOf?: PrimalSolution["Jaref"]): void {
    this.#rowState.start(d.qacc_smooth);
    this.rows.forEach((row, r) => {
      const Jaref = sub(
        rowDot(row, (i) => qacc.at(i)),
        row.aref,
      );
      this.force.set(r, select(row.active, rowLaw(row, Jaref).force, 0));
    });
    loop(this.nrow, (r) => {
      const solve = () => {
        this.clear();
        this.pushRow(r, 1);
        this.#matrix?.keepRow(r, this.#rowState.b(r));
        this.#solve();
        this.#matrix?.keepSolved(r, this.#push);
        this.#rowState.setA(r, this.#push);
      };
      if (this.#matrix) when(this.isActive(r), solve);
      else solve();
    });
    if (this.dim > 0) this.contacts.slots.each((index, slot) => this.#startContact(d, qacc, index, slot, JarefOf));
    const isActive = (place: Int): Bool => (this.nrow > 0 ? or(ge(place, this.nrow), this.isActive(place)) : true);
    this.#matrix?.build(this.count, this.#rowState, isActive, this.#push);
  }

  #startContact(d: WorldData, qacc: Field, index: Int, slot: Int, JarefOf?: PrimalSolution["Jaref"]): void {
    const { contacts, dim } = this;
    this.#slot.set(index, slot);
    const J = contacts.jacobian(slot);
    loop(dim, (k) => {
      const ofDirection = (i: number) =>
        J.reduce<Scalar>((x, row, j) => (j === 0 ? row[i] : select(eq(k, j), row[i], x)), 0);
      for (let i = 0; i < this.m.nv; i++) this.#push.set(i, ofDirection(i));
      this.#solve();
      this.#matrix?.keepSolved(add(this.placeOf(index, 0), k), this.#push);
      const along = J.map((row) => dotn(row, this.#push.all()));
      this.#A.forEach((list, i) => list.forEach((a, j) => a.set(index, select(eq(k, i), along[j], a.get(index)))));
    });
    const along = (x: Field) => J.map((row) => dotn(row, x.all()));
    const { impedance, D: given } = contacts.stiffness(slot);
    const diagonal = this.#A.map((list, k) => list[k].get(index));
    const resolved = contacts.anyStiff ? contacts.resolved(slot, given, diagonal) : { D: given, share: [] };
    const D = resolved.D;
    const aref = contacts.aref(slot, impedance, along(d.qvel), D);
    const cone = { ...contacts.cone(slot), ...(contacts.anyStiff ? { share: resolved.share } : {}) };
    const smooth = along(d.qacc_smooth);
    this.#b.forEach((b, k) => b.set(index, sub(smooth[k], aref[k])));
    const share = (k: number): Scalar => (k === 0 ? 1 : (resolved.share[k - 1] ?? 1));
    const relative = (k: number): Scalar =>
      this.isPyramidal || k === 0 ? share(k) : mul(share(k), cone.tangentD[k - 1]);
    this.#R.forEach((R, k) => {
      const ownD = mul(D, relative(k));
      // a direction that the contact does not have
      R.set(index, k === 0 ? div(1, D) : select(gt(cone.condim, k), div(1, select(gt(cone.condim, k), ownD, 1)), 1));
    });
    const Jaref = JarefOf?.(index) ?? along(qacc).map((x, k) => sub(x, aref[k]));
    const forces = this.isPyramidal
      ? this.#edgeForces(index, cone, Jaref)
      : contactLaw(this.m.opt.cone, cone, D, Jaref).force;
    // all forces are in the sums of a matrix
    const own = (f: Scalar) => (this.#matrix ? select(contacts.makesRows(slot), f, 0) : f);
    forces.forEach((f, e) => this.force.set(this.placeOf(index, e), own(f)));
    const b = this.#b.map((x) => x.get(index));
    const edges = this.isPyramidal && this.dim > 1;
    this.#matrix?.keepContact(this.placeOf(index, 0), { width: this.width, edges, cone, J, b });
  }

  /** Whether residuals come of a matrix, and forces alone move. */
  get hasMatrix(): boolean {
    return this.#matrix !== undefined;
  }

  /** J qacc - aref of a row, or of a contact's edge or direction, without R f. */
  residualAt(place: Int): Scalar {
    return this.#matrix!.residual(place, this.force, this.count);
  }

  /** Places that there are now. */
  get count(): Int {
    return this.placeOf(this.dim > 0 ? this.contacts.slots.count : 0, 0);
  }

  /** Forces of the edges at J qacc - aref. */
  #edgeForces(index: Int, cone: ConeParams, Jaref: readonly Scalar[]): Scalar[] {
    const push = (x: Scalar, k: number) => max(0, neg(div(x, this.#R[k].get(index))));
    if (this.dim === 1) return [push(Jaref[0], 0)];
    return Array.from({ length: this.width }, (_, e) => {
      const [k, sign] = [1 + (e >> 1), e % 2 ? -1 : 1];
      const edge = push(add(Jaref[0], mul(sign, mul(cone.friction[k - 1], Jaref[k]))), k);
      const own = select(gt(cone.condim, k), edge, 0);
      return e === 0 ? select(eq(cone.condim, 1), push(Jaref[0], 0), own) : own;
    });
  }

  placeOf(contact: Int, e: Int): Int {
    return add(this.nrow, add(mul(contact, this.width), e));
  }

  /** Whether a place is that of a row which is not of a contact. */
  isRow(place: Int): Bool {
    if (this.nrow === 0) return false;
    return this.dim === 0 || lt(place, this.nrow);
  }

  /** The contact of a place, and which of its rows it is. */
  contactAt(place: Int): { readonly index: Int; readonly edge: Int } {
    const at = sub(place, this.nrow);
    const index = idiv(at, this.width);
    return { index, edge: sub(at, mul(index, this.width)) };
  }

  visit(index: Int): DualContact {
    const slot = this.#slot.get(index);
    return { index, cone: this.contacts.cone(slot), J: this.contacts.jacobian(slot) };
  }

  slotOf(index: Int): Int {
    return this.#slot.get(index);
  }

  /** How many rows a contact has. */
  widthOf(index: Int): Int {
    const { condim } = this.contacts.cone(this.#slot.get(index));
    const known = this.isPyramidal ? max(1, mul(2, sub(condim, 1))) : condim;
    return typeof known === "number" ? known : toI32(known);
  }

  row(r: Int) {
    return {
      ...this.#rowState.at(r),
      b: () => this.#rowState.b(r),
      residual: () => this.#rowState.residual(r, this.acceleration),
    };
  }

  isActive(r: Int): Bool {
    return this.#rowState.isActive(r);
  }

  /** Entry of J M⁻¹ Jᵀ of a contact. */
  A(index: Int, i: number, j: number): Scalar {
    return this.#A[Math.max(i, j)][Math.min(i, j)].get(index);
  }

  /** J qacc_smooth - aref of a contact's directions. */
  b(index: Int): Scalar[] {
    return this.#b.map((b) => b.get(index));
  }

  R(index: Int, k: number): Scalar {
    return this.#R[k].get(index);
  }

  /** J qacc - aref of a contact's directions, without R f. */
  residual({ index, J }: DualContact): Scalar[] {
    return J.map((row, k) => add(this.#b[k].get(index), dotn(row, this.acceleration.all())));
  }

  clear(): void {
    each(this.m.nv, (i) => this.#push.set(i, 0));
  }

  /** Adds Jᵀ df of a row. */
  pushRow(r: Int, df: Scalar): void {
    this.#rowState.push(r, df, this.#push);
  }

  /** Adds Jᵀ of a wrench in the contact's frame. */
  pushContact({ J }: DualContact, wrench: readonly Scalar[]): void {
    for (let i = 0; i < this.m.nv; i++) {
      const f = dotn(
        J.map((row) => row[i]),
        wrench,
      );
      if (f !== 0) this.#push.set(i, add(this.#push.at(i), f));
    }
  }

  /** M⁻¹ of what was pushed, in its place. */
  #solve(): void {
    each(this.m.nv, (i) => this.#solved.set(i, this.#push.at(i)));
    this.#solveM(this.#solved);
    each(this.m.nv, (i) => this.#push.set(i, this.#solved.at(i)));
  }

  /**
   * Goes on from what a primal solver left: its accelerations, and generalized forces that changes are added to. Summed from
   * forces anew they would have D times what rounds in J qacc - aref, which is in the forces alone and in no acceleration.
   */
  goOn(d: WorldData, isPart: boolean): void {
    this.#total = d.qfrc_constraint;
    if (isPart) {
      each(this.m.nv, (i) => this.#solved.set(i, d.qfrc_constraint.at(i)));
      this.#solveM(this.#solved);
    }
    each(this.m.nv, (i) => {
      this.acceleration.set(i, isPart ? this.#solved.at(i) : sub(d.qacc.at(i), d.qacc_smooth.at(i)));
    });
  }

  /** Moves the accelerations by M⁻¹ of what was pushed. */
  move(): void {
    const total = this.#total;
    if (total) each(this.m.nv, (i) => total.set(i, add(total.at(i), this.#push.at(i))));
    this.#solve();
    each(this.m.nv, (i) => this.acceleration.set(i, add(this.acceleration.at(i), this.#push.at(i))));
  }

  /** The wrench of a contact's rows. */
  wrench(index: Int, cone: ConeParams): Scalar[] {
    const f = Array.from({ length: this.width }, (_, e) => this.force.get(this.placeOf(index, e)));
    if (!this.isPyramidal) return f.map((x, k) => (k === 0 ? x : select(gt(cone.condim, k), x, 0)));
    if (this.dim === 1) return f;
    const alone = eq(cone.condim, 1);
    const ownEdge = (e: number) => select(gt(cone.condim, 1 + (e >> 1)), f[e], 0);
    const edges = f.map((_, e) => ownEdge(e));
    const tangents = cone.friction.map((mu, k) => mul(mu, sub(edges[2 * k], edges[2 * k + 1])));
    return [select(alone, f[0], sum(edges)), ...tangents];
  }

  /**
   * An edge of a pyramid, by its number at run time: what is of its direction after the normal, and what values by
   * direction come to along it.
   */
  edge(index: Int, e: Int) {
    const { condim, friction } = this.contacts.cone(this.#slot.get(index));
    const alone = this.dim === 1 ? true : eq(condim, 1);
    const pair = idiv(e, 2);
    const second = eq(sub(e, mul(2, pair)), 1);
    const direction = (of: (k: number) => Scalar): Scalar => {
      let value: Scalar = of(Math.min(1, this.dim - 1));
      for (let k = 2; k < this.dim; k++) value = select(eq(pair, k - 1), of(k), value);
      return select(alone, of(0), value);
    };
    const mu =
      this.dim === 1
        ? 0
        : select(
            alone,
            0,
            direction((k) => (k === 0 ? 0 : friction[k - 1])),
          );
    const slope = select(second, neg(mu), mu);
    return {
      direction,
      /** The friction of its direction, with the edge's sign. */
      slope,
      along: (values: readonly Scalar[]): Scalar =>
        add(
          values[0],
          mul(
            slope,
            direction((k) => values[k]),
          ),
        ),
      /** The wrench of a force along it. */
      wrench: (f: Scalar): Scalar[] =>
        Array.from({ length: this.dim }, (_, k) => (k === 0 ? f : select(eq(pair, k - 1), mul(slope, f), 0))),
    };
  }

  /** Accelerations anew from all forces of a list; returns fᵀ A f. Leaves `total` the generalized forces, if given. */
  recompute(count: Int, placeAt: (i: Int) => Int, total?: Field): Scalar {
    this.clear();
    loop(
      count,
      (i) => {
        const place = placeAt(i);
        when(
          this.isRow(place),
          () => this.pushRow(place, this.force.get(place)),
          () => {
            if (this.dim === 0) return;
            const { index, edge } = this.contactAt(place);
            when(eq(edge, 0), () => {
              const contact = this.visit(index);
              this.pushContact(contact, this.wrench(index, contact.cone));
            });
          },
        );
      },
      { label: "dual" },
    );
    if (total) each(this.m.nv, (i) => total.set(i, this.#push.at(i)));
    each(this.m.nv, (i) => this.#solved.set(i, this.#push.at(i)));
    this.#solveM(this.#solved);
    const energy = variable("dual_energy", 0);
    energy.set(0);
    each(this.m.nv, (i) => {
      increase(energy, mul(this.#push.at(i), this.#solved.at(i)));
      this.acceleration.set(i, this.#solved.at(i));
    });
    return energy.get();
  }
}
