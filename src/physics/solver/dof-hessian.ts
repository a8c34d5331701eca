// Newton's Hessian over the dofs of bodies that contacts and rows couple, factored in tiles, for rolled kernels
import { array, flag, loop, variable, when, type LocalArray, type Variable } from "../../trace/control.ts";
import { current } from "../../trace/graph.ts";
import {
  add,
  and,
  band,
  bor,
  gt,
  max,
  mul,
  ne,
  not,
  select,
  shl,
  sqrt,
  toU32,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import type { Model } from "../../model/model.ts";
import type { ContactLaw } from "../constraint/cone.ts";
import type { ContactRows } from "../constraint/contact-rows.ts";
import type { Row, RowLaw } from "../constraint/rows.ts";
import type { BodyFrames } from "../smooth/body-frames.ts";
import type { Field, ModelView, WorldData } from "../view.ts";
import { ContactSquares, type Squares } from "./contact-squares.ts";
import { downhill, pushes, type CoupledSolve } from "./dof-solve.ts";
import { MOST_TILES, PART, TILE, dofTiles, type DofTiles } from "./dof-tiles.ts";
import { loneBodies } from "./free-bodies.ts";
import { PairSquares } from "./pair-squares.ts";
import { FEW_ITERATIONS } from "./precision.ts";
import { addProducts, ENTRIES, TileFactor, transposed, WordTies } from "./tile-factor.ts";
import { TileMass } from "./tile-mass.ts";

/** Dofs that a world holds a Hessian of; every two tiles may be tied. */
const MOST_DOFS = TILE * MOST_TILES;
/**
 * The same where private memory is a GPU's, and only for few iterations: they end with what an inexact direction is off by, as
 * those of inner conjugate gradients are. It is in an arena there, to which contacts add their squares: 14 KB a world for 22 dofs.
 */
const MOST_DOFS_AWAY = 48;
/**
 * Contacts where a model starts from which conjugate gradients would be most of a step: each of some sixty turns visits all
 * that couple bodies. The Hessian is in an arena of a CPU's memory then: 139 KB a world for 363 contacts of 23 dofs.
 */
const MANY_CONTACTS = 64;

/** Bodies that float alone of a model; more of them touch each other in heaps, for which free-bodies.ts has blocks. */
const MOST_LOOSE = 3;

/** Whether they are what a model is made of. */
export const isLoose = (model: Model): boolean => loneBodies(model).length > MOST_LOOSE;

/** Whether a model has few dofs, and without room of its own for a Hessian gains by one. */
export function factorsOverDofs({ form, model }: ModelView): boolean {
  const isCrowded = form.hasArena && (model.restContacts ?? 0) >= MANY_CONTACTS;
  const gains = form.hasRoom || isCrowded || model.opt.iterations < FEW_ITERATIONS;
  return gains && model.nv <= (form.hasRoom ? MOST_DOFS : MOST_DOFS_AWAY) && model.ntree <= MOST_TILES;
}

/**
 * M + diagonal + Jᵀ W J of all contacts and rows, as its Cholesky factor in tiles. A tile off the diagonal is there where
 * one dof moves the other's body, or a contact or row of this world couples them, or elimination does; each world skips those
 * it has not, and trees in which nothing is coupled. All loops have indices that worlds share, so that a vector of worlds loads neighbours.
 */
export class DofHessian {
  readonly isWhole = false;
  readonly #m: ModelView;
  readonly #d: WorldData;
  readonly #frames: BodyFrames;
  readonly #contacts: ContactRows;
  readonly #tiles: DofTiles;
  readonly #mass: TileMass;
  readonly #knowsMass = flag("knows_mass", false);
  readonly #rows: readonly Row[];
  /** The trees in which something of the current iteration couples bodies, and the tiles of these. */
  readonly #coupled = variable("coupled_trees", toU32(0), "u32");
  readonly #live = variable("live_tiles", toU32(0), "u32");
  readonly #squares: Squares;
  /** Rows times the root of their second derivative, at rows times tiles. */
  readonly #rootedRows: readonly LocalArray[];
  readonly #ties: WordTies;
  readonly #factor: TileFactor;

  constructor(m: ModelView, d: WorldData, frames: BodyFrames, contacts: ContactRows, rows: readonly Row[]) {
    this.#m = m;
    this.#d = d;
    this.#frames = frames;
    this.#contacts = contacts;
    this.#rows = rows;
    const tiles = dofTiles(
      m.model,
      rows.map(({ jac }) => jac.map(({ dof }) => dof as number)),
    );
    this.#tiles = tiles;
    this.#mass = new TileMass(m, d, tiles);
    const n = tiles.count;
    // merged contacts would be what rounding leaves of their levers in float32
    this.#squares = current().exact
      ? new PairSquares(m, frames, contacts, tiles)
      : new ContactSquares(m, frames, contacts, tiles);
    this.#rootedRows = PART.map((r) => array(`rooted_row${r}`, Math.max(1, rows.length * n), "f32", true));
    this.#ties = new WordTies(tiles);
    this.#factor = new TileFactor(tiles, this.#ties);
  }

  /** Begins a step, whose M is made when it is asked for. */
  start(): void {
    this.#knowsMass.set(false);
  }

  /** Begins an iteration, in which nothing couples bodies yet. */
  clear(): void {
    this.#coupled.set(toU32(0));
  }

  /** Whether something does. All trees in which nothing does are solved by themselves. */
  get couples(): Bool {
    return ne(this.#coupled.get(), toU32(0));
  }

  /** Sees whether the row of a place in the list couples bodies now. */
  addRow(place: number, { hessian }: RowLaw): void {
    const trees = toU32(this.#tiles.treesOfRow[place]);
    this.#coupled.set(bor(this.#coupled.get(), select(gt(hessian, 0), trees, toU32(0), "u32")));
  }

  /** The same of a contact. */
  addContact(slot: Int, law: ContactLaw, isCoupled: Bool): void {
    when(and(isCoupled, this.#pushes(law)), () => this.#coupled.set(bor(this.#coupled.get(), this.#treesOf(slot))));
  }

  #treesOf(slot: Int): Int {
    const [a, b] = ([0, 1] as const).map((which) => toU32(this.#tiles.treeOfBody(this.#contacts.body(slot, which))));
    return bor(a, b);
  }

  /** Jᵀ W J of contacts that push, and of rows, as what sums of squares are made of. `hessians`: of the rows. */
  collect(law: (index: Int, slot: Int) => ContactLaw, hessians: readonly Scalar[]): void {
    when(not(this.#knowsMass.get()), () => this.#mass.make());
    this.#knowsMass.set(true);
    const { count, least, rowTouches } = this.#tiles;
    if (this.#isOneTree) {
      this.#live.set(toU32(-1));
    } else {
      this.#live.set(toU32(0));
      loop(this.#m.ntree, (tree) => {
        const has = ne(band(this.#coupled.get(), shl(toU32(1), toU32(tree))), toU32(0));
        const tiles = toU32(this.#tiles.tilesOfTree(tree));
        this.#live.set(bor(this.#live.get(), select(has, tiles, toU32(0), "u32")));
      });
    }
    loop(count, (I) => {
      const ofTrees = toU32(least(I));
      const live = this.#live.get();
      this.#ties.there.set(
        I,
        this.#isOneTree ? ofTrees : select(this.#has(live, I), band(ofTrees, live), toU32(0), "u32"),
      );
    });
    this.#rows.forEach((row, r) => {
      const root = sqrt(max(hessians[r], 0));
      for (const I of rowTouches[r]) {
        this.#rootedRows.forEach((a, k) => {
          const dof = this.#tiles.dofs[TILE * I + k];
          const value = row.jac.reduce<Scalar>((total, e) => (e.dof === dof ? add(total, e.value) : total), 0);
          a.set(r * count + I, mul(root, value));
        });
      }
    });
    const touch = (touched: Int) =>
      loop(count, (I) => {
        const there = this.#ties.there.get(I);
        this.#ties.there.set(I, select(this.#has(touched, I), bor(there, touched), there, "u32"));
      });
    this.#squares.begin();
    this.#contacts.slots.each((index, slot) => {
      const at = law(index, slot);
      const ofCoupled = this.#isOneTree ? true : ne(band(this.#treesOf(slot), this.#coupled.get()), toU32(0));
      when(and(ofCoupled, this.#pushes(at)), () => this.#squares.collect(index, slot, at, touch));
    });
    this.#squares.end(touch);
  }

  #pushes(law: ContactLaw): Bool {
    return pushes(law, this.#contacts);
  }

  get #isOneTree(): boolean {
    return this.#m.ntree === 1;
  }

  #has(bits: Int, tile: Int): Bool {
    return this.#tiles.has(bits, tile);
  }

  /** Runs `body` where a tile has dofs that something couples. */
  readonly #each = (tile: Int, body: () => void): void => {
    when(this.#isOneTree ? true : this.#has(this.#live.get(), tile), body);
  };

  /** Factors. `diagonal`: of dofs, armature among it. */
  factor(diagonal: (dof: Int) => Scalar): void {
    const { dofOf, isDof } = this.#tiles;
    this.#factor.factor(this.#each, {
      diagonal: (J, at) => {
        const sums = ENTRIES.map((k) => {
          const [r, c] = [Math.floor(k / TILE), k % TILE];
          if (c > r) return undefined;
          const own = this.#mass.at(at, k);
          const p = add(mul(TILE, J), r);
          const entry = r === c ? select(isDof(p), add(own, diagonal(dofOf(p))), 1) : own;
          return variable(`diagonal_${k}`, entry);
        });
        this.#addSquares(J, J, sums);
        return sums;
      },
      below: (I, J, at) => {
        const own = ENTRIES.map((k) => variable(`tile_${k}`, this.#mass.at(at, k)));
        this.#addSquares(I, J, own);
        return own;
      },
    });
  }

  /** Adds Jᵀ W J of contacts and rows to the tile (I, J). */
  #addSquares(I: Int, J: Int, sums: readonly (Variable | undefined)[]): void {
    const { count: n, start, rowsAt } = this.#tiles;
    if (this.#rows.length > 0) {
      const at = add(start(I), J);
      loop(
        rowsAt.from(add(at, 1)),
        (e) => {
          const first = mul(rowsAt.row(e), n);
          const side = (T: Int) => [this.#rootedRows.map((a) => a.get(add(first, T)))];
          addProducts(sums, transposed(side(I)), transposed(side(J)), add);
        },
        { start: rowsAt.from(at) },
      );
    }
    this.#squares.add(I, J, sums);
  }

  /** Solves H search = -gradient for dofs of the trees that are coupled, and the motions of all bodies. */
  solveAll({ law, hessians, diagonal, gradient, search }: CoupledSolve): void {
    const solve = downhill(this.#m, this.#d, this.#frames);
    this.collect(law, hessians());
    this.factor(diagonal);
    solve({ gradient, search }, (force) => this.solve(force, search.dofs));
  }

  /** x = H⁻¹ force, of dofs of the trees that are coupled. */
  solve(force: (dof: Int) => Scalar, x: Field): void {
    const { dofOf, isDof, treeOfDof } = this.#tiles;
    const positions = (I: Int) => PART.map((r) => add(mul(TILE, I), r));
    this.#factor.solve(
      this.#each,
      (I) => positions(I).map((p) => select(isDof(p), force(dofOf(p)), 0)),
      (I, values) =>
        positions(I).forEach((p, r) => {
          const isCoupled = this.#isOneTree ? true : ne(band(this.#coupled.get(), toU32(treeOfDof(p))), toU32(0));
          when(isDof(p), () => when(isCoupled, () => x.set(dofOf(p), values[r])));
        }),
    );
  }
}
