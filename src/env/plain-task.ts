// a model without a task: random starts, raw controls, all state observed, episodes of a fixed length
import { Box, defineTask, Discrete, type Space, type Task, uniformNoise } from "./index.ts";
import type { FieldName } from "../model/fields.ts";
import type { Model } from "../model/model.ts";

/** Start positions and velocities are moved by up to this. */
const NOISE = 0.01;
const FRAME_SKIP = 5;
const EPISODE_STEPS = 1000;

/** Controls within their ranges, within ±1 if they have none. */
function boundedControls(model: Model): Space {
  // a space needs an entry
  if (model.nu === 0) return new Discrete(1);
  const end = (u: number, k: number) =>
    model.actuator_ctrllimited[u] ? model.actuator_ctrlrange[2 * u + k] : k === 0 ? -1 : 1;
  const bounds = (k: number) => Array.from({ length: model.nu }, (_, u) => end(u, k));
  return new Box({ low: bounds(0), high: bounds(1) });
}

/** The task of stepping a model, with its sensors, if it has any, computed as MuJoCo does. */
export function plainTask(model: Model, path: string): Task<object> {
  const observed: FieldName[] = model.nsensordata > 0 ? ["sensordata"] : [];
  return defineTask({
    id: model.name || path,
    model: path,
    frameSkip: FRAME_SKIP,
    maxEpisodeSteps: EPISODE_STEPS,
    defaults: {},
    actionSpace: boundedControls,
    ...(model.nu === 0 ? { control: () => [] } : {}),
    outputs: () => observed,
    observe: ({ d }) => ({
      time: [d.time.at(0)],
      qpos: d.qpos.all(),
      qvel: d.qvel.all(),
      ...(observed.length > 0 ? { sensordata: d.sensordata.all() } : {}),
    }),
    reward: () => ({}),
    terminated: () => ({}),
    reset: (s) => ({
      qpos: uniformNoise(s, model.qpos0, NOISE),
      qvel: uniformNoise(s, new Float64Array(model.nv), NOISE),
    }),
  });
}
