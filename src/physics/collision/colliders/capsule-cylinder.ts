// a capsule and a cylinder, which MuJoCo leaves to its general convex collider
import { array, breakIf, loop, variable, when, type Variable } from "../../../trace/control.ts";
import {
  abs,
  add,
  and,
  clamp,
  div,
  eq,
  ge,
  gt,
  le,
  lt,
  max,
  min,
  mul,
  neg,
  or,
  select,
  sqrt,
  square,
  sub,
  toF32,
  type Bool,
  type Scalar,
} from "../../../trace/scalar.ts";
import {
  add3,
  addScaled3,
  column,
  cross,
  dot3,
  mulMatTVec,
  mulMatVec,
  norm3,
  normalize3,
  row,
  scale3,
  select3,
  sub3,
  MINVAL,
  type Vec3,
} from "../../../trace/vector.ts";
import { vector } from "../convex/registers.ts";
import { makeFrame } from "./frame.ts";
import { boundingRadius } from "./near.ts";
import { mjtGeom } from "../../../model/enums.ts";
import { DISTINCT, movedBy, SEARCHES, turned, turnOf } from "./turned.ts";
import type { Candidate, Shape } from "./types.ts";

/** Halvings of the segment: more than float64 can tell. */
const HALVINGS = 56;
/** Directions tried for a segment inside. */
const SLANTS = 24;
/** The capsule's axis counts as inside of the cylinder below this distance, m: its direction is lost in rounding. */
const INSIDE = 1e-5;
/** Sine of the angle between the axes below which they count as parallel: what float32 leaves of directions. */
const PARALLEL = 1e-6;

/** What a capsule's segment meets: in the cylinder's frame, from a point of the segment to its surface. */
interface Meeting {
  /** From the surface of the cylinder to the segment, m; negative if the segment is inside. */
  distance: Scalar;
  /** Unit, out of the cylinder towards the segment. */
  out: Vec3;
  /** The point of the segment. */
  point: Vec3;
}

/** Halves an interval about the place where `isRising` becomes true, until no number lies between its ends. */
function halve(low: Variable, high: Variable, isRising: (middle: Scalar) => Bool): void {
  loop(HALVINGS, () => {
    const middle = mul(0.5, add(low.get(), high.get()));
    breakIf(or(le(middle, low.get()), ge(middle, high.get())));
    const rising = isRising(middle);
    high.set(select(rising, middle, high.get()));
    low.set(select(rising, low.get(), middle));
  });
}

/**
 * Where along itself a segment that stands beside a parallel cylinder is met, any place of which is as near. The corners
 * of MuJoCo's search are opposite ends of the two, of which it takes the mean that brings their heights together.
 */
function beside(center: Vec3, axis: Vec3, half: Scalar, height: Scalar): { isBeside: Bool; along: Scalar } {
  const total = add(half, height);
  const isParallel = lt(add(square(axis[0]), square(axis[1])), PARALLEL ** 2);
  const along = div(mul(neg(center[2]), half), total);
  return {
    isBeside: and(isParallel, lt(abs(center[2]), total)),
    along: select(lt(axis[2], 0), neg(along), along),
  };
}

/** The nearest points of a segment and a cylinder that it does not enter: the distance is convex along it. */
function outside(center: Vec3, axis: Vec3, half: Scalar, radius: Scalar, height: Scalar): Meeting {
  const offset = (p: Vec3): Vec3 => {
    const rho = sqrt(add(square(p[0]), square(p[1])));
    const beyond = div(max(sub(rho, radius), 0), max(rho, MINVAL));
    return [mul(p[0], beyond), mul(p[1], beyond), sub(p[2], clamp(p[2], neg(height), height))];
  };
  const [low, high] = [variable("low", neg(half)), variable("high", half)];
  halve(low, high, (t) => gt(dot3(offset(addScaled3(center, t, axis)), axis), 0));
  const { isBeside, along } = beside(center, axis, half, height);
  const point = addScaled3(center, select(isBeside, along, mul(0.5, add(low.get(), high.get()))), axis);
  const away = offset(point);
  const distance = norm3(away);
  return { distance, out: scale3(away, div(1, max(distance, MINVAL))), point };
}

