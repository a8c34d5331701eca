// Jᵀ W J of contacts in the tiles of dof-tiles.ts: what each is as a sum of squares, kept for an iteration
import { array, loop, variable, when, type LocalArray, type Variable } from "../../trace/control.ts";
import { add, band, bor, bxor, mul, ne, select, toU32, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import { rotational, translational } from "../../trace/spatial.ts";
import { add3, cross, dot3, row as matRow, scale3, sub3, ZERO3, type Vec3 } from "../../trace/vector.ts";
import type { ContactLaw } from "../constraint/cone.ts";
import type { ContactRows } from "../constraint/contact-rows.ts";
import type { BodyFrames } from "../smooth/body-frames.ts";
import type { ModelView } from "../view.ts";
import { BitRows } from "./bit-rows.ts";
import { choleskyRows } from "./coupling.ts";
import { PART, TILE, WORD, bodyWords, type DofTiles } from "./dof-tiles.ts";
import { addProducts, transposed, type Columns } from "./tile-factor.ts";

/** What the Hessian over dofs asks of contacts. */
export interface Squares {
  /** Begins an iteration. */
  begin(): void;
  /** Keeps a contact; `touch` is told the tiles that it touches, here or at the end. */
  collect(index: Int, slot: Int, law: ContactLaw, touch: Touch): void;
  end(touch: Touch): void;
  /** Adds those of all contacts to the tile (I, J). */
  add(I: Int, J: Int, sums: readonly (Variable | undefined)[]): void;
}
export type Touch = (tiles: Int) => void;

/** How a dof moves the second of two bodies against the first at a point; 0 where it does not. */
interface Relative {
  readonly linear: Vec3;
  readonly angular: () => Vec3;
}

/** Of a dof whose body is the second for the sign 1, the first for -1. */
export function motionOf(m: ModelView, frames: BodyFrames, dof: Int, pos: Vec3, sign: Scalar): Relative {
  const axis = frames.axis(dof);
  const [turn, v] = [rotational(axis), translational(axis)];
  const arm = sub3(pos, frames.centre(m.dof_bodyid.at(dof)));
  return { linear: scale3(add3(v, cross(turn, arm)), sign), angular: () => scale3(turn, sign) };
}

/** With W = L Lᵀ of a contact, Lᵀ J of a dof. */
export function contactSquares({ slots, dim }: ContactRows, slot: Int, law: ContactLaw): (dof: Relative) => Scalar[] {
  const L = choleskyRows(law, dim);
  const frame = slots.frame(slot);
  const axes = [0, 1, 2].map((k) => matRow(frame, k));
  const along = (k: number, from: number): Vec3 =>
    axes.reduce<Vec3>(
      (total, axis, i) => (i + from < k || i + from >= dim ? total : add3(total, scale3(axis, L[i + from][k]))),
      ZERO3,
    );
  const directions = Array.from({ length: dim }, (_, k) => ({ linear: along(k, 0), angular: along(k, 3) }));
  return ({ linear: point, angular }) => {
    const spin = dim > 3 ? angular() : ZERO3;
    return directions.map(({ linear, angular: about }, k) => {
      const value = k < 3 ? dot3(linear, point) : 0;
      return dim > 3 ? add(value, dot3(about, spin)) : value;
    });
  };
}

/** The tiles of dofs that move one of two bodies against the other. */
export class TouchedTiles {
  readonly #m: ModelView;
  readonly #frames: BodyFrames;
  readonly #tiles: DofTiles;
  readonly #words: readonly ((body: Int) => Scalar)[];

  constructor(m: ModelView, frames: BodyFrames, tiles: DofTiles) {
    this.#m = m;
    this.#frames = frames;
    this.#tiles = tiles;
    this.#words = bodyWords(m.model, tiles);
  }

  /** Visits these, and then their dofs; returns what reads the tiles. */
  each(
    first: Int,
    second: Int,
    pos: Vec3,
    visit: (tile: Int) => (part: number, relative: Relative) => void,
  ): () => Int {
    const [frames, m, tiles] = [this.#frames, this.#m, this.#tiles];
    const touched = variable("touched", toU32(0), "u32");
    this.#words.forEach((word, w) => {
      const [a, b] = [toU32(word(first)), toU32(word(second))];
      const moving = bxor(a, b);
      const visitWord = () =>
        loop(
          Math.min(tiles.count, WORD * (w + 1)),
          (I) => {
            const mask = toU32(tiles.mask(I));
            when(ne(band(moving, mask), toU32(0)), () => {
              touched.set(bor(touched.get(), toU32(tiles.bit(I))));
              const visitDof = visit(I);
              for (const r of PART) {
                const p = add(mul(TILE, I), r);
                const dof = tiles.dofOf(p);
                const bit = toU32(tiles.dofBit(p));
                const has = (x: Int): Bool => ne(band(x, bit), toU32(0));
                const sign = select(has(moving), select(has(b), 1, -1, "f32"), 0, "f32");
                visitDof(r, motionOf(m, frames, dof, pos, sign));
              }
            });
          },
          { start: WORD * w },
        );
      when(ne(moving, toU32(0)), visitWord);
    });
    return () => touched.get();
  }
}

/** Contacts by index: with W = L Lᵀ, Lᵀ J in the tiles that it touches. */
export class ContactSquares implements Squares {
  readonly #contacts: ContactRows;
  readonly #tiles: DofTiles;
  /** By tile, the contacts that push and touch it. */
  readonly #byTile: BitRows;
  /** Lᵀ J by direction and dof of a tile, at contacts times tiles. */
  readonly #rooted: readonly (readonly LocalArray[])[];
  readonly #reach: TouchedTiles;

  constructor(m: ModelView, frames: BodyFrames, contacts: ContactRows, tiles: DofTiles) {
    this.#contacts = contacts;
    this.#tiles = tiles;
    const nconmax = Math.max(1, contacts.slots.nconmax);
    this.#byTile = new BitRows("contacts_of_tile", nconmax, tiles.count);
    this.#rooted = Array.from({ length: contacts.dim }, (_, k) =>
      PART.map((r) => array(`rooted${k}_${r}`, nconmax * tiles.count, "f32", true)),
    );
    this.#reach = new TouchedTiles(m, frames, tiles);
  }

  begin(): void {
    this.#byTile.clear();
  }

  collect(index: Int, slot: Int, law: ContactLaw, touch: Touch): void {
    const [contacts, tiles] = [this.#contacts, this.#tiles];
    const rooted = contactSquares(contacts, slot, law);
    const pos = contacts.slots.pos(slot);
    const [first, second] = ([0, 1] as const).map((which) => contacts.body(slot, which));
    const touched = this.#reach.each(first, second, pos, (I) => {
      const at = add(mul(index, tiles.count), I);
      this.#byTile.add(I, index);
      return (r, dof) => rooted(dof).forEach((value, k) => this.#rooted[k][r].set(at, value));
    });
    touch(touched());
  }

  end(): void {}

  add(I: Int, J: Int, sums: readonly (Variable | undefined)[]): void {
    const { count } = this.#tiles;
    const visit = (c: Int) => {
      const side = (T: Int): Columns => this.#rooted.map((parts) => parts.map((a) => a.get(add(mul(c, count), T))));
      addProducts(sums, transposed(side(I)), transposed(side(J)), add);
    };
    this.#byTile.eachShared(I, J, visit, this.#contacts.slots.count);
  }
}
