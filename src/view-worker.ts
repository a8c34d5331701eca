// the thread that shows a run while it trains: started by src/view/run-watch.ts
import { parentPort, workerData } from "node:worker_threads";
import { serveRun } from "./view/run-page.ts";
import type { RunPageSetup } from "./view/run-messages.ts";

const { modules, ...setup } = workerData as RunPageSetup & { readonly modules: readonly string[] };

/** Makes tasks known by their ids. */
async function know(): Promise<void> {
  await import("../envs/index.ts");
  const { knowTasks } = await import("./env/known-tasks.ts");
  await knowTasks(modules);
}

await serveRun(parentPort!, setup, know);
