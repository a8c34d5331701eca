// geoms that no joint turns, and where their axes point to the last place of float64
import { product, type Quat } from "../../core/quaternion.ts";
import { table } from "../../trace/control.ts";
import { eq, type Bool, type Int } from "../../trace/scalar.ts";
import type { Vec3 } from "../../trace/vector.ts";
import { mjtJoint } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";

const unit = (q: Quat): Quat => {
  const length = Math.sqrt(q.reduce((sum, x) => sum + x * x, 0));
  return q.map((x) => x / length) as unknown as Quat;
};

/** The z axis of a frame, as mju_quat2Mat rounds it: of level axes that is 0 or 2e-16. */
const zAxis = ([w, x, y, z]: Quat): number[] => [
  2 * (x * z + w * y),
  2 * (y * z - w * x),
  w * w - x * x - y * y + z * z,
];

export const quatAt = (values: Float64Array, i: number): Quat => Array.from(values.subarray(4 * i, 4 * i + 4)) as never;

/** Whether joints or users turn a body, and how the bodies that nothing turns stand in the world. */
export function steadyBodies(model: Model): { turns: readonly boolean[]; frames: readonly Quat[] } {
  const { nbody, body_parentid, body_mocapid, body_quat, njnt, jnt_bodyid, jnt_type } = model;
  const turns = Array.from({ length: nbody }, (_, b) => body_mocapid[b] >= 0);
  for (let j = 0; j < njnt; j++) turns[jnt_bodyid[j]] ||= jnt_type[j] !== mjtJoint.SLIDE;
  // parents come first
  const frames: Quat[] = [[1, 0, 0, 0]];
  for (let b = 1; b < nbody; b++) {
    turns[b] ||= turns[body_parentid[b]];
    frames[b] = unit(product(frames[body_parentid[b]], quatAt(body_quat, b)));
  }
  return { turns, frames };
}

/** Reads whether a geom is of a body that at most slides, and its z axis (0 of others). */
export function steadyGeoms(model: Model): (geom: Int) => { is: Bool; axis: Vec3 } {
  const { ngeom, geom_bodyid } = model;
  const { turns, frames } = steadyBodies(model);
  const isSteady = Array.from({ length: ngeom }, (_, g) => (turns[geom_bodyid[g]] ? 0 : 1));
  const axes = isSteady.map((steady, g) =>
    steady ? zAxis(product(frames[geom_bodyid[g]], quatAt(model.geom_quat, g))) : [0, 0, 0],
  );
  const is = table("geom_steady", isSteady, "i32");
  const axis = [0, 1, 2].map((k) =>
    table(
      `geom_steady_axis${k}`,
      axes.map((v) => v[k]),
    ),
  );
  return (g) => ({ is: eq(is(g), 1), axis: axis.map((read) => read(g)) as unknown as Vec3 });
}
