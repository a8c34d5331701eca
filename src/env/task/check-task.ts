// what a task is made of, before anything of it is traced: groups by name, each of its form
import { CorralError } from "../../core/errors.ts";
import { alternatives } from "../../core/names.ts";
import { checkTraining } from "./check-training.ts";
import type { Task } from "./task.ts";
import { isPlainObject } from "./term-value.ts";

type Form =
  | "text"
  | "model"
  | "number"
  | "derived"
  | "function"
  | "terms"
  | "source"
  | "sources"
  | "functions"
  | "objects"
  | "values";

/** Every group of a task, and its form. */
const GROUPS: Readonly<Record<keyof Task, Form>> = {
  id: "text",
  model: "model",
  frameSkip: "number",
  derived: "derived",
  maxEpisodeSteps: "number",
  training: "objects",
  defaults: "values",
  check: "function",
  actionSpace: "function",
  limits: "objects",
  physics: "objects",
  terrain: "objects",
  params: "objects",
  action: "objects",
  observation: "objects",
  control: "source",
  outputs: "function",
  values: "sources",
  carry: "function",
  observe: "terms",
  reward: "terms",
  terminated: "terms",
  truncated: "terms",
  info: "terms",
  resetInfo: "terms",
  randomise: "objects",
  actuators: "objects",
  events: "functions",
  reset: "function",
};
const NEEDED: readonly (keyof Task)[] = ["id", "model", "frameSkip", "maxEpisodeSteps", "observe", "reward"];

const isSource = (x: unknown): boolean => x !== undefined && x !== null;
const isOption = (x: unknown): boolean =>
  ["number", "boolean", "string"].includes(typeof x) ||
  (Array.isArray(x) && x.length === 2 && x.every((end) => typeof end === "number"));

/** Whether a group has its form, and what the form is, in words. */
const FORMS: Readonly<Record<Form, readonly [(x: unknown) => boolean, string]>> = {
  text: [(x) => typeof x === "string" && x !== "", "a string that is not empty"],
  model: [(x) => typeof x === "string" || x instanceof URL, "XML text, or the URL of a file"],
  derived: [(x) => x === "before" || x === "after", '"before" or "after"'],
  number: [(x) => typeof x === "number", "a number"],
  function: [(x) => typeof x === "function", "a function"],
  source: [(x) => isSource(x) && !isPlainObject(x), "an expression or a function"],
  terms: [
    (x) => typeof x === "function" || isPlainObject(x),
    'terms by name, as in { height: "xpos(body.torso).z" }, or a function that returns them',
  ],
  sources: [(x) => isPlainObject(x) && Object.values(x).every(isSource), "expressions or functions by name"],
  functions: [(x) => isPlainObject(x) && Object.values(x).every((f) => typeof f === "function"), "functions by name"],
  objects: [isPlainObject, "an object"],
  values: [
    (x) => isPlainObject(x) && Object.values(x).every(isOption),
    "options by name, each a number, true or false, a string, or a range [low, high]",
  ],
};

const shown = (x: unknown): string => {
  if (x === undefined) return "missing";
  if (x === null || typeof x === "number") return String(x);
  if (typeof x === "string") return JSON.stringify(x.length > 40 ? `${x.slice(0, 40)}...` : x);
  if (Array.isArray(x)) return "a list";
  if (typeof x === "function") return "a function";
  return isPlainObject(x) ? `an object of ${Object.keys(x).join(", ") || "nothing"}` : `a ${x.constructor.name}`;
};

/**
 * Holds a task to its form.
 * @throws CorralError bad-task: a group that does not exist, with the nearest names, one that is missing, or of another form
 */
export function checkTask(task: Task<never>): void {
  if (!isPlainObject(task))
    throw new CorralError("bad-task", `a task is ${shown(task)}; it is an object, as defineTask takes it.`);
  const { id } = task;
  const name = typeof id === "string" && id !== "" ? `task ${id}` : "a task";
  const known = Object.keys(GROUPS) as (keyof Task)[];
  for (const group of Object.keys(task)) {
    if (known.includes(group as keyof Task)) continue;
    const { hint, nearest } = alternatives(group, known);
    throw new CorralError("bad-task", `${name} has a group "${group}", which means nothing; ${hint}.`, {
      group,
      nearest,
    });
  }
  for (const group of known) {
    const value = (task as Record<string, unknown>)[group];
    if (value === undefined && !NEEDED.includes(group)) continue;
    const [fits, form] = FORMS[GROUPS[group]];
    if (fits(value)) continue;
    throw new CorralError("bad-task", `${name}: ${group} is ${shown(value)}; it is ${form}.`, { id, group });
  }
  checkTraining(task);
}
