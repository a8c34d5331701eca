// one process from sources, as `bin/corral.js` begins one, that runs many commands: to begin one takes seconds
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";
import { builtProgram } from "./built.ts";
import type { CliRun } from "./cli.ts";

const SOURCE = fileURLToPath(new URL("cli-process-main.ts", import.meta.url));
const TSX = new URL("../../node_modules/tsx/dist/esm/index.mjs", import.meta.url).href;

interface Cli {
  readonly run: (...args: string[]) => Promise<CliRun>;
  readonly close: () => void;
}

/** Begins the process in a folder. Commands run one after the other; close it in the end. */
export const openCli = (cwd: string): Cli => begin(cwd, SOURCE, ["--import", TSX]);

/** The same on what the build makes of the sources, which begins in a second: it reads and writes no tasks of TypeScript. */
const openBuiltCli = async (cwd: string): Promise<Cli> => begin(cwd, await builtProgram(SOURCE), []);

function begin(cwd: string, program: string, execArgv: string[]): Cli {
  const child = fork(program, [], { cwd, execArgv, stdio: ["ignore", "inherit", "inherit", "ipc"] });
  return {
    async run(...args) {
      child.send(args);
      const [ended] = (await once(child, "message")) as [CliRun];
      return ended;
    },
    close: () => child.disconnect(),
  };
}

/**
 * A folder for the tests of a file, and the process in it, which the first command begins; neither is left after them.
 * `isBuilt`: on the build, where tasks are written and not read.
 */
export function cliInFolder(prefix: string, { isBuilt = false } = {}): { folder: string; run: Cli["run"] } {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  const open = isBuilt ? openBuiltCli : async (cwd: string) => openCli(cwd);
  let cli: Promise<Cli> | undefined;
  afterAll(async () => {
    (await cli)?.close();
    rmSync(folder, { recursive: true });
  });
  return { folder, run: async (...args) => (await (cli ??= open(folder))).run(...args) };
}
