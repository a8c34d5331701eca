// a model in a file of this machine, or in a zip there
import { inLine } from "../core/show.ts";
import { readFileSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { CorralError } from "../core/errors.ts";
import { modelIn } from "./archive.ts";
import { compileTree, type Compiled } from "./compile-source.ts";
import { memoryTree, type FileTree } from "./files.ts";
import { hostTree, statOf } from "./host-files.ts";
import { isZip } from "./is-zip.ts";
import type { MainModule } from "./mujoco.ts";
import { sourceFolder } from "./source-folder.ts";
import { decode, type ModelSource } from "./source.ts";
import { withMeshPaths, withPlacedUrdfs } from "./urdf.ts";
import { unpackZip } from "./zip.ts";

/** Path with "/" and no leading one, as the trees want it. */
export const treePath = (path: string) => path.replaceAll("\\", "/").replace(/^\/+/, "");

/** The XML of a file of this machine, before MuJoCo sees it. */
export interface ModelFile {
  /** As the user wrote it. */
  readonly name: string;
  readonly host: string;
  readonly bytes: Uint8Array;
  readonly xml: string;
  /** The files of the archive that `host` is a path in. */
  readonly files?: Readonly<Record<string, Uint8Array>>;
}

/** @throws CorralError bad-option, missing-file, is-directory, unreadable-file, empty-file, not-utf8 */
export function readModelFile(path: string | URL): ModelFile {
  if (typeof path !== "string" && path.protocol !== "file:") {
    throw new CorralError("bad-option", `${path.href} is no file: URL. Load it and pass its XML text.`, {
      path: path.href,
    });
  }
  const host = typeof path === "string" ? (isAbsolute(path) ? path : resolve(path)) : fileURLToPath(path);
  const name = typeof path === "string" ? path : host;
  const stat = statOf(host);
  const within = stat ? undefined : archiveAbove(host);
  if (within) return modelOfZip(within.archive, name.slice(0, -within.path.length - 1), within.path);
  if (!stat) {
    throw new CorralError(
      "missing-file",
      `there is no file "${inLine(name.slice(0, 200))}". Pass the path of an MJCF file or its XML text, which starts with "<".`,
      { file: host },
    );
  }
  if (!stat.isFile()) {
    throw new CorralError("is-directory", `"${name}" is no file. Pass the XML file inside it.`, { file: host });
  }

  let bytes: Uint8Array;
  try {
    bytes = new Uint8Array(readFileSync(host));
  } catch (cause) {
    throw new CorralError("unreadable-file", `"${name}" cannot be read: ${String(cause)}`, { file: host }, { cause });
  }
  if (isZip(bytes)) return modelOfZip(host, name);
  return { name, host, bytes, xml: decode(bytes, name) };
}

/** The zip that a path leads into, and the path in it. */
function archiveAbove(host: string): { archive: string; path: string } | undefined {
  const parts = host.split(/[/\\]/);
  for (let n = parts.length - 1; n > 1; n--) {
    const archive = parts.slice(0, n).join("/");
    if (statOf(archive)?.isFile()) return { archive, path: parts.slice(n).join("/") };
  }
  return undefined;
}

/** A model in a zip: the file at a path in it, or the one that no other includes. */
function modelOfZip(archive: string, name: string, path?: string): ModelFile {
  const zip = new Uint8Array(readFileSync(archive));
  const missing = (what: string) =>
    new CorralError("missing-file", `there is no file "${inLine(path ?? "")}" ${what}.`, {
      file: `${archive}/${path}`,
    });
  if (!isZip(zip)) throw missing(`in "${name}", which is no zip`);
  const files = unpackZip(zip, name);
  const file = path ?? modelIn(files, name);
  if (!Object.hasOwn(files, file)) throw missing(`in "${name}"`);
  const full = `${name}/${file}`;
  return { name: full, host: file, bytes: zip, xml: decode(files[file], full), files };
}

/** A tree that keeps the files that are read of it. */
const noted = (tree: FileTree, seen: Map<string, Uint8Array>): FileTree => ({
  ...tree,
  read(path) {
    const bytes = tree.read(path);
    if (bytes) seen.set(path, bytes);
    return bytes;
  },
});

/**
 * Compiles a file of this machine, and returns the source made of exactly the files MuJoCo read. Delete the model.
 * `watch`: the files as MuJoCo sees them.
 * @throws CorralError missing-file for a file that the XML names; mujoco-memory, model-compile.
 */
export function compileFile(
  mujoco: MainModule,
  given: ModelFile,
  watch: (tree: FileTree) => FileTree,
  visuals = false,
): Compiled & { readonly source: ModelSource } {
  const { name, host, files } = given;
  const file = treePath(host);
  const seen = new Map<string, Uint8Array>();
  const tree = files ? noted(memoryTree(files), seen) : watch(hostTree(seen));
  const xml = withMeshPaths(given.xml, file, tree);
  seen.set(file, new TextEncoder().encode(xml));
  const placed = withPlacedUrdfs(tree);
  const own: FileTree = {
    ...tree,
    size: (path) => (path === file ? seen.get(file)!.length : placed.size(path)),
    read: (path) => (path === file ? seen.get(file) : placed.read(path)),
  };
  const compiled = compileTree(mujoco, {
    tree: own,
    file,
    name,
    xml,
    visuals,
    ...(files ? {} : { folder: file.replace(/[^/]*$/, "") }),
  });

  const read = new Map([...seen.keys()].map((at) => [at, own.read(at)!]));
  const folder = sourceFolder(read, file);
  const assets: Record<string, Uint8Array> = {};
  for (const [at, bytes] of read) if (at !== file) assets[at.slice(folder.length)] = bytes;
  const source = { xml, file: file.slice(folder.length), assets, ...(visuals ? { visuals } : {}) };
  return { ...compiled, source };
}
