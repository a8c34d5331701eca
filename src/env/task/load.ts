// the model of a task, with its terrain
import { loadModel, type LoadOptions, type Model } from "../../model/model.ts";
import type { Task, TaskTerrain } from "./task.ts";

const placedOf = ({ ground, geom, priority, solref }: TaskTerrain) => ({
  ground,
  geom,
  ...(priority === undefined ? {} : { priority }),
  ...(solref === undefined ? {} : { solref }),
});

/** Throws what loadModel throws. */
export const loadTaskModel = (
  { model, terrain }: Pick<Task<never>, "model" | "terrain">,
  options: LoadOptions = {},
): Promise<Model> => loadModel(model, terrain ? { ...options, terrain: placedOf(terrain) } : options);
