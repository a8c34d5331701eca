// Newton's Hessian over the dofs of many small trees that contacts and rows couple, as the tiles that each world has
import { array, flag, loop, table, variable, when, type LocalArray } from "../../trace/control.ts";
import {
  add,
  and,
  band,
  bor,
  bxor,
  eq,
  ge,
  gt,
  le,
  mul,
  ne,
  not,
  or,
  select,
  shl,
  sqrt,
  toU32,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import type { ContactLaw } from "../constraint/cone.ts";
import type { ContactRows } from "../constraint/contact-rows.ts";
import type { Row, RowLaw } from "../constraint/rows.ts";
import type { BodyFrames } from "../smooth/body-frames.ts";
import type { ModelView, WorldData } from "../view.ts";
import { contactSquares, motionOf } from "./contact-squares.ts";
import { downhill, pushes, type CoupledSolve } from "./dof-solve.ts";
import { PART, TILE } from "./dof-tiles.ts";
import { BitTies } from "./ties.ts";
import { addProducts, ENTRIES, TileFactor, transposed } from "./tile-factor.ts";
import { TileMass } from "./tile-mass.ts";
import type { TreeTiles } from "./tree-tiles.ts";

/**
 * M + diagonal + Jᵀ W J of all contacts and rows in tiles, stored and then factored in place. Rows of bits say which tiles off the
 * diagonal a world has: of others nothing is read. Where something couples bodies it solves all trees.
 */
export class TreeHessian {
  readonly isWhole = true;
  readonly #m: ModelView;
  readonly #d: WorldData;
  readonly #frames: BodyFrames;
  readonly #contacts: ContactRows;
  readonly #rows: readonly Row[];
  readonly #tiles: TreeTiles;
  readonly #mass: TileMass;
  readonly #knowsMass = flag("knows_mass", false);
  readonly #couples = flag("couples", false);
  readonly #ties: BitTies;
  readonly #factor: TileFactor;
  /** Tiles that the contact or row at hand touches, -1 where none; and Lᵀ J there by direction and dof of a tile, where W = L Lᵀ. */
  readonly #touched: LocalArray;
  readonly #rooted: readonly (readonly LocalArray[])[];

  constructor(
    m: ModelView,
    d: WorldData,
    frames: BodyFrames,
    contacts: ContactRows,
    rows: readonly Row[],
    tiles: TreeTiles,
  ) {
    [this.#m, this.#d, this.#frames, this.#contacts, this.#rows, this.#tiles] = [m, d, frames, contacts, rows, tiles];
    this.#mass = new TileMass(m, d, tiles);
    this.#ties = new BitTies("tree", tiles.count);
    this.#factor = new TileFactor(tiles, this.#ties);
    const most = Math.max(2 * tiles.widest, ...rows.map((row) => this.#tilesOf(row).length));
    this.#touched = array("tree_touched_tile", most, "i32", true);
    this.#rooted = Array.from({ length: contacts.dim }, (_, k) =>
      PART.map((r) => array(`tree_rooted${k}_${r}`, most, "f32", true)),
    );
  }

  #tilesOf({ jac }: Row): number[] {
    return [...new Set(jac.map(({ dof }) => this.#tiles.tileOf(dof as number)))];
  }

  start(): void {
    this.#knowsMass.set(false);
  }

  clear(): void {
    this.#couples.set(false);
  }

  get couples(): Bool {
    return this.#couples.get();
  }

  addRow(_place: number, { hessian }: RowLaw): void {
    this.#couples.set(or(this.couples, gt(hessian, 0)));
  }

  addContact(_slot: Int, law: ContactLaw, isCoupled: Bool): void {
    this.#couples.set(or(this.couples, and(isCoupled, pushes(law, this.#contacts))));
  }

  solveAll({ law, hessians, diagonal, gradient, search }: CoupledSolve): void {
    const solve = downhill(this.#m, this.#d, this.#frames);
    const { start } = this.#tiles;
    this.#begin(diagonal);
    const all = hessians();
    this.#rows.forEach((row, r) => when(gt(all[r], 0), () => this.#addRow(row, sqrt(all[r]))));
    this.#contacts.slots.each((index, slot) => {
      const at = law(index, slot);
      when(pushes(at, this.#contacts), () => this.#addContact(slot, at));
    });
    const always = (_: Int, body: () => void) => body();
    const { entries } = this.#factor;
    this.#factor.factor(always, {
      diagonal: (_, at) =>
        entries.map((e, k) => (k % TILE > Math.floor(k / TILE) ? undefined : variable(`diagonal_${k}`, e.get(at)))),
      below: (I, J, _, isTied) => {
        const at = add(start(I), J);
        return entries.map((e, k) => variable(`tile_${k}`, select(isTied, e.get(at), 0)));
      },
    });
    const { dofOf, isDof } = this.#tiles;
    solve({ gradient, search }, (force) =>
      this.#factor.solve(
        always,
        (I) => PART.map((r) => add(mul(TILE, I), r)).map((p) => select(isDof(p), force(dofOf(p)), 0)),
        (I, x) =>
          PART.forEach((r) => {
            const p = add(mul(TILE, I), r);
            when(isDof(p), () => search.dofs.set(dofOf(p), x[r]));
          }),
      ),
    );
  }

  /** M and the diagonal. */
  #begin(diagonal: (dof: Int) => Scalar): void {
    const { ofMass, start, isDof, dofOf } = this.#tiles;
    when(not(this.#knowsMass.get()), () => this.#mass.make());
    this.#knowsMass.set(true);
    this.#ties.clear();
    const [rows, columns] = [0, 1].map((side) =>
      table(
        `tree_mass${side}`,
        ofMass.map((tile) => tile[side]),
        "i32",
      ),
    );
    loop(ofMass.length, (t) => {
      const [I, J] = [rows(t), columns(t)];
      const isDiagonal = eq(I, J);
      const at = add(start(I), J);
      when(not(isDiagonal), () => this.#ties.tie(I, J));
      ENTRIES.forEach((k) => {
        const own = this.#mass.entry(t, k);
        const p = add(mul(TILE, I), k % TILE);
        const onDiagonal = () => select(isDof(p), add(own, diagonal(dofOf(p))), 1);
        this.#factor.entries[k].set(at, k % (TILE + 1) === 0 ? select(isDiagonal, onDiagonal(), own) : own);
      });
    });
  }

  #addRow(row: Row, root: Scalar): void {
    const tiles = this.#tilesOf(row);
    const { dofs } = this.#tiles;
    tiles.forEach((I, p) => {
      this.#touched.set(p, I);
      this.#rooted[0].forEach((a, r) => {
        const value = row.jac.reduce<Scalar>((all, e) => (e.dof === dofs[TILE * I + r] ? add(all, e.value) : all), 0);
        a.set(p, mul(root, value));
      });
    });
    this.#addSquare(tiles.length, 1);
  }

  #addContact(slot: Int, law: ContactLaw): void {
    const [m, frames, contacts] = [this.#m, this.#frames, this.#contacts];
    const { widest, treeOf, firstOf, movedBy, dofOf } = this.#tiles;
    const rooted = contactSquares(contacts, slot, law);
    const pos = contacts.slots.pos(slot);
    const [a, b] = ([0, 1] as const).map((which) => contacts.body(slot, which));
    const isOneTree = select(eq(treeOf(a), treeOf(b)), 1, 0, "i32");
    loop(2, (side) => {
      const isSecond = eq(side, 1);
      const first = firstOf(select(isSecond, b, a, "i32"));
      // what moves both moves neither against the other; a tree that both are of is visited once
      const of = (body: Int, is: Bool) => select(is, toU32(movedBy(body)), toU32(0), "u32");
      const [byA, byB] = [of(a, not(isSecond)), of(b, ne(side, isOneTree))];
      const moving = bxor(byA, byB);
      loop(widest, (k) => {
        const p = add(mul(widest, side), k);
        const I = add(first, k);
        const bit = (r: number) => shl(toU32(1), toU32(add(mul(TILE, k), r)));
        const isTouched = ne(band(moving, PART.map(bit).reduce(bor)), toU32(0));
        this.#touched.set(p, select(isTouched, I, -1, "i32"));
        when(isTouched, () =>
          PART.forEach((r) => {
            const has = (bits: Int) => ne(band(bits, bit(r)), toU32(0));
            const sign = select(has(moving), select(has(byB), 1, -1, "f32"), 0, "f32");
            const values = rooted(motionOf(m, frames, dofOf(add(mul(TILE, I), r)), pos, sign));
            values.forEach((value, d) => this.#rooted[d][r].set(p, value));
          }),
        );
      });
    });
    this.#addSquare(2 * widest, contacts.dim);
  }

  /** Adds what is at hand, in so many places and directions. */
  #addSquare(places: number, dim: number): void {
    const { start } = this.#tiles;
    const side = (p: Int) => transposed(this.#rooted.slice(0, dim).map((parts) => parts.map((a) => a.get(p))));
    const each = (visit: (p: Int, tile: Int) => void) =>
      loop(places, (p) => {
        const tile = this.#touched.get(p);
        when(ge(tile, 0), () => visit(p, tile));
      });
    each((p, I) =>
      each((q, J) =>
        when(le(J, I), () => {
          const isDiagonal = eq(I, J);
          const isThere = or(isDiagonal, this.#ties.has(I, J));
          const at = add(start(I), J);
          const sums = this.#factor.entries.map((e, k) => variable(`square_${k}`, select(isThere, e.get(at), 0)));
          addProducts(sums, side(p), side(q), add);
          sums.forEach((s, k) => this.#factor.entries[k].set(at, s.get()));
          when(not(isDiagonal), () => this.#ties.tie(I, J));
        }),
      ),
    );
  }
}
