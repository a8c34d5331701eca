// searches of many pairs in one loop: each lane goes on to the next pair of any world beside it, and does not wait for others
import { array, breakIf, increase, loop, variable, when } from "../../../trace/control.ts";
import { MOST_LANES, ofLane } from "../../../trace/lanes.ts";
import {
  add,
  and,
  eq,
  ge,
  lt,
  mul,
  not,
  or,
  select,
  toF32,
  toI32,
  type Bool,
  type Int,
  type Scalar,
} from "../../../trace/scalar.ts";
import type { Mat3 } from "../../../trace/vector.ts";
import type { Candidate } from "../colliders/index.ts";
import { SEARCHES } from "../colliders/turned.ts";
import { convexContacts } from "./contacts.ts";
import { pairFrame, type Finder } from "./distance.ts";
import {
  BEST,
  getThree,
  Held,
  heldCore,
  Kept,
  numbersOf,
  parked,
  ROOM,
  setNumbers,
  three,
  vec,
} from "./kept-searches.ts";
import { lineOf } from "./newton.ts";
import { isFlatPair } from "./margin-search.ts";
import { MODE, mostTurns, NEXT } from "./phases.ts";
import { polytope } from "./polytope.ts";
import { itemsOfLanes, itemsInTurn, lanesLeft } from "./pooled.ts";
import { record, type Corner3 } from "./record.ts";
import { atBest, searchTurn } from "./search.ts";
import { restart, searched, searchState } from "./search-state.ts";
import { searchAt, turnedSearches } from "./turned-searches.ts";
import { MOST_CONVEX_CONTACTS, type ConvexOptions, type ConvexShape } from "./types.ts";

/** A pair of geoms that is searched. */
export interface SearchedPair {
  readonly geoms: readonly [Int, Int];
  readonly reach: Scalar;
  /** Where they are, and of what size if worlds differ in that: the numbers of both. */
  readonly numbers: readonly Scalar[];
}

/** Pairs of a world that are searched one after the other. */
export interface Pairs {
  /** How many there are, and whether one of them is searched. */
  readonly count: Int;
  isSearched(i: Int): Bool;
  at(i: Int): SearchedPair;
}

/** What is known of pairs at any world's side. */
export interface PairKinds {
  /** Of how many numbers each pair is. */
  readonly numbers: number;
  /** The shapes of a pair of numbers that it gave, of whichever world. */
  shapes(geoms: readonly [Int, Int], numbers: readonly Scalar[]): readonly [ConvexShape, ConvexShape];
  /** Pairs that need other code than others have a number, below `sorts`, and are taken together. */
  readonly sorts: number;
  sortOf(geoms: readonly [Int, Int]): Int;
}

/** Contacts of searched pairs, which are found before anything is made of them. */
export interface Ahead {
  /** Whether no world of those beside each other has any of so many left. */
  isOver(left: Int): Bool;
  /** Finds the contacts of the next pairs, as many as there is room for. */
  run(pairs: Pairs): void;
  /** Whether the contacts of all that were searched are taken. */
  isEmpty(): Bool;
  /** Takes the contacts of the next one. */
  take(): { readonly count: Int; at(i: Int): Candidate };
}

/** Of the numbers of an end, whether shapes are within reach, and whether that is at a face. */
const [HIT, FACE] = [BEST + 6, BEST + 7];

/** Gives what a search has found, from the numbers of its end. */
const endedAs =
  (x: readonly Scalar[]): Finder =>
  (first, second, frame) => {
    const best = record("taken");
    setNumbers(best, x);
    const corners = (k: number) => vec(x, k).map(toI32) as unknown as Corner3;
    return {
      ...atBest(first, second, frame, best, () => eq(x[HIT], 1)),
      turns: 0,
      isFace: eq(x[FACE], 1),
      triangle: [corners(BEST), corners(BEST + 3)],
    };
  };

/** Whether a search whose first part has ended has others to come. */
const goesOn = (next: Int): Bool => not(or(eq(next, NEXT.NONE), eq(next, NEXT.FINISH)));

/** Ways of a lane through the loop of searches. */
const [SEARCHING, IDLE, READY] = [0, 1, 2];

