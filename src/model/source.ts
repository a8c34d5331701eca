// where a model comes from: its XML and every file that it names, so that MuJoCo can compile it again anywhere
import { readFileSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { CorralError } from "../core/errors.ts";
import { assertCopies } from "./copies.ts";
import { hostTree, memoryTree, statOf, withTree, type FileTree } from "./files.ts";
import { dropMuJoCo, listen, mujocoMessage, type MainModule, type MjModel } from "./mujoco.ts";
import { leaveOutVisuals, type LeftOut } from "./visuals.ts";

/** Everything MuJoCo needs to compile a model. Plain data: it can be cloned, stored and sent to a worker. */
export interface ModelSource {
  readonly xml: string;
  /** Path of the XML relative to the root of the assets. */
  readonly file: string;
  /** Includes, meshes and other files, by path relative to the same root. */
  readonly assets: Readonly<Record<string, Uint8Array>>;
  /** Whether what can only be looked at is compiled too. */
  readonly visuals?: true;
}

/** Replaces MuJoCo's place for our files by what the user wrote. */
const withoutRoot = (text: string, root: string) => text.replaceAll(`${root}/`, "");

/** What a failed compilation means to the user. `text` is MuJoCo's own. */
function compileError(error: unknown, text: string, name: string): CorralError {
  const details = { model: name, mujoco: text };
  const missing = /Error opening file '([^']*)'/.exec(text)?.[1];
  if (missing !== undefined) {
    const remedy = isAbsolute(missing)
      ? "Absolute paths are not followed: make it relative to the model."
      : "Put it there, or pass it in assets under that path.";
    return new CorralError(
      "missing-file",
      `${name} names the file "${missing}", which cannot be read. ${remedy}\n${text}`,
      { ...details, file: missing },
      { cause: error },
    );
  }
  const crashed = error instanceof WebAssembly.RuntimeError;
  if (crashed || text.includes("Could not allocate memory")) {
    return new CorralError(
      "mujoco-memory",
      `${name} is too large or nested too deeply for MuJoCo's WebAssembly build, which holds 2 GiB: ${text}. Make it smaller, or set <size memory="..."/> to what its contacts need.`,
      details,
      { cause: error },
    );
  }
  return new CorralError("model-compile", `MuJoCo cannot compile ${name}: ${text}`, details, { cause: error });
}

/** What MuJoCo made of a file. Delete the model. */
interface Compiled {
  readonly model: MjModel;
  /** What it printed. */
  readonly messages: readonly string[];
  /** What was left out; undefined if the whole file was compiled. */
  readonly leftOut?: LeftOut;
}

/** A file that MuJoCo is to compile, in a tree. */
interface Compilation {
  readonly tree: FileTree;
  readonly file: string;
  /** As the user knows it. */
  readonly name: string;
  readonly xml: string;
  readonly visuals?: boolean;
}

/** Compiles a file without what can only be looked at. Throws what MuJoCo throws. */
function compileReduced(mujoco: MainModule, root: string, { file, xml }: Compilation) {
  const folder = `${root}/${file}`.replace(/[/][^/]*$/, "");
  const before = mujoco.FS.cwd();
  mujoco.FS.chdir(folder);
  const vfs = new mujoco.MjVFS();
  try {
    const spec = mujoco.parseXMLString(xml, vfs);
    try {
      const leftOut = leaveOutVisuals(mujoco, spec);
      // MuJoCo keeps meshes by their path: a relative one may be another model's
      spec.modelfiledir = `${folder}/`;
      return { model: mujoco.mj_compile(spec, vfs), leftOut };
    } finally {
      spec.delete();
    }
  } finally {
    mujoco.FS.chdir(before);
    vfs.delete();
  }
}

/**
 * Lets MuJoCo compile a file of a tree.
 * @throws CorralError missing-file for a file that the XML names; mujoco-memory; model-compile with MuJoCo's own text.
 */
function compileTree(mujoco: MainModule, given: Compilation): Compiled {
  const { tree, file, name, visuals = false } = given;
  return withTree(mujoco, tree, (root) => {
    try {
      const reduced = visuals ? undefined : listen(() => reducedOrNone(mujoco, root, given));
      if (reduced?.result) {
        const { model, leftOut } = reduced.result;
        const messages = reduced.messages.map((m) => withoutRoot(m, root));
        return { model, messages, leftOut };
      }
      const { result, messages } = listen<MjModel>(() => mujoco.MjModel.from_xml_path(`${root}/${file}`));
      return { model: result, messages: messages.map((m) => withoutRoot(m, root)) };
    } catch (error) {
      const text = withoutRoot(mujocoMessage(error), root);
      const refusal = compileError(error, text, name);
      if (refusal.code === "mujoco-memory") dropMuJoCo(mujoco);
      throw refusal;
    }
  });
}

