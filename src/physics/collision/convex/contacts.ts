// contacts of two convex shapes by MuJoCo's rules (mjc_Convex)
import { current } from "../../../trace/graph.ts";
import { array, breakIf, loop, variable, when, type LocalArray } from "../../../trace/control.ts";
import {
  abs,
  add,
  and,
  eq,
  ge,
  gt,
  le,
  lt,
  min,
  mul,
  not,
  or,
  select,
  sqrt,
  sub,
  type Bool,
  type Int,
  type Scalar,
} from "../../../trace/scalar.ts";
import {
  add3,
  column,
  cross,
  dot3,
  lengthSquared,
  MINVAL,
  mulMatVec,
  neg3,
  row,
  scale3,
  select3,
  sub3,
  type Vec3,
} from "../../../trace/vector.ts";
import { mjtGeom } from "../../../model/enums.ts";
import { makeFrame } from "../colliders/frame.ts";
import { DISTINCT, movedBy, SEARCHES, turned, turnOf } from "../colliders/turned.ts";
import { locate, searching, type Finder, type Located } from "./distance.ts";
import { CAP_CORNERS, inTheWorld } from "./faces.ts";
import { manifold } from "./manifold.ts";
import { marginSearch } from "./margin-search.ts";
import { searchedFromOneCentre } from "./one-centre.ts";
import { ROUNDING } from "./phases.ts";
import { polytope } from "./polytope.ts";
import { vector } from "./registers.ts";
import { isKind, isPolyhedron } from "./support.ts";
import { MOST_CONVEX_CONTACTS, type ConvexContacts, type ConvexOptions, type ConvexShape } from "./types.ts";

/** Contacts as they are found. */
class ContactList implements ConvexContacts {
  readonly #count = variable("convex_count", 0, "i32");
  readonly #dist = array("convex_dist", MOST_CONVEX_CONTACTS);
  readonly #pos = [0, 1, 2].map((k) => array(`convex_pos${k}`, MOST_CONVEX_CONTACTS));
  readonly #normal = [0, 1, 2].map((k) => array(`convex_normal${k}`, MOST_CONVEX_CONTACTS));

  /** Whether a later place was the first one. */
  readonly #met = variable("convex_met", 0, "i32");

  get count(): Int {
    return this.#count.get();
  }

  clear(): void {
    this.#count.set(0);
    this.#met.set(0);
  }

