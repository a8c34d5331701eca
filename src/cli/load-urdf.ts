// a URDF as it is, or a copy that MuJoCo compiles
import { existsSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { CorralError } from "../core/errors.ts";
import { readText } from "../core/read-bytes.ts";
import { hostTree } from "../model/host-files.ts";
import { treePath } from "../model/model-file.ts";
import { loadModel, type Model } from "../model/model.ts";
import { movedUrdf } from "../model/urdf.ts";
import { collidingUrdf, mendUrdf, withoutEfforts, type Mended } from "../scaffold/mended-urdf.ts";
import { UsageError } from "./io.ts";
import { meshFolderOf, withReadMeshes } from "./read-meshes.ts";
import { writeOutput } from "./write-output.ts";

/** A URDF that compiles, where it is, and what was mended in a copy of it. */
export interface LoadedUrdf {
  readonly model: Model;
  readonly file: string;
  readonly mends: readonly string[];
  /** What was written: the copy, and a folder of its meshes. */
  readonly made: readonly string[];
}

const refusedByMujoco = (error: unknown): error is CorralError =>
  error instanceof CorralError && error.code === "model-compile";

/** What is seen may be in files that are missing, or that nothing here reads: then nothing collides. */
const unread = (error: unknown): undefined => {
  if (error instanceof UsageError || (error instanceof CorralError && error.code === "mesh-reader-missing"))
    throw error;
};

type Mend = (text: string) => Promise<Mended | undefined>;

/**
 * The model of a URDF. Where MuJoCo refuses what a small mend ends, or nothing collides of what `stands`, a copy with that is written.
 * @throws CorralError model-compile, MuJoCo's words on the URDF as it was where no mend helps, of the copy where meshes were converted; mesh-reader-missing, bad-mesh
 */
export async function loadUrdf(path: string, copy: string, stands = false): Promise<LoadedUrdf> {
  const isFile = /\.(urdf|xml)$/i.test(path) && existsSync(path);
  const colliding = () =>
    stands && isFile
      ? mendedCopy(path, copy, async (text) => collidingUrdf(text)).catch(unread)
      : Promise.resolve(undefined);
  let model: Model;
  try {
    model = await loadModel(path);
  } catch (error) {
    if (!refusedByMujoco(error) || !isFile) throw error;
    const mended = (await colliding()) ?? (await mendedCopy(path, copy, mendFor(error, copy)));
    if (mended === undefined) throw error;
    return mended;
  }
  return (await colliding()) ?? { model, file: path, mends: [], made: [] };
}

/** A URDF's copy whose joints are as strong as its robot needs, where what they say is too little. */
export async function strongerUrdf(urdf: LoadedUrdf, copy: string): Promise<LoadedUrdf> {
  // where the URDF that was given lies in the place of its copy, it is not ours to change
  if (!urdf.made.includes(copy))
    return (await mendedCopy(urdf.file, copy, async (text) => withoutEfforts(text))) ?? urdf;
  const { text, note } = withoutEfforts(readText(copy));
  writeOutput(copy, text);
  return { ...urdf, model: await loadModel(copy), mends: [...urdf.mends, note] };
}

/** What ends an error of MuJoCo's, in a copy. */
const mendFor =
  (error: CorralError, copy: string, isOwn = !existsSync(meshFolderOf(copy))): Mend =>
  async (text) =>
    mendUrdf(text, error.message) ?? (await withReadMeshes(text, error.message, copy, isOwn));

/** The model of a copy with a mend, and with those that MuJoCo asks for then; undefined where there is none. */
async function mendedCopy(path: string, copy: string, mend: Mend): Promise<LoadedUrdf | undefined> {
  const folder = treePath(dirname(copy));
  const own = [copy, meshFolderOf(copy)].filter((place) => !existsSync(place));
  const made = () => own.filter((place) => existsSync(place));
  const drop = () => made().forEach((place) => rmSync(place, { recursive: true, force: true }));
  let text = movedUrdf(readText(path), treePath(resolve(path)), folder, hostTree(new Map()));
  const mends: string[] = [];
  let refused: CorralError | undefined;
  try {
    for (let mended = await mend(text); mended !== undefined; mended = await mend(text)) {
      if (!own.includes(copy)) throw new UsageError(`${copy} is there already. Choose another name, or move it.`);
      text = mended.text;
      mends.push(mended.note);
      writeOutput(copy, text);
      try {
        return { model: await loadModel(copy), file: copy, mends, made: made() };
      } catch (error) {
        if (!refusedByMujoco(error)) throw error;
        mend = mendFor(error, copy, own.includes(meshFolderOf(copy)));
        refused = error;
      }
    }
    // of meshes that were converted MuJoCo's first words, which ask for that, say nothing more
    if (refused && made().includes(meshFolderOf(copy))) throw refused;
  } catch (error) {
    drop();
    throw error;
  }
  drop();
  return undefined;
}
