// meshes of a URDF where they are: `package://NAME/PATH`, and paths that MuJoCo would cut to their last part
import { env } from "../core/host.ts";
import { dirname, isAbsolute, posix } from "../core/path.ts";
import { escaped, unescaped } from "../core/xml-text.ts";
import type { FileTree } from "./files.ts";

/** Folders above a file, the nearest first; "" is the root. */
function foldersAbove(file: string): string[] {
  const parts = file.split("/").slice(0, -1);
  return Array.from({ length: parts.length + 1 }, (_, i) => parts.slice(0, parts.length - i).join("/"));
}

/** Folders in which ROS looks for packages, as paths of a tree. */
export const packagePaths = (): string[] =>
  [
    ...(env.ROS_PACKAGE_PATH ?? "").split(":"),
    ...(env.AMENT_PREFIX_PATH ?? "").split(":").map((path) => path && `${path}/share`),
  ]
    .filter((path) => isAbsolute(path))
    .map((path) => path.replace(/^\/+/, ""));

const PACKAGE = /^(?:package:\/|file:\/\/.*\/share)\/([^/]*)\/+(.*)$/;

/** Where a mesh of a package may be, the likeliest first; undefined for one that is of none. Packages are installed in "share". */
export function placesInPackages(name: string, file: string): string[] | undefined {
  const [, pack, rest] = PACKAGE.exec(name) ?? [];
  if (pack === undefined || rest === undefined) return undefined;
  // of "package:///PATH" the name of the package is left out, or is the first part of the path
  const named = pack === "" ? (placesInPackages(`package://${rest}`, file) ?? []) : [];
  return [
    ...foldersAbove(file).flatMap((folder) => [`/${folder}/${pack}/${rest}`, `/${folder}/${rest}`]),
    ...packagePaths().map((folder) => `/${folder}/${pack}/${rest}`),
    ...named,
  ].map((path) => path.replace(/^\/+/, "/"));
}

/** How far up from a file a workspace is taken to reach, how far down packages lie in it, and the most folders that are looked at. */
const WORKSPACE = { above: 5, below: 3, folders: 4000 };

/** Folders further down in those above a file and in those of ROS, which looks for packages so too. */
function foldersBelow(file: string, tree: FileTree): string[] {
  const all: string[] = [];
  const tops = [...foldersAbove(file).slice(0, WORKSPACE.above), ...packagePaths()];
  for (const top of tops.filter((folder) => folder !== "")) {
    let level = [top];
    for (let deep = 0; deep < WORKSPACE.below; deep++) {
      level = level.flatMap((folder) => {
        const names = all.length < WORKSPACE.folders ? (tree.folders?.(folder) ?? []) : [];
        const paths = names.map((name) => `${folder}/${name}`);
        all.push(...paths);
        return paths;
      });
    }
  }
  return all;
}

/** Those of a tree and a file, which many meshes ask for. */
const known = new WeakMap<FileTree, Map<string, readonly string[]>>();

/** Where a mesh is in a package further down. */
function placeBelow(name: string, file: string, tree: FileTree): string | undefined {
  const [, pack, rest] = PACKAGE.exec(name) ?? [];
  if (pack === "") return placeBelow(`package://${rest}`, file, tree);
  if (!pack) return undefined;
  const of = known.get(tree) ?? new Map<string, readonly string[]>();
  known.set(tree, of);
  const folders = of.get(dirname(file)) ?? foldersBelow(file, tree);
  of.set(dirname(file), folders);
  const places = folders.filter((path) => path.endsWith(`/${pack}`)).map((path) => `${path}/${rest}`);
  return places.find((at) => tree.size(at) !== undefined);
}

