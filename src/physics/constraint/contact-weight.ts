// how much less the diagonal of A of a contact's first row is in the metric of the integrator `discrete` than in M
import type { Int, Scalar } from "../../trace/scalar.ts";
import { motionAt, translational } from "../../trace/spatial.ts";
import { add3, dot3, row as matRow, scale3, type Mat3, type Vec3 } from "../../trace/vector.ts";
import { eachDofBetween } from "../smooth/each-body.ts";
import type { ModelView, WorldData } from "../view.ts";
import { weightRatio } from "./metric-weights.ts";

/** A contact, and how much of its first tangent its first row has: an edge of a pyramid has its friction. */
interface FirstRow {
  readonly pos: Vec3;
  readonly frame: Mat3;
  readonly slope: Scalar;
  readonly bodies: readonly [Int, Int];
  /** The row over all dofs, where no loop follows the bodies. */
  readonly jac: () => readonly { readonly dof: number; readonly value: Scalar }[];
}

/** Reads cdof, subtree_com where dofs are in a loop. */
export function contactWeight(m: ModelView, d: WorldData, c: FirstRow): Scalar {
  return weightRatio(d, (visit) => {
    if (!d.cdof.isIndexed) return c.jac().forEach(({ dof, value }) => visit(dof, value));
    const axis = add3(matRow(c.frame, 0), scale3(matRow(c.frame, 1), c.slope));
    // what moves both bodies alike moves neither against the other: the sign of a dof is squared
    eachDofBetween(m, ...c.bodies, (dof, body) => {
      const centre = d.subtree_com.vec3(m.body_rootid.at(body));
      visit(dof, dot3(axis, translational(motionAt(d.cdof.spatial(dof), c.pos, centre))));
    });
  });
}
