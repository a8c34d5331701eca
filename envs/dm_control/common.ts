// what the tasks of dm_control's suite say the same way (Tassa et al. 2018): rewards from 0 to 1, 1,000 control steps, no end
// before, and observations of the state after the step
import {
  tolerance,
  type Scene,
  type Source,
  type StartScene,
  type Task,
  type ToleranceOptions,
} from "../../src/env/index.ts";
import { add, div, mul, sum, type Scalar } from "../../src/trace/scalar.ts";
import { spread } from "../shared.ts";

const SLIDE = 2;
const HINGE = 3;

/** A task of the suite. */
export const suite = (
  name: string,
  model: string,
  task: Omit<Task, "id" | "model" | "maxEpisodeSteps" | "derived">,
): Task => ({
  ...task,
  id: `dm-${name}`,
  model: new URL(`./${model}.xml`, import.meta.url),
  maxEpisodeSteps: 1000,
  derived: "after",
});

/** The one number of a tolerance. */
export const near = (s: Scene, x: Source, options: ToleranceOptions): Scalar => tolerance(x, options)(s)[0];

/** How small the action is: 1 at 0, 0 at the ends of [-1, 1]; the mean over its numbers. */
export function smallControl(s: Scene): Scalar {
  const each = tolerance(() => s.action, { margin: 1, valueAtMargin: 0, sigmoid: "quadratic" })(s);
  return div(sum(each), each.length);
}

/** (most * x + least) / (most + least): a factor that is never 0. */
export const softened = (x: Scalar, least: number, most: number): Scalar => div(add(mul(x, most), least), least + most);

/** Limited joints anywhere in their range, other hinges at any angle, the rest where the model has it. */
export function randomJoints(s: StartScene, onlyLimited = false): { qpos: Scalar[] } {
  const { model } = s;
  const draws = s.random.uniforms(model.njnt);
  const qpos = Array.from({ length: model.nq }, (_, i) => s.m.qpos0.at(i));
  for (let j = 0; j < model.njnt; j++) {
    const type = model.jnt_type[j];
    if (type !== SLIDE && type !== HINGE) continue;
    const limited = model.jnt_limited[j] > 0;
    if (!limited && (onlyLimited || type === SLIDE)) continue;
    const [low, high] = limited ? [model.jnt_range[2 * j], model.jnt_range[2 * j + 1]] : [-Math.PI, Math.PI];
    qpos[model.jnt_qposadr[j]] = spread(draws[j], low, high);
  }
  return { qpos };
}
