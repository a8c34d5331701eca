// meshes of a URDF that MuJoCo does not read, written beside a copy of it as OBJ
import { existsSync, mkdirSync } from "node:fs";
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

/**
 * The text of a copy with the meshes that collide read by Assimp, where MuJoCo said that it reads one of them not; undefined
 * where none is of a kind that is read so.
 * @throws CorralError missing-file, mesh-reader-missing, bad-mesh, output-not-written
 */
export async function withReadMeshes(text: string, said: string, copy: string): Promise<Mended | undefined> {
  if (!/(?:no decoder found|decoder failed) for mesh file/.test(said)) return undefined;
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
      if (!isForAssimp(name, NOTHING)) continue;
      throw new CorralError("missing-file", `the URDF names the file "${inLine(name)}", which cannot be read.`, {
        file: name,
      });
    }
    if (!isForAssimp(name, bytes)) continue;
    const obj = await meshAsObj(basename(path), bytes);
    if (written.size === 0 && existsSync(folder))
      throw new UsageError(`${folder} is there already. Choose another name, or move it.`);
    mkdirSync(folder, { recursive: true });
    // by what a file is called, without folder and ending, MuJoCo knows one mesh from another
    const others = [...names].filter((other) => other !== name && !written.has(other) && !isForAssimp(other, NOTHING));
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
  const many = written.size === 1 ? "a mesh that MuJoCo does not read is" : "meshes that MuJoCo does not read are";
  return { text: next, note: `${many} in ${basename(folder)}, as OBJ` };
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
