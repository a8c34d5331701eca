// the files of laid repositories that are models
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { REPOSITORIES } from "./repositories.ts";

/** Links whose target a repository lacks are no files. */
const text = (path: string) => (statSync(path, { throwIfNoEntry: false })?.isFile() ? readFileSync(path, "utf8") : "");

/** XML files that are models: others are parts of them. */
export function filesOf(folder: string, only: readonly string[]): string[] {
  const laid = readdirSync(folder).filter((name) => name.includes("+"));
  return laid
    .flatMap((name) => {
      const known = REPOSITORIES.find((repository) => repository.name.replace("/", "+") === name);
      return (known?.folders ?? ["."]).map((part) => join(folder, name, part)).filter((base) => existsSync(base));
    })
    .flatMap((base) => {
      const found = readdirSync(base, { recursive: true, encoding: "utf8" }).filter((f) => /\.(xml|urdf)$/.test(f));
      return found.map((f) => join(base, f));
    })
    .filter((path) => only.some((part) => path.includes(part)) && /<(mujoco|robot)[\s>]/.test(text(path)))
    .sort();
}
