// what else is missing of a model, where MuJoCo names the first file only
import { isAbsolute, posix } from "../core/path.ts";
import type { FileTree } from "./files.ts";
import { hasScheme } from "./urdf.ts";

const { basename, relative } = posix;

/** Files that are looked for, and the seconds that may take. */
const MOST = 64;
const MOST_SECONDS = 5;

const TETRAHEDRON = [
  [0, 0, 0],
  [1, 0, 0],
  [0, 1, 0],
  [0, 0, 1],
] as const;
const FACES = [
  [0, 2, 1],
  [0, 1, 3],
  [0, 3, 2],
  [1, 2, 3],
] as const;

function stl(): Uint8Array {
  const bytes = new Uint8Array(84 + 50 * FACES.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(80, FACES.length, true);
  FACES.forEach((face, f) =>
    face.forEach((v, c) =>
      TETRAHEDRON[v].forEach((x, k) => view.setFloat32(84 + 50 * f + 12 + 12 * c + 4 * k, x, true)),
    ),
  );
  return bytes;
}

const obj = (): string =>
  [...TETRAHEDRON.map((v) => `v ${v.join(" ")}`), ...FACES.map((f) => `f ${f.map((i) => i + 1).join(" ")}`)].join("\n");

/** Four grey pixels. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAAAAABX3VL4AAAADklEQVR4nGNgOMHAcAIAA+4BkfeVn0MAAAAASUVORK5CYII=";

const isPicture = (path: string): boolean => /\.png$/i.test(path);

/** Something that MuJoCo reads in place of a file; undefined for files that nothing can stand for. */
function placeholder(path: string): Uint8Array | undefined {
  const encode = (text: string) => new TextEncoder().encode(text);
  switch (/\.([a-z]+)$/i.exec(path)?.[1].toLowerCase() ?? "") {
    case "stl":
      return stl();
    case "obj":
      return encode(obj());
    case "png":
      return Uint8Array.from(atob(PNG), (c) => c.charCodeAt(0));
    case "xml":
      return encode("<mujocoinclude><asset/></mujocoinclude>");
    default:
      return undefined;
  }
}

/**
 * Files that are missing, from a folder of the tree on: where MuJoCo looks for each first, for pictures last. `compile` compiles from a tree,
 * and returns the file that MuJoCo says is missing, which is where it looked last.
 */
export function missingFiles(
  tree: FileTree,
  folder: string,
  compile: (tree: FileTree) => string | undefined,
): string[] {
  const stands = new Map<string, Uint8Array>();
  const found: string[] = [];
  const until = performance.now() + 1000 * MOST_SECONDS;
  let asked: string[] = [];
  const sizeOf = (path: string): number | undefined => stands.get(path)?.length ?? tree.size(path);
  const own: FileTree = {
    // in a folder that is not there nothing would be looked for
    isDirectory: (path) => tree.isDirectory(path) || (sizeOf(path) === undefined && !basename(path).includes(".")),
    size(path) {
      const size = sizeOf(path);
      if (size === undefined) asked.push(path);
      return size;
    },
    read: (path) => stands.get(path) ?? tree.read(path),
  };
  let missing = compile(own);
  for (let n = 0; missing !== undefined && n < MOST && performance.now() < until; n++) {
    const name = basename(missing);
    const at = asked.filter((path) => basename(path) === name);
    // pictures are looked for beside the model before they are where it says, and not read there
    const isNamed = isAbsolute(missing) || at.length === 0 || isPicture(missing);
    found.push(isNamed || hasScheme(missing) ? missing : folder === "" ? at[0] : relative(folder, at[0]));
    const before = stands.size;
    for (const path of at) {
      const content = placeholder(path);
      if (content) stands.set(path, content);
    }
    if (stands.size === before) break;
    asked = [];
    missing = compile(own);
  }
  return [...new Set(found)];
}