/** The shortest way out for a segment inside: over a cap, sideways, or across the segment over the rim. */
function inside(center: Vec3, axis: Vec3, half: Scalar, radius: Scalar, height: Scalar): Meeting {
  const end = (t: Scalar) => addScaled3(center, t, axis);
  const rise = mul(half, axis[2]);
  const reach = abs(rise);
  const up = gt(center[2], 0);
  const cap: Meeting = {
    distance: sub(sub(abs(center[2]), reach), height),
    out: [0, 0, select(up, 1, -1)],
    point: end(select(lt(mul(select(up, 1, -1), rise), 0), half, neg(half))),
  };

  // seen along the cylinder's axis: from that axis to the nearest point of the segment
  const across2 = add(square(axis[0]), square(axis[1]));
  const across = div(neg(add(mul(center[0], axis[0]), mul(center[1], axis[1]))), max(across2, MINVAL));
  const { isBeside, along } = beside(center, axis, half, height);
  const point = end(select(isBeside, along, clamp(across, neg(half), half)));
  const rho = sqrt(add(square(point[0]), square(point[1])));
  const onAxis = lt(rho, INSIDE);
  const flat = sqrt(max(across2, MINVAL));
  const aside: Vec3 = [neg(div(axis[1], flat)), div(axis[0], flat), 0];
  const radial: Vec3 = [div(point[0], max(rho, MINVAL)), div(point[1], max(rho, MINVAL)), 0];
  const upright = lt(across2, INSIDE);
  const side: Meeting = {
    distance: sub(rho, radius),
    out: select3(onAxis, select3(upright, [1, 0, 0], aside), radial),
    point,
  };
  const flush = choose(gt(cap.distance, side.distance), cap, side);
  const slanted = overRim(center, axis, half, radius, height);
  return choose(gt(slanted.distance, flush.distance), slanted, flush);
}

/**
 * The shortest way out among directions across the segment. With x the sine of such a direction's angle from the level
 * one, the depth is R sqrt(1 - (s x)²) + H s x - |c1| sqrt(1 - x²) - |c2| x, which may have two minima.
 */
function overRim(center: Vec3, axis: Vec3, half: Scalar, radius: Scalar, height: Scalar): Meeting {
  const s = sqrt(max(add(square(axis[0]), square(axis[1])), MINVAL));
  const level: Vec3 = [neg(div(axis[1], s)), div(axis[0], s), 0];
  const steep = cross(axis, level);
  const [c1, c2] = [dot3(center, level), dot3(center, steep)];
  const cosine = (x: Scalar) => sqrt(max(sub(1, square(x)), 0));
  // the cosine of s x, of which 1 - (s x)² would leave nothing where the segment is level and x is nearly one
  const bent = (y: Scalar) => sqrt(add(square(axis[2]), square(mul(s, y))));
  const depth = (x: Scalar, y: Scalar) => {
    const lever = add(mul(abs(c1), y), mul(abs(c2), x));
    return sub(add(mul(radius, bent(y)), mul(mul(height, s), x)), lever);
  };

  // the best of some, then halves of what is around it
  const [best, least] = [variable("slant", 0), variable("slant_depth", depth(0, 1))];
  loop(SLANTS, (i) => {
    const x = mul(toF32(add(i, 1)), 1 / SLANTS);
    const here = depth(x, cosine(x));
    const less = lt(here, least.get());
    best.set(select(less, x, best.get()));
    least.set(select(less, here, least.get()));
  });
  // of a sine and its cosine the smaller is looked for: the larger has few digits of the angle
  const isSteep = gt(best.get(), Math.SQRT1_2);
  const both = (u: Scalar): [Scalar, Scalar] => {
    const v = cosine(u);
    return [select(isSteep, v, u), select(isSteep, u, v)];
  };
  const [from, to] = [max(sub(best.get(), 1 / SLANTS), 0), min(add(best.get(), 1 / SLANTS), 1)];
  const low = variable("low", select(isSteep, cosine(to), from));
  const high = variable("high", select(isSteep, cosine(from), to));
  // its slope says more of where it ends than the depth does
  const slope = (x: Scalar, y: Scalar) => {
    const round = mul(mul(radius, square(s)), div(x, max(bent(y), MINVAL)));
    const lever = sub(mul(abs(c1), div(x, max(y, MINVAL))), abs(c2));
    return add(sub(mul(height, s), round), lever);
  };
  halve(low, high, (u) => {
    const rise = slope(...both(u));
    return gt(select(isSteep, neg(rise), rise), 0);
  });

  const [x, y] = both(mul(0.5, add(low.get(), high.get())));
  const signed = (value: Scalar, by: Scalar) => select(lt(by, 0), neg(value), value);
  const { unit: out } = normalize3(add3(scale3(level, signed(y, c1)), scale3(steep, signed(x, c2))));
  // where the rim is met
  const across = sqrt(max(add(square(out[0]), square(out[1])), MINVAL));
  const rim: Vec3 = [div(mul(radius, out[0]), across), div(mul(radius, out[1]), across), signed(height, out[2])];
  const along = clamp(dot3(sub3(rim, center), axis), neg(half), half);
  // a level direction is the sideways one, which knows its point better
  const distance = select(gt(x, INSIDE), neg(depth(x, y)), neg(add(radius, height)));
  return { distance, out, point: addScaled3(center, along, axis) };
}

const choose = (c: Bool, a: Meeting, b: Meeting): Meeting => ({
  distance: select(c, a.distance, b.distance),
  out: select3(c, a.out, b.out),
  point: select3(c, a.point, b.point),
});

/** Searches shapes whose axes are that near; a contact if it `hit`. */
type Search = (capsule: Shape, cylinder: Shape) => Omit<Candidate, "exists"> & { readonly hit: Bool };

