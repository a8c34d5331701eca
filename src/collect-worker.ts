// a collecting thread of its own: started by src/runs/collector.ts
import { parentPort, workerData } from "node:worker_threads";
import "../envs/index.ts";
import { knowTasks } from "./env/known-tasks.ts";
import { collectFor, errorOf, type CollectSetup } from "./runs/collect-job.ts";

const { modules, ...setup } = workerData as CollectSetup & { readonly modules: readonly string[] };
try {
  await knowTasks(modules);
  await collectFor(parentPort!, setup);
} catch (error) {
  parentPort!.postMessage({ error: errorOf(error) });
}
