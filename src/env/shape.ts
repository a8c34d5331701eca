// names and sizes of a task, found by tracing its functions once
import { CorralError } from "../core/errors.ts";
import { loop, param } from "../trace/control.ts";
import { trace } from "../trace/graph.ts";
import { toU32, type Scalar } from "../trace/scalar.ts";
import type { Model } from "../model/model.ts";
import { APPLIED } from "../sim/state.ts";
import { dataView, modelView } from "../sim/view.ts";
import type { Named, Scene, Task } from "./task.ts";

export interface Part {
  readonly name: string;
  readonly size: number;
}

/** What a task returns, by name. */
export interface TaskShape {
  readonly observation: readonly Part[];
  readonly nobs: number;
  readonly carried: readonly Part[];
  readonly terms: readonly string[];
  readonly infos: readonly string[];
  readonly resetInfos: readonly string[];
  /** What can end an episode: conditions that terminate, then those that truncate, the limit last. */
  readonly terminations: readonly string[];
  readonly truncations: readonly string[];
}

/** Name of the limit of control steps among what can end an episode. */
export const LIMIT = "max_episode_steps";

const parts = (named: Named<readonly Scalar[]>): Part[] =>
  Object.entries(named).map(([name, values]) => ({ name, size: values.length }));

export const total = (list: readonly Part[]): number => list.reduce((n, p) => n + p.size, 0);

/**
 * Traces a task's functions into nothing.
 * @throws CorralError bad-task, and what the functions throw
 */
export function shapeOf<O extends object>(task: Task<O>, model: Model, options: O, actions: number): TaskShape {
  let shape: TaskShape | undefined;
  trace(() => {
    // in a runtime loop nothing is known, so that no value folds
    loop(1, (i) => {
      const d = dataView(model, APPLIED);
      const word = toU32(i);
      const base = {
        model,
        options,
        m: modelView(model),
        d,
        before: { qpos: d.qpos.all(), qvel: d.qvel.all() },
        action: Array.from({ length: actions }, () => param("dt")),
        dt: param("dt"),
        world: word,
        episode: word,
        length: word,
      };
      // a fresh world carries nothing yet
      const first = task.carry?.({ ...base, carried: {}, fresh: true }) ?? {};
      const scene: Scene<O> = { ...base, carried: first, fresh: false };
      const observation = parts(task.observe(scene));
      shape = {
        observation,
        nobs: total(observation),
        carried: parts(first),
        terms: Object.keys(task.reward(scene)),
        infos: Object.keys(task.info?.(scene) ?? {}),
        resetInfos: Object.keys(task.resetInfo?.({ ...scene, fresh: true }) ?? {}),
        terminations: Object.keys(task.terminated(scene)),
        truncations: [...Object.keys(task.truncated?.(scene) ?? {}), LIMIT],
      };
    });
  });
  check(task.id, shape!);
  return shape!;
}

function check(id: string, shape: TaskShape): void {
  if (shape.nobs === 0) throw badTask(id, "its observation is empty; return at least one value");
  const ends = [...shape.terminations, ...shape.truncations];
  const names = [...shape.terms, ...shape.infos];
  for (const list of [ends, names]) {
    const twice = list.find((name, i) => list.indexOf(name) !== i);
    if (twice !== undefined) throw badTask(id, `it names ${twice} twice; give each its own name`);
  }
  // they are bits of a float
  if (ends.length > 24) throw badTask(id, `it has ${ends.length} conditions that end an episode; join some to have 24`);
}

/** A task that cannot be. */
export const badTask = (id: string, text: string): CorralError =>
  new CorralError("bad-task", `task ${id}: ${text}.`, { id });