export function searchesAhead(options: ConvexOptions, kinds: PairKinds): Ahead {
  const { turns: isTurning } = options;
  const ends = new Kept("end", BEST + 8, isTurning ? SEARCHES * ROOM : ROOM);
  const pairsKept = new Kept("pair", 3 + kinds.numbers);
  const at = variable("ahead_at", 0, "i32");
  const made = variable("ahead_made", 0, "i32");
  const taken = variable("ahead_taken", 0, "i32");
  const counts = array("ahead_contacts", ROOM, "i32", true);
  const contacts = Array.from({ length: 7 }, (_, k) =>
    array(`ahead_contact${k}`, ROOM * MOST_CONVEX_CONTACTS, "f32", true),
  );
  const [left, undecided] = ["ahead_left", "ahead_undecided"].map(lanesLeft);
  // pairs whose first search tells only that they meet, until the steps that it leaves the rest to have not decided
  const open = options.flats ? array("ahead_open", ROOM, "i32", true) : undefined;
  const again = open && {
    list: array("ahead_again", ROOM, "i32", true),
    count: variable("ahead_again_count", 0, "i32"),
  };

  /** Lists the next pairs of each world. */
  const list = ({ count, isSearched, at: pairAt }: Pairs): void => {
    loop(
      ROOM,
      (slot) => {
        loop(
          count,
          () => {
            breakIf(ge(at.get(), count));
            breakIf(isSearched(at.get()));
            increase(at, 1);
          },
          { label: "next" },
        );
        breakIf(ge(at.get(), count));
        const { geoms, reach, numbers } = pairAt(at.get());
        pairsKept.set(slot, [...geoms.map(toF32), reach, ...numbers]);
        counts.set(slot, 0);
        open?.set(slot, 0);
        increase(at, 1);
        increase(made, 1);
      },
      { label: "listed" },
    );
  };
  const pairOf = (i: Int) => {
    const [first, second, reach, ...numbers] = pairsKept.get(i);
    const geoms = [toI32(first), toI32(second)] as const;
    const [a, b] = kinds.shapes(geoms, numbers);
    return { a, b, reach };
  };
  const turns = isTurning ? turnedSearches(options, pairOf) : undefined;
  const endOf = (from: Int): Finder => endedAs(ends.get(from));

  /** `isAgain`: of the pairs alone that were left open, and to the end. */
  const search = (isAgain: Bool): void => {
    const room = isTurning ? (SEARCHES - 1) * ROOM : ROOM;
    const queue = parked(room);
    const waiting = variable("ahead_waiting", 0, "i32");
    waiting.set(0);
    const [slot, of] = ["slot", "lane"].map((name) => variable(`ahead_${name}`, 0, "i32"));
    const way = variable("ahead_way", IDLE, "i32");
    const [first, second] = [heldCore("first"), heldCore("second")];
    const rot = Array.from({ length: 9 }, (_, k) => new Held(`ahead_rot${k}`));
    const offset = three("ahead_offset");
    const reach = new Held("ahead_reach");
    const state = searchState(getThree(offset));
    const p = polytope();
    const items = itemsOfLanes("ahead");

    const place = (isTurned: Bool) => {
      const from = (own: Int) => ofLane(own, of.get());
      const pair = turns ? turns.pairAt(slot.get(), from, isTurned) : pairOf(from(slot.get()));
      const placed = pairFrame(pair.a, pair.b);
      first.set(placed.first);
      second.set(placed.second);
      placed.frame.rot.forEach((x, k) => rot[k].set(x));
      placed.frame.offset.forEach((x, k) => offset[k].set(x));
      reach.set(add(mul(pair.reach, placed.perSize), placed.rounding));
    };
    const idle = () => {
      way.set(IDLE);
      items.ask();
    };
    const turn = (isFirst: Bool) => {
      const frame = { rot: rot.map((x) => x.get()) as unknown as Mat3, offset: getThree(offset) };
      const [a, b] = [first.get(), second.get()];
      const pair = searched(a, b, frame, reach.get(), options);
      searchTurn(pair, lineOf(a, b, frame.rot, frame.offset), state, p, () => {
        if (open)
          when(and(and(isFirst, not(isAgain)), isFlatPair(a, b, reach.get(), options)), () => {
            when(goesOn(state.next.get()), () => {
              state.next.set(NEXT.NONE);
              state.mode.set(MODE.DONE);
              state.hit.set(1);
            });
          });
        const what = state.next.get();
        when(and(isFirst, goesOn(what)), () => {
          queue.save(waiting.get(), state, [slot.get(), of.get()]);
          increase(waiting, 1);
          state.next.set(NEXT.NONE);
          // what a lane without room leaves, others have room for: there are as many places as searches
          when(lt(waiting.get(), room), idle, () => way.set(READY));
        });
      });
    };
    const end = () => {
      const { isFace, triangle } = state.face.kept();
      const to = ofLane(slot.get(), of.get());
      ends.set(to, [...numbersOf(state.best), ...triangle.flat(), toF32(state.hit.get()), toF32(isFace)]);
      idle();
    };

    // all lanes look for what is apart, then all go on with what overlaps: so they need the same code at once
    loop(
      turns ? 4 : 2,
      (phase) => {
        const isFirst = turns ? or(eq(phase, 0), eq(phase, 2)) : eq(phase, 0);
        if (turns)
          when(eq(phase, 2), () => {
            turns.list(made.get(), (own) => eq(ends.get(own)[HIT], 1), endOf);
            waiting.set(0);
          });
        way.set(IDLE);
        const firsts = again ? select(isAgain, again.count.get(), made.get(), "i32") : made.get();
        const begun = turns ? select(eq(phase, 0), firsts, turns.count(), "i32") : firsts;
        items.begin([select(isFirst, begun, waiting.get(), "i32")]);
        loop(
          MOST_LANES * ROOM * (mostTurns() + 1),
          () => {
            when(eq(way.get(), IDLE), () => {
              const { exists, at: i, of: from } = items.next();
              when(
                exists,
                () => {
                  slot.set(i);
                  of.set(from);
                  if (again) when(and(isFirst, isAgain), () => slot.set(again.list.get(ofLane(i, from))));
                  if (turns) when(eq(phase, 2), () => slot.set(turns.search(i, from)));
                  when(not(isFirst), () => {
                    const [to, world] = queue.of(ofLane(i, from));
                    slot.set(to);
                    of.set(world);
                  });
                  way.set(SEARCHING);
                  place(ge(phase, 2));
                  restart(state, getThree(offset));
                  when(not(isFirst), () => {
                    queue.load(ofLane(i, from), state);
                    state.mode.set(MODE.RESUMED);
                  });
                },
                () => way.set(READY),
              );
            });
            breakIf(eq(way.get(), READY));
            turn(isFirst);
            const isOver = or(eq(state.mode.get(), MODE.DONE), ge(state.turns.get(), mostTurns()));
            when(and(eq(way.get(), SEARCHING), isOver), end);
          },
          { label: "search" },
        );
        items.end();
      },
      { label: "phases" },
    );
  };

  /** The contacts of what was found to meet. */
  const meet = (isAgain: Bool): void => {
    const { sorts } = kinds;
    const met = array("ahead_met", ROOM * sorts, "i32", true);
    const counted = Array.from({ length: sorts }, (_, k) => variable(`ahead_met${k}`, 0, "i32"));
    for (const n of counted) n.set(0);
    loop(made.get(), (slot) => {
      const isOpen = open ? or(not(isAgain), eq(open.get(slot), 1)) : true;
      when(and(eq(ends.get(slot)[HIT], 1), isOpen), () => {
        const [geom1, geom2] = pairsKept.get(slot);
        const sort = kinds.sortOf([toI32(geom1), toI32(geom2)]);
        counted.forEach((n, k) =>
          when(eq(sort, k), () => {
            met.set(add(n.get(), k * ROOM), slot);
            increase(n, 1);
          }),
        );
      });
    });
    const own = counted.map((n) => n.get());
    itemsInTurn("ahead_meet", own, ROOM, ({ at: i, of, list: sort }) => {
      const slot = variable("ahead_meets", 0, "i32");
      slot.set(met.get(ofLane(add(mul(sort, ROOM), i), of)));
      const from = ofLane(slot.get(), of);
      const { a, b, reach: far } = pairOf(from);
      const finder = (turn: Int) => endOf(turns ? ofLane(searchAt(slot.get(), turn), of) : from);
      const found = convexContacts(a, b, far, options, finder, open && (() => open.set(from, 1)));
      counts.set(from, found.count);
      loop(found.count, (k) => {
        const { dist, pos, normal } = found.at(k);
        const to = ofLane(add(mul(slot.get(), MOST_CONVEX_CONTACTS), k), of);
        [dist, ...pos, ...normal].forEach((x, n) => contacts[n].set(to, x));
      });
    });
  };

  return {
    isOver: left.isOver,
    run(pairs) {
      made.set(0);
      taken.set(0);
      list(pairs);
      if (!open || !again) {
        search(false);
        return meet(false);
      }
      loop(2, (round) => {
        const isAgain = eq(round, 1);
        search(isAgain);
        meet(isAgain);
        again.count.set(0);
        loop(made.get(), (slot) => {
          when(eq(open.get(slot), 1), () => {
            again.list.set(again.count.get(), slot);
            increase(again.count, 1);
          });
        });
        breakIf(undecided.isOver(again.count.get()));
      });
    },
    isEmpty: () => eq(taken.get(), made.get()),
    take() {
      const slot = taken.get();
      taken.set(add(slot, 1));
      return {
        count: counts.get(slot),
        at: (i) => {
          const [dist, ...x] = contacts.map((from) => from.get(add(mul(slot, MOST_CONVEX_CONTACTS), i)));
          return { dist, pos: vec(x, 0), normal: vec(x, 3), exists: true };
        },
      };
    },
  };
}
