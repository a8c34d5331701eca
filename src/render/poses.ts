// where everything of a scene is in some worlds: MuJoCo's own kinematics of their positions, in float64
import { mjtJoint } from "../model/enums.ts";
import type { Model } from "../model/model.ts";
import { copyArray } from "../model/mujoco.ts";
import { createOracle, type Oracle } from "../model/oracle.ts";
import { freeView, type FreeCamera, type Point, type View } from "./camera.ts";
import { cameraView } from "./camera-view.ts";
import { LIGHT_FLOATS, type Part, type Scene } from "./scene.ts";
import { Ground, type Place } from "./ground.ts";
import { sceneOf } from "./read-scene.ts";
import { rotation, turned } from "./rotation.ts";
import { BODY_FLOATS, CAMERA_FLOATS, isShown, offsetOf, SHOWN, type Poses, type Shown } from "./show.ts";

/** The positions that a picture shows of one world: qpos, and mocap poses if the model has any. */
export interface WorldPose {
  readonly qpos: ArrayLike<number>;
  readonly mocap_pos?: ArrayLike<number>;
  readonly mocap_quat?: ArrayLike<number>;
  /** Where the world's terrain lies: the position of its body of boxes, or of its height field's geom. */
  readonly ground?: ArrayLike<number>;
}

/** How much larger than what it shows a picture is. */
const ROOM = 1.15;
/** Angle of the free camera of a model that gives none (degrees). */
const USUAL_FOVY = 45;
/** The same of each world of a grid, which may move about its place. */
const GRID_ROOM = 1.1;
/** wrap_obj of a pulley, at which a tendon is interrupted. */
const PULLEY = -2;

/** What a picture shows: a sphere, and where the floating base was then. */
interface Framed {
  readonly center: Point;
  readonly radius: number;
  readonly base: readonly [number, number];
  /** How high the ground of a world that is alone lay (m). */
  readonly level: number;
  /** Where worlds of a grid stand, from the centre. */
  readonly worlds: readonly (readonly [number, number, number])[];
}

export class Stage implements Disposable {
  readonly scene: Scene;
  readonly oracle: Oracle;
  readonly #shown: Shown;
  readonly #ground: Ground | undefined;
  /** Worlds stand where they are on one terrain, and not in a grid. */
  #isShared = false;
  #level = 0;
  #framed: Framed | undefined;
  #radius = 1;

  private constructor(oracle: Oracle, shown: Shown) {
    this.oracle = oracle;
    this.#shown = shown;
    this.scene = sceneOf(oracle.model);
    this.#ground = Ground.of(oracle.model);
  }

  /** Throws `mujoco-memory`. */
  static async create(model: Model, shown = SHOWN): Promise<Stage> {
    const stage = new Stage(await createOracle(model), shown);
    stage.#radius = stage.#frame(stage.poses([{ qpos: model.qpos0 }])).radius;
    return stage;
  }

  /** Of what moves in one world at qpos0 (m). */
  get radius(): number {
    return this.#radius;
  }

  /** Instances that pictures of this many worlds may have. */
  capacity(worlds: number): number {
    return worlds * (this.scene.parts.length + this.scene.wraps);
  }

