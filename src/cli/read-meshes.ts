// meshes of a URDF that MuJoCo does not read, written beside a copy of it as OBJ
import { mkdirSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { CorralError } from "../core/errors.ts";
import { inLine } from "../core/show.ts";
import { hostTree } from "../model/host-files.ts";
import { treePath } from "../model/model-file.ts";
import { meshesOf, meshFolder, renamedMeshes } from "../model/urdf.ts";
import { isForAssimp, meshAsObj } from "../scaffold/mesh-as-obj.ts";
import type { Mended } from "../scaffold/mended-urdf.ts";
import { UsageError } from "./io.ts";
import { writeOutput } from "./write-output.ts";

/** Where the meshes of a copy are written. */
export const meshFolderOf = (copy: string): string => copy.replace(/\.urdf$/, "-meshes");

/** A name in a URDF as the path that MuJoCo reads. */
const pathIn = (name: string): string => name.replaceAll("\\", "/");

/** Which meshes are written as OBJ: by their names, and by what their files hold; and what that is of them, in words. */
interface Conversion {
  readonly isFor: (name: string, bytes: Uint8Array) => boolean;
  readonly toObj: (name: string, bytes: Uint8Array) => Promise<string>;
  readonly what: readonly [one: string, many: string];
}

const readByAssimp: Conversion = {
  isFor: isForAssimp,
  toObj: meshAsObj,
  what: ["a mesh that MuJoCo does not read is", "meshes that MuJoCo does not read are"],
};

/** An OBJ of several objects or groups, of which MuJoCo measures the volume of the first alone, as one. */
const joined = (stem: string): Conversion => ({
  isFor: (name, bytes) => /\.obj$/i.test(name) && stemOf(name) === stem && /^[ \t]*[og]\b/m.test(asText(bytes)),
  toObj: async (_, bytes) =>
    asText(bytes)
      .split(/[\r\n]+/)
      .map((line) => line.trim())
      .filter((line) => /^[vf]\s/.test(line))
      .map((line) => (line.startsWith("f") ? line.replaceAll(/\/\S*/g, "") : line))
      .join("\n"),
  what: ["a mesh of several objects is one", "meshes of several objects are one each"],
});

const asText = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** What writes meshes as MuJoCo takes them, by what it said of one. */
function conversionFor(said: string): Conversion | undefined {
  if (/(?:no decoder found|decoder failed) for mesh file/.test(said)) return readByAssimp;
  const [, small] = /mesh volume is too small: (.+?) ?\. Try/.exec(said) ?? [];
  return small === undefined ? undefined : joined(small);
}

/**
 * The text of a copy with meshes that collide written as OBJ: those that MuJoCo has no reader for, by Assimp, or one of several
 * objects, where MuJoCo said that it does not take it; undefined where none is of such a kind. `isOwn`: their folder is the copy's.
 * @throws CorralError missing-file, mesh-reader-missing, bad-mesh, output-not-written
 */
export async function withReadMeshes(
  text: string,
  said: string,
  copy: string,
  isOwn: boolean,
): Promise<Mended | undefined> {
  const conversion = conversionFor(said);
  if (conversion === undefined) return undefined;
  const folder = meshFolderOf(copy);
  const from = resolve(dirname(copy), pathIn(meshFolder(text)));
  const files = hostTree(new Map());
  const names = new Set(meshesOf(text));
  const written = new Map<string, string>();
  for (const name of names) {
    const path = pathIn(name);
    const bytes = files.read(treePath(resolve(from, path)));
    if (bytes === undefined) {
      // MuJoCo tells of its kind alone
      if (!conversion.isFor(name, NOTHING)) continue;
      throw new CorralError("missing-file", `the URDF names the file "${inLine(name)}", which cannot be read.`, {
        file: name,
      });
    }
    if (!conversion.isFor(name, bytes)) continue;
    const obj = await conversion.toObj(basename(path), bytes);
    if (!isOwn) throw new UsageError(`${folder} is there already. Choose another name, or move it.`);
    mkdirSync(folder, { recursive: true });
    // by what a file is called, without folder and ending, MuJoCo knows one mesh from another
    const others = [...names].filter(
      (other) => other !== name && !written.has(other) && !conversion.isFor(other, NOTHING),
    );
    const file = unused(stemOf(name), [...written.values(), ...others].map(stemOf));
    writeOutput(join(folder, file), obj);
    written.set(name, file);
  }
  if (written.size === 0) return undefined;
  const inFolder = relative(from, folder).replaceAll("\\", "/");
  const next = renamedMeshes(text, (name) => {
    const file = written.get(name);
    return file === undefined ? name : `${inFolder}/${file}`;
  });
  return { text: next, note: `${conversion.what[written.size === 1 ? 0 : 1]} in ${basename(folder)}, as OBJ` };
}

const NOTHING = new Uint8Array();

const stemOf = (name: string): string => basename(pathIn(name)).replace(/\.[^.]*$/, "");

/** The name of an OBJ, by a stem that is not among others. */
function unused(stem: string, taken: readonly string[]): string {
  for (let n = 1; ; n++) {
    const name = n === 1 ? stem : `${stem}-${n}`;
    if (!taken.some((other) => other.toLowerCase() === name.toLowerCase())) return `${name}.obj`;
  }
}
