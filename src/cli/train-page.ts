// the page of `corral train --view`
import type { TrainingRun } from "../runs/train.ts";
import { RunWatch } from "../view/run-watch.ts";
import { portOption, UsageError } from "./io.ts";
import { openBrowser } from "./open-browser.ts";

/** Of the page on a run. */
export interface Shows {
  readonly port: number;
  readonly opens: boolean;
}

export const VIEW_FLAGS = {
  view: { type: "boolean" },
  port: { type: "string" },
  "no-open": { type: "boolean" },
} as const;

interface ViewValues {
  readonly view?: boolean;
  readonly port?: string;
  readonly "no-open"?: boolean;
}

/** What flags say of the page, and the others. Throws `UsageError`. */
export function shownOf<V extends ViewValues>(all: V) {
  const { view, port, "no-open": closed, ...values } = all;
  if (!view && (port !== undefined || closed))
    throw new UsageError("--port and --no-open are of the page of a run: pass --view too.");
  const shows: Shows | undefined = view ? { port: portOption(port), opens: !closed } : undefined;
  return { shows, values };
}

/** Starts the page on a run, and says where it is. Throws what `RunWatch.open` throws. */
export async function openPage(
  run: TrainingRun,
  { port, opens }: Shows,
  modules: readonly string[],
  say: (line: string) => void,
): Promise<RunWatch> {
  const { id, memory, settings, envOptions: env } = run;
  const facts = { id, device: run.env.deviceName, steps: settings.steps, memory };
  const { seed, numEnvs: worlds } = settings;
  const page = await RunWatch.open(facts, { port, env, modules, seed, worlds, onFault: say });
  say(`page ${page.url}`);
  if (opens) openBrowser(page.url);
  return page;
}
