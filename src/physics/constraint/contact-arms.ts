// from the joints that move a contact to it: levers of micrometres, which places in the world would lose to rounding
import { table } from "../../trace/control.ts";
import {
  add,
  and,
  div,
  eq,
  gt,
  isNode,
  max,
  min,
  mul,
  not,
  or,
  select,
  square,
  sub,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { rotational, translational } from "../../trace/spatial.ts";
import {
  add3,
  addScaled3,
  cross,
  dot3,
  lengthSquared,
  rotate,
  row,
  scale3,
  select3,
  sub3,
  type Vec3,
} from "../../trace/vector.ts";
import { mjtGeom } from "../../model/enums.ts";
import { slides } from "../smooth/own-centres.ts";
import type { ContactSlots } from "../collision/contact-slots.ts";
import { indexed } from "../smooth/sparsity.ts";
import { Field, type WorldData, type ModelView } from "../view.ts";

/** Where a contact lies beside the origin of one of its bodies: at `base + along normal`. */
export interface ContactArm {
  /**
   * A point on the line of the normal, relative to the body's origin: the centre of a sphere, the nearest point of a
   * capsule's segment, the contact itself of other geoms.
   */
  readonly base: Vec3;
  readonly along: Scalar;
  /** Whether `base` is known to rounding of itself: of spheres and capsules. */
  readonly isRound: Bool;
}

/** Beyond this squared sine between normal and capsule the place along the segment follows from both. */
const OBLIQUE = 1e-3;

/** Geoms beyond which what their contacts need of them is made for each contact, not for each of them. */
const MANY_GEOMS = 64;

/** How the arms of contacts are read, at a slot known only at run time. */
export type ContactArms = (slot: Int, which: 0 | 1) => ContactArm;

/** Reads geom_xpos, xquat. */
function contactArms(m: ModelView, d: WorldData, slots: ContactSlots): ContactArms {
  const { model } = m;
  const geoms = [...new Set(slots.pairs.flatMap((p) => [p.geom1, p.geom2]))];
  // of many geoms few have contacts
  const places = m.form.hasRoom && geoms.length > MANY_GEOMS ? slots.geomPos : undefined;
  const isLate = places !== undefined;
  const quat = isLate ? indexed(d.xquat) : d.xquat;
  const field = (name: string, of: (geom: Int) => Vec3): ((geom: Int) => Vec3) => {
    if (isLate) return of;
    const values = new Field(name, 3 * geoms.length, 3, true);
    geoms.forEach((g, i) => values.setRow(i, of(g)));
    return values.vec3;
  };
  const turned = (geom: Int, local: Vec3) => rotate(quat.quat(m.geom_bodyid.at(geom)), local);
  const centre = field("arm_centre", places ?? d.geom_xpos.vec3);
  const arm = field("arm_geom", (g) => turned(g, m.geom_pos.vec3(g)));
  const isCapsule = (g: number) => model.geom_type[g] === mjtGeom.CAPSULE;
  const along = (g: Int): Vec3 => turned(g, rotate(m.geom_quat.quat(g), [0, 0, 1]));
  const axis = geoms.some(isCapsule)
    ? field("arm_axis", (g) =>
        isNode(g)
          ? select3(eq(m.geom_type.at(g), mjtGeom.CAPSULE), along(g), [0, 0, 0])
          : isCapsule(g)
            ? along(g)
            : [0, 0, 0],
      )
    : undefined;
  const isRound = (g: number) => isCapsule(g) || model.geom_type[g] === mjtGeom.SPHERE;
  const ends = (["geom1", "geom2"] as const).map((end) => ({
    place: slots.ofGeom(`arm_${end}`, end, (g) => (isLate ? g : geoms.indexOf(g)), "i32"),
    round: slots.ofGeom(`arm_round_${end}`, end, (g) => Number(isRound(g)), "i32"),
    half: slots.ofGeom(`arm_half_${end}`, end, (g) => (isCapsule(g) ? m.geom_size.at(3 * g + 1) : 0)),
    radius: slots.ofGeom(`arm_radius_${end}`, end, (g) => (isCapsule(g) ? m.geom_size.at(3 * g) : 0)),
  }));

  return (slot, which) => {
    const { place, round, half, radius } = ends[which];
    const at = place(slot);
    const normal = row(slots.frame(slot), 0);
    const from = sub3(slots.pos(slot), centre(at));
    const reach = () => mul(which === 0 ? 1 : -1, add(radius(slot), mul(0.5, slots.dist(slot))));
    const t = axis ? alongSegment(axis(at), normal, from, half(slot), reach()) : 0;
    const offset = axis ? scale3(axis(at), t) : ([0, 0, 0] as const);
    const rounded = eq(round(slot), 1);
    const off = from.map((x, k) => select(rounded, offset[k], x)) as unknown as Vec3;
    return {
      base: add3(arm(at), off),
      along: select(rounded, dot3(sub3(from, offset), normal), 0),
      isRound: rounded,
    };
  };
}

/**
 * The place on a segment from which the normal leads to a point at `from` its centre; 0 for a segment of no length. Along
 * its own axis `reach`, by which a contact lies from the segment, tells it: an edge may meet a capsule anywhere on its axis.
 */
function alongSegment(axis: Vec3, normal: Vec3, from: Vec3, half: Scalar, reach: Scalar): Scalar {
  const cosine = dot3(axis, normal);
  const sine2 = sub(1, mul(cosine, cosine));
  const [a, n] = [dot3(from, axis), dot3(from, normal)];
  const solved = div(sub(a, mul(cosine, n)), max(sine2, OBLIQUE));
  const t = select(gt(sine2, OBLIQUE), solved, mul(select(gt(cosine, 0), 1, -1), sub(n, reach)));
  return max(mul(-1, half), min(half, t));
}

/** How fast a unit rate of a dof moves a contact of one of its bodies. */
export interface PointMotion {
  readonly turn: Vec3;
  /** Velocity of the arm's base, by which alone the normal counts, and of the contact. */
  readonly base: Vec3;
  readonly point: Vec3;
  /** The squared size of the numbers that rounding takes its share of, along the normal and across. */
  readonly size2: readonly [Scalar, Scalar];
}

/** One body of a contact, and the contact's arm beside it. */
interface Side extends ContactArm {
  readonly body: Int;
  readonly origin: Vec3;
}

/** How dofs move contacts, about their own anchors. Reads xpos, xanchor, cdof, and what `contactArms` reads. */
export class PointMotions {
  readonly #m: ModelView;
  readonly #d: WorldData;
  readonly #slots: ContactSlots;
  readonly #arms: ContactArms;
  readonly #origin: Field;
  readonly #bodies: readonly ((slot: Int) => Int)[];
  readonly #slide: (dof: Int) => Int;
  /** The body of a dof, if the anchors of all its joints are at its origin; else -1. */
  readonly #pivot: (dof: Int) => Int;

  constructor(m: ModelView, d: WorldData, slots: ContactSlots) {
    const { model } = m;
    this.#m = m;
    this.#d = d;
    this.#slots = slots;
    this.#arms = contactArms(m, d, slots);
    this.#origin = indexed(d.xpos);
    this.#bodies = (["geom1", "geom2"] as const).map((end) =>
      slots.ofGeom(`arm_body_${end}`, end, (g) => model.geom_bodyid[g], "i32"),
    );
    this.#slide = table(
      "arm_slides",
      Array.from(model.dof_jntid, (_, i) => Number(slides(model, i))),
      "i32",
    );
    const off = new Set(
      Array.from(model.jnt_bodyid).filter((_, j) => model.jnt_pos.subarray(3 * j, 3 * j + 3).some((x) => x !== 0)),
    );
    this.#pivot = table(
      "arm_pivot",
      Array.from(model.dof_bodyid, (b) => (off.has(b) ? -1 : b)),
      "i32",
    );
  }

  /** Of the dofs that a sign tells the body of: the second's 1, the first's -1. */
  at(slot: Int): (dof: Int, sign: Scalar) => PointMotion {
    const sides = ([0, 1] as const).map((which): Side => {
      const body = this.#bodies[which](slot);
      return { ...this.#arms(slot, which), body, origin: this.#origin.vec3(body) };
    });
    const normal = row(this.#slots.frame(slot), 0);
    const place2 = lengthSquared(this.#slots.pos(slot));
    return (dof, sign) => this.#motion(dof, pick(gt(sign, 0), sides[1], sides[0]), normal, place2);
  }

  #motion(dof: Int, at: Side, normal: Vec3, place2: Scalar): PointMotion {
    const [m, d] = [this.#m, this.#d];
    const motion = d.cdof.spatial(dof);
    const turn = rotational(motion);
    const moves = eq(this.#slide(dof), 1);
    const arm = add3(at.base, sub3(at.origin, d.xanchor.vec3(m.dof_jntid.at(dof))));
    const base = select3(moves, translational(motion), cross(turn, arm));
    const isLocal = and(at.isRound, eq(this.#pivot(dof), at.body));
    const lever2 = add(lengthSquared(arm), select(isLocal, 0, place2));
    const size2 = (x: Scalar): Scalar => select(moves, 1, x);
    return {
      turn,
      base,
      point: addScaled3(base, at.along, cross(turn, normal)),
      size2: [size2(lever2), size2(add(lever2, square(at.along)))],
    };
  }
}

const pick = (c: Bool, a: Side, b: Side): Side => ({
  base: select3(c, a.base, b.base),
  along: select(c, a.along, b.along),
  isRound: either(c, a.isRound, b.isRound),
  body: select(c, a.body, b.body, "i32"),
  origin: select3(c, a.origin, b.origin),
});

const either = (c: Bool, a: Bool, b: Bool): Bool => or(and(c, a), and(not(c), b));
