// where the terrain of a model lies, which each world of a task has in a place of its own
import { copyArray, type MjModel } from "../model/mujoco.ts";
import { GROUND } from "../model/terrain/place.ts";
import { nameIn } from "./read-scene.ts";

export type Place = readonly [number, number, number];
const NOWHERE: Place = [0, 0, 0];

export class Ground {
  readonly #model: MjModel;
  readonly #field: "body_pos" | "geom_pos";
  readonly #at: number;
  /** Where the model has it, which is where it is drawn. */
  readonly #drawn: Float64Array;

  private constructor(model: MjModel, field: "body_pos" | "geom_pos", id: number) {
    this.#model = model;
    this.#field = field;
    this.#at = 3 * id;
    this.#drawn = Float64Array.from(copyArray(model, field).slice(this.#at, this.#at + 3));
  }

  /** The body of its boxes, or the geom of its height field; undefined of a model without terrain. */
  static of(model: MjModel): Ground | undefined {
    const idOf = (kind: "body" | "hfield", count: number) =>
      Array.from({ length: count }, (_, i) => nameIn(model, kind, i)).indexOf(GROUND);
    const body = idOf("body", model.nbody);
    if (body >= 0) return new Ground(model, "body_pos", body);
    const field = idOf("hfield", model.nhfield);
    const geom = field < 0 ? -1 : copyArray(model, "geom_dataid").indexOf(field);
    return geom < 0 ? undefined : new Ground(model, "geom_pos", geom);
  }

  /** Moves it to where a world has it, and returns how far that is from where it is drawn. */
  put(place: ArrayLike<number> | undefined): Place {
    if (place?.length !== 3) return NOWHERE;
    const own = (this.#model as unknown as Record<string, Float64Array>)[this.#field];
    own.set(place, this.#at);
    return this.#drawn.map((x, i) => place[i] - x) as unknown as Place;
  }
}
