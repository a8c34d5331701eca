// a collecting thread of its own: started by src/runs/collector.ts
import { fileURLToPath } from "node:url";
import { parentPort, workerData } from "node:worker_threads";
import "../envs/index.ts";
import { importModule } from "./core/typescript.ts";
import { defineJsEnv, isJsEnv } from "./env/js-env.ts";
import { register } from "./env/registry.ts";
import type { Task } from "./env/task/task.ts";
import { collectFor, errorOf, type CollectSetup } from "./runs/collect-job.ts";

const { modules, ...setup } = workerData as CollectSetup & { readonly modules: readonly string[] };
try {
  // tasks of the user's own register themselves, or are what their file exports
  for (const module of modules) {
    const exported = module.startsWith("file:") ? await importModule(fileURLToPath(module)) : await import(module);
    const { default: task } = exported as { readonly default?: Partial<Task> };
    if (isJsEnv(task)) defineJsEnv(task);
    else if (typeof task === "object" && task.id !== undefined && task.model !== undefined) register(task as Task);
  }
  await collectFor(parentPort!, setup);
} catch (error) {
  parentPort!.postMessage({ error: errorOf(error) });
}
