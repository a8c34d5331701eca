// stands for src/core/worker.ts in tests: threads run what the build made, since from sources each takes seconds to start
import { fileURLToPath } from "node:url";
import { Worker, type WorkerOptions } from "node:worker_threads";
import { startWorker as startFromSources } from "../../src/core/worker.ts";
import { builtUrl } from "./built.ts";

/** A thread whose environments come from files is of the sources: those are what the files import. So is one that serves a page, which is no part of this build. */
export function startWorker(module: URL, options: WorkerOptions = {}): Worker {
  const { modules = [] } = (options.workerData ?? {}) as { modules?: readonly string[] };
  const built = builtUrl(fileURLToPath(module));
  const serves = module.pathname.endsWith("/view-worker.ts");
  if (built === undefined || serves || modules.some((url) => url.startsWith("file:")))
    return startFromSources(module, options);
  return new Worker(new URL(built), options);
}
