// where the picture is taken from: a free camera, one that follows a body, or one of the model
import { freeView, type FreeCamera, type Point, type View } from "../render/camera.ts";
import { cameraView } from "../render/camera-view.ts";
import { rotation, turned } from "../render/rotation.ts";
import { BODY_FLOATS, offsetOf, type Poses } from "../render/show.ts";
import type { Facts } from "./messages.ts";

/** A point of a body, in its frame. */
export interface Spot {
  readonly world: number;
  readonly body: number;
  readonly local: readonly number[];
}

const STEEPEST = 89;
/** Distance of one world of a grid, in radii of what moves in it. */
const NEAR = 4;

export class Looking {
  readonly #facts: Facts;
  #camera: FreeCamera;
  #mode: string;
  world = 0;
  /** The body that is followed; the first that moves without one. */
  body: number | undefined;
  /** Places of worlds in the grid, where they have not each their own. */
  places: readonly number[] | undefined;

  constructor(facts: Facts) {
    this.#facts = facts;
    this.#camera = facts.home;
    const usual = facts.worlds > 1 && !facts.places ? "free" : "tracking";
    this.#mode = facts.camera === undefined ? usual : String(facts.camera);
    this.places = facts.places;
  }

  /** "free", "tracking", or the place of a camera of the model. */
  get mode(): string {
    return this.#mode;
  }

  set mode(mode: string) {
    this.#mode = mode;
    // of a grid one world fills the picture
    const near = NEAR * this.#facts.radius;
    if (mode === "tracking" && !this.#isAlone && this.#camera.distance > near) this.near(near / this.#camera.distance);
    if (mode === "free" && !this.#isAlone) this.home();
  }

  get #isAlone(): boolean {
    return this.#facts.worlds === 1 || this.places?.every((place) => place === this.places?.[0]) === true;
  }

  /** Where a world stands. */
  offset(world: number): number[] {
    const { places } = this;
    const { worlds, radius } = this.#facts;
    return offsetOf(places?.[world] ?? world, places ? Math.max(...places) + 1 : worlds, radius);
  }

  /** Where a point of a body is, in the picture's world. */
  placeOf({ bodies }: Poses, { world, body, local }: Spot): number[] {
    const at = (world * this.#facts.scene.bodies.length + body) * BODY_FLOATS;
    const [x, y, z, ...quat] = bodies.subarray(at, at + BODY_FLOATS);
    const offset = this.offset(world);
    const p = turned(rotation(quat), local);
    return [x + offset[0] + p[0], y + offset[1] + p[1], z + p[2]];
  }

  view(poses: Poses): View {
    const { scene } = this.#facts;
    if (this.mode === "free") return freeView(this.#camera);
    if (this.mode !== "tracking") {
      const offset = this.offset(this.world);
      const view = cameraView(scene, Number(this.mode), poses.cameras);
      const moved = (p: Point): Point => [p[0] + offset[0], p[1] + offset[1], p[2]];
      return { ...view, eye: moved(view.eye), target: moved(view.target) };
    }
    const body = this.body ?? scene.bodies.findIndex(({ moves }) => moves);
    const [x, y] = this.placeOf(poses, { world: this.world, body: Math.max(0, body), local: [0, 0, 0] });
    const { lookat, around } = this.#camera;
    if (!Number.isFinite(x + y)) return freeView(this.#camera);
    // what was framed stays so while it moves; what is chosen comes to the middle
    const [dx, dy] =
      this.body === undefined && this.#isAlone && around ? [lookat[0] - around[0], lookat[1] - around[1]] : [0, 0];
    return freeView({ ...this.#camera, lookat: [x + dx, y + dy, lookat[2]] });
  }

  /** As pixels of the mouse or keys say: turned around what is looked at, or moved across it. */
  turn(dx: number, dy: number, moves: boolean): void {
    const { azimuth, elevation, distance, lookat } = this.#camera;
    if (!moves) {
      const raised = Math.min(STEEPEST, Math.max(-STEEPEST, elevation - 0.4 * dy));
      this.#camera = { ...this.#camera, azimuth: azimuth - 0.4 * dx, elevation: raised };
      return;
    }
    const a = (azimuth * Math.PI) / 180;
    const k = distance / 600;
    const [right, ahead] = [-k * dx, k * dy];
    this.#camera = {
      ...this.#camera,
      lookat: [
        lookat[0] + right * Math.sin(a) + ahead * Math.cos(a),
        lookat[1] - right * Math.cos(a) + ahead * Math.sin(a),
        lookat[2],
      ],
    };
  }

  near(factor: number): void {
    this.#camera = { ...this.#camera, distance: this.#camera.distance * factor };
  }

  home(): void {
    this.#camera = this.#facts.home;
  }
}
