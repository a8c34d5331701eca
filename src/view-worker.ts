// the thread that shows a run while it trains: started by src/view/run-watch.ts
import { fileURLToPath } from "node:url";
import { parentPort, workerData } from "node:worker_threads";
import { serveRun } from "./view/run-page.ts";
import type { RunPageSetup } from "./view/run-messages.ts";

const { modules, ...setup } = workerData as RunPageSetup & { readonly modules: readonly string[] };

/** Makes tasks known by their ids. */
async function know(): Promise<void> {
  await import("../envs/index.ts");
  const { importModule } = await import("./core/typescript.ts");
  const { register } = await import("./env/registry.ts");
  for (const module of modules) {
    const { default: task } = (await importModule(fileURLToPath(module))) as { readonly default?: { id?: string } };
    if (task?.id !== undefined && "model" in task) register(task as Parameters<typeof register>[0]);
  }
}

await serveRun(parentPort!, setup, know);
