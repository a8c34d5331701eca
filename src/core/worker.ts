// starts worker threads from a module of this package, whether it runs as TypeScript source or as emitted JavaScript
import { pathToFileURL } from "node:url";
import { Worker, type WorkerOptions } from "node:worker_threads";
import { tsxOf } from "./typescript.ts";

/**
 * A worker thread that runs `module` (a `file:` URL, as `new URL("./job.ts", import.meta.url)`).
 * Sources (`.ts`) are loaded through tsx, which only a clone has; a package runs its emitted `.js` as it is.
 */
export function startWorker(module: URL, options: WorkerOptions = {}): Worker {
  const emitted = import.meta.url.endsWith(".js");
  if (emitted || !module.pathname.endsWith(".ts")) {
    const entry = emitted ? new URL(module.href.replace(/\.ts$/, ".js")) : module;
    return new Worker(entry, options);
  }

  // a loader that the main thread registered is not inherited by its workers
  const tsx = tsxOf(import.meta.url)!;
  const start =
    `import(${JSON.stringify(pathToFileURL(tsx).href)})` +
    `.then(({ register }) => { register(); return import(${JSON.stringify(module.href)}); })`;
  return new Worker(start, { ...options, eval: true });
}
