// what geoms and sensors of a model cost: places and rows of contacts, operations of readings
import { planKernels } from "../batch/simulation-spec.ts";
import { describe, type Model } from "../model/model.ts";
import { geomPairs } from "../model/pairs.ts";
import { fieldsOf } from "../model/fields.ts";
import { costOf } from "../trace/cost.ts";

export interface GeomCost {
  readonly geom: string;
  /** Candidate pairs it is in, places for contacts that they take, constraint rows that these make. */
  readonly pairs: number;
  readonly contacts: number;
  readonly rows: number;
}

export interface SensorCost {
  readonly sensor: string;
  /** Arithmetic operations that it adds to a step, beside those of a step without sensors. */
  readonly operations: number;
}

export interface ModelCost {
  /** Geoms that are in pairs, the costliest first. */
  readonly geoms: readonly GeomCost[];
  readonly sensors: readonly SensorCost[];
  /** Operations of a step without sensors; null if none were counted. */
  readonly operations: number | null;
}

/** Bodies beyond which kernels take too long to trace for a count. */
const MOST_BODIES = 100;
/** Kinds of sensors that are counted: each takes a trace of the model. */
const MOST_KINDS = 16;

export function modelCost(model: Model): ModelCost {
  const counted = model.nsensor > 0 && model.nbody <= MOST_BODIES;
  const operations = counted ? operationsOf(model, false) : null;
  return { geoms: geomCosts(model), sensors: counted ? sensorCosts(model, operations!) : [], operations };
}

function geomCosts(model: Model): GeomCost[] {
  const of = new Map<number, { pairs: number; contacts: number; rows: number }>();
  for (const { geom1, geom2, ncon, nrow } of geomPairs(model)) {
    for (const g of [geom1, geom2]) {
      const sum = of.get(g) ?? { pairs: 0, contacts: 0, rows: 0 };
      of.set(g, { pairs: sum.pairs + 1, contacts: sum.contacts + ncon, rows: sum.rows + ncon * nrow });
    }
  }
  return [...of]
    .map(([g, sum]) => ({ geom: describe(model, "geom", g), ...sum }))
    .sort((a, b) => b.rows - a.rows || b.contacts - a.contacts);
}

/** Sensors alike cost alike: one of each kind is traced. */
function sensorCosts(model: Model, without: number): SensorCost[] {
  const { sensor_type: type, sensor_objtype: on, sensor_reftype: beside } = model;
  const kinds = new Map<string, number>();
  return Array.from({ length: model.nsensor }, (_, i) => i)
    .flatMap((i) => {
      const kind = [type[i], on[i], beside[i]].join();
      if (!kinds.has(kind)) {
        if (kinds.size === MOST_KINDS) return [];
        kinds.set(kind, operationsOf(withSensor(model, i), true) - without);
      }
      return [{ sensor: describe(model, "sensor", i), operations: kinds.get(kind)! }];
    })
    .sort((a, b) => b.operations - a.operations);
}

function operationsOf(model: Model, sensors: boolean): number {
  const outputs = sensors ? (["sensordata"] as const) : [];
  const planned = planKernels(model, { numEnvs: 1, applied: false, outputs }, {});
  return costOf(planned.traces.get("step")!).arithmetic;
}

/** The model with one of its sensors. */
function withSensor(model: Model, i: number): Model {
  const arrays = fieldsOf("model")
    .filter(({ name }) => name.startsWith("sensor_"))
    .map(({ name }) => {
      const values = model[name];
      const width = values.length / model.nsensor;
      return [name, values.slice(i * width, (i + 1) * width)] as const;
    });
  return {
    ...model,
    ...Object.fromEntries(arrays),
    sensor_adr: Int32Array.of(0),
    nsensor: 1,
    nsensordata: model.sensor_dim[i],
    names: { ...model.names, sensor: [model.names.sensor[i]] },
  };
}
