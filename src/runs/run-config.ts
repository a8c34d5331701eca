// the flat config of a run, as its folder has it
import { existsSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { CorralError } from "../core/errors.ts";
import { readText } from "../core/read-bytes.ts";
import { CHECKPOINTS } from "./checkpoints.ts";

export const CONFIG_FILE = "config.json";

/** Throws `no-run` if a folder holds none. */
export function assertRun(folder: string): void {
  if (existsSync(join(folder, CONFIG_FILE))) return;
  const file = existsSync(folder) && statSync(folder).isFile();
  if (file) {
    const text = `${folder} is a file. Pass the folder of a run, or a policy as safetensors: corral export --format safetensors.`;
    throw new CorralError("no-run", text, { folder });
  }
  const what = existsSync(folder) ? `${folder} holds no run: no ${CONFIG_FILE} is in it` : `${folder} is not there`;
  throw new CorralError("no-run", `${what}. Pass the folder of a run, which corral train names as it begins.`, {
    folder,
  });
}

/** What to do about a config that cannot be read; checkpoints beside it can do without. */
function remedyFor(file: string): string {
  const folder = dirname(file);
  if (basename(file) !== CONFIG_FILE || !existsSync(join(folder, CHECKPOINTS)))
    return `Pass a flat JSON file, such as a run's ${CONFIG_FILE}.`;
  return `Put a whole one there, or begin a run from its checkpoints: corral train ENV --from ${folder}.`;
}

/** Values of a flat config file, by name. Throws `bad-config`. */
export function readConfig(file: string): Record<string, unknown> {
  let found: unknown;
  try {
    found = JSON.parse(readText(file));
  } catch (error) {
    const [why] = (error as Error).message.split("\n");
    throw new CorralError("bad-config", `${file} cannot be read (${why}). ${remedyFor(file)}`);
  }
  if (typeof found !== "object" || found === null || Array.isArray(found)) {
    throw new CorralError("bad-config", `${file} holds no object. ${remedyFor(file)}`);
  }
  return withInfinities(found as Record<string, unknown>);
}

/** A flat config as JSON kept it, with its infinite numbers. */
export function withInfinities(config: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const numbers: Record<string, number> = { Infinity, "-Infinity": -Infinity };
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => [
      name,
      typeof value === "string" ? (numbers[value] ?? value) : value,
    ]),
  );
}
