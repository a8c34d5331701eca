// pictures of single worlds of an environment, drawn as `corral render` draws them
import { alternatives } from "../core/names.ts";
import { badOption, fillIn, type ConfigOf, type Given } from "../core/options.ts";
import { text } from "../core/schema.ts";
import type { VectorEnv } from "../env/host/vector-env.ts";
import { loadTaskModel } from "../env/task/load.ts";
import type { Task } from "../env/task/task.ts";
import { shareDevice, type DeviceLease } from "../gpu/shared-device.ts";
import { DrawList } from "../render/draw-list.ts";
import { Stage } from "../render/poses.ts";
import { Renderer } from "../render/renderer.ts";
import { showWorlds, SHOWN } from "../render/show.ts";
import { posesOf } from "../runs/poses.ts";

const MOST_PIXELS = 4096;

const PICTURES = {
  width: { doc: "pixels of a row", default: 480, integer: true, min: 1, max: MOST_PIXELS },
  height: { doc: "rows", default: 480, integer: true, min: 1, max: MOST_PIXELS },
  camera_name: { doc: "a camera of the model; else the free one, which follows what floats", kind: text() },
} as const;

export type PictureOptions = Given<typeof PICTURES>;

export class EnvPictures {
  readonly width: number;
  readonly height: number;
  readonly #env: VectorEnv;
  readonly #stage: Stage;
  /** Among the model's cameras; undefined for the free one. */
  readonly #camera: number | undefined;
  readonly #lease: DeviceLease;
  readonly #renderer: Renderer;
  readonly #list = new DrawList();
  readonly #rgb: Uint8Array;

  private constructor(
    env: VectorEnv,
    stage: Stage,
    camera: number | undefined,
    lease: DeviceLease,
    renderer: Renderer,
  ) {
    const { width, height } = renderer;
    [this.width, this.height] = [width, height];
    [this.#env, this.#stage, this.#camera] = [env, stage, camera];
    [this.#lease, this.#renderer] = [lease, renderer];
    this.#rgb = new Uint8Array(3 * width * height);
  }

  /**
   * Makes all that pictures of an environment's worlds take, on an adapter of their own where worlds step without one.
   * @throws CorralError unknown-option, bad-option; what opening a device throws
   */
  static async create(
    env: VectorEnv,
    task: Pick<Task, "model" | "terrain">,
    given: PictureOptions,
  ): Promise<EnvPictures> {
    const { width, height, camera_name }: ConfigOf<typeof PICTURES> = fillIn(PICTURES, given, { of: "render_mode" });
    const stage = await Stage.create(await loadTaskModel(task, { visuals: true }));
    let lease: DeviceLease | undefined;
    try {
      // framed once, as the first world starts, whichever is drawn first
      stage.freeCamera(stage.poses(await posesOf(env, [0])), width / height);
      const camera = camera_name === undefined ? undefined : cameraOf(stage.cameras, camera_name);
      lease = await shareDevice();
      const capacity = stage.capacity(1);
      const renderer = await Renderer.create(lease.gpu, stage.scene, { width, height, capacity });
      return new EnvPictures(env, stage, camera, lease, renderer);
    } catch (error) {
      lease?.release();
      stage[Symbol.dispose]();
      throw error;
    }
  }

  /** Red, green and blue of a world as it is now, rows from the top; overwritten by the next. Throws `bad-world`. */
  async draw(world: number): Promise<Uint8Array> {
    const stage = this.#stage;
    const poses = stage.poses(await posesOf(this.#env, [world]));
    const view =
      this.#camera === undefined
        ? stage.freeView(poses, this.width / this.height)
        : stage.cameraView(this.#camera, poses);
    showWorlds(this.#list, stage.scene, poses, stage.radius, SHOWN, stage.places(1));
    const { rgba } = await this.#renderer.draw(this.#list, view, stage.reach(poses));
    for (let from = 0, to = 0; from < rgba.length; from++) if (from % 4 < 3) this.#rgb[to++] = rgba[from];
    return this.#rgb;
  }

  close(): void {
    this.#renderer.close();
    this.#lease.release();
    this.#stage[Symbol.dispose]();
  }
}

/** The place of a camera among those of a model. Throws `bad-option`. */
function cameraOf(cameras: readonly string[], name: string): number {
  const found = cameras.indexOf(name);
  if (found >= 0) return found;
  throw badOption("camera_name", name, `the model has no such camera; ${alternatives(name, cameras).hint}`);
}
