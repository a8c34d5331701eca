// has MuJoCo compile a source or a file of a tree, and says what its refusals mean; pages load it with MuJoCo
import { inLine } from "../core/show.ts";
import { CorralError } from "../core/errors.ts";
import { isAbsolute, posix } from "../core/path.ts";
import { memoryTree, withTree, type FileTree } from "./files.ts";
import { LFS_REMEDY, pointersOf } from "./lfs-pointer.ts";
import { markupRemedy } from "./refused-markup.ts";
import { missingFiles } from "./missing.ts";
import { dropMuJoCo, listen, mujocoMessage, type MainModule, type MjModel, type MjSpec } from "./mujoco.ts";
import { caseRemedy, compileRemedy, formatRemedy } from "./remedies.ts";
import type { ModelSource } from "./source.ts";
import { unplacedMeshes, withMeshPaths, withPlacedUrdfs } from "./urdf.ts";
import { elements, leaveOutVisuals, type LeftOut } from "./visuals.ts";

/** Replaces MuJoCo's place for our files by what the user wrote; those of this machine are told from the model's folder on, and up. */
function withoutRoot(text: string, root: string, folder = ""): string {
  const [head, ...rest] = text.replaceAll(`${root}/${folder}`, "").split(`${root}/`);
  if (folder === "") return [head, ...rest].join("");
  // up to the quote, or to what else ends it
  const up = (part: string) => part.replace(/^[^'"\n]*/, (path) => posix.relative(`/${folder}`, `/${path}`));
  return [head, ...rest.map(up)].join("");
}

/** The file that MuJoCo did not find. */
const missingIn = (text: string): string | undefined => /Error opening file '([^]*?)'(?=\n|$)/.exec(text)?.[1];

/** Whether a module is of no more use. One that has met many models may call functions that are not there. */
const isCrash = (error: unknown): boolean =>
  error instanceof WebAssembly.RuntimeError || error instanceof TypeError || error instanceof RangeError;

/** What MuJoCo and its build say where memory is short. */
const NO_MEMORY = /Could not allocate memory|bad_alloc|Cannot enlarge memory/;

/** What a failed compilation means to the user. `files`: those that are missing. */
function compileError({ error, text: said, pointers }: Failure, given: Compilation, files: readonly string[]) {
  const { name, tree, file, xml, folder = "" } = given;
  const raw = missingIn(said);
  const text = raw === undefined ? said : said.replaceAll(raw, inLine(raw));
  const details = { model: name, mujoco: text };
  const [missing, ...more] = files;
  if (missing !== undefined) {
    const remedy = missing.startsWith("package:")
      ? "Packages are looked for in and below the folders above the model, and in ROS_PACKAGE_PATH and AMENT_PREFIX_PATH."
      : isAbsolute(missing) || /^(?:[a-z]:[/\\]|file:)/i.test(missing)
        ? "Absolute paths are not followed: make it relative to the model."
        : "Put it there, or pass it in assets under that path.";
    const list =
      more.length === 0 ? "" : `\nThese cannot be read either:\n${more.map((file) => `  ${inLine(file)}`).join("\n")}`;
    return new CorralError(
      "missing-file",
      `${name} names the file "${inLine(missing)}", which cannot be read. ${remedy}${caseRemedy(missing, file, tree)}${formatRemedy(missing)}${list}\n${text}`,
      { ...details, file: missing, files },
      { cause: error },
    );
  }
  if (isCrash(error) || NO_MEMORY.test(text)) {
    return new CorralError(
      "mujoco-memory",
      `${name} is too large or nested too deeply for MuJoCo's WebAssembly build, which holds 2 GiB: ${text}. Make it smaller, or set <size memory="..."/> to what its contacts need.`,
      details,
      { cause: error },
    );
  }
  if (pointers.length > 0) {
    const path = pointers[0].startsWith(folder) ? pointers[0].slice(folder.length) : `/${pointers[0]}`;
    return new CorralError(
      "missing-file",
      `${name} names the file "${inLine(path)}", of which there is only a pointer of Git LFS. ${LFS_REMEDY}`,
      { ...details, file: path, files: pointers },
      { cause: error },
    );
  }
  const nameOf = (path: string) =>
    path === file ? name : path.startsWith(folder) ? path.slice(folder.length) : `/${path}`;
  const remedy = compileRemedy(text, xml) || markupRemedy(text, given, nameOf);
  return new CorralError("model-compile", `MuJoCo cannot compile ${name}: ${text}${remedy}`, details, { cause: error });
}

/** What MuJoCo made of a file. Delete the model. */
export interface Compiled {
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
  /** Actuators that get a range of their forces, whatever it is. */
  readonly forceLimited?: readonly number[];
  /** The folder of the file, where the tree is this machine's: errors name files from there on. */
  readonly folder?: string;
}

/**
 * Compiles a specification. Counts of contacts and rows that an old file asks for are MuJoCo's measure of its arena, and
 * may be too much for WebAssembly: then the arena is as large as without them.
 */
function compileSpec(mujoco: MainModule, spec: MjSpec, vfs: Parameters<MainModule["mj_compile"]>[1]): MjModel {
  const compile = (): MjModel => {
    const model = mujoco.mj_compile(spec, vfs) as MjModel | null;
    if (model === null) throw new Error("the model was not compiled");
    return model;
  };
  try {
    return compile();
  } catch (error) {
    const asked = spec.memory < 0 && (spec.njmax > 0 || spec.nconmax > 0);
    if (!asked || !mujocoMessage(error).includes("Could not allocate memory")) throw error;
    const { nconmax } = spec;
    spec.njmax = spec.nconmax = -1;
    const model = compile();
    model.nconmax = nconmax;
    return model;
  }
}

/** Flags of mjModel that say so are bools, which cannot be written once it is compiled. */
function limitForces(mujoco: MainModule, spec: MjSpec, actuators: readonly number[]): void {
  if (actuators.length === 0) return;
  for (const [i, element] of elements(mujoco, spec, "ACTUATOR").entries()) {
    if (!actuators.includes(i)) continue;
    const actuator = mujoco.mjs_asActuator(element)!;
    actuator.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE;
    const range = actuator.forcerange as Float64Array;
    if (!(range[0] < range[1])) range.set([-1, 1]);
  }
}

/** Compiles a file without what can only be looked at, unless that is asked for. Throws what MuJoCo throws. */
function compileReduced(mujoco: MainModule, root: string, { file, xml, visuals, forceLimited = [] }: Compilation) {
  const folder = `${root}/${file}`.replace(/[/][^/]*$/, "");
  const before = mujoco.FS.cwd();
  mujoco.FS.chdir(folder);
  const vfs = new mujoco.MjVFS();
  try {
    const spec = mujoco.parseXMLString(xml, vfs);
    try {
      const leftOut = visuals ? undefined : leaveOutVisuals(mujoco, spec);
      limitForces(mujoco, spec, forceLimited);
      // MuJoCo keeps meshes by their path: a relative one may be another model's
      spec.modelfiledir = `${folder}/`;
      return { model: compileSpec(mujoco, spec, vfs), leftOut };
    } finally {
      spec.delete();
    }
  } finally {
    mujoco.FS.chdir(before);
    vfs.delete();
  }
}

/** MuJoCo modules that have compiled a model: their memory, which never shrinks, is used. */
const used = new WeakSet<MainModule>();

/** Whether a module has compiled a model, or tried to. */
export const hasCompiled = (mujoco: MainModule): boolean => used.has(mujoco);

/**
 * Lets MuJoCo compile a file of a tree.
 * @throws CorralError missing-file for files that the XML names; mujoco-memory; model-compile with MuJoCo's own text.
 */
export function compileTree(mujoco: MainModule, given: Compilation): Compiled {
  const failed = (found: Failure, files: readonly string[] = []): CorralError => {
    // models that MuJoCo refuses leave its memory damaged now and then: another may be refused for no reason, or never end
    dropMuJoCo(mujoco);
    return compileError(found, given, files);
  };
  used.add(mujoco);
  const found = tryCompile(mujoco, given);
  if (!("error" in found)) return found;
  const first = missingIn(found.text);
  if (first === undefined) throw failed(found);

  // MuJoCo stops at the first: something in place of each file that is missing lets it go on to the next
  const files = missingFiles(given.tree, given.folder ?? "", (tree) => {
    const next = tryCompile(mujoco, { ...given, tree });
    if ("error" in next) return missingIn(next.text);
    next.model.delete();
    return undefined;
  });
  // of names with a scheme nothing stands for the first; where memory is nearly used up there may be no second try
  throw failed(found, [...new Set([...(files.length > 0 ? files : [first]), ...unplacedMeshes(given.xml)])]);
}

/** What MuJoCo threw, and its words as the user may read them. */
interface Failure {
  readonly error: unknown;
  readonly text: string;
  /** Files that were read, and are pointers of Git LFS. */
  readonly pointers: readonly string[];
}

/** Messages without what says how much of MuJoCo's own memory an attached model takes. */
function ofUse(messages: readonly string[]): string[] {
  return messages.flatMap((message) => {
    const [first, ...rest] = message.split("\n");
    const others = rest.filter((line) => !/^(njmax|nconmax|nstack|memory): parent has /.test(line));
    const isOfSizes = first.startsWith("MuJoCo Warning: Attach conflict") && rest.length > 0;
    return isOfSizes && others.length === 0 ? [] : [[first, ...others].join("\n")];
  });
}

function tryCompile(mujoco: MainModule, given: Compilation): Compiled | Failure {
  const { file, visuals = false, folder } = given;
  const pointers: string[] = [];
  return withTree(mujoco, pointersOf(given.tree, pointers), (root) => {
    const own = (text: string) => withoutRoot(text, root, folder);
    const [first, second]: [string[], string[]] = [[], []];
    try {
      const reduce = () => {
        // a file as it is has the ranges of forces that it has
        if (given.forceLimited?.length) return compileReduced(mujoco, root, given);
        return visuals ? undefined : reducedOrNone(mujoco, root, given);
      };
      const { result: reduced } = listen(reduce, first);
      if (reduced) return { ...reduced, messages: ofUse(first).map(own) };
      const whole = () => mujoco.MjModel.from_xml_path(`${root}/${file}`) as MjModel | null;
      const { result: model } = listen(whole, second);
      if (model === null) throw new Error(second.join("\n") || "the model was not compiled");
      return { model, messages: ofUse(second).map(own) };
    } catch (error) {
      // where there is no memory, files cannot be read and hulls are not made: what is said of them is of no use
      const short = [...first, ...second].find((text) => NO_MEMORY.test(text));
      return { error, text: short ?? own(mujocoMessage(error)), pointers };
    }
  });
}

/** The same, or undefined if MuJoCo refuses: its message about the whole file is then what the user sees. */
function reducedOrNone(mujoco: MainModule, root: string, given: Compilation) {
  try {
    return compileReduced(mujoco, root, given);
  } catch (error) {
    if (isCrash(error)) throw error;
    return undefined;
  }
}

/** Compiles a source. `forceLimited`: actuators that get a range of their forces, whatever it is. Delete the returned model. */
export function compileSource(
  mujoco: MainModule,
  source: ModelSource,
  { name = source.file, forceLimited = [] }: { readonly name?: string; readonly forceLimited?: readonly number[] } = {},
): Compiled {
  const { file, visuals } = source;
  const xml = withMeshPaths(source.xml, file, memoryTree(source.assets));
  const assets = { ...source.assets, [file]: new TextEncoder().encode(xml) };
  return compileTree(mujoco, { tree: withPlacedUrdfs(memoryTree(assets)), file, name, xml, visuals, forceLimited });
}
