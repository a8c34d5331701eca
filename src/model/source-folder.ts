// the folder that the files of a source are told from
import { posix } from "../core/path.ts";

const NAMED = /\bfile\w*\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
const FOLDER = /\b(?:meshdir|texturedir|assetdir)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;

const valuesOf = (pattern: RegExp, text: string): string[] =>
  [...text.matchAll(pattern)].map(([, double, single]) => double ?? single);

/** The folders of a path, each with the ones before it, and no leading "/". */
const foldersOf = (path: string): string[] => path.split("/").slice(0, -1);

/** The folders that a path passes that it does not leave again by "..": `a/b/../../c` needs none but the root. */
function highestOf(path: string): string[] {
  const at: string[] = [];
  let highest: string[] | undefined;
  for (const part of path.split("/").slice(0, -1)) {
    if (part === "" || part === ".") continue;
    if (part !== "..") at.push(part);
    else {
      at.pop();
      if (highest === undefined || at.length < highest.length) highest = [...at];
    }
  }
  return highest ?? at;
}

/**
 * The deepest folder that holds all files, and every folder that a name in their XML climbs to on its way to one of them, as
 * `../robot/part.xml` in a model of the folder `robot` does; with its final "/". `files`: bytes by path, which starts without "/".
 */
export function sourceFolder(files: ReadonlyMap<string, Uint8Array>, model: string): string {
  const texts = [...files].filter(([path]) => path === model || /\.(xml|urdf|mjcf)$/i.test(path));
  const parts = texts.map(([path, bytes]) => ({ path, text: new TextDecoder().decode(bytes) }));
  const dirs = ["", ...parts.flatMap(({ text }) => valuesOf(FOLDER, text))];
  const climbed = parts.flatMap(({ path, text }) => {
    const bases = new Set([posix.dirname(path), posix.dirname(model)]);
    return valuesOf(NAMED, text).flatMap((name) =>
      dirs
        .filter((dir) => `${dir}/${name}`.includes(".."))
        .flatMap((dir) => [...bases].map((base) => `${base}/${dir}/${name}`))
        .filter((full) => files.has(posix.normalize(full)))
        .map(highestOf),
    );
  });
  const all = [...[...files.keys()].map(foldersOf), ...climbed];
  const [first] = all;
  let depth = 0;
  while (depth < first.length && all.every((folders) => folders[depth] === first[depth])) depth++;
  return first
    .slice(0, depth)
    .map((part) => `${part}/`)
    .join("");
}
