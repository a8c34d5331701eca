// searches of pairs whose shapes MuJoCo turns about their first contact, which wait until that is found
import { array, increase, loop, variable, when } from "../../../trace/control.ts";
import { ofLane } from "../../../trace/lanes.ts";
import { add, band, le, mul, shr, toI32, toU32, type Bool, type Int } from "../../../trace/scalar.ts";
import { add3, row, scale3, select3, type Mat3 } from "../../../trace/vector.ts";
import { makeFrame } from "../colliders/frame.ts";
import { SEARCHES, turned, turnOf } from "../colliders/turned.ts";
import { touching, turnsOf } from "./contacts.ts";
import { locate, type Finder } from "./distance.ts";
import { Kept, ROOM, vec } from "./kept-searches.ts";
import { vector } from "./registers.ts";
import type { ConvexOptions, ConvexShape, SearchedShapes } from "./types.ts";

/** Searches of a pair after the first, a power of two. */
const FURTHER = SEARCHES - 1;

/** Of all searches of a world, the one of a pair's slot and of turn `k`. */
export const searchAt = (slot: Int, k: Int): Int => add(slot, mul(ROOM, k));
const slotOf = (at: Int): Int => toI32(band(toU32(at), ROOM - 1));
const turnAt = (at: Int): Int => toI32(shr(toU32(at), Math.log2(ROOM)));

/** `pairOf` reads a pair, of any world's. */
export function turnedSearches(options: ConvexOptions, pairOf: (i: Int) => SearchedShapes) {
  // the place of the first contact and its tangents
  const first = new Kept("turn", 9);
  const list = array("ahead_turned", ROOM, "i32", true);
  const listed = variable("ahead_turned_count", 0, "i32");

  /** A shape that is turned where `cond` holds. */
  const moved = (name: string, s: ConvexShape, cond: Bool, turn: () => ConvexShape): ConvexShape => {
    const pos = vector(`turned_${name}_pos`, s.pos);
    const mat = s.mat.map((x, k) => variable(`turned_${name}_mat${k}`, x));
    when(cond, () => {
      const to = turn();
      pos.set(to.pos);
      to.mat.forEach((x, k) => mat[k].set(x));
    });
    return { ...s, pos: pos.get(), mat: mat.map((x) => x.get()) as unknown as Mat3 };
  };

  /** The shapes of a search, turned if it is none of the first ones; `of` leads to a slot of its world. */
  const pairAt = (at: Int, of: (slot: Int) => Int, isTurned: Bool): SearchedShapes => {
    const from = of(slotOf(at));
    const { a, b, reach } = pairOf(from);
    const by = () => {
      const x = first.get(from);
      const k = turnAt(at);
      return { about: vec(x, 0), axis: select3(le(k, 2), vec(x, 3), vec(x, 6)), ...turnOf(k) };
    };
    const turn = (s: ConvexShape, side: 1 | -1) => () => {
      const { about, axis, sine, shift } = by();
      return turned(s, about, axis, mul(side, sine), shift);
    };
    return { a: moved("a", a, isTurned, turn(a, 1)), b: moved("b", b, isTurned, turn(b, -1)), reach };
  };
  return {
    pairAt,
    /** Lists what is turned of so many pairs of a world, by what their first searches found. */
    list(made: Int, isHit: (slot: Int) => Bool, finder: (slot: Int) => Finder): void {
      listed.set(0);
      loop(made, (slot) => {
        when(isHit(slot), () => {
          const { a, b, reach } = pairOf(slot);
          when(turnsOf(a, b, reach, options), () => {
            const found = locate(a, b, reach, finder(slot));
            when(touching(a, b, reach, options)(found), () => {
              const frame = makeFrame(found.normal);
              const pos = scale3(add3(found.from, found.to), 0.5);
              first.set(slot, [...pos, ...row(frame, 1), ...row(frame, 2)]);
              list.set(listed.get(), slot);
              increase(listed, 1);
            });
          });
        });
      });
    },
    /** How many searches a world then has, and which is one, of the world in lane `of`. */
    count: (): Int => mul(listed.get(), FURTHER),
    search(i: Int, of: Int): Int {
      const slot = list.get(ofLane(toI32(shr(toU32(i), Math.log2(FURTHER))), of));
      return searchAt(slot, add(toI32(band(toU32(i), FURTHER - 1)), 1));
    },
  };
}
