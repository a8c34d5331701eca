// forces along the normals of contacts: what adhesive surfaces and adhesion actuators pull with
import { each, increase, variable } from "../../trace/control.ts";
import { eq, isNode, max, mul, or, select, toF32, div, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import { add6, scale6, ZERO6 } from "../../trace/spatial.ts";
import { row, scale3, ZERO3 } from "../../trace/vector.ts";
import { mjtDisableBit } from "../../model/enums.ts";
import type { ContactSlots } from "../collision/contact-slots.ts";
import { aboutTree, alongDofs } from "./body-forces.ts";
import { Field, type WorldData, type ModelView } from "../view.ts";

/** Adds the force on dofs of a pull along the normal of each contact: `pull` gives newtons at a slot. */
function pullTogether(m: ModelView, d: WorldData, slots: ContactSlots, qfrc: Field, pull: (slot: Int) => Scalar): void {
  const bodies = [
    slots.ofGeom("pull_body1", "geom1", (g) => m.model.geom_bodyid[g], "i32"),
    slots.ofGeom("pull_body2", "geom2", (g) => m.model.geom_bodyid[g], "i32"),
  ];
  // bodies of contacts are known at run time only
  const forces = new Field("pulls", 6 * m.nbody, 6, true);
  each(m.nbody, (b) => forces.setRow(b, ZERO6));
  const rootOf = (b: Int) => (isNode(b) ? m.body_rootid.at(b) : m.model.body_rootid[b]);
  const centres = new Field("pull_com", 3 * m.nbody, 3, true);
  each(m.nbody, (b) => centres.setRow(b, d.subtree_com.vec3(rootOf(b))));
  slots.each((_, slot) => {
    const normal = scale3(row(slots.frame(slot), 0), pull(slot));
    bodies.forEach((bodyOf, side) => {
      const body = bodyOf(slot);
      const wrench = aboutTree(m, d, body, ZERO3, normal, slots.pos(slot), centres.vec3(body));
      forces.setRow(body, add6(forces.spatial(body), scale6(wrench, side === 0 ? 1 : -1)));
    });
  });
  alongDofs(m, d, forces, (dof, force) => qfrc.set(dof, force));
}

/** Whether some pair of geoms that may touch pulls. */
const pulls = (slots: ContactSlots): boolean => slots.pairs.kinds.some((p) => p.adhesion !== 0);

/** Forces of adhesive contacts (mj_adhesion). Reads cdof, subtree_com; writes qfrc_adhesion. */
export function adhesion(m: ModelView, d: WorldData, slots: ContactSlots | undefined): void {
  each(m.nv, (i) => d.qfrc_adhesion.set(i, 0));
  const { disableflags } = m.opt;
  const none = mjtDisableBit.SPRING | mjtDisableBit.DAMPER;
  if (!slots || !pulls(slots) || (disableflags & none) === none) return;
  const force = slots.ofKind("pull", (p) => p.adhesion);
  pullTogether(m, d, slots, d.qfrc_adhesion, force);
}

/**
 * The moment of an actuator on a body: the mean Jacobian of the normals of its contacts, negated, so that a positive force
 * pulls (mj_transmission, mjTRN_BODY). Reads cdof, subtree_com.
 */
export function bodyMoment(m: ModelView, d: WorldData, slots: ContactSlots, body: number): Field {
  const moment = new Field(`moment_body${body}`, m.nv);
  each(m.nv, (i) => moment.set(i, 0));
  const on = (which: 1 | 2) =>
    slots.ofGeom(`of_body${body}_${which}`, `geom${which}`, (g) => Number(m.model.geom_bodyid[g] === body), "i32");
  const [first, second] = [on(1), on(2)];
  const isOf = (slot: Int): Bool => or(eq(first(slot), 1), eq(second(slot), 1));
  const count = variable("contacts_of_body", 0, "i32");
  slots.each((_, slot) => increase(count, select(isOf(slot), 1, 0, "i32")));
  if (slots.nslot === 0) return moment;
  pullTogether(m, d, slots, moment, (slot) => select(isOf(slot), 1, 0));
  const share = div(1, max(toF32(count.get()), 1));
  each(m.nv, (i) => moment.set(i, mul(moment.at(i), share)));
  return moment;
}
