// searches of many pairs in one loop: each world goes on to its own next pair, and does not wait for the others'
import { array, breakIf, loop, variable, when, type LocalArray, type Variable } from "../../../trace/control.ts";
import {
  add,
  and,
  eq,
  ge,
  isNode,
  lt,
  mul,
  not,
  or,
  sub,
  toF32,
  toI32,
  type Bool,
  type Int,
  type Scalar,
} from "../../../trace/scalar.ts";
import type { Mat3, Vec3 } from "../../../trace/vector.ts";
import { pairFrame } from "./distance.ts";
import type { Frame } from "./kinks.ts";
import { lineOf } from "./newton.ts";
import { MODE, MOST_TURNS, NEXT } from "./phases.ts";
import { polytope } from "./polytope.ts";
import { keep, record, type Best, type Corner3, type Found } from "./record.ts";
import { atBest, searchTurn } from "./search.ts";
import { restart, searched, searchState, type SearchState } from "./search-state.ts";
import { coreKinds, type Core } from "./support.ts";
import type { ConvexOptions, ConvexShape, Hull } from "./types.ts";

/** Searches of a world whose ends are kept at once. */
const ROOM = 32;

/** A number that is set where a search begins; what is the same for all of them stays a number. */
class Held {
  readonly #variable: Variable;
  #same: Scalar | undefined;

  constructor(name: string, type: "f32" | "i32" = "f32") {
    this.#variable = variable(name, 0, type);
  }

  set(x: Scalar): void {
    if (isNode(x)) this.#variable.set(x);
    else this.#same = x;
  }

  get(): Scalar {
    return this.#same ?? this.#variable.get();
  }
}

const three = (name: string) => [0, 1, 2].map((k) => new Held(`${name}${k}`));
const getThree = (of: readonly Held[]) => of.map((x) => x.get()) as unknown as Vec3;

const HULL = ["firstVertex", "vertexCount", "firstStart", "firstCell", "cellsAlong"] as const;

/** What turns read of a shape. */
function heldCore(name: string): { set(core: Core): void; get(): Core } {
  const type = new Held(`${name}_type`, "i32");
  const half = three(`${name}_half`);
  const perSize = new Held(`${name}_persize`);
  const hull = HULL.map((field) => new Held(`${name}_${field}`, field === "cellsAlong" ? "f32" : "i32"));
  const [last, corner] = ["last", "corner"].map((of) => variable(`${name}_${of}`, 0, "i32"));
  let from: Core;
  return {
    set(core) {
      from = core;
      const { shape } = core;
      type.set(shape.type);
      core.half.forEach((x, k) => half[k].set(x));
      perSize.set(core.perSize);
      HULL.forEach((field, i) => {
        const x = shape.hull?.[field];
        if (x !== undefined) hull[i].set(x);
      });
      last.set(shape.hull?.firstVertex ?? 0);
      corner.set(0);
    },
    get() {
      const given = from.shape.hull;
      const read = (field: (typeof HULL)[number]) =>
        given?.[field] === undefined ? {} : { [field]: hull[HULL.indexOf(field)].get() };
      const shape: ConvexShape = {
        ...from.shape,
        type: type.get(),
        ...(given && { hull: { ...given, ...Object.assign({}, ...HULL.map(read)) } as Hull }),
      };
      return { ...from, shape, half: getThree(half), perSize: perSize.get(), last, corner, is: coreKinds(shape) };
    },
  };
}

/** Numbers of a world that are kept at an index. */
class Kept {
  readonly #arrays: readonly LocalArray[];

  constructor(name: string, count: number) {
    this.#arrays = Array.from({ length: count }, (_, k) => array(`ahead_${name}${k}`, ROOM, "f32", true));
  }

  set(i: Int, numbers: readonly Scalar[]): void {
    this.#arrays.forEach((x, k) => x.set(i, numbers[k]));
  }

