// the defaults of training that a task brings along: algorithms and settings that exist
import { CorralError } from "../../core/errors.ts";
import { alternatives } from "../../core/names.ts";
import { show } from "../../core/show.ts";
import type { Task, TrainingDefaults } from "./task.ts";
import { isPlainObject } from "./term-value.ts";

const ALGORITHMS = ["ppo", "sac", "sac-discrete", "dqn"] as const satisfies readonly (keyof NonNullable<
  Task["training"]
>)[];

const COUNTS = ["numEnvs", "steps", "evalEvery", "checkpointEvery", "snapshotEvery"] as const;
const SETTINGS = [
  ...COUNTS,
  "config",
  "options",
  "shortDispatches",
] as const satisfies readonly (keyof TrainingDefaults)[];

/** @throws CorralError bad-task */
export function checkTraining({ id, training = {} }: Pick<Task<never>, "id" | "training">): void {
  const bad = (text: string) => new CorralError("bad-task", `task ${id}: ${text}.`, { id, group: "training" });
  const unknown = (of: object, known: readonly string[]) => Object.keys(of).find((name) => !known.includes(name));
  const algo = unknown(training, ALGORITHMS);
  if (algo !== undefined) throw bad(`training is of an algorithm "${algo}"; ${alternatives(algo, ALGORITHMS).hint}`);
  for (const [name, own] of Object.entries(training)) {
    if (own === undefined) continue;
    const place = `training.${name}`;
    if (!isPlainObject(own)) throw bad(`${place} is ${show(own)}; it is an object, such as { numEnvs: 64 }`);
    const other = unknown(own, SETTINGS);
    if (other !== undefined) throw bad(`${place} has no setting "${other}"; ${alternatives(other, SETTINGS).hint}`);
    for (const count of COUNTS) {
      const x: unknown = own[count];
      if (
        x !== undefined &&
        !(Number.isSafeInteger(x) && (x as number) >= (count === "numEnvs" || count === "steps" ? 1 : 0))
      )
        throw bad(`${place}.${count} is ${show(x)}; it is a whole number`);
    }
    for (const group of ["config", "options"] as const)
      if (own[group] !== undefined && !isPlainObject(own[group]))
        throw bad(`${place}.${group} is ${show(own[group])}; it is an object`);
  }
}