/** The nearest points of a capsule and a cylinder as a contact. */
function nearest(capsule: Shape, cylinder: Shape, deep: Search | undefined): Candidate {
  const [round, half] = capsule.size;
  const [radius, height] = cylinder.size;
  const center = mulMatTVec(cylinder.mat, sub3(capsule.pos, cylinder.pos));
  const axis = mulMatTVec(cylinder.mat, column(capsule.mat, 2));
  const free = outside(center, axis, half, radius, height);
  const distance = variable("distance", free.distance);
  const [out, point] = [vector("out", free.out), vector("point", free.point)];
  const hold = () => {
    const held = inside(center, axis, half, radius, height);
    distance.set(held.distance);
    out.set(held.out);
    point.set(held.point);
  };
  const own = deep && {
    is: variable("own", 0, "i32"),
    dist: variable("own_dist"),
    pos: vector("own_pos"),
    normal: vector("own_normal"),
  };
  own?.is.set(0);
  when(le(free.distance, INSIDE), () => {
    if (!deep || !own) return hold();
    const found = deep(capsule, cylinder);
    own.is.set(select(found.hit, 1, 0, "i32"));
    own.dist.set(found.dist);
    own.pos.set(found.pos);
    own.normal.set(found.normal);
    when(eq(own.is.get(), 0), hold);
  });

  // halfway from the capsule's surface, `round` towards the cylinder, to the cylinder's
  const middle = addScaled3(point.get(), mul(-0.5, add(distance.get(), round)), out.get());
  const dist = sub(distance.get(), round);
  const pos = add3(cylinder.pos, mulMatVec(cylinder.mat, middle));
  const normal = mulMatVec(cylinder.mat, scale3(out.get(), -1));
  if (!own) return { dist, pos, normal, exists: true };
  const isOwn = eq(own.is.get(), 1);
  return {
    dist: select(isOwn, own.dist.get(), dist),
    pos: select3(isOwn, own.pos.get(), pos),
    normal: select3(isOwn, own.normal.get(), normal),
    exists: true,
  };
}

/**
 * The nearest points of the capsule's segment and the cylinder, and those after turning the geoms against each other by
 * little, four times, if they are others (mjc_Convex). MuJoCo searches them to ccd_tolerance, 1e-6 m by default; these
 * are exact, but for what `deep` finds.
 */
export const capsuleCylinder = (a: Shape, b: Shape, margin: Scalar, deep?: Search): Candidate[] => {
  const kept = [0, 1, 2].map((k) => array(`position${k}`, SEARCHES));
  const normals = [0, 1, 2].map((k) => array(`normal${k}`, SEARCHES));
  const found = array("found", SEARCHES);
  const first = { dist: variable("first"), pos: vector("first_pos"), t1: vector("first_t1"), t2: vector("first_t2") };
  const tolerance = mul(
    DISTINCT,
    min(boundingRadius(mjtGeom.CAPSULE, a.size), boundingRadius(mjtGeom.CYLINDER, b.size)),
  );
  for (let k = 0; k < SEARCHES; k++) found.set(k, 0);

  loop(SEARCHES, (k) => {
    // turns look for further contacts
    breakIf(and(gt(k, 0), eq(found.get(0), 0)));
    const about = first.pos.get();
    const axis = select3(le(k, 2), first.t1.get(), first.t2.get());
    const { sine, shift } = turnOf(k);
    const c = nearest(turned(a, about, axis, sine, shift), turned(b, about, axis, neg(sine), shift), deep);

    const rise = dot3(column(a.mat, 2), cross(first.t1.get(), first.t2.get()));
    let exists: Bool = lt(c.dist, margin);
    const isFirst = eq(k, 0);
    for (let i = 0; i < SEARCHES; i++) {
      const earlier = [0, 1, 2].map((x) => kept[x].get(i)) as unknown as Vec3;
      const between = norm3(sub3(c.pos, earlier));
      const moved = i === 0 ? movedBy(between, a.size[0], first.dist.get(), sine, rise) : between;
      exists = and(exists, or(gt(moved, tolerance), eq(found.get(i), 0)));
    }
    exists = and(exists, or(isFirst, eq(found.get(0), 1)));
    c.pos.forEach((x, i) => kept[i].set(k, x));
    c.normal.forEach((x, i) => normals[i].set(k, x));
    found.set(k, select(exists, 1, 0));

    // what the turns start from
    const frame = makeFrame(c.normal);
    first.dist.set(select(isFirst, c.dist, first.dist.get()));
    first.pos.set(select3(isFirst, c.pos, first.pos.get()));
    first.t1.set(select3(isFirst, row(frame, 1), first.t1.get()));
    first.t2.set(select3(isFirst, row(frame, 2), first.t2.get()));
  });

  return Array.from({ length: SEARCHES }, (_, k) => ({
    dist: first.dist.get(),
    pos: [0, 1, 2].map((i) => kept[i].get(k)) as unknown as Vec3,
    normal: [0, 1, 2].map((i) => normals[i].get(k)) as unknown as Vec3,
    exists: eq(found.get(k), 1),
  }));
};