  /** Where everything of some worlds is; `cameras` and `lights` are those of world `of`. */
  poses(worlds: readonly WorldPose[], of = 0): Poses {
    const { scene } = this;
    const nbody = scene.bodies.length;
    const bodies = new Float32Array(worlds.length * nbody * BODY_FLOATS);
    const cameras = new Float32Array(scene.cameras.length * CAMERA_FLOATS);
    const lights = new Float32Array(this.oracle.model.nlight * LIGHT_FLOATS);
    const tendons: number[] = [];
    this.#isShared = this.#ground !== undefined && worlds.every(({ ground }) => ground?.length === 3);
    worlds.forEach((pose, world) => {
      const shift = this.put(pose);
      if (world === 0) this.#level = -shift[2];
      const { data } = this.oracle;
      const [xpos, xquat] = [data.xpos as Float64Array, data.xquat as Float64Array];
      for (let b = 0; b < nbody; b++) {
        const at = (world * nbody + b) * BODY_FLOATS;
        for (let i = 0; i < 3; i++) bodies[at + i] = xpos[3 * b + i] - shift[i];
        for (let i = 0; i < 4; i++) bodies[at + 3 + i] = xquat[4 * b + i];
      }
      if (world === of) {
        const [pos, mat] = [data.cam_xpos as Float64Array, data.cam_xmat as Float64Array];
        for (let c = 0; c < scene.cameras.length; c++) {
          cameras.set(moved(pos, 3 * c, shift), c * CAMERA_FLOATS);
          cameras.set(mat.subarray(9 * c, 9 * c + 9), c * CAMERA_FLOATS + 3);
        }
        const [from, along] = [data.light_xpos as Float64Array, data.light_xdir as Float64Array];
        for (let l = 0; l < lights.length / LIGHT_FLOATS; l++) {
          lights.set(moved(from, 3 * l, shift), l * LIGHT_FLOATS);
          lights.set(along.subarray(3 * l, 3 * l + 3), l * LIGHT_FLOATS + 3);
        }
      }
      if (scene.tendons.length > 0) tendons.push(...this.#segments(world, shift));
    });
    const segments = Float32Array.from(tendons);
    return { worlds: worlds.length, bodies, cameras, lights, tendons: segments, contacts: NOTHING };
  }

  /** Places in the grid of worlds whose poses were asked for last: one for all where they stand on one terrain. */
  places(worlds: number): { readonly places?: readonly number[] } {
    return this.#isShared && worlds > 1 ? { places: Array.from({ length: worlds }, () => 0) } : {};
  }

  /**
   * Puts a world into MuJoCo's data, and computes where everything is. Returns how far that is from where it is drawn:
   * a terrain is drawn once, and worlds where they stand on it.
   */
  put({ qpos, mocap_pos, mocap_quat, ground }: WorldPose): Place {
    const { mujoco, model, data, write } = this.oracle;
    if (qpos.length > 0) write("qpos", qpos);
    if (mocap_pos?.length) write("mocap_pos", mocap_pos);
    if (mocap_quat?.length) write("mocap_quat", mocap_quat);
    const shift = this.#ground?.put(ground) ?? AS_IT_IS;
    mujoco.mj_kinematics(model, data);
    mujoco.mj_comPos(model, data);
    mujoco.mj_camlight(model, data);
    if (model.ntendon > 0) mujoco.mj_tendon(model, data);
    return shift;
  }

  /** The straight pieces of the tendons of the world that was put. */
  #segments(world: number, shift: Place): number[] {
    const { data, model } = this.oracle;
    const [from, count] = [data.ten_wrapadr as Int32Array, data.ten_wrapnum as Int32Array];
    const [objects, points] = [data.wrap_obj as Int32Array, data.wrap_xpos as Float64Array];
    const out: number[] = [];
    for (let t = 0; t < model.ntendon; t++) {
      for (let j = from[t]; j < from[t] + count[t] - 1; j++) {
        if (objects[j] === PULLEY || objects[j + 1] === PULLEY) continue;
        out.push(world, t, ...moved(points, 3 * j, shift), ...moved(points, 3 * j + 3, shift));
      }
    }
    return out;
  }

  /**
   * A camera in the direction of MuJoCo's free one, so near that all that moves fills the picture. It follows the first
   * floating base in a world that is alone.
   */
  freeView(poses: Poses, aspect = 1): View {
    return freeView(this.freeCamera(poses, aspect));
  }

  /** `aspect`: of the picture, its width by its height, or less. */
  freeCamera(poses: Poses, aspect = 1): FreeCamera {
    const { model } = this.oracle;
    this.#framed ??= this.#frame(poses);
    const { center, radius, base, level } = this.#framed;
    const { azimuth, elevation, orthographic } = model.vis.global;
    // ours is no parallel view, whose fovy is a length
    const fovy = orthographic ? USUAL_FOVY : model.vis.global.fovy;
    const now = poses.worlds === 1 ? this.#base(poses) : base;
    const up = poses.worlds === 1 ? this.#level - level : 0;
    const lookat: Point = [center[0] + now[0] - base[0], center[1] + now[1] - base[1], center[2] + up];
    const shown = { lookat, distance: (ROOM * radius) / Math.sin((fovy * Math.PI) / 360), azimuth, elevation, fovy };
    const distance = poses.worlds === 1 ? shown.distance : Math.min(shown.distance, this.#gridDistance(shown, aspect));
    const moving = Math.max(
      0,
      this.scene.bodies.findIndex(({ moves }) => moves),
    );
    const around = [poses.bodies[BODY_FLOATS * moving], poses.bodies[BODY_FLOATS * moving + 1]] as const;
    return { ...shown, distance, around };
  }

  /** How far a camera is from the middle of a grid of which each world is seen whole. */
  #gridDistance(camera: FreeCamera, aspect: number): number {
    const { worlds, center } = this.#framed!;
    const { eye, target } = freeView({ ...camera, lookat: center, distance: 1 });
    const ahead = target.map((x, i) => x - eye[i]);
    const up = freeView(camera).up;
    const right = [
      ahead[1] * up[2] - ahead[2] * up[1],
      ahead[2] * up[0] - ahead[0] * up[2],
      ahead[0] * up[1] - ahead[1] * up[0],
    ];
    const along = (axis: readonly number[], of: readonly number[]) => axis.reduce((sum, x, i) => sum + x * of[i], 0);
    const [high, wide] = [1, aspect].map((shape) => Math.atan(shape * Math.tan((camera.fovy * Math.PI) / 360)));
    const r = GRID_ROOM * this.radius;
    const needed = worlds.map((at) => {
      const side = (axis: readonly number[], half: number) =>
        (Math.abs(along(axis, at)) + r / Math.cos(half)) / Math.tan(half);
      return Math.max(side(up, high), side(right, wide)) - along(ahead, at);
    });
    return needed.reduce((most, x) => Math.max(most, x), 0);
  }

