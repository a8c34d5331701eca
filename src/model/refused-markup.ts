// where the markup is that MuJoCo refuses, whose words name no file and, of what is included, no line; and what became of it
import { inLine } from "../core/show.ts";
import { posix } from "../core/path.ts";
import type { FileTree } from "./files.ts";

/** Attributes that files of older releases have: the release without them, and what to do. */
const REMOVED: Readonly<Record<string, readonly [release: string, remedy: string]>> = {
  "option apirate": ["3.3.7", "It did nothing: delete it."],
  "option collision": [
    "3.0.0",
    `Delete collision="all"; for "predefined" set contype and conaffinity of all geoms to 0; "dynamic" is all without <contact><pair>.`,
  ],
  "compiler convexhull": ["3.2.5", "Delete it."],
  "compiler exactmeshinertia": ["3.2.5", `Give the meshes inertia="exact" in its place.`],
  "flag sensornoise": ["3.1.4", "Delete it."],
  "flag passive": ["3.3.6", "Write spring and damper in its place."],
  "composite spacing": [
    "3.3.0",
    "Write <replicate> in place of particles, <flexcomp> in place of cloths, ropes and loops.",
  ],
};

/** Attributes that are whole numbers. */
const WHOLE = /^(width|height|contype|conaffinity|condim|group|priority|nrow|ncol)$/;
const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;

interface Part {
  readonly path: string;
  readonly text: string;
}

/** A model and what it includes, in the order of the whole. */
function partsOf(path: string, text: string, tree: FileTree, model = path, seen = new Set([path])): Part[] {
  const included = [...text.matchAll(/<include\b[^>]*\bfile\s*=\s*(?:"([^"]*)"|'([^']*)')/g)].flatMap(([, a, b]) => {
    const at = [model, path].map((from) => posix.join(posix.dirname(from), a ?? b));
    const found = at.find((place) => !seen.has(place) && tree.size(place) !== undefined);
    if (found === undefined) return [];
    seen.add(found);
    return partsOf(found, new TextDecoder().decode(tree.read(found)), tree, model, seen);
  });
  return [...included, { path, text }];
}

const isBad = (attribute: string, value: string): boolean => {
  const words = value.trim().split(/\s+/);
  return words.some((word) => !NUMBER.test(word) || (WHOLE.test(attribute) && !/^[-+]?\d+$/.test(word)));
};

/** What to add to MuJoCo's words on an attribute; "" where nothing is known. `nameOf`: of a path in the tree, for the user. */
export function markupRemedy(
  said: string,
  { file, xml, tree }: { readonly file: string; readonly xml: string; readonly tree: FileTree },
  nameOf: (path: string) => string,
): string {
  const element = /Element '(\w+)'/.exec(said)?.[1];
  const [, unknown, bad] = /unrecognized attribute: '(\w+)'|bad format in attribute '(\w+)'/.exec(said) ?? [];
  const attribute = unknown ?? bad;
  if (element === undefined || attribute === undefined) return "";
  const tag = new RegExp(`<${element}\\b[^>]*?\\s${attribute}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`, "g");
  for (const { path, text } of partsOf(file, xml, tree)) {
    // comments keep their lines
    const plain = text.replace(/<!--[^]*?-->/g, (comment) => comment.replace(/[^\n]/g, " "));
    const found = [...plain.matchAll(tag)].find(([, a, b]) => bad === undefined || isBad(attribute, a ?? b));
    if (!found) continue;
    const line = plain.slice(0, found.index + found[0].length).split("\n").length;
    const value = inLine((found[1] ?? found[2]).slice(0, 80));
    const [release, remedy] = REMOVED[`${element} ${attribute}`] ?? [];
    const why =
      bad !== undefined
        ? ` MuJoCo reads ${WHOLE.test(bad) ? "whole numbers" : "numbers with spaces between them"} there.`
        : release === undefined
          ? ""
          : ` MuJoCo ${release} and newer do not have it. ${remedy}`;
    return `\nThat is ${attribute}="${value}" in line ${line} of ${nameOf(path)}.${why}`;
  }
  return "";
}
