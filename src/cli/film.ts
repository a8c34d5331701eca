// what `corral render` draws: where everything is, picture by picture, and from where it is seen
import { countOf } from "../core/units.ts";
import { alternatives } from "../core/names.ts";
import { inLine } from "../core/show.ts";
import { makeVec, type NamedOptions } from "../env/make.ts";
import { loadTaskModel } from "../env/task/load.ts";
import type { Model } from "../model/model.ts";
import type { View } from "../render/camera.ts";
import { readRecording, recordedModel, recordedPoses, type EpisodeRecording } from "../render/recording.ts";
import { Stage, type WorldPose } from "../render/poses.ts";
import type { Scene } from "../render/scene.ts";
import type { Marks, Poses, Shown } from "../render/show.ts";
import { poses, type Actor } from "../runs/poses.ts";
import { isModelPath } from "../sizing/plan.ts";
import { Looking } from "../view/looking.ts";
import type { Subject } from "../view/session.ts";
import { actingOf } from "./acting.ts";
import { UsageError } from "./io.ts";

export interface FilmOptions {
  /** Control steps; the last of them is what a picture that stands still shows. */
  readonly steps: number | undefined;
  readonly moves: boolean;
  /** Control steps from one picture to the next. */
  readonly every: number;
  readonly worlds: number;
  readonly seed: number;
  readonly actions: string | undefined;
  /** The file of a policy that acts. */
  readonly policy: string | undefined;
  /** Of the model; undefined for the free one. */
  readonly camera: string | undefined;
  readonly shown: Shown;
  /** Width of a picture by its height. */
  readonly aspect: number;
  /** Where worlds step. */
  readonly where: object;
}

/** One picture. */
export interface Shot {
  readonly poses: Poses;
  readonly view: View;
  /** Half of what is shown (m). */
  readonly reach: number;
  readonly marks: Marks;
}

/** Pictures control step by control step, from the start. */
export interface Film extends AsyncDisposable {
  readonly scene: Scene;
  /** Of what moves in one world (m). */
  readonly radius: number;
  /** Instances that a picture may have. */
  readonly capacity: number;
  readonly worlds: number;
  readonly steps: number;
  /** Seconds of a control step. */
  readonly dt: number;
  readonly shots: AsyncIterable<Shot>;
}

/** Whether a picture shows a control step, of which `last` is the last. */
const isTaken = ({ moves, every }: FilmOptions, step: number, last: number): boolean =>
  moves ? step % every === 0 : step === last;

/** A recording that has an episode for each of `worlds`. Throws `UsageError`, what `readRecording` throws. */
export function recordingFor(path: string, worlds: number): EpisodeRecording {
  const recording = readRecording(path);
  const { episodes } = recording;
  if (worlds > episodes)
    throw new UsageError(
      `--worlds is ${worlds}; ${path} holds ${countOf(episodes, "episode")}: pass so many or fewer.`,
    );
  return recording;
}

/** Episodes of a recording. Throws `UsageError`, what `readRecording` and `recordedModel` throw. */
export async function recordedFilm(path: string, options: FilmOptions): Promise<Film> {
  const { steps, worlds } = options;
  assertRecorded(options, "a recording");
  const recording = recordingFor(path, worlds);
  const model = await recordedModel(recording, path);
  const { frames, about } = recording;
  const last = Math.min(steps ?? Infinity, Math.max(...recording.lengths.slice(0, worlds)) - 1, frames - 1);
  const shows = function* () {
    for (let t = 0; t <= last; t++) yield recordedPoses(recording, t, worlds);
  };
  return staged(model, shows(), { ...options, steps: last, dt: about.control_dt }, async () => {});
}

