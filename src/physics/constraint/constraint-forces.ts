// what stages after the solver see of constraints: the active contacts, and the forces of other rows
import type { Int, Scalar } from "../../trace/scalar.ts";
import type { Spatial } from "../../trace/spatial.ts";
import type { Mat3, Vec3 } from "../../trace/vector.ts";
import type { Rows } from "./rows.ts";

/** One active contact (mjContact), at a runtime index. */
export interface ContactView {
  readonly dist: Scalar;
  /** Midpoint between the surfaces, global. */
  readonly pos: Vec3;
  /** Rows: normal from geom1 to geom2, two tangents, global. */
  readonly frame: Mat3;
  /** Normal, tangent 1, tangent 2, torsion, roll 1, roll 2, in the contact frame (mj_contactForce). */
  readonly force: Spatial;
  readonly geom1: Int;
  readonly geom2: Int;
  readonly body1: Int;
  readonly body2: Int;
}

/** The active contacts of a world after the constraint solve. */
export interface Contacts {
  /** Runs `body` for each contact in MuJoCo's order, in a runtime loop. */
  each(body: (contact: ContactView) => void): void;
}

/** The forces of constraints after the solve. */
export interface ConstraintForces {
  readonly contacts: Contacts;
  /** Rows other than those of contacts, and the force of each. */
  readonly rows: Rows;
  readonly rowForce: (row: number) => Scalar;
}
