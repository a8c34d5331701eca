// what a command shows in a page
import "../../envs/index.ts";
import { CorralError } from "../core/errors.ts";
import { makeVec, type NamedOptions } from "../env/make.ts";
import { loadTaskModel } from "../env/task/load.ts";
import { Stage } from "../render/poses.ts";
import { isRecordingPath, recordedModel } from "../render/recording.ts";
import { isBundlePath } from "../record/sealed.ts";
import { readBundle } from "../record/read-bundle.ts";
import { isUpdateBundle } from "../runs/update-bundle.ts";
import { CrashSubject } from "../view/crash.ts";
import { LiveSubject } from "../view/live.ts";
import { RecordedSubject } from "../view/recorded.ts";
import type { Subject } from "../view/session.ts";
import { integerOption, UsageError } from "./io.ts";
import { actingOf } from "./acting.ts";
import { recordingFor } from "./film.ts";
import { deviceOf, deviceOr } from "./target.ts";

/** Worlds that MuJoCo's float64 steps beside: a check takes about as long as a step of MuJoCo. */
const MONITORED = 4;

/** Values of the options that say what is shown. */
interface Values {
  readonly worlds?: string;
  /** Of a bundle, by its id. */
  readonly world?: string;
  readonly seed?: string;
  readonly actions?: string;
  /** The file of a policy that acts. */
  readonly policy?: string;
  readonly device?: string;
  readonly threads?: string;
  readonly adapter?: string;
}

/** What a page shows of a model, an environment, a task file, a run, a recording or a crash bundle. Throws `UsageError`, what these throw. */
export async function viewTarget(target: string, values: Values): Promise<Subject> {
  const worlds = integerOption("worlds", values.worlds, 1);
  const seed = integerOption("seed", values.seed, 0, 0);
  const { actions, policy } = values;
  if (actions !== undefined && !["random", "policy", "none"].includes(actions))
    throw new UsageError(`--actions is '${actions}': pass random, policy or none.`);
  if (policy !== undefined && (isRecordingPath(target) || isBundlePath(target)))
    throw new UsageError(`--policy is of worlds that are simulated; ${target} was recorded.`);
  if (isRecordingPath(target)) {
    const recording = recordingFor(target, worlds);
    const stage = await Stage.create(await recordedModel(recording, target));
    return new RecordedSubject(recording, stage, worlds);
  }

  if (isUpdateBundle(target))
    throw new UsageError(`${target} is a bundle of an update, in which no world moves: corral replay says what broke.`);
  if (isBundlePath(target)) {
    const id = values.world === undefined ? undefined : integerOption("world", values.world, 0, 0);
    const { device, adapter } = deviceOf(values);
    const where = { ...(device ? { device } : {}), ...(adapter === undefined ? {} : { adapter }) };
    return CrashSubject.create(readBundle(target), where, id);
  }

  const acting = await actingOf(target, policy);
  const { policyFor } = acting;
  if (actions === "policy" && !policyFor)
    throw new UsageError(`--actions is policy: ${target} has none. Pass the folder of a run, or --policy FILE.`);
  const task = await acting.task();
  const { device: named, ...where } = deviceOf(values);
  const device = deviceOr("wasm", named);
  const make = (more: object) => makeVec(task, { numEnvs: worlds, seed, device, ...more, ...where } as NamedOptions);
  const monitor = { worlds: Array.from({ length: Math.min(worlds, MONITORED) }, (_, i) => i), everySteps: 1 };
  const env = await make({ monitor }).catch((error: unknown) => {
    // MuJoCo has none of what a task says of motors: such worlds are shown without it
    if (error instanceof CorralError && error.details.option === "monitor") return make({});
    throw error;
  });
  try {
    const stage = await Stage.create(await loadTaskModel(task, { visuals: true }));
    const actor = (actions ?? (policyFor ? "policy" : "random")) as "policy" | "random" | "none";
    return await LiveSubject.create(env, stage, { seed, policy: policyFor?.(env), actor });
  } catch (error) {
    await env.close();
    throw error;
  }
}