/** A model or an environment, or those of a run or of a policy, which acts. Throws `UsageError`, what `makeVec` throws. */
export async function playedFilm(target: string, options: FilmOptions): Promise<Film> {
  const { worlds, seed, moves, actions, where } = options;
  if (actions !== undefined && actions !== "random" && actions !== "none")
    throw new UsageError(`--actions is '${actions}': pass random or none.`);
  const steps = options.steps ?? (moves ? 100 : 0);
  const acting = await actingOf(target, options.policy);
  const task = await acting.task();
  // a model that only stands still need not be one that is simulated
  const still = steps === 0 && isModelPath(target) && !acting.policyFor;
  const env = still ? undefined : await makeVec(task, { numEnvs: worlds, seed, ...where } as NamedOptions);
  const close = async () => env?.close();
  try {
    const model = await loadTaskModel(task, { visuals: true });
    const actor: Actor = actions ?? (env && acting.policyFor?.(env)) ?? "random";
    const shows = env ? poses(env, actor, seed, steps) : [[...Array(worlds)].map(() => ({ qpos: model.qpos0 }))];
    const dt = env ? env.frameSkip * env.model.opt.timestep : 0;
    return await staged(model, shows, { ...options, steps, dt }, close);
  } catch (error) {
    await close();
    throw error;
  }
}

/** The recorded control steps of a crash, with MuJoCo's ghost, as the page of `corral view` shows them; it becomes the owner. */
export function crashFilm(subject: Subject, options: FilmOptions): Film {
  const { steps, moves, worlds, camera } = options;
  assertRecorded(options, "a crash bundle");
  if (worlds !== 1) throw new UsageError(`--worlds is ${worlds}; a crash is drawn of one world: --world ID names it.`);
  const { facts } = subject;
  const { scene, radius, reach, bad, ghosts = [], places = [], dt } = facts;
  const looking = new Looking(facts);
  const names = scene.cameras.map(({ name }) => name);
  if (camera !== undefined) looking.mode = String(cameraOf(names, camera));
  const common = { ghosts: new Set(ghosts), places };
  // what stands still shows the step that broke
  const last = Math.min(steps ?? (moves ? facts.steps : subject.step), facts.steps);
  const shots = async function* () {
    await subject.act({ do: "reset" });
    for (let step = 0; step <= last; step++) {
      if (step > 0) await subject.forward();
      if (!isTaken(options, step, last)) continue;
      const poses = await subject.poses();
      const marks = bad && step >= bad.step ? { ...common, bad } : common;
      yield { poses, view: looking.view(poses), reach, marks };
    }
  };
  const capacity = facts.worlds * (scene.parts.length + scene.wraps);
  const own = { scene, radius, capacity, worlds: 1, steps: last, dt, shots: shots() };
  return { ...own, [Symbol.asyncDispose]: () => subject[Symbol.asyncDispose]() };
}

/** Positions of worlds of a model, seen by its camera or the free one. */
async function staged(
  model: Model,
  shows: AsyncIterable<readonly WorldPose[]> | Iterable<readonly WorldPose[]>,
  options: FilmOptions & { readonly steps: number; readonly dt: number },
  close: () => Promise<void>,
): Promise<Film> {
  const { steps, dt, worlds, camera, shown, aspect } = options;
  const stage = await Stage.create(model, shown);
  try {
    const { scene, radius } = stage;
    const of = camera === undefined ? -1 : cameraOf(stage.cameras, camera);
    const shots = async function* () {
      let step = 0;
      for await (const each of shows) {
        if (!isTaken(options, step++, steps)) continue;
        const poses = stage.poses(each);
        const view = of < 0 ? stage.freeView(poses, aspect) : stage.cameraView(of, poses);
        yield { poses, view, reach: stage.reach(poses), marks: stage.places(worlds) };
      }
    };
    const own = { scene, radius, capacity: stage.capacity(worlds), worlds, steps, dt, shots: shots() };
    return {
      ...own,
      async [Symbol.asyncDispose]() {
        stage[Symbol.dispose]();
        await close();
      },
    };
  } catch (error) {
    stage[Symbol.dispose]();
    throw error;
  }
}

function assertRecorded({ actions, policy }: FilmOptions, what: string): void {
  for (const [name, given] of Object.entries({ actions, policy }))
    if (given !== undefined) throw new UsageError(`--${name} is of what is simulated; ${what} has its own actions.`);
}

/** The place of a camera among those of a model. Throws `UsageError`. */
export function cameraOf(cameras: readonly string[], name: string): number {
  const found = cameras.indexOf(name);
  if (found >= 0) return found;
  const { hint } = alternatives(name, cameras);
  throw new UsageError(`--camera is '${inLine(name)}', which the model does not have; ${hint}.`);
}
