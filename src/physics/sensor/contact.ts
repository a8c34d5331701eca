// the contact sensor: data of contacts that match, in slots (mjSENS_CONTACT)
import { array, increase, loop, table, variable, when } from "../../trace/control.ts";
import {
  add,
  and,
  div,
  dotn,
  gt,
  max,
  mul,
  ne,
  neg,
  not,
  or,
  select,
  sqrt,
  sub,
  toF32,
  type Bool,
  type Int,
  type Scalar,
} from "../../trace/scalar.ts";
import { cross, mulMatTVec, neg3, row, sub3, MINVAL, type Vec3 } from "../../trace/vector.ts";
import { mjtObj } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import type { Contacts, ContactView } from "../constraint/constraint-forces.ts";
import type { WorldData, ModelView } from "../view.ts";
import { insideSite } from "./inside.ts";

/** Widths of found, force, torque, dist, pos, normal, tangent. */
const WIDTHS = [1, 3, 3, 1, 3, 3, 3] as const;
const REDUCE = { NONE: 0, MINDIST: 1, MAXFORCE: 2, NETFORCE: 3 } as const;
/** Worse than any contact. */
const FAR = 1e30;

/** Whether each geom is, or is on, what a sensor names. */
function members(model: Model, type: number, id: number): number[] {
  const under = (body: number) => {
    let b = body;
    while (b > id) b = model.body_parentid[b];
    return b === id;
  };
  return Array.from({ length: model.ngeom }, (_, g) => {
    const body = model.geom_bodyid[g];
    switch (type) {
      case mjtObj.GEOM:
        return Number(g === id);
      case mjtObj.BODY:
        return Number(body === id);
      case mjtObj.XBODY:
        return Number(under(body));
      default:
        return 1;
    }
  });
}

/** Which contacts match, and which of them are seen from the other side (matchContact). */
function matcher(m: ModelView, d: WorldData, i: number): (c: ContactView) => { matches: Bool; flips: Bool } {
  const { model } = m;
  const [type1, id1] = [model.sensor_objtype[i], model.sensor_objid[i]];
  const [type2, id2] = [model.sensor_reftype[i], model.sensor_refid[i]];
  const [first, second] = [members(model, type1, id1), members(model, type2, id2)].map((list, k) => {
    const at = table(`sensor${i}_object${k}`, list, "i32");
    return (g: Int): Bool => ne(at(g), 0);
  });
  const [given1, given2] = [type1 !== mjtObj.UNKNOWN, type2 !== mjtObj.UNKNOWN];
  return (c) => {
    const [m11, m12, m21, m22] = [first(c.geom1), first(c.geom2), second(c.geom1), second(c.geom2)];
    const inside = type1 === mjtObj.SITE ? insideSite(m, d, id1, c.pos) : true;
    if (given1 && given2) {
      const [regular, reverse] = [and(m11, m22), and(m12, m21)];
      return { matches: and(inside, or(regular, reverse)), flips: not(regular) };
    }
    const involved = and(inside, and(or(m11, m12), or(m21, m22)));
    return { matches: involved, flips: given1 ? not(m11) : given2 ? not(m22) : false };
  };
}

/** The force of a contact without its torque, squared. */
const strength2 = (c: ContactView): Scalar => dotn(c.force.slice(0, 3), c.force.slice(0, 3));

/** What a slot holds of one contact, found left out (copySensorData). */
function fields(c: ContactView, flips: Bool): readonly (readonly Scalar[])[] {
  const force = (k: number): Scalar[] =>
    [0, 1, 2].map((j) => (j === 2 ? select(flips, neg(c.force[k + j]), c.force[k + j]) : c.force[k + j]));
  const axis = (k: number) => neg3(row(c.frame, k)).map((x, j) => select(flips, x, row(c.frame, k)[j]));
  return [[0], force(0), force(3), [c.dist], [...c.pos], axis(0), axis(1)];
}

