// environments by name
import { CorralError } from "../core/errors.ts";
import { nearest } from "../core/names.ts";
import { inLine, listed, show } from "../core/show.ts";
import type { Task } from "./task/task.ts";

// tasks of all option types together
type AnyTask = Task<never>;

const tasks = new Map<string, AnyTask>();

/**
 * Makes a task known by its id. Registering the same task again does nothing.
 * @throws CorralError duplicate-env for another task of a known id
 */
export function register<O extends object>(task: Task<O>): void {
  if (typeof (task as Partial<Task<O>> | undefined)?.id !== "string")
    throw new CorralError("bad-task", `a task is ${show(task)}; register what defineTask returns.`);
  const known = tasks.get(task.id);
  if (known && known !== (task as unknown as AnyTask)) {
    throw new CorralError(
      "duplicate-env",
      `an environment ${task.id} is registered already. Give this one another id.`,
      { id: task.id },
    );
  }
  tasks.set(task.id, task as unknown as AnyTask);
}

/** Ids of all registered environments, sorted. */
export const list = (): string[] => [...tasks.keys()].sort();

/** Whether an environment has this id. */
export const isRegistered = (id: string): boolean => tasks.has(id);

/** What helps where threads take an environment by its id. */
export const IN_THREADS =
  " Threads know a task of your own by its id: call register(task) in a file, import that here, and pass its URL in modules.";

/**
 * The task of an environment. `more` ends the error of one that is not known.
 * @throws CorralError unknown-env, with the nearest ids
 */
export function taskOf(id: string, more = ""): Task<object> {
  const task = tasks.get(id);
  if (task) return task as unknown as Task<object>;
  if (typeof id !== "string") {
    const made = typeof id === "function" ? ". If it makes a task, call it" : "";
    throw new CorralError(
      "unknown-env",
      `the environment is ${show(id)}; pass the id of one, or a task as defineTask({ id, model, ... }) returns it${made}.`,
    );
  }
  if (/\.(xml|mjcf|urdf|mjb|zip)$/i.test(id))
    throw new CorralError(
      "unknown-env",
      `${inLine(id)} is a model, not an environment: nothing says what it observes and what rewards it. Write a task for it: corral new-task NAME --robot ${inLine(id)} --kind velocity, reach or track, or defineTask({ id, model, ... }).`,
      { id },
    );
  const near = nearest(id, list());
  const hint = near.length
    ? `nearest: ${listed(near)}`
    : `there are: ${list().join(", ") || "none; import their tasks"}`;
  throw new CorralError("unknown-env", `no environment is called "${inLine(id)}"; ${hint}.${more}`, {
    id,
    nearest: near,
  });
}
