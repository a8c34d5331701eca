// compiled models of earlier processes, which spare a process MuJoCo's start: one file a model in the cache folder, found
// by the bytes of its XML. Reading and writing never fail a run: what cannot be read, or was made from other files or by
// another program, is not there.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Deserializer, Serializer } from "node:v8";
import { cacheDir } from "../core/cache-dir.ts";
import { writeCached } from "../core/cached-file.ts";
import { corralVersion } from "../core/version.ts";
import { hostTree, type FileTree } from "./files.ts";
import type { Model } from "./model-data.ts";

/** The most models that are kept, and bytes of one. */
const MOST = 64;
const MOST_BYTES = 16 << 20;

const digest = (...parts: readonly (string | Uint8Array)[]): string => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(`${part.length} `).update(part);
  return hash.digest("hex");
};

/** The program that makes models: sources of this folder, and MuJoCo's. */
function programKey(): string {
  const own = dirname(fileURLToPath(import.meta.url));
  const sources = readdirSync(own, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const { size, mtimeMs } = statSync(createRequire(import.meta.url).resolve("@mujoco/mujoco/mujoco.wasm"));
  const facts = [corralVersion(), process.versions.v8, String(size), String(mtimeMs)];
  return digest(...facts, ...sources.map((file) => readFileSync(file)));
}

/** What MuJoCo asked of the file system: of each file its digest, "" if there is none; of each path whether it is a folder. */
interface Answers {
  readonly files: Map<string, string>;
  readonly folders: Map<string, boolean>;
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
    const file = join(folder, digest(programKey(), where, ...parts).slice(0, 40));
    return { file, answers: { files: new Map(), folders: new Map() } };
  } catch {
    return undefined;
  }
}

/** A tree that keeps what is asked of it. */
export function watched(tree: FileTree, { answers }: ModelKey): FileTree {
  return {
    size(path) {
      const size = tree.size(path);
      if (size === undefined) answers.files.set(path, "");
      return size;
    },
    read(path) {
      const bytes = tree.read(path);
      if (bytes && answers.files.has(path)) return bytes;
      answers.files.set(path, bytes ? digest(bytes) : "");
      return bytes;
    },
    isDirectory(path) {
      const is = tree.isDirectory(path);
      answers.folders.set(path, is);
      return is;
    },
  };
}

/** Whether this machine's files still answer as they did. */
function holds({ files, folders }: Answers): boolean {
  const tree = hostTree(new Map());
  for (const [path, is] of folders) if (tree.isDirectory(path) !== is) return false;
  for (const [path, content] of files) {
    const bytes = tree.read(path);
    if ((bytes ? digest(bytes) : "") !== content) return false;
  }
  return true;
}

/** A model as it was compiled, if it was and nothing has changed since. */
export function readKept({ file }: ModelKey): Model | undefined {
  try {
    const bytes = readFileSync(file);
    const body = bytes.subarray(64);
    if (digest(body) !== bytes.toString("latin1", 0, 64)) return undefined;
    const reader = new Deserializer(body);
    reader.readHeader();
    const { answers, model } = reader.readValue() as { answers: Answers; model: Model };
    return holds(answers) ? model : undefined;
  } catch {
    return undefined;
  }
}

/** Keeps a model. */
export function keepModel({ file, answers }: ModelKey, model: Model): void {
  try {
    // not v8.serialize, whose arrays share one buffer when they are read
    const writer = new Serializer();
    writer.writeHeader();
    writer.writeValue({ answers, model });
    const body = writer.releaseBuffer();
    if (body.length > MOST_BYTES) return;
    writeCached(file, Buffer.concat([Buffer.from(digest(body), "latin1"), body]));
    const folder = dirname(file);
    const others = readdirSync(folder).map((name) => join(folder, name));
    const newest = others.map((path) => ({ path, at: statSync(path).mtimeMs })).sort((a, b) => b.at - a.at);
    for (const { path } of newest.slice(MOST)) rmSync(path, { force: true });
  } catch {
    // the next process compiles it again
  }
}
