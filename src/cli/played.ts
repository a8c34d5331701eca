// which environment a policy of a command line plays in
import { join } from "node:path";
import { isPolicyFile } from "../runs/players.ts";
import { assertRun, CONFIG_FILE, readConfig } from "../runs/run-config.ts";
import { UsageError } from "./io.ts";
import { idOfFile, idOfNamed, isTaskFile } from "./task-file.ts";

/** The environment of a policy's file, if one is given; a run knows its own. */
export async function environmentOf(source: string, env: string | undefined): Promise<{ readonly env?: string }> {
  if (isPolicyFile(source)) return env === undefined ? {} : { env: isTaskFile(env) ? await idOfFile(env) : env };
  if (env !== undefined)
    throw new UsageError("--env is for a policy of a file: a run plays in the environment that it was trained in.");
  assertRun(source);
  const { task } = readConfig(join(source, CONFIG_FILE));
  if (typeof task === "string") await idOfNamed(task, join(source, CONFIG_FILE));
  return {};
}
