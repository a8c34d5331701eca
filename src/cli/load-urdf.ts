// a URDF as it is, or a copy that MuJoCo compiles
import { existsSync, readFileSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { CorralError } from "../core/errors.ts";
import { hostTree } from "../model/host-files.ts";
import { treePath } from "../model/model-file.ts";
import { loadModel, type Model } from "../model/model.ts";
import { movedUrdf } from "../model/urdf.ts";
import { mendUrdf } from "../scaffold/mended-urdf.ts";
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

/**
 * The model of a URDF. Where MuJoCo refuses what a small mend ends, a copy with that is written.
 * @throws CorralError model-compile, MuJoCo's words on the URDF as it was, where no mend helps
 */
export async function loadUrdf(path: string, copy: string): Promise<LoadedUrdf> {
  try {
    return { model: await loadModel(path), file: path, mends: [] };
  } catch (error) {
    if (!refusedByMujoco(error) || !/\.(urdf|xml)$/i.test(path) || !existsSync(path)) throw error;
    const model = await mendedCopy(path, copy, error);
    if (model === undefined) throw error;
    return model;
  }
}

async function mendedCopy(path: string, copy: string, refused: Error): Promise<LoadedUrdf | undefined> {
  const folder = treePath(dirname(copy));
  let text = movedUrdf(readFileSync(path, "utf8"), treePath(resolve(path)), folder, hostTree(new Map()));
  const mends: string[] = [];
  let mended = mendUrdf(text, refused.message);
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