  /** The sphere around what moves, or around everything but planes where nothing does. */
  #frame({ worlds, bodies }: Poses): Framed {
    const { scene } = this;
    const solid = scene.parts.filter((part) => !part.checker && isShown(part, this.#shown));
    const moving = solid.filter(({ body }) => scene.bodies[body].moves);
    const framed = moving.length > 0 ? moving : solid;
    if (framed.length === 0) return { center: scene.center, radius: scene.extent, base: [0, 0], level: 0, worlds: [] };
    const low = [Infinity, Infinity, Infinity];
    const high = [-Infinity, -Infinity, -Infinity];
    const spheres: { at: number[]; r: number }[] = [];
    for (let world = 0; world < worlds; world++) {
      const offset = this.#offset(world, worlds);
      for (const part of framed) {
        const from = (world * scene.bodies.length + part.body) * BODY_FLOATS;
        const pose = [...bodies.subarray(from, from + BODY_FLOATS)];
        const local = placeOf(part, pose);
        const at = local.map((x, i) => x + offset[i]);
        spheres.push({ at, r: part.radius });
        at.forEach((x, i) => {
          low[i] = Math.min(low[i], x - part.radius);
          high[i] = Math.max(high[i], x + part.radius);
        });
      }
    }
    const center = low.map((x, i) => (x + high[i]) / 2) as unknown as Point;
    let far = 0;
    for (const { at, r } of spheres) far = Math.max(far, Math.hypot(...at.map((x, i) => x - center[i])) + r);
    const first = BODY_FLOATS * framed[0].body;
    const around = Array.from({ length: worlds }, (_, world) => {
      const offset = this.#offset(world, worlds);
      if (!this.#isShared) return offset;
      const from = world * scene.bodies.length * BODY_FLOATS + first;
      return [0, 1, 2].map((i) => bodies[from + i] - center[i]) as [number, number, number];
    });
    return { center, radius: Math.max(far, 1e-3), base: this.#base({ bodies }), level: this.#level, worlds: around };
  }

  #offset(world: number, worlds: number): [number, number, number] {
    return this.#isShared ? [0, 0, 0] : offsetOf(world, worlds, this.radius);
  }

  /** Where the first floating base of the first world is, in the plane. */
  #base({ bodies }: Pick<Poses, "bodies">): readonly [number, number] {
    const { model } = this.oracle;
    const free = copyArray(model, "jnt_type").indexOf(mjtJoint.FREE);
    if (free < 0) return [0, 0];
    const body = copyArray(model, "jnt_bodyid")[free];
    return [bodies[BODY_FLOATS * body], bodies[BODY_FLOATS * body + 1]];
  }

  /** Names of the model's cameras. */
  get cameras(): readonly string[] {
    return this.scene.cameras.map(({ name }) => name);
  }

  /** Half of what a picture shows from side to side (m). */
  reach(poses: Poses): number {
    return 1.5 * (this.#framed ??= this.#frame(poses)).radius;
  }

  /** The view of a camera of the model. */
  cameraView(camera: number, { cameras }: Pick<Poses, "cameras">): View {
    return cameraView(this.scene, camera, cameras);
  }

  [Symbol.dispose](): void {
    this.oracle.delete();
  }
}

const NOTHING = new Float32Array(0);
const AS_IT_IS: Place = [0, 0, 0];

const moved = (points: Float64Array, at: number, shift: Place): number[] => shift.map((by, i) => points[at + i] - by);

/** The centre of a part whose body has a pose. */
function placeOf({ pos }: Part, [x, y, z, ...quat]: readonly number[]): number[] {
  const p = turned(rotation(quat), pos);
  return [x + p[0], y + p[1], z + p[2]];
}
