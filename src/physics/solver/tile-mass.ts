// M in the tiles of dof-tiles.ts, without armature
import { array, loop, table, type LocalArray } from "../../trace/control.ts";
import { add, eq, mul, select, type Int, type Scalar } from "../../trace/scalar.ts";
import { dot6, mulInertVec } from "../../trace/spatial.ts";
import { sumUp } from "../smooth/each-body.ts";
import { compositeMotions, hasLightDofs } from "../smooth/own-centres.ts";
import { copyField } from "../smooth/sparsity.ts";
import { Field, type WorldData, type ModelView } from "../view.ts";
import { TILE, type MassTiles } from "./dof-tiles.ts";

/** The inertia matrix of a step, in the tiles in which it has anything. */
export class TileMass {
  readonly #m: ModelView;
  readonly #d: WorldData;
  readonly #tiles: MassTiles;
  /** Its entries at the places of `ofMass`, after one tile that is zero. */
  readonly #entries: readonly LocalArray[];
  readonly #place: (at: Int) => Int;

  constructor(m: ModelView, d: WorldData, tiles: MassTiles) {
    this.#m = m;
    this.#d = d;
    this.#tiles = tiles;
    const { count, ofMass } = tiles;
    this.#entries = Array.from({ length: TILE * TILE }, (_, k) => array(`tile_M${k}`, ofMass.length + 1));
    const places: number[] = Array((count * (count + 1)) / 2).fill(0);
    ofMass.forEach(([I, J], k) => (places[(I * (I + 1)) / 2 + J] = k + 1));
    this.#place = table("tile_M", places, "i32");
  }

  /** Entry `k` of the tile at a place in the list of all. */
  at(place: Int, k: number): Scalar {
    return this.#entries[k].get(this.#place(place));
  }

  /** The same of a tile by its number in `ofMass`. */
  entry(number: Int, k: number): Scalar {
    return this.#entries[k].get(add(number, 1));
  }

  make(): void {
    const { dofs, ofMass, dofOf } = this.#tiles;
    const m = this.#m;
    const along = hasLightDofs(m.model) ? this.#aboutOwn() : this.#aboutTrees();
    const [rows, columns] = [0, 1].map((k) =>
      table(
        k === 0 ? "tile_row" : "tile_column",
        ofMass.map((at) => at[k]),
        "i32",
      ),
    );
    const moves = (i: number, j: number): boolean => {
      for (let k = i; k >= 0; k = m.model.dof_parentid[k]) if (k === j) return true;
      return false;
    };
    const has = Array.from({ length: TILE * TILE }, (_, k) =>
      table(
        `tile_has${k}`,
        ofMass.map(([I, J]) => {
          const [row, column] = [dofs[TILE * I + Math.floor(k / TILE)], dofs[TILE * J + (k % TILE)]];
          return Number(row >= 0 && column >= 0 && moves(column, row));
        }),
        "i32",
      ),
    );
    loop(ofMass.length, (t) => {
      const side = (tiles: (t: Int) => Int): Int[] => {
        const first = mul(TILE, tiles(t));
        return Array.from({ length: TILE }, (_, r) => dofOf(add(first, r)));
      };
      const momenta = side(columns).map(along);
      side(rows).forEach((row, r) => {
        momenta.forEach((of, c) => {
          const k = TILE * r + c;
          this.#entries[k].set(add(t, 1), select(eq(has[k](t), 1), of(row), 0));
        });
      });
    });
  }

  /** Of a dof i, (i, j) of M by dof j, which moves its body. */
  #aboutTrees(): (i: Int) => (j: Int) => Scalar {
    const [m, d] = [this.#m, this.#d];
    const composite = new Field("composite", 10 * m.nbody, 10);
    copyField(d.cinert, composite);
    sumUp(m, composite);
    return (i) => {
      const momentum = mulInertVec(composite.inertia(m.dof_bodyid.at(i)), d.cdof.spatial(i));
      return (j) => dot6(d.cdof.spatial(j), momentum);
    };
  }

  #aboutOwn(): (i: Int) => (j: Int) => Scalar {
    const motions = compositeMotions(this.#m, this.#d);
    return (i) => motions(i).along;
  }
}
