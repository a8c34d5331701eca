// the model of a task, with its terrain
import { loadModel, type LoadOptions, type Model } from "../../model/model.ts";
import type { Task } from "./task.ts";

/** Throws what loadModel throws. */
export const loadTaskModel = (
  { model, terrain }: Pick<Task<never>, "model" | "terrain">,
  options: LoadOptions = {},
): Promise<Model> =>
  loadModel(model, terrain ? { ...options, terrain: { ground: terrain.ground, geom: terrain.geom } } : options);
