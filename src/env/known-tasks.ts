// tasks of the user's own in a thread, which knows by their ids those alone that it has imported
import { fileURLToPath } from "node:url";
import { importModule } from "../core/typescript.ts";
import { defineJsEnv, isJsEnv } from "./js-env.ts";
import { register } from "./registry.ts";
import type { Task } from "./task/task.ts";

/** Imports modules (URLs), and registers what they export by default; they may register tasks themselves. */
export async function knowTasks(modules: readonly string[]): Promise<void> {
  for (const module of modules) {
    const exported = module.startsWith("file:") ? await importModule(fileURLToPath(module)) : await import(module);
    const { default: task } = exported as { readonly default?: Partial<Task> };
    if (isJsEnv(task)) defineJsEnv(task);
    else if (typeof task === "object" && task.id !== undefined && task.model !== undefined) register(task as Task);
  }
}
