// compiled models of earlier processes, which spare a process MuJoCo's start: one file a model in the cache folder, found
// by the bytes of its XML. Reading and writing never fail a run: what cannot be read, or was made from other files or by
// another program, is not there.
import { statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheDir } from "../core/cache-dir.ts";
import { digestOf, cacheValue, readCachedValue, sourcesIn } from "../core/cached-values.ts";
import { corralVersion } from "../core/version.ts";
import type { FileTree } from "./files.ts";
import { hostTree } from "./host-files.ts";
import type { Model } from "./model-data.ts";
import { packagePaths } from "./urdf.ts";

/** Robots of fine meshes, whose compiling takes seconds, are tens of megabytes. */
const LIMITS = { most: 64, mostBytes: 64 << 20, mostInAll: 512 << 20 };

let program: string | undefined;

/** The program that makes models: sources of this folder, and MuJoCo's. */
const programKey = (): string => (program ??= digestOfProgram());

function digestOfProgram(): string {
  const sources = sourcesIn(dirname(fileURLToPath(import.meta.url)));
  const { size, mtimeMs } = statSync(createRequire(import.meta.url).resolve("@mujoco/mujoco/mujoco.wasm"));
  const facts = [corralVersion(), process.versions.v8, String(size), String(mtimeMs)];
  return digestOf(...facts, ...sources);
}

/**
 * What was asked of the file system: of each file its digest, "" if there is none; of each path whether it is a folder; of folders
 * that packages were looked for in, a digest of the folders in them.
 */
interface Answers {
  readonly files: Map<string, string>;
  readonly folders: Map<string, boolean>;
  readonly listed: Map<string, string>;
}

/** What a model was asked for by: the path of its XML on this machine, or the text with its assets. */
export interface ModelKey {
  readonly file: string;
  readonly answers: Answers;
}

/** The place of a model; undefined if none are kept. */
export function modelKey(where: string, contents: Readonly<Record<string, Uint8Array | string>>): ModelKey | undefined {
  try {
    const given = process.env.CORRAL_MODEL_CACHE;
    if (given === "off") return undefined;
    const folder = given && isAbsolute(given) ? given : join(cacheDir(), "models");
    const parts = Object.entries(contents).flatMap(([name, content]) => [name, content]);
    const file = join(folder, digestOf(programKey(), ...packagePaths(), where, ...parts).slice(0, 40));
    return { file, answers: { files: new Map(), folders: new Map(), listed: new Map() } };
  } catch {
    return undefined;
  }
}

/** A digest of the folders in one, in any order. */
const listing = (tree: FileTree, path: string): string => digestOf(...[...(tree.folders?.(path) ?? [])].sort());

/** A tree that keeps what is asked of it. */
export function watched(tree: FileTree, { answers }: ModelKey): FileTree {
  return {
    ...tree,
    size(path) {
      const size = tree.size(path);
      if (size === undefined) answers.files.set(path, "");
      return size;
    },
    read(path) {
      const bytes = tree.read(path);
      if (bytes && answers.files.has(path)) return bytes;
      answers.files.set(path, bytes ? digestOf(bytes) : "");
      return bytes;
    },
    isDirectory(path) {
      const is = tree.isDirectory(path);
      answers.folders.set(path, is);
      return is;
    },
    folders(path) {
      answers.listed.set(path, listing(tree, path));
      return tree.folders?.(path) ?? [];
    },
  };
}

/** Whether this machine's files still answer as they did. */
function holds({ files, folders, listed }: Answers): boolean {
  const tree = hostTree(new Map());
  for (const [path, names] of listed) if (listing(tree, path) !== names) return false;
  for (const [path, is] of folders) if (tree.isDirectory(path) !== is) return false;
  for (const [path, content] of files) {
    const bytes = tree.read(path);
    if ((bytes ? digestOf(bytes) : "") !== content) return false;
  }
  return true;
}

/** A model as it was compiled, if it was and nothing has changed since. */
export function readCachedModel({ file }: ModelKey): Model | undefined {
  const kept = readCachedValue(file) as { answers: Answers; model: Model } | undefined;
  try {
    return kept && holds(kept.answers) ? kept.model : undefined;
  } catch {
    return undefined;
  }
}

/** Keeps a model. */
export const cacheModel = ({ file, answers }: ModelKey, model: Model): void =>
  cacheValue(file, { answers, model }, LIMITS);