  get(i: Int): Scalar[] {
    return this.#arrays.map((x) => x.get(i));
  }
}

const vec = (of: readonly Scalar[], from: number) => of.slice(from, from + 3) as unknown as Vec3;

/** A direction's overlap, normal and points: so many numbers. */
const BEST = 10;
const numbersOf = ({ h, normal, a, b }: Best): Scalar[] => [h.get(), ...normal.get(), ...a.get(), ...b.get()];
const setNumbers = (to: Best, x: readonly Scalar[]): void => keep(to, x[0], vec(x, 1), vec(x, 4), vec(x, 7));

/** Searches whose shapes overlap, or are too near for GJK: what is next begins from its simplex. */
function parked() {
  const [simplex, best, seed, rest] = [32, BEST, 4, 3].map((count, k) => new Kept(`parked${k}_`, count));
  const pairs = new Kept("parked_pair", 2);
  return {
    save(i: Int, { s, best: found, seed: from, next, last }: SearchState, pair: Int, slot: Int): void {
      const ids = s.ids.flatMap((v) => v.get().slice(0, 2));
      simplex.set(i, [...[...s.w, ...s.a].flatMap((v) => v.get()), ...ids]);
      best.set(i, numbersOf(found));
      seed.set(i, [from.h.get(), ...from.n.get()]);
      rest.set(
        i,
        [s.count, next, last].map((x) => toF32(x.get())),
      );
      pairs.set(i, [toF32(pair), toF32(slot)]);
    },
    pair: (i: Int) => pairs.get(i).map(toI32),
    load(i: Int, { s, best: found, seed: from, next, last }: SearchState): void {
      const numbers = simplex.get(i);
      [...s.w, ...s.a].forEach((v, k) => v.set(vec(numbers, 3 * k)));
      s.ids.forEach((v, k) => v.set([numbers[24 + 2 * k], numbers[25 + 2 * k], 0]));
      setNumbers(found, best.get(i));
      const [h, ...n] = seed.get(i);
      from.h.set(h);
      from.n.set(vec(n, 0));
      const ints = rest.get(i).map(toI32);
      [s.count, next, last].forEach((x, k) => x.set(ints[k]));
    },
  };
}

/** Pairs that are searched one after the other. */
export interface Pairs {
  /** How many there are, and whether one of them is searched. */
  readonly count: Int;
  isSearched(i: Int): Bool;
  at(i: Int): { readonly a: ConvexShape; readonly b: ConvexShape; readonly reach: Scalar };
}

/** Searches that are made before anything is made of them. */
export interface Ahead {
  /** Searches the next pairs, as many as there is room for. */
  run(pairs: Pairs): void;
  /** Whether the ends of all that were searched are taken. */
  isEmpty(): Bool;
  /** Takes the end of the next one. */
  take(a: Core, b: Core, second: Frame): Found;
}

/** Ways of a lane through the loop of searches. */
const [SEARCHES, IDLE, READY] = [0, 1, 2];

