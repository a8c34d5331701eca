// a copy of an MJCF whose base floats by a free joint, written beside a task and compared with the MJCF that was given
import { existsSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { CorralError } from "../core/errors.ts";
import { posix } from "../core/path.ts";
import { whyThrown } from "../core/returned.ts";
import { treePath } from "../model/model-file.ts";
import { describe, loadModel, type Model } from "../model/model.ts";
import type { SlidingBase } from "../scaffold/feet.ts";
import { freedMjcf } from "../scaffold/freed-mjcf.ts";
import { UsageError } from "./io.ts";
import { writeOutput } from "./write-output.ts";

const refused = (model: Model, { body }: SlidingBase, why: string, cause?: unknown): CorralError =>
  new CorralError(
    "no-free-base",
    `${describe(model, "body", body)} floats by slides, and a copy of the MJCF with <freejoint/> in their place ${why}. Put it there yourself, or take --kind reach where it is mounted.`,
    {},
    { cause },
  );

/** Whether two models are alike but for the joints of a base. */
const areAlike = (model: Model, copy: Model): boolean =>
  (["nbody", "ngeom", "nsite", "nv", "nu", "neq", "ntendon", "nkey"] as const).every((n) => model[n] === copy[n]) &&
  (["body_mass", "body_inertia", "body_pos", "body_quat"] as const).every((name) =>
    model[name].every((x, i) => Math.abs(x - copy[name][i]) <= 1e-9 * Math.max(1, Math.abs(x))),
  );

/**
 * Writes the copy of an MJCF, and says what is not as it was.
 * @throws CorralError no-free-base where the joints are not found, or the copy does not compile or is another robot
 */
export async function writeFreeBase(
  path: string,
  copy: string,
  model: Model,
  base: SlidingBase,
): Promise<readonly string[]> {
  if (existsSync(copy)) throw new UsageError(`${copy} is there already. Choose another name, or move it.`);
  const [from, to] = [path, copy].map((file) => `/${treePath(dirname(resolve(file)))}`);
  const freed = await freedMjcf(model, base, posix.relative(to, from) || ".");
  if (freed === undefined) throw refused(model, base, "cannot be made, as they are not in its text");
  try {
    writeOutput(copy, freed.text);
    const made = await loadModel(copy).catch((error: unknown) => {
      throw refused(model, base, `does not compile: ${whyThrown(error).split("\n")[0]}`, error);
    });
    if (!areAlike(model, made)) throw refused(model, base, "is another robot");
  } catch (error) {
    rmSync(copy, { force: true });
    throw error;
  }
  return freed.notes;
}
