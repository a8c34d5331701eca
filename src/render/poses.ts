// where the parts of a scene are in some worlds: MuJoCo's own kinematics of their positions, in float64
import { mjtJoint, mjtObj } from "../model/enums.ts";
import type { Model } from "../model/model.ts";
import { copyArray } from "../model/mujoco.ts";
import { createOracle, type Oracle } from "../model/oracle.ts";
import { fixedView, freeView, type Point, type View } from "./camera.ts";
import type { Part, Scene, SceneOptions } from "./scene.ts";
import { sceneOf } from "./scene.ts";

/** The positions that a picture shows of one world: qpos, and mocap poses if the model has any. */
export interface WorldPose {
  readonly qpos: ArrayLike<number>;
  readonly mocap_pos?: ArrayLike<number>;
  readonly mocap_quat?: ArrayLike<number>;
}

/** Numbers of an instance: three rows with a position, size, colour, look. */
export const INSTANCE_FLOATS = 24;

/** How far apart worlds of a grid are, in radii of what moves in one. */
const SPACING = 2.4;
/** Squares of a checker, in the same radii. */
const SQUARE = 0.5;

/** How much larger than what it shows a picture is. */
const ROOM = 1.15;

/** What a picture shows: a sphere, and where the floating base was then. */
interface Framed {
  readonly center: Point;
  readonly radius: number;
  readonly base: readonly [number, number];
}

export class Stage implements Disposable {
  readonly scene: Scene;
  /** Parts in the order of their shapes, opaque before transparent. */
  readonly parts: readonly Part[];
  readonly #oracle: Oracle;
  #framed: Framed | undefined;
  /** Of what moves in one world at qpos0 (m). */
  #radius = 1;

  private constructor(oracle: Oracle, options: SceneOptions) {
    this.#oracle = oracle;
    this.scene = sceneOf(oracle.model, options);
    const clear = ({ rgba }: Part) => Number(rgba[3] < 1);
    this.parts = this.scene.parts.toSorted((a, b) => clear(a) - clear(b) || a.shape - b.shape);
  }

  /** Throws `mujoco-memory`. */
  static async create(model: Model, options: SceneOptions = {}): Promise<Stage> {
    const stage = new Stage(await createOracle(model), options);
    stage.#radius = stage.#frame([{ qpos: model.qpos0 }]).radius;
    return stage;
  }

  /** Where world `k` of `worlds` stands in the grid. */
  offset(k: number, worlds: number): Point {
    const columns = Math.ceil(Math.sqrt(worlds));
    const rows = Math.ceil(worlds / columns);
    const spacing = worlds > 1 ? SPACING * this.#radius : 0;
    const [x, y] = [k % columns, Math.floor(k / columns)];
    return [(x - (columns - 1) / 2) * spacing, (y - (rows - 1) / 2) * spacing, 0];
  }

