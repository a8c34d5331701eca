// what lanes keep of searches: numbers that are set where one begins, and of many those that others go on from
import { array, variable, type LocalArray, type Variable } from "../../../trace/control.ts";
import { isNode, toF32, toI32, type Int, type Scalar } from "../../../trace/scalar.ts";
import type { Vec3 } from "../../../trace/vector.ts";
import { keep, type Best } from "./record.ts";
import type { SearchState } from "./search-state.ts";
import { coreKinds, type Core } from "./support.ts";
import type { ConvexShape, Hull } from "./types.ts";

/** Pairs of a world whose searches end before any contacts are taken: a power of two. */
export const ROOM = 32;

/** A number that is set where a search begins; what is the same for all of them stays a number. */
export class Held {
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

export const three = (name: string) => [0, 1, 2].map((k) => new Held(`${name}${k}`));
export const getThree = (of: readonly Held[]) => of.map((x) => x.get()) as unknown as Vec3;

const HULL = ["firstVertex", "vertexCount", "firstStart", "firstCell", "cellsAlong"] as const;

/** What turns read of a shape. */
export function heldCore(name: string): { set(core: Core): void; get(): Core } {
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
export class Kept {
  readonly #arrays: readonly LocalArray[];

  constructor(name: string, count: number, room = ROOM) {
    this.#arrays = Array.from({ length: count }, (_, k) => array(`ahead_${name}${k}`, room, "f32", true));
  }

  set(i: Int, numbers: readonly Scalar[]): void {
    this.#arrays.forEach((x, k) => x.set(i, numbers[k]));
  }

  get(i: Int): Scalar[] {
    return this.#arrays.map((x) => x.get(i));
  }
}

export const vec = (of: readonly Scalar[], from: number) => of.slice(from, from + 3) as unknown as Vec3;

/** A direction's overlap, normal and points: so many numbers. */
export const BEST = 10;
export const numbersOf = ({ h, normal, a, b }: Best): Scalar[] => [h.get(), ...normal.get(), ...a.get(), ...b.get()];
export const setNumbers = (to: Best, x: readonly Scalar[]): void => keep(to, x[0], vec(x, 1), vec(x, 4), vec(x, 7));

/** So many searches whose shapes overlap, or are too near for GJK: what is next begins from its simplex. */
export function parked(room: number) {
  const [simplex, best, seed, rest] = [32, BEST, 4, 3].map((count, k) => new Kept(`parked${k}_`, count, room));
  const pairs = new Kept("parked_pair", 2, room);
  return {
    save(i: Int, { s, best: found, seed: from, next, last }: SearchState, of: readonly Int[]): void {
      const ids = s.ids.flatMap((v) => v.get().slice(0, 2));
      simplex.set(i, [...[...s.w, ...s.a].flatMap((v) => v.get()), ...ids]);
      best.set(i, numbersOf(found));
      seed.set(i, [from.h.get(), ...from.n.get()]);
      rest.set(
        i,
        [s.count, next, last].map((x) => toF32(x.get())),
      );
      pairs.set(i, of.map(toF32));
    },
    of: (i: Int) => pairs.get(i).map(toI32),
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