/** The same, or undefined if MuJoCo refuses: what it says of the whole file is what the user is told. */
function reducedOrNone(mujoco: MainModule, root: string, given: Compilation) {
  try {
    return compileReduced(mujoco, root, given);
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) throw error;
    return undefined;
  }
}

/** Compiles a source. Delete the returned model. */
export function compileSource(mujoco: MainModule, source: ModelSource, name = source.file): Compiled {
  const { xml, file, visuals } = source;
  const assets = { ...source.assets, [file]: new TextEncoder().encode(xml) };
  return compileTree(mujoco, { tree: memoryTree(assets), file, name, xml, visuals });
}

/** Text of the XML, checked before MuJoCo sees it. */
function decode(bytes: Uint8Array, name: string): string {
  if (bytes.length === 0) {
    throw new CorralError("empty-file", `${name} is empty; a model needs at least <mujoco/>.`, { name });
  }
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new CorralError(
      "not-utf8",
      `${name} is not UTF-8 text. Pass MJCF or URDF as XML saved in UTF-8 (compiled .mjb files are not read).`,
      { name },
      { cause },
    );
  }
  if (text.includes("\0")) {
    throw new CorralError("not-utf8", `${name} holds NUL bytes, so it is no XML text.`, { name });
  }
  if (text.trim() === "") {
    throw new CorralError("empty-file", `${name} holds only white space; a model needs at least <mujoco/>.`, { name });
  }
  assertCopies(text, name);
  return text;
}

/** A source from an XML string and the files it names. */
export function sourceOfXml(
  xml: string,
  assets: Readonly<Record<string, Uint8Array | string>>,
  visuals = false,
): ModelSource {
  const text = decode(new TextEncoder().encode(xml), "the XML string");
  const encoded: Record<string, Uint8Array> = {};
  for (const [path, content] of Object.entries(assets)) {
    // "./a" and "a" are one file
    const plain = path.replace(/^(\.?\/)+/, "");
    encoded[plain] = typeof content === "string" ? new TextEncoder().encode(content) : content.slice();
  }
  let file = "model.xml";
  while (Object.hasOwn(encoded, file)) file = `_${file}`;
  return { xml: text, file, assets: encoded, ...(visuals ? { visuals } : {}) };
}

/** Path with "/" and no leading one, as the trees want it. */
const treePath = (path: string) => path.replaceAll("\\", "/").replace(/^\/+/, "");

/** The deepest folder that holds all paths, with its final "/". */
function commonFolder(paths: readonly string[]): string {
  const split = paths.map((p) => p.split("/").slice(0, -1));
  const first = split[0] ?? [];
  let depth = 0;
  while (depth < first.length && split.every((s) => s[depth] === first[depth])) depth++;
  return first
    .slice(0, depth)
    .map((s) => `${s}/`)
    .join("");
}

/** The XML of a file of this machine, before MuJoCo sees it. */
export interface ModelFile {
  /** As the user wrote it. */
  readonly name: string;
  readonly host: string;
  readonly bytes: Uint8Array;
  readonly xml: string;
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
  if (!stat) {
    throw new CorralError(
      "missing-file",
      `there is no file "${name.slice(0, 200)}". Pass the path of an MJCF file or its XML text, which starts with "<".`,
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
  return { name, host, bytes, xml: decode(bytes, name) };
}

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
  const { name, host, bytes, xml } = given;
  const file = treePath(host);
  const seen = new Map([[file, bytes]]);
  const compiled = compileTree(mujoco, { tree: watch(hostTree(seen)), file, name, xml, visuals });

  const folder = commonFolder([...seen.keys()]);
  const assets: Record<string, Uint8Array> = {};
  for (const [at, content] of seen) if (at !== file) assets[at.slice(folder.length)] = content;
  const source = { xml, file: file.slice(folder.length), assets, ...(visuals ? { visuals } : {}) };
  return { ...compiled, source };
}
