// a URDF as it is, or a copy that MuJoCo compiles
import { existsSync, readFileSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { CorralError } from "../core/errors.ts";
import { hostTree } from "../model/host-files.ts";
import { treePath } from "../model/model-file.ts";
import { loadModel, type Model } from "../model/model.ts";
import { movedUrdf } from "../model/urdf.ts";
import { collidingUrdf, mendUrdf } from "../scaffold/mended-urdf.ts";
import { UsageError } from "./io.ts";
import { writeOutput } from "./write-output.ts";

/** A URDF that compiles, where it is, and what was mended in a copy of it. */
export interface LoadedUrdf {
  readonly model: Model;
  readonly file: string;
  readonly mends: readonly string[];
}

const refusedByMujoco = (error: unknown): error is CorralError =>
  error instanceof CorralError && error.code === "model-compile";

/** What is seen may be in files that are missing, or that MuJoCo cannot read: then nothing collides. */
const unread = (error: unknown): undefined => {
  if (error instanceof UsageError) throw error;
};

/**
 * The model of a URDF. Where MuJoCo refuses what a small mend ends, or nothing collides of what `stands`, a copy with that is written.
 * @throws CorralError model-compile, MuJoCo's words on the URDF as it was, where no mend helps
 */
export async function loadUrdf(path: string, copy: string, stands = false): Promise<LoadedUrdf> {
  const isFile = /\.(urdf|xml)$/i.test(path) && existsSync(path);
  const colliding = () =>
    stands && isFile ? mendedCopy(path, copy, collidingUrdf).catch(unread) : Promise.resolve(undefined);
  let model: Model;
  try {
    model = await loadModel(path);
  } catch (error) {
    if (!refusedByMujoco(error) || !isFile) throw error;
    const mended = (await colliding()) ?? (await mendedCopy(path, copy, (text) => mendUrdf(text, error.message)));
    if (mended === undefined) throw error;
    return mended;
  }
  return (await colliding()) ?? { model, file: path, mends: [] };
}

/** The model of a copy with a mend, and with those that MuJoCo asks for then; undefined where there is none. */
async function mendedCopy(path: string, copy: string, mend: typeof collidingUrdf): Promise<LoadedUrdf | undefined> {
  const folder = treePath(dirname(copy));
  let text = movedUrdf(readFileSync(path, "utf8"), treePath(resolve(path)), folder, hostTree(new Map()));
  const mends: string[] = [];
  let mended = mend(text);
  while (mended !== undefined) {
    if (mends.length === 0 && existsSync(copy))
      throw new UsageError(`${copy} is there already. Choose another name, or move it.`);
    text = mended.text;
    mends.push(mended.note);
    try {
      writeOutput(copy, text);
      return { model: await loadModel(copy), file: copy, mends };
    } catch (error) {
      rmSync(copy, { force: true });
      if (!refusedByMujoco(error)) throw error;
      mended = mendUrdf(text, error.message);
    }
  }
  return undefined;
}
