// one process from sources, as `bin/corral.js` begins one, that runs many commands: to begin one takes seconds
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";
import type { CliRun } from "./cli.ts";

/** Begins the process in a folder. Commands run one after the other; close it in the end. */
export function openCli(cwd: string): { run: (...args: string[]) => Promise<CliRun>; close: () => void } {
  const program = fileURLToPath(new URL("cli-process-main.ts", import.meta.url));
  const loader = new URL("../../node_modules/tsx/dist/esm/index.mjs", import.meta.url).href;
  const child = fork(program, [], {
    cwd,
    execArgv: ["--import", loader],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  return {
    async run(...args) {
      child.send(args);
      const [ended] = (await once(child, "message")) as [CliRun];
      return ended;
    },
    close: () => child.disconnect(),
  };
}

/** A folder for the tests of a file, and the process in it, which the first command begins; neither is left after them. */
export function cliInFolder(prefix: string): { folder: string; run: ReturnType<typeof openCli>["run"] } {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  let cli: ReturnType<typeof openCli> | undefined;
  afterAll(() => {
    cli?.close();
    rmSync(folder, { recursive: true });
  });
  return { folder, run: (...args) => (cli ??= openCli(folder)).run(...args) };
}