  push(dist: Scalar, pos: Vec3, normal: Vec3): void {
    when(lt(this.count, MOST_CONVEX_CONTACTS), () => {
      const i = this.count;
      this.#dist.set(i, dist);
      pos.forEach((x, k) => this.#pos[k].set(i, x));
      normal.forEach((x, k) => this.#normal[k].set(i, x));
      this.#count.set(add(i, 1));
    });
  }

  at(i: Int) {
    const read = (of: readonly LocalArray[]) => of.map((x) => x.get(i)) as unknown as Vec3;
    return { dist: this.#dist.get(i), pos: read(this.#pos), normal: read(this.#normal), exists: true };
  }

  /**
   * Whether a place is not one of those found; nearer to the first than `moved` it is the first, moved by a turn. `rolled`
   * tells how far a contact is from the first that is as far as this.
   */
  isNew(pos: Vec3, distance: Scalar, moved: Scalar, rolled?: (apart: Scalar) => Scalar): Bool {
    const near = variable("convex_near", 0, "i32");
    near.set(0);
    loop(this.count, (i) => {
      const apart = lengthSquared(sub3(pos, this.at(i).pos));
      const isNear = rolled
        ? le(select(eq(i, 0), rolled(sqrt(apart)), sqrt(apart)), distance)
        : le(apart, mul(distance, distance));
      near.set(select(isNear, 1, near.get(), "i32"));
      const isFirst = and(eq(i, 0), le(apart, mul(moved, moved)));
      this.#met.set(select(isFirst, 1, this.#met.get(), "i32"));
    });
    return eq(near.get(), 0);
  }

  /**
   * Drops the first where several others were found and none of them is there: then the shapes lie flat on each other, and
   * it is some place between corners, where MuJoCo finds the deepest of these.
   */
  dropFlat(): void {
    const last = sub(this.count, 1);
    when(and(ge(last, 2), eq(this.#met.get(), 0)), () => {
      this.#pos.forEach((x) => x.set(0, x.get(last)));
      this.#normal.forEach((x) => x.set(0, x.get(last)));
      this.#count.set(last);
    });
  }
}

/** Contacts that turns have moved lie this many times nearer than the corners of faces that lie flat. */
const MOVED = 4;

/** Shapes with flat faces, whose meeting faces are clipped. */
const isFlat = (s: ConvexShape): Bool => isKind(s, mjtGeom.BOX, mjtGeom.MESH, mjtGeom.CYLINDER);
/** Shapes that touch in one point, prisms, and hulls without polygons. */
const isPoint = (s: ConvexShape): Bool =>
  s.hull?.tables.mostCorners
    ? isKind(s, mjtGeom.HFIELD, mjtGeom.SPHERE, mjtGeom.ELLIPSOID)
    : isKind(s, mjtGeom.HFIELD, mjtGeom.SPHERE, mjtGeom.ELLIPSOID, mjtGeom.MESH);

/** Level corners that are listed, at most. */
const MOST_LEVEL = 128;

/** Most corners of a face, and of what may be level with it. */
const cornersOf = (s: ConvexShape): number =>
  isKind(s, mjtGeom.MESH) === false ? CAP_CORNERS : Math.max(CAP_CORNERS, s.hull?.tables.mostCorners ?? 0);
const levelOf = (s: ConvexShape): number =>
  s.hull?.tables.mostCorners ? Math.min(s.hull.tables.mostVertices, MOST_LEVEL) : 0;

/** Shapes that MuJoCo shrinks to a point or a line, whose distances it then has without a polytope. */
const isShrunk = (s: ConvexShape): Bool => isKind(s, mjtGeom.SPHERE, mjtGeom.CAPSULE);

/**
 * The least overlap of a contact (m). MuJoCo begins no polytope over less than mjMINVAL, so that shapes made to touch make no
 * contact; float32 takes for one what rounding may make of that.
 */
function leastOverlap(a: ConvexShape, b: ConvexShape): Scalar {
  const least = current().exact ? MINVAL : mul(ROUNDING, add(a.radius, b.radius));
  return select(or(isShrunk(a), isShrunk(b)), 0, least);
}

/** Whether a contact is one: MuJoCo makes none of shapes that have one centre, or overlap by less than it resolves. */
export function touching(a: ConvexShape, b: ConvexShape, reach: Scalar, options: ConvexOptions): (c: Located) => Bool {
  const apart = not(searchedFromOneCentre(a, b, options));
  const within = sub(reach, leastOverlap(a, b));
  return ({ hit, dist }) => and(and(hit, apart), lt(dist, within));
}

/** Whether faces that meet are clipped, and else whether shapes are turned for further contacts. */
function furtherContacts(a: ConvexShape, b: ConvexShape, reach: Scalar, options: ConvexOptions) {
  const several = options.multiccd ? not(or(isPoint(a), isPoint(b))) : false;
  const faces = and(and(isFlat(a), isFlat(b)), le(reach, 0));
  return { several, faces, turns: options.turns === false ? false : and(several, not(faces)) };
}

export const turnsOf = (...pair: Parameters<typeof furtherContacts>): Bool => furtherContacts(...pair).turns;

/**
 * Contacts of two convex shapes (mjc_Convex): the nearest or deepest points, and if neither shape is round those that turning
 * the shapes by little finds too, or where faces meet without a margin the corners of what they share. `reach` is the
 * distance up to which MuJoCo looks for contacts (margin + gap, m). The geoms are in MuJoCo's order, the lower mjtGeom first.
 * `finder` stands for a search here: the first, or the one of a turn. `undecided`: as in `marginSearch`.
 */
export function convexContacts(
  a: ConvexShape,
  b: ConvexShape,
  reach: Scalar,
  options: ConvexOptions,
  finder?: (turn: Int) => Finder,
  undecided?: () => void,
): ConvexContacts {
  const contacts = new ContactList();
  contacts.clear();
  const scratch = polytope(Math.max(cornersOf(a) + cornersOf(b), levelOf(a), levelOf(b)));
  const { several, faces, turns } = furtherContacts(a, b, reach, options);
  // where MuJoCo searches on to less than rounding tells
  const finest = lt(options.tolerance, mul(ROUNDING, add(a.radius, b.radius)));
  const unmargined = options.rounds || options.flats || options.ovals || options.shrunk;
  const steps = options.margins || unmargined;
  const fine = steps && current().exact ? false : finest;
  const ordinary = searching(options, scratch);
  // a finder has no margins
  const bySteps = finder ? unmargined : steps;
  let turn: Int = 0;
  const otherwise: Finder = finder ? (...pair) => finder(turn)(...pair) : ordinary;
  const search = bySteps
    ? marginSearch(otherwise, options, scratch, not(fine), finder !== undefined, undecided)
    : otherwise;
  const tolerance = mul(DISTINCT, min(a.radius, b.radius));
  const touches = touching(a, b, reach, options);
  const first = {
    dist: variable("convex_first", 0),
    pos: vector("convex_at"),
    tangents: [vector("convex_t1_"), vector("convex_t2_")],
  };

  const isCapsule = isKind(a, mjtGeom.CAPSULE);
  const capsuleMoved = (apart: Scalar, sine: Scalar): Scalar => {
    const [t1, t2] = first.tangents.map((t) => t.get());
    const rise = dot3(column(a.mat, 2), cross(t1, t2));
    return select(isCapsule, movedBy(apart, a.size[0], first.dist.get(), sine, rise), apart);
  };
  const rolled = isCapsule === false || current().exact ? undefined : capsuleMoved;

  const find = (k: Int, p: ConvexShape, q: ConvexShape) => {
    turn = k;
    const found = locate(p, q, reach, search);
    const pos = scale3(add3(found.from, found.to), 0.5);
    when(touches(found), () => {
      const isFirst = eq(k, 0);
      when(isFirst, () => {
        first.dist.set(found.dist);
        first.pos.set(pos);
        if (turns === false) return;
        const frame = makeFrame(found.normal);
        first.tangents.forEach((t, i) => t.set(row(frame, i + 1)));
      });
      const normal = vector("convex_along", found.normal);
      if (faces !== false && several !== false)
        when(and(several, faces), () => {
          const { pair, found: best } = found;
          const buffers = [scratch.w, scratch.a] as const;
          const swapped = current().exact
            ? manifold(pair, best, buffers, (...contact) => contacts.push(...contact), {
                pair: inTheWorld(p, q),
                place: found.place,
              })
            : manifold(pair, best, buffers, (dist, at, along) =>
                contacts.push(mul(dist, found.size), found.place(at), mulMatVec(p.mat, along)),
              );
          normal.setIf(swapped, neg3(found.normal));
        });
      if (turns === false) when(eq(contacts.count, 0), () => contacts.push(found.dist, pos, normal.get()));
      else {
        // a turn moves the middle between deepest points by its sine times their distance
        const moved = mul(MOVED, add(tolerance, mul(DISTINCT, abs(first.dist.get()))));
        const isNew = contacts.isNew(pos, tolerance, moved, rolled && ((apart) => rolled(apart, turnOf(k).sine)));
        const another = and(isNew, or(turns, eq(contacts.count, 0)));
        when(another, () => contacts.push(first.dist.get(), pos, normal.get()));
      }
    });
  };
  if (turns === false) {
    find(0, a, b);
    return contacts;
  }
  loop(
    select(turns, SEARCHES, 1, "i32"),
    (k) => {
      breakIf(and(gt(k, 0), eq(contacts.count, 0)));
      const axis = select3(le(k, 2), first.tangents[0].get(), first.tangents[1].get());
      const { sine, shift } = turnOf(k);
      const about = first.pos.get();
      find(k, turned(a, about, axis, sine, shift), turned(b, about, axis, sub(0, sine), shift));
    },
    { label: "turns" },
  );
  const edged = and(isPolyhedron(a), isPolyhedron(b));
  when(and(and(turns, edged), fine), () => contacts.dropFlat());
  return contacts;
}
