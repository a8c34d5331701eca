// what of a step is judged, and how far each may be from MuJoCo's
import { fieldSize } from "../model/fields.ts";
import { mjtStage } from "../model/enums.ts";
import { describe, type Model } from "../model/model.ts";
import { geomPairs, hasFormula } from "../model/pairs.ts";
import { distance, ONE_STEP_BOUNDS as B } from "../monitor/measure.ts";
import type { StepResult } from "../monitor/mujoco-world.ts";
import { COMPARED, type Compared } from "./one-step.ts";

/** Values of a step by field. */
export type StepValues = Readonly<Record<Compared, ArrayLike<number>>>;

/** Distance that 1 % of the steps may pass, and that none may. */
interface Bounds {
  readonly tail: number;
  readonly max: number;
}

/** A field, or one sensor of `sensordata`. */
export interface Quantity extends Bounds {
  readonly field: Compared;
  /** As a reader finds it: `qvel`, `sensor "imu"`. */
  readonly name: string;
  readonly start: number;
  readonly length: number;
}

const POSITION = { tail: B.qposMax, max: B.qposMax };
const VELOCITY = { tail: B.qvelP99, max: B.qvelMax };
const FORCE = { tail: B.forceP99, max: B.forceMax };

// accelerations in the size of what cancels in them
const OF_FIELD = { qpos: POSITION, qvel: VELOCITY, qacc: VELOCITY, act: POSITION } as const;
const OF_STAGE: Readonly<Record<number, Bounds>> = {
  [mjtStage.POS]: POSITION,
  [mjtStage.VEL]: VELOCITY,
  [mjtStage.ACC]: FORCE,
};

/**
 * Whether a search finds contacts of a model. It knows their distance to 1e-5 of the size of the geoms, and stiff
 * contacts turn 1e-7 m into 1e-3 m/s².
 */
const isSearched = (model: Model): boolean =>
  geomPairs(model).some(({ geom1, geom2 }) => !hasFormula([model.geom_type[geom1], model.geom_type[geom2]]));

/** All that is judged of a model: its fields, and each sensor by the stage that it reads. */
export function quantitiesOf(model: Model): Quantity[] {
  const bounds = { ...OF_FIELD, ...(isSearched(model) ? { qacc: FORCE } : {}) };
  const fields = COMPARED.filter((field) => field !== "sensordata").map((field) => ({
    field,
    name: field,
    start: 0,
    length: fieldSize(model, field),
    ...bounds[field],
  }));
  const sensors = Array.from({ length: model.nsensor }, (_, i) => ({
    field: "sensordata" as const,
    name: describe(model, "sensor", i),
    start: model.sensor_adr[i],
    length: model.sensor_dim[i],
    ...(OF_STAGE[model.sensor_needstage[i]] ?? FORCE),
  }));
  return [...fields, ...sensors].filter(({ length }) => length > 0);
}

/** Distances of all quantities of a step from MuJoCo's. */
export const distances = (quantities: readonly Quantity[], ours: StepValues, theirs: StepResult): number[] =>
  quantities.map(({ field, start, length }) => {
    const cut = (values: ArrayLike<number>) => Array.prototype.slice.call(values, start, start + length) as number[];
    return distance(cut(ours[field]), cut(theirs[field]), 0, field === "qacc" ? theirs.wanted : 0);
  });
