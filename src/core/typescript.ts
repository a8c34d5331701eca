// reading the user's TypeScript: by Node itself (22.18 and newer), in a clone by its tsx, else by the tsx of the project
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

/** Node's own word on it, which its older types lack. */
const native = (): boolean => Boolean((process.features as { typescript?: false | string }).typescript);

// sources run through tsx, which then reads everything
const throughTsx = import.meta.url.endsWith(".ts");

/** The module that registers the tsx which a path or URL resolves, as an absolute path; undefined if there is none. */
export function tsxOf(from: string): string | undefined {
  try {
    return join(dirname(createRequire(from).resolve("tsx/package.json")), "dist", "esm", "api", "index.mjs");
  } catch {
    return undefined;
  }
}

/** Whether a TypeScript file at an absolute path can be imported by this process, with `importTypeScript`. */
export const readsTypeScript = (path: string): boolean => native() || throughTsx || tsxOf(path) !== undefined;

/** Whether a path is that of a module of code, in JavaScript or TypeScript. */
export const isModuleFile = (path: string): boolean => /\.[cm]?[jt]s$/.test(path);

let registered = false;

/** Imports a module of the user's by its absolute path, through the tsx of its project where Node needs that. */
export async function importModule(path: string): Promise<Record<string, unknown>> {
  const tsx = registered || native() || throughTsx || !/\.[cm]?ts$/.test(path) ? undefined : tsxOf(path);
  if (tsx !== undefined) {
    const { register } = (await import(pathToFileURL(tsx).href)) as { register: () => void };
    register();
    registered = true;
  }
  return (await import(pathToFileURL(path).href)) as Record<string, unknown>;
}
