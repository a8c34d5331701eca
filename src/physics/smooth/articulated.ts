// accelerations under forces without the mass matrix: articulated bodies
import { each, variable, when, type Variable } from "../../trace/control.ts";
import { add, div, dotn, mul, neg, sub, sum, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import { add6, dot6, scale6, ZERO6, type SpatialInertia, type Spatial } from "../../trace/spatial.ts";
import { cross, type Vec3 } from "../../trace/vector.ts";
import { forceToParent, motionFromParent, type BodyFrames } from "./body-frames.ts";
import { dofArmatures } from "./coefficients.ts";
import { eachBodyDown, eachBodyUp, eachDof, eachDofUp, movingSpatial } from "./each-body.ts";
import { Field, type WorldData, type ModelView } from "../view.ts";

/** A symmetric 6 x 6 matrix: its upper triangle, row by row. */
export type Sym6 = readonly Scalar[];
export const SYM6 = 21;
/** Where the (i, j) of one is. */
export const symPlace = (i: number, j: number): number =>
  i <= j ? 6 * i - (i * (i - 1)) / 2 + (j - i) : symPlace(j, i);
/** The (i, j) of each entry. */
const ENTRIES = [0, 1, 2, 3, 4, 5].flatMap((i) => [0, 1, 2, 3, 4, 5].filter((j) => j >= i).map((j) => [i, j] as const));

/** The matrix of mju_mulInertVec. */
export function spatialInertia(c: SpatialInertia): Sym6 {
  const [xx, yy, zz, xy, xz, yz, hx, hy, hz, mass] = c;
  return [xx, xy, xz, 0, neg(hz), hy, yy, yz, hz, 0, neg(hx), zz, neg(hy), hx, 0, mass, 0, 0, mass, 0, mass];
}

const times = (A: Sym6, s: Spatial): Spatial =>
  [0, 1, 2, 3, 4, 5].map((i) =>
    dotn(
      [0, 1, 2, 3, 4, 5].map((j) => A[symPlace(i, j)]),
      s,
    ),
  ) as unknown as Spatial;

/** sum += scale a bᵀ, of which the symmetric part is kept if a and b differ. */
export function addOuter(sum: Scalar[], a: Spatial, b: Spatial, scale: Scalar): void {
  const scaled = scale6(b, scale);
  ENTRIES.forEach(([i, j], e) => {
    const value = a === b ? mul(a[i], scaled[j]) : add(mul(a[i], scaled[j]), mul(a[j], scaled[i]));
    sum[e] = add(sum[e], value);
  });
}

/** rowsᵀ W rows */
export function weighedSquare(rows: readonly Spatial[], W: (i: number, j: number) => Scalar): Sym6 {
  const weighed = rows.map((_, i) => [0, 1, 2, 3, 4, 5].map((c) => sum(rows.map((row, j) => mul(W(i, j), row[c])))));
  return ENTRIES.map(([r, c]) => sum(rows.map((row, i) => mul(row[r], weighed[i][c]))));
}

/** Of bodies that are passed over nothing changes. */
const ALL = (): Bool => true;

/** The same inertia about the parent's point, `offset` from which is the body's. */
function inertiaToParent(A: Sym6, offset: Vec3): Sym6 {
  // blocks [I H; Hᵀ M], which become [I + D Hᵀ - H' D, H' = H + D M; ., M] with D x = offset x x
  const at = (i: number, j: number) => A[symPlace(i, j)];
  const rows = [0, 1, 2];
  const M = rows.map((j) => cross(offset, rows.map((k) => at(3 + k, 3 + j)) as unknown as Vec3));
  const H = rows.map((i) => rows.map((j) => add(at(i, 3 + j), M[j][i])) as unknown as Vec3);
  const DH = rows.map((j) => cross(offset, rows.map((k) => at(j, 3 + k)) as unknown as Vec3));
  const HD = H.map((row) => cross(row, offset));
  return ENTRIES.map(([i, j]) => {
    if (i >= 3) return at(i, j);
    return j >= 3 ? H[i][j - 3] : add(at(i, j), sub(DH[j][i], HD[i][j]));
  });
}

/** Spatial velocities of all bodies for velocities `x` of the dofs. */
export function bodyMotions(m: ModelView, frames: BodyFrames, x: Field, motion: Field): void {
  motion.setRow(0, ZERO6);
  eachBodyDown(m, (i, parent) => {
    const v = movingSpatial("v", motionFromParent(frames, i, motion.spatial(parent)));
    eachDof(m, i, (dof) => v.add(scale6(frames.axis(dof), x.at(dof))));
    motion.setRow(i, v.get());
  });
}

/** Those that belong to qvel. */
export function bodyVelocities(m: ModelView, d: WorldData, frames: BodyFrames): Field {
  if (!frames.fromParent) return d.cvel;
  const velocities = new Field("own_cvel", 6 * m.nbody, 6);
  bodyMotions(m, frames, d.qvel, velocities);
  return velocities;
}

/**
 * (M + diagonal + stiffness of bodies)⁻¹, by articulated-body inertias (Featherstone 2008, chapter 7). Work and code grow
 * with the number of bodies, where a factorisation of M grows with the cube of a chain's length.
 */
export class Articulated {
  readonly #m: ModelView;
  readonly #frames: BodyFrames;
  /** Articulated inertia times motion axis, and 1 / its part along the axis, by dof. */
  readonly #U: Field;
  readonly #Dinv: Field;
  /** What bodies take over from their children: inertias, bias forces. */
  readonly #inertia: Field;
  readonly #bias: Field;
  readonly armature: (dof: Int) => Scalar;
  /** Bodies that are solved elsewhere. */
  readonly #without: ReadonlySet<number>;

  /** `added`: to the armature of each dof. */
  constructor(m: ModelView, frames: BodyFrames, without: readonly number[] = [], added?: Field) {
    this.#m = m;
    this.#without = new Set(without);
    this.#frames = frames;
    this.#U = new Field("U", 6 * m.nv, 6);
    this.#Dinv = new Field("Dinv", m.nv);
    this.#inertia = new Field("IA", SYM6 * m.nbody, SYM6);
    const own = dofArmatures(m);
    this.armature = added ? (dof) => add(own(dof), added.at(dof)) : own;
    this.#bias = new Field("pA", 6 * m.nbody, 6);
  }

  /** Sets the stiffness of all bodies to zero. */
  clear(): void {
    const [m, inertia] = [this.#m, this.#inertia];
    each(m.nbody, (i) => inertia.setRow(i, Array(SYM6).fill(0)));
  }

  stiffness(body: Int): Sym6 {
    return this.#inertia.slice(body, SYM6);
  }

  /** Adds to the stiffness of a body, about its point. */
  stiffen(body: Int, K: Sym6): void {
    const was = this.#inertia.slice(body, SYM6);
    this.#inertia.setRow(
      body,
      K.map((x, k) => add(was[k], x)),
    );
  }

  /** Factors; `clear` comes before, and the stiffness is used up. `isNew`: of bodies whose tree has another factor than before. */
  factor(diagonal: (dof: Int) => Scalar, inLine = false, isNew: (body: Int) => Bool = ALL): void {
    const [m, frames, U, Dinv, inertia] = [this.#m, this.#frames, this.#U, this.#Dinv, this.#inertia];
    const sums = new Sums(inertia, inLine);
    const up = (i: Int, parent: Int) => {
      const own = spatialInertia(frames.inertia(i));
      const taken = inLine ? inertia.slice(i, SYM6).map((x, k) => add(x, sums.at(i)[k])) : sums.at(i);
      const A: Variable[] = own.map((x, k) => variable(`A_${k}`, add(x, taken[k])));
      eachDofUp(m, i, (dof) => {
        const axis = frames.axis(dof);
        const now = A.map((v) => v.get());
        const u = times(now, axis);
        const inverse = div(1, add(dot6(axis, u), add(this.armature(dof), diagonal(dof))));
        U.setRow(dof, u);
        Dinv.set(dof, inverse);
        addOuter(now, u, u, neg(inverse));
        now.forEach((x, k) => A[k].set(x));
      });
      const left = A.map((v) => v.get());
      sums.add(parent, frames.fromParent ? inertiaToParent(left, frames.fromParent(i)) : left);
    };
    eachBodyUp(m, (i, parent) => when(isNew(i), () => up(i, parent)), inLine, this.#without);
  }

  /** Of a dof, after `factor`: the articulated inertia times its axis, and 1 / the part along it. */
  inertiaAlong(dof: Int): Spatial {
    return this.#U.spatial(dof);
  }
  inverse(dof: Int): Scalar {
    return this.#Dinv.at(dof);
  }

  /**
   * Accelerations `x` of the dofs under `force` on them and, if given, `wrench` on the bodies; `motion` takes the
   * bodies' spatial accelerations. In line it takes a tenth of the time, and is long. `between`: what changes `x` on its way
   * from the leaves to the roots and back. `isAsked`: of bodies whose trees are solved, the others stay as they are.
   */
  solve(
    force: (dof: Int) => Scalar,
    x: Field,
    motion: Field,
    wrench: (body: Int) => Spatial = () => ZERO6,
    inLine = false,
    between = (): void => {},
    isAsked: (body: Int) => Bool = ALL,
  ): void {
    const [m, frames, U, Dinv, bias] = [this.#m, this.#frames, this.#U, this.#Dinv, this.#bias];
    const sums = new Sums(bias, inLine);
    const against = (i: Int) => scale6(wrench(i), -1);
    if (!inLine) each(m.nbody, (i) => when(isAsked(i), () => bias.setRow(i, against(i))));
    const up = (i: Int, parent: Int) => {
      const given = sums.at(i) as unknown as Spatial;
      const p = movingSpatial("p", inLine ? add6(against(i), given) : given);
      eachDofUp(m, i, (dof) => {
        const u = sub(force(dof), dot6(frames.axis(dof), p.get()));
        x.set(dof, u);
        p.add(scale6(U.spatial(dof), mul(u, Dinv.at(dof))));
      });
      sums.add(parent, forceToParent(frames, i, p.get()));
    };
    eachBodyUp(m, (i, parent) => when(isAsked(i), () => up(i, parent)), inLine, this.#without);
    between();

    motion.setRow(0, ZERO6);
    const known = new Map<Int, Spatial>([[0, ZERO6]]);
    const down = (i: Int, parent: Int) => {
      const before = inLine ? known.get(parent)! : motion.spatial(parent);
      const a = movingSpatial("a", motionFromParent(frames, i, before));
      eachDof(m, i, (dof) => {
        const rate = mul(sub(x.at(dof), dot6(U.spatial(dof), a.get())), Dinv.at(dof));
        x.set(dof, rate);
        a.add(scale6(frames.axis(dof), rate));
      });
      motion.setRow(i, a.get());
      known.set(i, a.get());
    };
    eachBodyDown(m, (i, parent) => when(isAsked(i), () => down(i, parent)), inLine, this.#without);
  }
}

/** What bodies take over from their children: in the rows of a field, or in line in registers. */
class Sums {
  readonly #rows: Field;
  readonly #inLine: boolean;
  readonly #known = new Map<Int, readonly Scalar[]>();

  constructor(rows: Field, inLine: boolean) {
    this.#rows = rows;
    this.#inLine = inLine;
  }

  at(body: Int): readonly Scalar[] {
    const [rows, known, inLine] = [this.#rows, this.#known, this.#inLine];
    return inLine ? (known.get(body) ?? Array<Scalar>(rows.width).fill(0)) : rows.slice(body, rows.width);
  }

  add(body: Int, values: readonly Scalar[]): void {
    const was = this.at(body);
    const sum = values.map((x, k) => add(was[k], x));
    if (this.#inLine) this.#known.set(body, sum);
    else this.#rows.setRow(body, sum);
  }
}