export function searchesAhead(options: ConvexOptions): Ahead {
  const ends = new Kept("end", BEST + 8);
  const at = variable("ahead_at", 0, "i32");
  const made = variable("ahead_made", 0, "i32");
  const taken = variable("ahead_taken", 0, "i32");

  const run = ({ count, isSearched, at: pairAt }: Pairs): void => {
    made.set(0);
    taken.set(0);
    const queue = parked();
    const [waiting, resumed] = ["waiting", "resumed"].map((name) => variable(`ahead_${name}`, 0, "i32"));
    const [pairOf, slot] = ["pair", "slot"].map((name) => variable(`ahead_${name}`, 0, "i32"));
    const way = variable("ahead_way", IDLE, "i32");
    const [first, second] = [heldCore("first"), heldCore("second")];
    const rot = Array.from({ length: 9 }, (_, k) => new Held(`ahead_rot${k}`));
    const offset = three("ahead_offset");
    const reach = new Held("ahead_reach");
    const state = searchState(getThree(offset));
    const p = polytope();

    const nextPair = () => {
      loop(
        count,
        () => {
          breakIf(ge(at.get(), count));
          breakIf(isSearched(at.get()));
          at.set(add(at.get(), 1));
        },
        { label: "next" },
      );
      when(and(lt(at.get(), count), lt(made.get(), ROOM)), () => {
        pairOf.set(at.get());
        slot.set(made.get());
        at.set(add(at.get(), 1));
        made.set(add(made.get(), 1));
        way.set(SEARCHES);
      });
    };
    const nextParked = () =>
      when(lt(resumed.get(), waiting.get()), () => {
        const [pair, to] = queue.pair(resumed.get());
        pairOf.set(pair);
        slot.set(to);
        resumed.set(add(resumed.get(), 1));
        way.set(SEARCHES);
      });
    const place = () => {
      const pair = pairAt(pairOf.get());
      const placed = pairFrame(pair.a, pair.b);
      first.set(placed.first);
      second.set(placed.second);
      placed.frame.rot.forEach((x, k) => rot[k].set(x));
      placed.frame.offset.forEach((x, k) => offset[k].set(x));
      reach.set(add(mul(pair.reach, placed.perSize), placed.rounding));
    };
    const turn = (isFirst: Bool) => {
      const frame = { rot: rot.map((x) => x.get()) as unknown as Mat3, offset: getThree(offset) };
      const [a, b] = [first.get(), second.get()];
      const pair = searched(a, b, frame, reach.get(), options);
      searchTurn(pair, lineOf(a, b, frame.rot, frame.offset), state, p, () => {
        const what = state.next.get();
        when(and(isFirst, not(or(eq(what, NEXT.NONE), eq(what, NEXT.FINISH)))), () => {
          queue.save(waiting.get(), state, pairOf.get(), slot.get());
          waiting.set(add(waiting.get(), 1));
          state.next.set(NEXT.NONE);
          way.set(IDLE);
        });
      });
    };
    const end = () => {
      const { isFace, triangle } = state.face.kept();
      ends.set(slot.get(), [...numbersOf(state.best), ...triangle.flat(), toF32(state.hit.get()), toF32(isFace)]);
      way.set(IDLE);
    };

    // all lanes look for what is apart, then all go on with what overlaps: so they need the same code at once
    loop(
      2,
      (phase) => {
        const isFirst = eq(phase, 0);
        way.set(IDLE);
        loop(
          ROOM * (MOST_TURNS + 1),
          () => {
            when(eq(way.get(), IDLE), () => {
              when(isFirst, nextPair, nextParked);
              when(
                eq(way.get(), SEARCHES),
                () => {
                  place();
                  restart(state, getThree(offset));
                  when(not(isFirst), () => {
                    queue.load(sub(resumed.get(), 1), state);
                    state.mode.set(MODE.RESUMED);
                  });
                },
                () => way.set(READY),
              );
            });
            breakIf(eq(way.get(), READY));
            turn(isFirst);
            const isOver = or(eq(state.mode.get(), MODE.DONE), ge(state.turns.get(), MOST_TURNS));
            when(and(eq(way.get(), SEARCHES), isOver), end);
          },
          { label: "search" },
        );
      },
      { label: "phases" },
    );
  };

  return {
    run,
    isEmpty: () => eq(taken.get(), made.get()),
    take(a, b, second) {
      const i = taken.get();
      taken.set(add(i, 1));
      const best = record("taken");
      const end = ends.get(i);
      setNumbers(best, end);
      const corners = (from: number) => vec(end, from).map(toI32) as unknown as Corner3;
      return {
        ...atBest(a, b, second, best, () => eq(end[16], 1)),
        turns: 0,
        isFace: eq(end[17], 1),
        triangle: [corners(10), corners(13)],
      };
    },
  };
}
