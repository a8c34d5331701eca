// a collecting thread of its own: started by src/runs/collector.ts
import { parentPort, workerData } from "node:worker_threads";
import "../envs/index.ts";
import { collectFor, told, type CollectSetup } from "./runs/collect-job.ts";

const { modules, ...setup } = workerData as CollectSetup & { readonly modules: readonly string[] };
try {
  // tasks of the user's own register themselves
  for (const module of modules) await import(module);
  await collectFor(parentPort!, setup);
} catch (error) {
  parentPort!.postMessage({ error: told(error) });
}
