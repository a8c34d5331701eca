// an environment in a few words and numbers
import { defineEnv } from "./host/batch-spec.ts";
import { checkTask } from "./task/check-task.ts";
import { settingsOf } from "./host/options.ts";
import { taskOf } from "./registry.ts";
import { Box } from "./space/spaces.ts";
import { loadTaskModel } from "./task/load.ts";
import type { Task } from "./task/task.ts";
import { planArenas } from "../batch/batch.ts";

export interface EnvSummary {
  readonly id: string;
  readonly observationSpace: string;
  readonly actionSpace: string;
  /** Parts of the observation, in order. */
  readonly observation: readonly { readonly name: string; readonly size: number }[];
  /** Terms of the reward. */
  readonly rewards: readonly string[];
  /** Conditions that end an episode, the step limit aside. */
  readonly terminations: readonly string[];
  readonly frameSkip: number;
  /** Seconds of a physics step, and of a control step. */
  readonly timestep: number;
  readonly dt: number;
  /** Null for no limit. */
  readonly maxEpisodeSteps: number | null;
  readonly bytesPerEnv: number;
}

/**
 * A task with the options given, before any device.
 * @throws what makeVec throws for its arguments
 */
export async function defineTarget(
  task: Task<object>,
  options: { readonly numEnvs: number; readonly [option: string]: unknown },
) {
  checkTask(task as unknown as Task<never>);
  const settings = settingsOf(task, await loadTaskModel(task), options);
  return { task, settings, definition: defineEnv(task, settings) };
}

/** @throws CorralError unknown-env */
export async function describeEnv(id: string): Promise<EnvSummary> {
  const { settings, definition } = await defineTarget(taskOf(id), { numEnvs: 1 });
  const { vec, model } = settings;
  const { shape, action } = definition.spec;
  return {
    id,
    observationSpace: String(new Box({ low: -Infinity, high: Infinity, shape: [shape.nobs] })),
    actionSpace: String(action),
    observation: shape.observation,
    rewards: shape.terms,
    terminations: shape.terminations,
    frameSkip: vec.frameSkip,
    timestep: model.opt.timestep,
    dt: model.opt.timestep * vec.frameSkip,
    maxEpisodeSteps: Number.isFinite(vec.maxEpisodeSteps) ? vec.maxEpisodeSteps : null,
    bytesPerEnv: planArenas(definition.batch(1)).bytesPerWorld,
  };
}
