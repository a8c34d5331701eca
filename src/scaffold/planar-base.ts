// what stands in a vertical plane: its feet, its joints, and which way it goes ahead
import { mjtJoint } from "../model/enums.ts";
import { feetOf, jointsBelow } from "./feet.ts";
import { wheelsOf } from "./motors.ts";
import type { PlanarRoot } from "./planar.ts";
import type { Robot } from "./robot.ts";
import { dot, minus, vectorAt, type Vector } from "./vectors.ts";

/** Of a base in a plane: the height of its frame over the floor and over its lowest limb (m), its feet, and its joints. */
export interface PlanarBase extends PlanarRoot {
  readonly height: number;
  readonly legs: number;
  readonly feet: readonly number[];
  /** 1 where `along` goes ahead, -1 where it goes back. */
  readonly ahead: number;
  /** Places in qpos of joints below it that have a pose, and of all of them in qvel. */
  readonly posed: readonly number[];
  readonly turned: readonly number[];
}

/** Toes are so far ahead of ankles, at least (m). */
const TOES = 1e-3;

export function planarBase({ model, xpos, xmat, geom_xpos, lift, floor }: Robot, root: PlanarRoot): PlanarBase {
  const { body, along, up, lean, axis } = root;
  const joints = jointsBelow(model, body).filter((j) => j !== along && j !== up && j !== lean);
  const feet = feetOf(model, body, xpos);
  const z = (b: number): number => xpos[3 * b + 2];
  const toes = feet.reduce((sum, foot) => {
    const own = Array.from({ length: model.ngeom }, (_, g) => g).filter((g) => model.geom_bodyid[g] === foot);
    // frames of feet may be anywhere about them: toes are ahead of the ankle
    const pos = vectorAt(model.jnt_pos, model.body_jntadr[foot]);
    const at = (row: number) => xpos[3 * foot + row] + dot(vectorAt(xmat, 3 * foot + row), pos);
    const ankle: Vector = [at(0), at(1), at(2)];
    return own.reduce((all, g) => all + dot(minus(vectorAt(geom_xpos, g), ankle), axis), sum);
  }, 0);
  const wheels = wheelsOf(model);
  const places = (of: Int32Array, list: readonly number[], ball: number) =>
    list.flatMap((j) => Array.from({ length: model.jnt_type[j] === mjtJoint.BALL ? ball : 1 }, (_, k) => of[j] + k));
  return {
    ...root,
    height: z(body) + lift - floor,
    legs: z(body) - Math.min(z(body), ...feet.map(z)),
    feet,
    ahead: Math.sign(Math.abs(toes) > TOES ? toes : axis[0] + axis[1] || 1),
    posed: places(
      model.jnt_qposadr,
      joints.filter((j) => !wheels.has(j)),
      4,
    ),
    turned: places(model.jnt_dofadr, joints, 3),
  };
}