  /**
   * The instances of all worlds, [part, world, INSTANCE_FLOATS]: parts in their order. Planes and what else no joint moves
   * is drawn in each world; infinite planes in the first alone, since they lie on each other.
   */
  instances(worlds: readonly WorldPose[], into: Float32Array): void {
    worlds.forEach((pose, world) => {
      const frames = this.#put(pose);
      const [dx, dy] = this.offset(world, worlds.length);
      this.parts.forEach((part, k) => {
        const [pos, mat] = frames[part.of];
        const at = (k * worlds.length + world) * INSTANCE_FLOATS;
        const shift = [dx, dy, 0];
        for (let i = 0; i < 3; i++) {
          for (let j = 0; j < 3; j++) into[at + 4 * i + j] = mat[9 * part.id + 3 * i + j];
          into[at + 4 * i + 3] = pos[3 * part.id + i] + shift[i];
        }
        into.set(part.size, at + 12);
        into.set(part.rgba, at + 16);
        into.set([Number(part.checker), SQUARE * this.#radius, 0, 0], at + 20);
        if (part.checker && world > 0) into.fill(0, at + 12, at + 16);
      });
    });
  }

  /** Puts a world into MuJoCo's data; positions and frames of geoms and sites. */
  #put({ qpos, mocap_pos, mocap_quat }: WorldPose): Record<Part["of"], readonly [Float64Array, Float64Array]> {
    const { mujoco, model, data, write } = this.#oracle;
    if (qpos.length > 0) write("qpos", qpos);
    if (mocap_pos?.length) write("mocap_pos", mocap_pos);
    if (mocap_quat?.length) write("mocap_quat", mocap_quat);
    mujoco.mj_kinematics(model, data);
    mujoco.mj_comPos(model, data);
    mujoco.mj_camlight(model, data);
    const views = (name: "geom" | "site") =>
      [data[`${name}_xpos`], data[`${name}_xmat`]] as [Float64Array, Float64Array];
    return { geom: views("geom"), site: views("site") };
  }

  /**
   * A camera in the direction of MuJoCo's free one, so near that all that moves fills the picture. It follows the first
   * floating base in a world that is alone.
   */
  freeView(worlds: readonly WorldPose[]): View {
    const { model } = this.#oracle;
    this.#framed ??= this.#frame(worlds);
    const { center, radius, base } = this.#framed;
    const { azimuth, elevation, fovy } = model.vis.global;
    const now = worlds.length === 1 ? this.#base(worlds[0]) : base;
    const lookat: Point = [center[0] + now[0] - base[0], center[1] + now[1] - base[1], center[2]];
    const distance = (ROOM * radius) / Math.sin((fovy * Math.PI) / 360);
    return freeView({ lookat, distance, azimuth, elevation, fovy });
  }

  /** The sphere around what moves, or around everything but planes where nothing does. */
  #frame(worlds: readonly WorldPose[]): Framed {
    const { model } = this.#oracle;
    const [body, weld] = [
      { geom: copyArray(model, "geom_bodyid"), site: copyArray(model, "site_bodyid") },
      copyArray(model, "body_weldid"),
    ];
    const solid = this.parts.filter(({ checker }) => !checker);
    const moving = solid.filter(({ of, id }) => weld[body[of][id]] !== 0);
    const rbound = copyArray(model, "geom_rbound");
    const spheres = worlds.flatMap((pose, k) => {
      const frames = this.#put(pose);
      const offset = this.offset(k, worlds.length);
      return (moving.length > 0 ? moving : solid).map(({ of, id, size }) => {
        const at = [0, 1, 2].map((i) => frames[of][0][3 * id + i] + offset[i]);
        return { at, r: of === "geom" ? rbound[id] : Math.max(...size) };
      });
    });
    if (spheres.length === 0) return { center: this.scene.center, radius: this.scene.extent, base: [0, 0] };
    // as many as there are worlds: too many for the arguments of one call
    const most = (of: (sphere: (typeof spheres)[number]) => number) =>
      spheres.reduce((found, sphere) => Math.max(found, of(sphere)), -Infinity);
    const center = [0, 1, 2].map(
      (i) => (most(({ at, r }) => at[i] + r) - most(({ at, r }) => r - at[i])) / 2,
    ) as unknown as Point;
    const far = most(({ at, r }) => Math.hypot(...at.map((x, i) => x - center[i])) + r);
    return { center, radius: Math.max(far, 1e-3), base: this.#base(worlds[0]) };
  }

  /** Where the first floating base is, in the plane. */
  #base(pose: WorldPose): readonly [number, number] {
    const { model, data } = this.#oracle;
    const free = copyArray(model, "jnt_type").indexOf(mjtJoint.FREE);
    if (free < 0) return [0, 0];
    this.#put(pose);
    const body = copyArray(model, "jnt_bodyid")[free];
    const xpos = data.xpos as Float64Array;
    return [xpos[3 * body], xpos[3 * body + 1]];
  }

  /** Names of the model's cameras. */
  get cameras(): readonly string[] {
    const { mujoco, model } = this.#oracle;
    return Array.from({ length: model.ncam }, (_, i) => mujoco.mj_id2name(model, mjtObj.CAMERA, i) ?? "");
  }

  /** Half of what a picture shows from side to side (m). */
  reach(worlds: readonly WorldPose[]): number {
    return 1.5 * (this.#framed ??= this.#frame(worlds)).radius;
  }

  /** The view of a camera of the model in a world. */
  cameraView(camera: number, pose: WorldPose): View {
    this.#put(pose);
    const { model, data } = this.#oracle;
    const [pos, mat] = [data.cam_xpos as Float64Array, data.cam_xmat as Float64Array];
    const fovy = copyArray(model, "cam_fovy")[camera];
    return fixedView(pos.subarray(3 * camera, 3 * camera + 3), mat.subarray(9 * camera, 9 * camera + 9), fovy);
  }

  [Symbol.dispose](): void {
    this.#oracle.delete();
  }
}
