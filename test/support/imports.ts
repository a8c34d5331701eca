// reads the import lines of the sources
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** One import line: who, whom (a path below the root, or a package's name), and whether only types are taken. */
export interface ImportLine {
  readonly from: string;
  readonly to: string;
  readonly typesOnly: boolean;
}

const STATEMENT = /^(?:import|export)\s+(type\s+)?(?:[^"';]*?\sfrom\s+)?["']([^"']+)["']/gm;
const DYNAMIC = /\bimport\(\s*["']([^"']+)["']\s*\)/g;

const NOT_OURS = new Set([".git", ".cache", "node_modules", "dist"]);

/** Files that git knows or would add, below the given folders, with forward slashes; in a copy without git, every file. */
export function repositoryFiles(...folders: string[]): string[] {
  if (!existsSync(join(ROOT, ".git"))) return folders.flatMap(filesBelow);
  const args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ...folders];
  const listed = execFileSync("git", args, { cwd: ROOT, encoding: "utf8", maxBuffer: 2 ** 26 }).split("\0");
  return [...new Set(listed)].filter((file) => file !== "" && existsSync(join(ROOT, file)));
}

function filesBelow(folder: string): string[] {
  if (!existsSync(join(ROOT, folder))) return [];
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = posix.join(folder, entry.name);
    if (entry.isDirectory()) return NOT_OURS.has(entry.name) ? [] : filesBelow(path);
    return [path];
  });
}

/** The imports of a file, relative ones resolved. */
export function importsOf(file: string): ImportLine[] {
  const text = withoutComments(readFileSync(join(ROOT, file), "utf8"));
  const lines: ImportLine[] = [];
  for (const [, types, to] of text.matchAll(STATEMENT))
    lines.push({ from: file, to: target(file, to), typesOnly: types !== undefined });
  for (const [, to] of text.matchAll(DYNAMIC)) lines.push({ from: file, to: target(file, to), typesOnly: false });
  return lines;
}

function target(file: string, specifier: string): string {
  return specifier.startsWith(".") ? posix.normalize(posix.join(posix.dirname(file), specifier)) : specifier;
}

// documentation shows imports too
function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
}

/** A cycle of value imports through `file`'s reach, as a path of files, or undefined. Type imports vanish at run time. */
export function cycleIn(files: readonly string[]): string[] | undefined {
  const edges = new Map(files.map((file) => [file, importsOf(file).filter((line) => !line.typesOnly)]));
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): string[] | undefined => {
    if (done.has(file) || !edges.has(file)) return undefined;
    const at = path.indexOf(file);
    if (at >= 0) return [...path.slice(at), file];
    path.push(file);
    for (const { to } of edges.get(file) ?? []) {
      const cycle = visit(to);
      if (cycle) return cycle;
    }
    path.pop();
    done.add(file);
    return undefined;
  };
  for (const file of files) {
    const cycle = visit(file);
    if (cycle) return cycle;
  }
  return undefined;
}
