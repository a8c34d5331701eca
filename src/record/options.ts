// options of the flight recorder, checked
import { join } from "node:path";
import { CorralError } from "../core/errors.ts";
import { show } from "../core/show.ts";
import { parseBytes } from "../core/units.ts";

/** What is kept of a run, and where it goes when a world fails. */
export interface RecorderOptions {
  /** Control steps between two copies of the state. Default 16. */
  readonly everySteps?: number;
  /** Copies of the state that are kept, each with the actions after it. Default 2: the last 16 to 32 control steps. */
  readonly keep?: number;
  /** Worlds that are recorded; the tiles of eight that they lie in are kept. Default "all". */
  readonly worlds?: "all" | readonly number[];
  /** Folder for bundles. Default: $CORRAL_BUNDLES, else corral-bundles in the working folder. */
  readonly directory?: string;
  /** Bundles that one environment writes at most, and of one kind of failure at most a quarter of them. Default 8. */
  readonly maxBundles?: number;
  /** Worlds of a bundle at most. Default 16. */
  readonly maxWorlds?: number;
  /** Size of a bundle at most. Default "64MiB". */
  readonly maxBytes?: number | string;
}

export interface RecorderSettings {
  readonly everySteps: number;
  readonly keep: number;
  readonly worlds: "all" | readonly number[];
  readonly directory: string;
  readonly maxBundles: number;
  readonly maxWorlds: number;
  readonly maxBytes: number;
}

/** Control steps between two copies, unless an option says. */
export const EVERY_STEPS = 16;

const NAMES = ["everySteps", "keep", "worlds", "directory", "maxBundles", "maxWorlds", "maxBytes"];

const bad = (name: string, value: unknown, want: string) =>
  new CorralError("bad-option", `recorder${name && `.${name}`} is ${show(value)}; ${want}.`, {
    name,
    value,
  });

/** The recorder's settings; undefined if it is off. Throws `bad-option`. */
export function recorderSettings(given: unknown, numEnvs: number): RecorderSettings | undefined {
  if (given === false) return undefined;
  const options = given === undefined || given === true ? {} : (given as Readonly<Record<string, unknown>>);
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw bad("", given, `it is true, false, or an object of ${NAMES.join(", ")}`);
  const unknown = Object.keys(options).find((name) => !NAMES.includes(name));
  if (unknown !== undefined) throw bad(unknown, options[unknown], `the recorder has only ${NAMES.join(", ")}`);

  const count = (name: string, fallback: number, max: number) => {
    const value = options[name] ?? fallback;
    if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= max) return value as number;
    throw bad(name, value, `it is a whole number from 1 to ${max}`);
  };
  const { worlds = "all", maxBytes = "64MiB" } = options;
  const { directory = process.env.CORRAL_BUNDLES ?? join(process.cwd(), "corral-bundles") } = options;
  if (typeof directory !== "string" || directory === "")
    throw bad("directory", directory, "it is the path of a folder");
  return {
    everySteps: count("everySteps", EVERY_STEPS, 2 ** 16),
    keep: count("keep", 2, 256),
    worlds: checkWorlds(worlds, numEnvs),
    directory,
    maxBundles: count("maxBundles", 8, 1000),
    maxWorlds: count("maxWorlds", 16, 4096),
    maxBytes: parseBytes(maxBytes as string),
  };
}

function checkWorlds(worlds: unknown, numEnvs: number): "all" | readonly number[] {
  if (worlds === "all") return worlds;
  const list = Array.isArray(worlds) ? worlds : [];
  const isWorld = (w: unknown) => Number.isInteger(w) && (w as number) >= 0 && (w as number) < numEnvs;
  if (list.length === 0 || !list.every(isWorld))
    throw bad("worlds", worlds, `it is "all" or a list of worlds from 0 to ${numEnvs - 1}`);
  return [...new Set(list as number[])].sort((a, b) => a - b);
}
