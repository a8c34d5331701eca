// elements of an MJCF in its text, so that a few are changed and all else stays as it was written
import { unescaped } from "../core/xml-text.ts";
import { posix } from "../core/path.ts";
import { memoryTree } from "../model/files.ts";
import { TAG } from "../model/nesting.ts";
import type { ModelSource } from "../model/source.ts";

export interface TextElement {
  readonly name: string;
  readonly attributes: string;
  /** Where it begins, its content does, that ends, and it ends. */
  readonly from: number;
  readonly opened: number;
  closes: number;
  to: number;
  readonly children: TextElement[];
}

/** A part of a text, and what takes its place. */
export interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** The elements of a text; the first of the outermost is its root. */
export function elementsIn(xml: string): TextElement[] {
  const tops: TextElement[] = [];
  const open: TextElement[] = [];
  for (const { 0: tag, 1: closing, 2: name, 3: attributes, index: from } of xml.matchAll(TAG)) {
    if (name === undefined) continue;
    const to = from + tag.length;
    if (closing === "/") {
      const element = open.pop();
      if (element) Object.assign(element, { closes: from, to });
      continue;
    }
    const element = { name, attributes: attributes ?? "", from, opened: to, closes: to, to, children: [] };
    (open.at(-1)?.children ?? tops).push(element);
    if (!element.attributes.endsWith("/")) open.push(element);
  }
  return tops;
}

/** An element, and all within it, in their order. */
export const allOf = (element: TextElement): TextElement[] => [element, ...element.children.flatMap(allOf)];

const pattern = (attribute: string): RegExp => new RegExp(`(?<=^|\\s)${attribute}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`);

/** What an attribute says; undefined where it is not there. */
export function attributeOf({ attributes }: TextElement, name: string): string | undefined {
  const [, double, single] = pattern(name).exec(attributes) ?? [];
  const said = double ?? single;
  return said === undefined ? undefined : unescaped(said);
}

/** What has an attribute of an element say something else; undefined where it is not there. */
export function attributeEdit(
  xml: string,
  { from, opened }: TextElement,
  name: string,
  value: string,
): Edit | undefined {
  const found = pattern(name).exec(xml.slice(from, opened));
  if (!found) return undefined;
  const at = from + found.index;
  return { from: at, to: at + found[0].length, text: `${name}="${value}"` };
}

/** What takes an element out, with its line where nothing else is in that. */
export function removal(xml: string, { from, to }: TextElement): Edit {
  const [before] = /[ \t]*$/.exec(xml.slice(0, from))!;
  const [after] = /^[ \t]*(?:\r?\n|$)/.exec(xml.slice(to)) ?? [];
  const isLine = after !== undefined && /(?:^|\n)$/.test(xml.slice(0, from - before.length));
  return isLine ? { from: from - before.length, to: to + after.length, text: "" } : { from, to, text: "" };
}

/** The text with its edits, of which none is within another. */
export function edited(xml: string, edits: readonly Edit[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const { from, to, text } of edits.toSorted((a, b) => a.from - b.from)) {
    parts.push(xml.slice(at, from), text);
    at = to;
  }
  return [...parts, xml.slice(at)].join("");
}

/** The text of a model with what it includes in the places of that. */
export function withIncludes({ xml, file, assets }: ModelSource): string {
  const tree = memoryTree(assets);
  const whole = (path: string, text: string): string => {
    const includes = elementsIn(text)
      .flatMap(allOf)
      .filter(({ name }) => name === "include");
    const inside = (include: TextElement): string => {
      const name = attributeOf(include, "file") ?? "";
      const at = [file, path].map((from) => posix.join(posix.dirname(from), name)).find((place) => tree.size(place));
      if (at === undefined || at === path) return text.slice(include.from, include.to);
      const included = whole(at, new TextDecoder().decode(tree.read(at)));
      const [root] = elementsIn(included);
      return root === undefined ? "" : included.slice(root.opened, root.closes).trim();
    };
    return edited(
      text,
      includes.map((include) => ({ from: include.from, to: include.to, text: inside(include) })),
    );
  };
  return whole(file, xml);
}
