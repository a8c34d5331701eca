// corners of a box or a hull that are as far out as float32 tells, and which of them is how much farther
import {
  array,
  breakIf,
  increase,
  loop,
  variable,
  when,
  type LocalArray,
  type Variable,
} from "../../../trace/control.ts";
import {
  add,
  and,
  band,
  eq,
  floor,
  ge,
  gt,
  lt,
  mul,
  ne,
  neg,
  round,
  select,
  sub,
  toF32,
  toI32,
  toU32,
  uadd,
  umul,
  type Bool,
  type Int,
  type Scalar,
} from "../../../trace/scalar.ts";
import { dot3, scale3, sub3, ZERO3, type Vec3 } from "../../../trace/vector.ts";
import { mjtGeom } from "../../../model/enums.ts";
import { vector, type Corners } from "./registers.ts";
import { eachListed, supportPoint, type Core } from "./support.ts";

/** A corner this much under the farthest one, in sizes of the pair, may be as far out. */
const LEVEL = 4e-6;
/**
 * Directions in whole numbers of `STEP` and places in whole numbers of `GRID`, and what is left of them, have heights in
 * whole numbers modulo 2^32. Those of two level corners differ by at most STEP (from rounding the direction) times their
 * distance, of which half a range is 2.
 */
const STEP = 2 ** -17;
const GRID = 2 ** -30;
/** Times this a whole number is subtracted. */
const MINUS = 0xffffffff;

/** A direction in whole numbers, and the one that these are. */
export const wholeDirection = (d: Vec3): { whole: Vec3; exact: Vec3 } => {
  const whole = d.map((x) => round(mul(x, 1 / STEP))) as unknown as Vec3;
  return { whole, exact: scale3(whole, STEP) };
};

/** Corners that are level with the farthest of a shape, which is the first, by what float32 tells. */
export interface LevelCorners {
  /** Which corner of the shape (`Core.corner`). */
  readonly id: LocalArray;
  readonly count: Variable;
  /** Whether there are no more than room for them. */
  readonly fits: Variable;
  /** Where each is across a direction, and how high along it above the first. */
  readonly x: LocalArray;
  readonly y: LocalArray;
  readonly height: LocalArray;
  /** Writes places and heights; these are along `whole` (`wholeDirection`) but for what `place` adds. */
  measure(whole: Vec3, place: Place): void;
}

/** Where a corner is across a direction, and what its height along it has beside that along the whole numbers. */
type Place = (corner: Vec3, fromFirst: Vec3) => { x: Scalar; y: Scalar; more: Scalar };

/** Collects the level corners of a box or a hull in a direction of its own frame. `scratch` has room for them. */
export function levelCorners(name: string, core: Core, d: Vec3, scratch: Corners): LevelCorners {
  const [x, y, height] = scratch;
  const room = x.length;
  const id = array(`${name}_id`, room, "i32");
  const count = variable(`${name}_n`, 0, "i32");
  const fits = variable(`${name}_fits`, 1, "i32");
  const hull = core.shape.hull;
  const isHull = hull === undefined ? false : core.is(mjtGeom.MESH);
  const push = (at: Int) => {
    id.set(count.get(), at);
    increase(count, 1);
  };

  const farthest = supportPoint(core, d);
  const first = vector(`${name}_first`, farthest);
  first.set(farthest);
  const top = core.corner.get();
  count.set(0);
  fits.set(1);
  push(top);
  const isLevel = (corner: Vec3): Bool => gt(dot3(sub3(corner, first.get()), d), -LEVEL);
  const offer = (at: Int) =>
    when(
      lt(count.get(), room),
      () => push(at),
      () => fits.set(0),
    );
  const box = () => loop(8, (i) => when(and(ne(i, top), isLevel(boxCorner(core, i))), () => offer(i)));
  if (isHull === false || !hull) box();
  else {
    // what is level is joined by edges
    const joined = () => {
      const from = variable(`${name}_from`, 0, "i32");
      from.set(0);
      loop(room, () => {
        breakIf(ge(from.get(), count.get()));
        const next = variable(`${name}_next`, 0, "i32");
        next.set(hull.tables.firstNeighbour!(id.get(from.get())));
        loop(hull.tables.mostVertices, () => {
          const at = hull.tables.neighbour!(next.get());
          breakIf(lt(at, 0));
          increase(next, 1);
          when(isLevel(scale3(hull.tables.vertex(at), core.perSize)), () => {
            const known = variable(`${name}_known`, 0, "i32");
            known.set(0);
            loop(count.get(), (i) => known.set(select(eq(id.get(i), at), 1, known.get(), "i32")));
            when(eq(known.get(), 0), () => offer(at));
          });
        });
        increase(from, 1);
      });
    };
    const listed = (at: Int, point: Vec3) =>
      when(and(ne(at, top), isLevel(scale3(point, core.perSize))), () => offer(at));
    when(isHull, () => eachListed(hull, d, listed, joined), box);
  }

  const measure = (whole: Vec3, place: Place) => {
    const direction = whole.map((n) => toU32(toI32(n)));
    const heightOf = (corner: Vec3) => {
      const scaled = scale3(corner, 1 / GRID);
      const down = scaled.map(floor);
      const high = down.map((v, k) => umul(toU32(toI32(v)), direction[k])).reduce(uadd);
      const low = scaled.map((v, k) => mul(whole[k], sub(v, down[k]))).reduce(add);
      return { high, low };
    };
    const from = heightOf(first.get());
    const back = umul(from.high, MINUS);
    loop(count.get(), (i) => {
      const at = id.get(i);
      const corner = vector(`${name}_corner`, ZERO3);
      if (isHull === false || !hull) corner.set(boxCorner(core, at));
      else
        when(
          isHull,
          () => corner.set(scale3(hull.tables.vertex(at), core.perSize)),
          () => corner.set(boxCorner(core, at)),
        );
      const p = corner.get();
      const of = heightOf(p);
      const above = mul(add(toF32(toI32(uadd(of.high, back))), sub(of.low, from.low)), STEP * GRID);
      const placed = place(p, sub3(p, first.get()));
      x.set(i, placed.x);
      y.set(i, placed.y);
      height.set(i, add(above, placed.more));
    });
  };
  return { id, count, fits, x, y, height, measure };
}

const boxCorner = ({ half }: Core, i: Int): Vec3 =>
  half.map((h, k) => select(eq(band(toU32(i), 1 << k), 0), neg(h), h)) as unknown as Vec3;
