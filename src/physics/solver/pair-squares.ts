// Jᵀ W J of contacts in the tiles of dof-tiles.ts, in float64: those of two bodies together are six squares, however many they are
import { array, loop, variable, when, type LocalArray, type Variable } from "../../trace/control.ts";
import { add, band, bor, eq, gt, mul, ne, or, select, sub, sum, toU32, type Int } from "../../trace/scalar.ts";
import type { Spatial } from "../../trace/spatial.ts";
import { cross, row as matRow, sub3, type Vec3 } from "../../trace/vector.ts";
import type { ContactLaw } from "../constraint/cone.ts";
import type { ContactRows } from "../constraint/contact-rows.ts";
import { SYM6, symPlace, weighedSquare } from "../smooth/articulated.ts";
import type { BodyFrames } from "../smooth/body-frames.ts";
import type { ModelView } from "../view.ts";
import { TouchedTiles, type Squares, type Touch } from "./contact-squares.ts";
import { choleskyRows } from "./coupling.ts";
import { PART, type DofTiles } from "./dof-tiles.ts";
import { addProducts, transposed, type Columns } from "./tile-factor.ts";

const SIX = [0, 1, 2, 3, 4, 5];

/**
 * Contacts resist how one body moves against the other, which is a motion of six directions about the first contact's point: the
 * contacts of two bodies that follow each other are added up there, K = L Lᵀ, and Lᵀ J is kept in the tiles that J touches.
 */
export class PairSquares implements Squares {
  readonly #contacts: ContactRows;
  readonly #tiles: DofTiles;
  readonly #reach: TouchedTiles;
  readonly #count = variable("pairs", 0, "i32");
  readonly #bodies: readonly [LocalArray, LocalArray];
  readonly #point: readonly LocalArray[];
  /** K, translations before rotations, its upper triangle row by row. */
  readonly #K: readonly LocalArray[];
  readonly #touched: LocalArray;
  /** Whether the last three squares are any. */
  readonly #turns: LocalArray;
  /** Lᵀ J by square and dof of a tile, at pairs times tiles. */
  readonly #rooted: readonly (readonly LocalArray[])[];

  constructor(m: ModelView, frames: BodyFrames, contacts: ContactRows, tiles: DofTiles) {
    this.#contacts = contacts;
    this.#tiles = tiles;
    this.#reach = new TouchedTiles(m, frames, tiles);
    const most = Math.max(1, contacts.slots.nconmax);
    const floats = (name: string, count: number, length = most) =>
      Array.from({ length: count }, (_, k) => array(`pair_${name}${k}`, length, "f32", true));
    const ints = (name: string) => array(`pair_${name}`, most, "i32", true);
    this.#bodies = [ints("first"), ints("second")];
    this.#turns = ints("turns");
    this.#touched = array("pair_touched", most, "u32", true);
    this.#point = floats("point", 3);
    this.#K = floats("K", SYM6);
    this.#rooted = SIX.map((k) => floats(`rooted${k}_`, PART.length, most * tiles.count));
  }

  begin(): void {
    this.#count.set(0);
  }

  collect(_index: Int, slot: Int, law: ContactLaw): void {
    const [contacts, count, point, K] = [this.#contacts, this.#count, this.#point, this.#K];
    const { slots, dim } = contacts;
    const bodies = ([0, 1] as const).map((which) => contacts.body(slot, which));
    const pos = slots.pos(slot);
    const last = sub(count.get(), 1);
    const isOther = this.#bodies.map((a, side) => ne(a.get(last), bodies[side])).reduce(or);
    when(or(eq(count.get(), 0), isOther), () => {
      const at = count.get();
      this.#bodies.forEach((a, side) => a.set(at, bodies[side]));
      point.forEach((a, k) => a.set(at, pos[k]));
      for (const a of K) a.set(at, 0);
      count.set(add(at, 1));
    });
    const at = sub(count.get(), 1);
    const arm = sub3(pos, point.map((a) => a.get(at)) as unknown as Vec3);
    const frame = slots.frame(slot);
    const rows = Array.from({ length: dim }, (_, k): Spatial => {
      const axis = matRow(frame, k % 3);
      return k < 3 ? [...axis, ...cross(arm, axis)] : [0, 0, 0, ...axis];
    });
    weighedSquare(rows, law.hessian).forEach((value, k) => K[k].set(at, add(K[k].get(at), value)));
  }

  end(touch: Touch): void {
    const [tiles, rooted, point] = [this.#tiles, this.#rooted, this.#point];
    loop(this.#count.get(), (pair) => {
      const K = this.#K.map((a) => a.get(pair));
      const L = choleskyRows({ hessian: (i, j) => K[symPlace(i, j)] }, 6);
      this.#turns.set(pair, select(gt(sum([L[3][3], L[4][4], L[5][5]]), 0), 1, 0, "i32"));
      const [first, second] = this.#bodies.map((a) => a.get(pair));
      const at = point.map((a) => a.get(pair)) as unknown as Vec3;
      const touched = this.#reach.each(first, second, at, (I) => {
        const place = add(mul(pair, tiles.count), I);
        return (r, { linear, angular }) => {
          const motion = [...linear, ...angular()];
          for (const k of SIX) rooted[k][r].set(place, sum(SIX.slice(k).map((i) => mul(L[i][k], motion[i]))));
        };
      });
      this.#touched.set(pair, touched());
      touch(touched());
    });
  }

  add(I: Int, J: Int, sums: readonly (Variable | undefined)[]): void {
    const { count, bit } = this.#tiles;
    const tile = bor(toU32(bit(I)), toU32(bit(J)));
    loop(this.#count.get(), (pair) => {
      when(eq(band(this.#touched.get(pair), tile), tile), () => {
        const side = (T: Int, squares: readonly (readonly LocalArray[])[]): Columns =>
          squares.map((parts) => parts.map((a) => a.get(add(mul(pair, count), T))));
        const some = (from: number) => {
          const squares = this.#rooted.slice(from, from + 3);
          addProducts(sums, transposed(side(I, squares)), transposed(side(J, squares)), add);
        };
        some(0);
        when(ne(this.#turns.get(pair), 0), () => some(3));
      });
    });
  }
}
