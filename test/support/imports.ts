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

/**
 * Files that import each other, directly or around, by values or types: the members of every cycle, sorted. What a file
 * is for cannot be read without the others of its cycle.
 */
export function cyclesIn(files: readonly string[]): string[][] {
  const known = new Set(files);
  const edges = new Map(files.map((file) => [file, importsOf(file).flatMap(({ to }) => (known.has(to) ? [to] : []))]));
  // Tarjan's strongly connected components
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const cycles: string[][] = [];
  const visit = (file: string): void => {
    const at = order.size;
    order.set(file, at);
    lowest.set(file, at);
    open.push(file);
    for (const to of edges.get(file)!) {
      if (!order.has(to)) visit(to);
      if (open.includes(to)) lowest.set(file, Math.min(lowest.get(file)!, lowest.get(to)!));
    }
    if (lowest.get(file) !== at) return;
    const members = open.splice(open.indexOf(file));
    if (members.length > 1 || edges.get(file)!.includes(file)) cycles.push(members.sort());
  };
  for (const file of files) if (!order.has(file)) visit(file);
  return cycles;
}
