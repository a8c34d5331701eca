// velocities of moving surfaces in contacts (mj_addSurfaceVel, mj_geomSurfaceVelocity)
import { add, eq, mul, select, sub, type Int, type Scalar } from "../../trace/scalar.ts";
import { add3, cross, dot3, mulMatVec, row, sub3, type Vec3 } from "../../trace/vector.ts";
import type { ContactSlots } from "../collision/contact-slots.ts";
import type { WorldData, ModelView } from "../view.ts";

/**
 * What surfaces that move add to a contact's velocities along normal, two tangents and spin: the second geom's motion
 * minus the first's; nothing along the normal. Empty if no surface moves. Reads geom_xpos, geom_xmat.
 */
export function surfaceVelocities(m: ModelView, d: WorldData, slots: ContactSlots): (slot: Int) => readonly Scalar[] {
  const { model } = m;
  const moves = (g: number) => model.geom_surfacevel.subarray(6 * g, 6 * g + 6).some((x) => x !== 0);
  const geoms = slots.pairs.geoms().filter(moves);
  if (geoms.length === 0) return () => [];
  const first = slots.ofGeom("con_surface1", "geom1", (g) => g, "i32");
  const second = slots.ofGeom("con_surface2", "geom2", (g) => g, "i32");

  return (slot) => {
    const frame = slots.frame(slot);
    const sum: Scalar[] = [0, 0, 0, 0];
    for (const g of geoms) {
      const mat = d.geom_xmat.mat3(g);
      const [own, turn] = [0, 3].map((k) => mulMatVec(mat, m.geom_surfacevel.run(6 * g + k, 3) as unknown as Vec3));
      const linear = add3(own, cross(turn, sub3(slots.pos(slot), d.geom_xpos.vec3(g))));
      const is = (geom: (slot: Int) => Scalar) => select(eq(geom(slot), g), 1, 0);
      const sign = sub(is(second), is(first));
      for (const k of [1, 2]) sum[k] = add(sum[k], mul(sign, dot3(row(frame, k), linear)));
      sum[3] = add(sum[3], mul(sign, dot3(row(frame, 0), turn)));
    }
    return sum;
  };
}
