// what is beside a body, in the world
import { current } from "../../trace/graph.ts";
import { mulMatVec, quatToMat, rotate, type Quat, type Vec3 } from "../../trace/vector.ts";

/**
 * A vector of a frame, turned as the frame is. In float64 by the frame's matrix, as in MuJoCo: where areas of contacts tie
 * the last place of where geoms are decides.
 */
export const carried = (quat: Quat, v: Vec3): Vec3 =>
  current().exact ? mulMatVec(quatToMat(quat), v) : rotate(quat, v);