/** Where a mesh is, as a path of the tree; undefined if nowhere. */
export function placeOf(name: string, file: string, tree: FileTree): string | undefined {
  const path = name.replace(/^(file|model):\/\//, "");
  const candidates = [
    ...(name.startsWith("package:") ? [] : [isAbsolute(path) ? path : `${dirname(file)}/${path}`]),
    ...(placesInPackages(name, file) ?? []),
    // last, where MuJoCo looks
    `${dirname(file)}/${posix.basename(path)}`,
  ];
  return firstThere(candidates, tree) ?? placeBelow(name, file, tree);
}

const firstThere = (candidates: readonly string[], tree: FileTree): string | undefined =>
  candidates.map((at) => posix.normalize(at).replace(/^(\.?\/)+/, "")).find((at) => tree.size(at) !== undefined);

export const withoutComments = (xml: string): string => xml.replace(/<!--[^]*?-->/g, "");

/** Whether a text is a URDF: its first element is a robot. */
export const isUrdf = (xml: string): boolean => /^[^<]*(<[?!][^>]*>[^<]*)*<robot\b/.test(withoutComments(xml));

/** Whether a text is one that xacro makes a URDF of, which MuJoCo would read as a robot without links. */
export const isXacro = (xml: string): boolean => /<xacro:|<mesh\b[^>]*\$\((?:arg|find)\s/.test(withoutComments(xml));

const MESH = /(<mesh\b[^>]*\bfilename\s*=\s*)(["'])(.*?)\2/g;

/** Whether a name says by which means a file is had: MuJoCo looks in no folder for it. */
export const hasScheme = (name: string): boolean => /^[a-z]+:\/\//.test(name);

/** What of a URDF MuJoCo reads meshes of: nothing that only shows, unless it is told to keep that. */
function meshText(xml: string): string {
  const isSeen = /<compiler\b[^>]*\bdiscardvisual\s*=\s*["']false/.test(xml);
  return withoutComments(xml).replace(isSeen ? "" : /<visual\b[^]*?<\/visual>/g, "");
}

const namesIn = (xml: string): string[] => [...xml.matchAll(MESH)].map(([, , , name]) => unescaped(name));

/** Names of the meshes of a URDF that MuJoCo reads. */
export const meshesOf = (xml: string): string[] => namesIn(meshText(xml));

/** Those in a text that `withMeshPaths` made which are nowhere. */
export const unplacedMeshes = (xml: string): string[] => meshesOf(xml).filter(hasScheme);

/** Pairs of meshes of a URDF in files of one name: MuJoCo knows meshes by that and their scale, and takes the first for the second too. */
export function namesakes(xml: string): (readonly [string, string])[] {
  const firsts = new Map<string, string>();
  const pairs = new Map<string, readonly [string, string]>();
  for (const [tag] of meshText(xml).matchAll(/<mesh\b[^>]*>/g)) {
    const [, said = "1 1 1"] = /\sscale\s*=\s*["']([^"']*)/.exec(tag) ?? [];
    const scale = said.trim().split(/\s+/).map(Number);
    for (const name of namesIn(tag)) {
      const path = posix.normalize(name.replaceAll("\\", "/"));
      const key = [...scale, posix.basename(path).replace(/\.[^.]*$/, "")].join(" ");
      const first = firsts.get(key) ?? path;
      firsts.set(key, first);
      if (first !== path) pairs.set(path, [first, path]);
    }
  }
  return [...pairs.values()];
}

const FOLDER = /(<compiler\b[^>]*?)\s(?:mesh|asset)dir\s*=\s*(["'])(.*?)\2/;

/** The folder, from that of the file, in which a URDF says that its meshes are. */
export const meshFolder = (xml: string): string => unescaped(FOLDER.exec(xml)?.[3] ?? "");

/** The text of a URDF with other names of its meshes. */
export const renamedMeshes = (xml: string, rename: (name: string) => string): string =>
  xml.replace(MESH, (_, head: string, _quote, name: string) => `${head}"${escaped(rename(unescaped(name)))}"`);

/**
 * The text of a URDF with the paths of its meshes relative to itself, and MuJoCo told to keep them; any other text, and
 * a URDF that says itself where its meshes are, as it is. `file` is its path in the tree. Of a folder that it names MuJoCo
 * took the last part of a path until 3.6, the whole one since: meshes may be where either has them, or neither.
 */
export function withMeshPaths(xml: string, file: string, tree: FileTree): string {
  const robot = /<robot\b[^>]*>/.exec(xml);
  if (!robot || /<compiler\b[^>]*\bstrippath\s*=/.test(xml) || !xml.match(MESH)) return xml;
  const folder = FOLDER.test(xml) ? meshFolder(xml) : undefined;
  const below = (path: string) => `${dirname(file)}/${folder}/${path}`;
  const place = (name: string) =>
    (folder === undefined ? undefined : firstThere([below(name), below(posix.basename(name))], tree)) ??
    placeOf(name, file, tree);
  if (folder !== undefined) {
    if (isAbsolute(folder) || namesIn(xml).every((name) => place(name) === firstThere([below(name)], tree))) return xml;
  }
  const placed = renamedMeshes(xml.replace(FOLDER, "$1"), (name) => {
    const at = place(name);
    return at === undefined ? name : posix.relative(dirname(`/${file}`), `/${at}`);
  });
  return withCompiler(placed, 'strippath="false"');
}

/** The text of a URDF that tells MuJoCo's compiler something more. */
export function withCompiler(xml: string, attributes: string): string {
  if (/<compiler\b/.test(xml)) return xml.replace(/<compiler\b/, `<compiler ${attributes}`);
  if (/<mujoco\b[^>]*[^/]>/.test(xml))
    return xml.replace(/<mujoco\b[^>]*>/, (tag) => `${tag}<compiler ${attributes}/>`);
  return xml.replace(/<robot\b[^>]*>/, (tag) => `${tag}<mujoco><compiler ${attributes}/></mujoco>`);
}

const CUT = /(<compiler\b[^>]*\bstrippath\s*=\s*["'])true/;

/** The text of a URDF for another folder than its own, with the paths of its meshes from there. Both are paths of the tree. */
export function movedUrdf(xml: string, file: string, folder: string, tree: FileTree): string {
  // MuJoCo would look for the last part of each path
  const whole = CUT.test(xml)
    ? renamedMeshes(xml, (name) => name.replace(/^.*[/\\]/, "")).replace(CUT, "$1false")
    : xml;
  const placed = withMeshPaths(whole, file, tree);
  const from = (path: string) => posix.relative(`/${folder}`, `/${dirname(file)}/${path}`);
  if (FOLDER.test(placed)) {
    const meshdir = escaped(from(meshFolder(placed)));
    return placed.replace(FOLDER, (_, head: string) => `${head} meshdir="${meshdir}"`);
  }
  return renamedMeshes(placed, (name) => (hasScheme(name) || isAbsolute(name) ? name : from(name)));
}

/** A tree whose URDFs, which an MJCF may attach, have the paths of their meshes as `withMeshPaths` makes them. */
export function withPlacedUrdfs(tree: FileTree): FileTree {
  const placed = new Map<string, Uint8Array | undefined>();
  const of = (path: string): Uint8Array | undefined => {
    if (!/\.(urdf|xml)$/i.test(path)) return undefined;
    if (!placed.has(path)) {
      const bytes = tree.read(path);
      const text = new TextDecoder().decode(bytes);
      const next = withMeshPaths(text, path, tree);
      placed.set(path, next === text ? bytes : new TextEncoder().encode(next));
    }
    return placed.get(path);
  };
  return {
    ...tree,
    size: (path) => of(path)?.length ?? tree.size(path),
    read: (path) => of(path) ?? tree.read(path),
  };
}
