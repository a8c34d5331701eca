// runs `corral` in a process of its own
import { spawn } from "node:child_process";
import { join } from "node:path";
import { builtCorral } from "./built.ts";
import { ROOT } from "./imports.ts";

/** What a run of the command line printed and how it ended. */
export interface CliRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

type Environment = Record<string, string | undefined>;

/** Runs `corral`, as it is built, with arguments and environment variables (undefined removes one). */
export const corral = (args: readonly string[], env: Environment = {}): Promise<CliRun> =>
  runCorral(builtCorral(), args, env);

/** The same through `bin/corral.js` of this clone, which loads the sources: to start takes twice as long. */
export const corralFromSources = (args: readonly string[], env: Environment = {}): Promise<CliRun> =>
  runCorral(join(ROOT, "bin", "corral.js"), args, env);

function runCorral(program: string, args: readonly string[], env: Environment): Promise<CliRun> {
  const child = spawn(process.execPath, [program, ...args], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stdout, stderr }));
  });
}