/** The values of a contact sensor. */
export function contactSensor(m: ModelView, d: WorldData, contacts: Contacts, i: number): Scalar[] {
  const { model } = m;
  const [spec, reduce] = [model.sensor_intprm[3 * i], model.sensor_intprm[3 * i + 1]];
  const wanted = WIDTHS.map((_, k) => (spec & (1 << k)) !== 0);
  const match = matcher(m, d, i);
  const found = variable("found", 0, "i32");
  if (reduce === REDUCE.NETFORCE) return netForce(contacts, match, found, wanted);

  // the best so far, in order; of equal ones the earlier
  const width = WIDTHS.reduce<number>((n, w, k) => n + (wanted[k] ? w : 0), 0);
  const slots = model.sensor_dim[i] / width;
  const criteria = array("criterion", slots);
  const kept = array("kept", slots * width);
  for (let s = 0; s < slots; s++) criteria.set(s, FAR);
  for (let k = 0; k < slots * width; k++) kept.set(k, 0);
  contacts.each((c) => {
    const { matches, flips } = match(c);
    when(matches, () => {
      increase(found, 1);
      const criterion = [toF32(found.get()), c.dist, neg(strength2(c))][reduce];
      const record = fields(c, flips).flatMap((values, k) => (wanted[k] ? values : []));
      loop(slots, (up) => {
        const s = sub(slots - 1, up);
        const before = max(sub(s, 1), 0);
        const shifts = and(gt(s, 0), gt(criteria.get(before), criterion));
        when(gt(criteria.get(s), criterion), () => {
          const [from, to] = [mul(before, width), mul(s, width)];
          record.forEach((x, k) => kept.set(add(to, k), select(shifts, kept.get(add(from, k)), x)));
          criteria.set(s, select(shifts, criteria.get(before), criterion));
        });
      });
    });
  });
  const total = toF32(found.get());
  const out: Scalar[] = [];
  for (let s = 0; s < slots; s++) {
    for (let k = 0; k < width; k++) {
      const isFound = wanted[0] && k === 0;
      out.push(isFound ? select(gt(found.get(), s), total, 0) : kept.get(s * width + k));
    }
  }
  return out;
}

/** All matching contacts as one wrench about the centre of their forces, global. */
function netForce(
  contacts: Contacts,
  match: (c: ContactView) => { matches: Bool; flips: Bool },
  found: { get(): Int; set(x: Int): void },
  wanted: readonly boolean[],
): Scalar[] {
  const sums = (name: string) => [0, 1, 2].map((k) => variable(`${name}${k}`, 0));
  const read = (v: ReturnType<typeof sums>) => v.map((x) => x.get()) as unknown as Vec3;
  const grow = (v: ReturnType<typeof sums>, x: Vec3) => v.forEach((a, k) => increase(a, x[k]));
  const [weighted, force, torque] = ["centre", "net_force", "net_torque"].map(sums);
  const weight = variable("weight", 0);
  contacts.each((c) => {
    const { matches } = match(c);
    const w = select(matches, sqrt(strength2(c)), 0);
    increase(found, select(matches, 1, 0, "i32"));
    increase(weight, w);
    grow(weighted, c.pos.map((x) => mul(w, x)) as unknown as Vec3);
  });
  const inverse = div(1, max(weight.get(), MINVAL));
  const point = read(weighted).map((x) => mul(x, inverse)) as unknown as Vec3;
  contacts.each((c) => {
    const { matches, flips } = match(c);
    const sign = select(matches, select(flips, -1, 1), 0);
    const part = (k: number) => mulMatTVec(c.frame, [0, 1, 2].map((j) => mul(sign, c.force[k + j])) as unknown as Vec3);
    const own = part(0);
    grow(force, own);
    const arm = cross(sub3(c.pos, point), own);
    grow(torque, part(3).map((x, k) => add(x, arm[k])) as unknown as Vec3);
  });
  const all = [[toF32(found.get())], read(force), read(torque), [0], point, [1, 0, 0], [0, 1, 0]];
  return all.flatMap((values, k): readonly Scalar[] => (wanted[k] ? values : []));
}
