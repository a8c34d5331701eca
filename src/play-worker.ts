// a thread that plays episodes on MuJoCo's physics: started by src/runs/under-threads.ts
import { parentPort, workerData } from "node:worker_threads";
import "../envs/index.ts";
import { postedError } from "./core/posted.ts";
import { knowTasks } from "./env/known-tasks.ts";
import { playFor, type PlaySetup } from "./runs/under-job.ts";

const { modules, ...setup } = workerData as PlaySetup & { readonly modules: readonly string[] };
try {
  await knowTasks(modules);
  playFor(parentPort!, setup);
} catch (error) {
  parentPort!.postMessage({ error: postedError(error) });
}
