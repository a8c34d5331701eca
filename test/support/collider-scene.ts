// two geoms at poses of the test's choice: their contacts by MuJoCo and by our colliders
import { getMuJoCo, type MainModule, type MjData, type MjModel } from "../../src/model/mujoco.ts";
import { colliders, makeFrame, type ColliderName, type Shape } from "../../src/physics/collision/colliders/index.ts";
import type { GeomFrames } from "../../src/physics/collision/geom-frames.ts";
import type { Precision } from "../../src/trace/javascript.ts";
import { array } from "../../src/trace/control.ts";
import { add, and, lt, mul, select, type Int, type Scalar } from "../../src/trace/scalar.ts";
import { quatToMat, ZERO3, type Mat3, type Quat, type Vec3 } from "../../src/trace/vector.ts";
import { program, runJs, type TestProgram } from "./trace-runner.ts";

export interface Contact {
  dist: number;
  pos: number[];
  frame: number[];
}

/** Position (3) and quaternion (4). */
export type Pose = readonly number[];

/** geom_xpos and geom_xmat of both geoms, 24 numbers. */
export type Frames = number[];

/** MuJoCo's model of two geoms, the first on a mocap body, the second free. */
export class ColliderScene implements Disposable {
  readonly kind: ColliderName;
  readonly size1: number[];
  readonly size2: number[];
  readonly margin: number;
  readonly #mujoco: MainModule;
  readonly #model: MjModel;
  readonly #data: MjData;

  private constructor(mujoco: MainModule, kind: ColliderName, size1: number[], size2: number[], margin: number) {
    const [type1, type2] = kind.split("-");
    const geom = (type: string, size: number[], own: number) =>
      `<geom type="${type}" size="${size.join(" ")}" margin="${own}"/>`;
    this.#mujoco = mujoco;
    this.kind = kind;
    this.size1 = size1;
    this.size2 = size2;
    // margins of geoms add up
    this.#model = mujoco.MjModel.from_xml_string(
      `<mujoco><option ccd_tolerance="1e-12" ccd_iterations="500"/><worldbody><body mocap="true">${geom(type1, size1, margin)}</body>` +
        `<body><freejoint/>${geom(type2, size2, 0)}</body></worldbody></mujoco>`,
    )!;
    this.#data = new mujoco.MjData(this.#model);
    this.margin = margin;
  }

  static async create(kind: ColliderName, size1: number[], size2: number[], margin = 0): Promise<ColliderScene> {
    return new ColliderScene(await getMuJoCo(), kind, size1, size2, margin);
  }

  /** The contacts at two poses, and the frames of the geoms there. */
  contacts(pose1: Pose, pose2: Pose): { frames: Frames; contacts: Contact[] } {
    const [mujoco, model, data] = [this.#mujoco, this.#model, this.#data];
    data.mocap_pos.set(pose1.slice(0, 3));
    data.mocap_quat.set(pose1.slice(3));
    data.qpos.set(pose2);
    mujoco.mj_kinematics(model, data);
    mujoco.mj_comPos(model, data);
    mujoco.mj_collision(model, data);
    const pos = Array.from(data.geom_xpos as Float64Array);
    const mat = Array.from(data.geom_xmat as Float64Array);
    const list = data.contact;
    const contacts: Contact[] = [];
    for (let i = 0; i < list.size(); i++) {
      const c = list.get(i)!;
      contacts.push({ dist: c.dist, pos: Array.from(c.pos), frame: Array.from(c.frame) });
      c.delete();
    }
    list.delete();
    return {
      frames: [...pos.slice(0, 3), ...mat.slice(0, 9), ...pos.slice(3), ...mat.slice(9)],
      contacts,
    };
  }

  [Symbol.dispose](): void {
    this.#data.delete();
    this.#model.delete();
  }
}

/** The frames of geoms at two poses, without MuJoCo. */
export function framesOf(pose1: Pose, pose2: Pose): Frames {
  const mat = (pose: Pose) => quatToMat(pose.slice(3) as unknown as Quat) as readonly number[];
  return [...pose1.slice(0, 3), ...mat(pose1), ...pose2.slice(0, 3), ...mat(pose2)];
}

/** Frames of a program's inputs, 12 numbers a geom, which are read at indices known only at run time too. */
export function framesIn(x: Scalar[]): GeomFrames {
  const all = array("frames", x.length);
  x.forEach((value, i) => all.set(i, value));
  const slice = (from: Int, count: number) => Array.from({ length: count }, (_, k) => all.get(add(from, k))) as unknown;
  return {
    pos: (g) => slice(mul(g, 12), 3) as Vec3,
    mat: (g) => slice(add(mul(g, 12), 3), 9) as Mat3,
    body: () => ZERO3,
    axes: () => [1, 0, 0, 0, 1, 0, 0, 0, 1] as Mat3,
  };
}

const WIDTH = 14;

/**
 * Traces a collider of two sizes to a program from the frames of both geoms to its slots; `exact` with the tolerances of
 * float64.
 */
export function traceCollider(
  kind: ColliderName,
  size1: number[],
  size2: number[],
  margin: number,
  exact = false,
): TestProgram {
  const { slots, collide } = colliders[kind];
  const body = (x: Scalar[]): Scalar[] => {
    const shape = (at: number, size: number[]): Shape => ({
      pos: x.slice(at, at + 3) as never,
      mat: x.slice(at + 3, at + 12) as never,
      size: [0, 1, 2].map((k) => size[k] ?? 0) as never,
    });
    const candidates = collide(shape(0, size1), shape(12, size2), margin);
    return candidates.flatMap((c): Scalar[] => [
      select(and(c.exists, lt(c.dist, margin)), 1, 0),
      c.dist,
      ...c.pos,
      ...makeFrame(c.normal, c.tangent),
    ]);
  };
  return program(24, slots * WIDTH, body, { exact });
}

/** A slot of a collider; `active` if it is a contact. */
export type Slot = Contact & { active: boolean };

/** The slots in the outputs of one run of a traced collider. */
export const slotsOf = (outputs: readonly number[]): Slot[] =>
  Array.from({ length: outputs.length / WIDTH }, (_, i) => {
    const slot = outputs.slice(i * WIDTH, (i + 1) * WIDTH);
    return { active: slot[0] === 1, dist: slot[1], pos: slot.slice(2, 5), frame: slot.slice(5) };
  });

/** All slots of a traced collider at the given frames. */
export function runSlots(p: TestProgram, precision: Precision, frames: Frames[]): Slot[][] {
  return runJs(p, precision, frames).map(slotsOf);
}

/** The contacts of a traced collider at the given frames. */
export function runCollider(p: TestProgram, precision: Precision, frames: Frames[]): Contact[][] {
  return runSlots(p, precision, frames).map((slots) => slots.filter((s) => s.active));
}
