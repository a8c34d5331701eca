// geoms of a robot that can touch
import type { Model } from "../model/model.ts";

export const geoms = (model: Model): number[] => Array.from({ length: model.ngeom }, (_, g) => g);

export const collides = (model: Model, g: number): boolean =>
  model.geom_contype[g] > 0 || model.geom_conaffinity[g] > 0;

/** What of a body, and of what is fixed to it, can touch. */
export const touching = (model: Model, body: number): number[] =>
  geoms(model).filter((g) => model.body_weldid[model.geom_bodyid[g]] === model.body_weldid[body] && collides(model, g));
