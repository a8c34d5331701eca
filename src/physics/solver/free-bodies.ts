// the Hessian of bodies that float free and touch one another, factored in blocks of a body each
import { array, loop, table, variable, type LocalArray } from "../../trace/control.ts";
import {
  add,
  div,
  dotn,
  gt,
  max,
  min,
  mul,
  ne,
  select,
  sqrt,
  sub,
  sum,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { add6, scale6, spatial, rotational, translational, type Spatial } from "../../trace/spatial.ts";
import { scale3, sub3, type Vec3 } from "../../trace/vector.ts";
import { mjtJoint } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import { addOuter, SYM6, symPlace, spatialInertia, type Sym6 } from "../smooth/articulated.ts";
import type { BodyFrames } from "../smooth/body-frames.ts";
import { Field, type ModelView } from "../view.ts";
import { BitTies, type Visits } from "./ties.ts";

/** Bodies whose blocks a world holds; 128 take 1.2 MB. */
const MOST = 128;
const SIX = [0, 1, 2, 3, 4, 5] as const;
/** Rows of a block that are computed together: registers hold them. */
const TOGETHER = 2;
const TINY = 1e-30;

/** Bodies with a free joint and nothing that hangs on them, ascending. */
export function loneBodies({ nbody, body_parentid, body_jntnum, body_jntadr, jnt_type }: Model): number[] {
  const parents = new Set(body_parentid.subarray(1));
  return Array.from({ length: nbody }, (_, b) => b).filter(
    (b) => body_jntnum[b] === 1 && jnt_type[body_jntadr[b]] === mjtJoint.FREE && !parents.has(b),
  );
}

/** The same: none if they are too few or too many for blocks. */
export function freeBodies(model: Model): number[] {
  const free = loneBodies(model);
  return free.length > 1 && free.length <= MOST ? free : [];
}

/**
 * Block Cholesky of the Hessian over the spatial motions of free bodies. A block off the diagonal is there for two bodies
 * that touch, or that elimination ties; each world skips those it has not.
 */
export class FreeBodies {
  readonly #m: ModelView;
  readonly #frames: BodyFrames;
  readonly #bodies: readonly number[];
  readonly #bodyOf: (place: Int) => Int;
  readonly #placeOf: (body: Int) => Int;
  /** Blocks below the diagonal by row, as six columns each of six rows: of the Hessian, then of its factor. */
  readonly #blocks: readonly LocalArray[];
  readonly #ties: BitTies;
  readonly #start: (place: Int) => Int;
  /** The factor's triangles on the diagonal, with 1 / pivot in place of pivots. */
  readonly #pivots: readonly LocalArray[];
  readonly #motion: readonly LocalArray[];

  constructor(m: ModelView, frames: BodyFrames, bodies: readonly number[]) {
    this.#m = m;
    this.#frames = frames;
    this.#bodies = bodies;
    const n = bodies.length;
    const places = Array.from({ length: m.nbody }, (_, b) => bodies.indexOf(b));
    this.#bodyOf = table("free_body", bodies, "i32");
    this.#placeOf = table("free_place", places, "i32");
    const blocks = (n * (n - 1)) / 2;
    this.#blocks = SIX.map((c) => array(`tie_${c}`, 6 * blocks, "f32", true));
    this.#ties = new BitTies("tied", n);
    const starts = bodies.map((_, i) => (i * (i - 1)) / 2);
    this.#start = table("tie_start", starts, "i32");
    this.#pivots = Array.from({ length: SYM6 }, (_, k) => array(`free_pivot${k}`, n));
    this.#motion = SIX.map((k) => array(`free_v${k}`, n));
  }

  /** Whether nothing else moves. */
  get areAll(): boolean {
    return this.#m.nv === 6 * this.#bodies.length;
  }

  has(body: Int): Bool {
    return ne(this.#placeOf(body), -1);
  }

  /** Takes all ties away. */
  clear(): void {
    this.#ties.clear();
  }

  /** What a constraint between two bodies adds, whose rows are `a` on the one and `b` on the other, with W of its cost: - aᵀ W b. */
  tie(
    first: Int,
    second: Int,
    a: readonly Spatial[],
    b: readonly Spatial[],
    W: (i: number, j: number) => Scalar,
  ): void {
    const [p, q] = [this.#placeOf(first), this.#placeOf(second)];
    const ordered = gt(p, q);
    const choose = (x: readonly Spatial[], y: readonly Spatial[]) =>
      x.map((row, i) => row.map((value, c) => select(ordered, value, y[i][c])));
    const [rows, columns] = [choose(a, b), choose(b, a)];
    const [i, j] = [max(p, q), min(p, q)];
    const block = this.#block(i, j);
    const isTied = this.#ties.has(i, j);
    this.#ties.tie(i, j);
    const weighed = rows.map((_, i) => SIX.map((c) => sum(rows.map((row, k) => mul(W(i, k), row[c])))));
    const column = (list: readonly (readonly Scalar[])[], c: number) => list.map((x) => x[c]);
    for (const r of SIX) {
      const at = add(mul(6, block), r);
      this.#blocks.forEach((values, c) => {
        const before = select(isTied, values.get(at), 0);
        values.set(at, sub(before, dotn(column(weighed, r), column(columns, c))));
      });
    }
  }

  /** Factors. `stiffness`: of bodies, from what touches them; `diagonal`: of dofs. */
  factor(stiffness: (body: Int) => Sym6, diagonal: (dof: Int) => Scalar): void {
    const ties = this.#ties;
    loop(this.#bodies.length, (j) => {
      const body = this.#bodyOf(j);
      const K = [...stiffness(body)];
      spatialInertia(this.#frames.inertia(body)).forEach((x, k) => (K[k] = add(K[k], x)));
      const first = this.#m.body_dofadr.at(body);
      this.#rowsOfDofs(first).forEach((row, k) => addOuter(K, row, row, diagonal(add(first, k))));
      const sums = K.map((x, k) => variable(`pivot_${k}`, x));
      ties.eachBefore(j, (k) => {
        const L = SIX.map((r) => this.#row(j, k, r));
        for (const r of SIX) {
          for (let c = 0; c <= r; c++) {
            const at = sums[symPlace(r, c)];
            at.set(sub(at.get(), dotn(L[r], L[c])));
          }
        }
        // elimination ties all that a body before is tied to
        ties.fill(j, k);
      });
      const L = cholesky6(sums.map((s) => s.get()));
      L.forEach((x, k) => this.#pivots[k].set(j, x));
      ties.eachBelow(j, (i, isTied, eachShared) => this.#column(i, j, L, isTied, eachShared));
    });
  }

  /** The block (i, j) of the factor, from that of the Hessian and the blocks to the left. */
  #column(i: Int, j: Int, L: Sym6, isTied: Bool, eachShared: Visits): void {
    const block = mul(6, this.#block(i, j));
    loop(6 / TOGETHER, (part) => {
      const offset = mul(TOGETHER, part);
      const rows = Array.from({ length: TOGETHER }, (_, r) => {
        const at = add(add(block, offset), r);
        const sums = this.#blocks.map((column, c) => variable(`tie_sum${r}_${c}`, select(isTied, column.get(at), 0)));
        return { at, sums };
      });
      eachShared((k) => {
        const left = add(mul(6, this.#block(i, k)), offset);
        const own = rows.map((_, r) => this.#blocks.map((column) => column.get(add(left, r))));
        for (const c of SIX) {
          const other = this.#row(j, k, c);
          rows.forEach(({ sums }, r) => sums[c].set(sub(sums[c].get(), dotn(own[r], other))));
        }
      });
      for (const { at, sums } of rows) {
        const x: Scalar[] = [];
        for (const c of SIX) {
          const before = x.map((value, k) => mul(value, L[symPlace(c, k)]));
          const rest = before.reduce<Scalar>((total, value) => sub(total, value), sums[c].get());
          x.push(mul(rest, L[symPlace(c, c)]));
          this.#blocks[c].set(at, x[c]);
        }
      }
    });
  }

  /** Accelerations `x` and `motion` under `force` on dofs and `wrench` on bodies. */
  solve(force: (dof: Int) => Scalar, wrench: (body: Int) => Spatial, x: Field, motion: Field): void {
    const n = this.#bodies.length;
    const at = (i: Int) => this.#motion.map((a) => a.get(i)) as unknown as Spatial;
    const write = (i: Int, v: readonly Scalar[]) => v.forEach((value, k) => this.#motion[k].set(i, value));
    const triangle = (i: Int) => this.#pivots.map((a) => a.get(i));
    loop(n, (i) => {
      const body = this.#bodyOf(i);
      const first = this.#m.body_dofadr.at(body);
      const rows = this.#rowsOfDofs(first);
      const given = rows.reduce<Spatial>(
        (total, row, k) => add6(total, scale6(row, force(add(first, k)))),
        wrench(body),
      );
      const sums = given.map((value, c) => variable(`forward_${c}`, value));
      this.#ties.eachBefore(i, (k) => {
        const y = at(k);
        for (const r of SIX) sums[r].set(sub(sums[r].get(), dotn(this.#row(i, k, r), y)));
      });
      const L = triangle(i);
      const y: Scalar[] = [];
      for (const r of SIX) {
        const rest = y.reduce<Scalar>((total, v, k) => sub(total, mul(L[symPlace(r, k)], v)), sums[r].get());
        y.push(mul(rest, L[symPlace(r, r)]));
      }
      write(i, y);
    });
    loop(n, (up) => {
      const i = sub(n - 1, up);
      const body = this.#bodyOf(i);
      const sums = at(i).map((value, c) => variable(`back_${c}`, value));
      this.#ties.eachAfter(i, (k) => {
        const v = at(k);
        const rows = SIX.map((r) => this.#row(k, i, r));
        for (const c of SIX) {
          const column = rows.map((r) => r[c]);
          sums[c].set(sub(sums[c].get(), dotn(column, v)));
        }
      });
      const L = triangle(i);
      const v: Scalar[] = Array<Scalar>(6).fill(0);
      for (const r of SIX.toReversed()) {
        let rest = sums[r].get();
        for (let k = 5; k > r; k--) rest = sub(rest, mul(L[symPlace(k, r)], v[k]));
        v[r] = mul(rest, L[symPlace(r, r)]);
      }
      write(i, v);
      motion.setRow(body, v);
      const first = this.#m.body_dofadr.at(body);
      this.#rowsOfDofs(first).forEach((row, k) => x.set(add(first, k), dotn(row, v)));
    });
  }

  /** The place of a block, i > j. */
  #block(i: Int, j: Int): Int {
    return add(this.#start(i), j);
  }

  #row(i: Int, j: Int, row: number): Scalar[] {
    const at = add(mul(6, this.#block(i, j)), row);
    return this.#blocks.map((column) => column.get(at));
  }

  /** What makes a free joint's accelerations of its body's: the inverse of the dofs' axes, of which the turning ones are orthonormal. */
  #rowsOfDofs(first: Int): Spatial[] {
    const turns = [3, 4, 5].map((k) => this.#frames.axis(add(first, k)));
    const slides = [0, 1, 2].map((k) => {
      const lever = turns.reduce<Vec3>(
        (total, axis) => sub3(total, scale3(rotational(axis), translational(axis)[k])),
        [0, 0, 0],
      );
      return spatial(lever, [0, 1, 2].map((c) => (c === k ? 1 : 0)) as unknown as Vec3);
    });
    return [...slides, ...turns.map((axis) => spatial(rotational(axis), [0, 0, 0]))];
  }
}

/** The Cholesky factor of a symmetric matrix, with 1 / pivot in place of pivots. */
function cholesky6(A: readonly Scalar[]): Scalar[] {
  const L: Scalar[] = [...A];
  const at = (i: number, j: number) => L[symPlace(i, j)];
  for (const j of SIX) {
    for (let i = j; i < 6; i++) {
      let rest = at(i, j);
      for (let k = 0; k < j; k++) rest = sub(rest, mul(at(i, k), at(j, k)));
      L[symPlace(i, j)] = i === j ? div(1, sqrt(max(rest, TINY))) : mul(rest, at(j, j));
    }
  }
  return L;
}
