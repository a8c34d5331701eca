// what a task makes of actions, on the host
import { CorralError } from "../core/errors.ts";
import { ActionLine } from "../env/kernel/action-line.ts";
import type { EnvSpec } from "../env/kernel/env-kernel.ts";
import type { Scene } from "../env/index.ts";
import type { Model } from "../model/model.ts";
import { worldData, modelView } from "../physics/view.ts";
import { trace } from "../trace/graph.ts";
import type { Scalar } from "../trace/scalar.ts";

/** State that controls may be made of, as servos that go for angles near those of their joints; default: qpos0 at rest. */
export interface ControlState {
  readonly qpos?: ArrayLike<number>;
  readonly qvel?: ArrayLike<number>;
  readonly act?: ArrayLike<number>;
}

/**
 * Rows of ctrl of rows of actions, `size` numbers each, with the first values of the task's parameters. Delays are left out.
 * @throws CorralError control-remembers if controls depend on more than actions and state
 */
export function controlsOf(
  spec: EnvSpec,
  actions: ArrayLike<number>,
  size: number,
  state: ControlState = {},
): Float64Array {
  const { task, model, options, shape, ...rest } = spec;
  const actuation = { ...spec.actuation, delay: 0, hold: 1 };
  const controls: Scalar[] = [];
  const params = Object.fromEntries(shape.params.map(({ name, initial }) => [name, initial]));
  const refuse = (what: string) => (): never => {
    throw new CorralError(
      "control-remembers",
      `the controls of ${task.id} depend on ${what}, which the host does not follow. Give the task's model, an MJCF file, in its place.`,
    );
  };
  if (shape.actuators.driven.length > 0) refuse("`actuators` of the task, in each physics step")();
  const run = () => {
    const scene = {
      model,
      options,
      params,
      values: task.values,
      m: modelView(model),
      d: numbersView(model, state),
      carried: {},
      dt: model.opt.timestep,
      memory: refuse("what a world remembers"),
      updated: refuse("what a world remembers"),
      previous: refuse("the step before"),
    };
    for (let at = 0; at < actions.length; at += size) {
      // plain numbers go in, so plain numbers come out
      const given = Array.from({ length: size }, (_, i) => actions[at + i]);
      const action = new ActionLine(actuation, spec.action).next(given, 1);
      controls.push(...(task.control({ ...scene, action } as unknown as Scene) ?? action));
    }
  };
  trace(run, { unroll: true, exact: true, params: rest.params });
  if (controls.every((x) => typeof x === "number")) return Float64Array.from(controls);
  return refuse("random numbers, time or the episode")();
}

/** Data of which the state is known. */
function numbersView(model: Model, { qpos = model.qpos0, qvel = [], act = [] }: ControlState) {
  const d = worldData(model);
  for (let i = 0; i < model.nq; i++) d.qpos.set(i, qpos[i]);
  for (let i = 0; i < model.nv; i++) d.qvel.set(i, qvel[i] ?? 0);
  for (let i = 0; i < model.na; i++) d.act.set(i, act[i] ?? 0);
  return d;
}
