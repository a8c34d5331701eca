// makes environments from their names
import { loadModel } from "../model/model.ts";
import type { Plan } from "../memory/plan.ts";
import { planOf, type PlanContext, type PlannedBatch } from "../sim/batch.ts";
import { placeBatch } from "../sim/device.ts";
import { seedKey } from "../core/rng.ts";
import { defineEnv } from "./batch-spec.ts";
import { settingsOf, type VecOptions } from "./options.ts";
import { taskOf } from "./registry.ts";
import type { Task } from "./task.ts";
import { VectorEnv } from "./vector-env.ts";

/** Options of a task, in the names of its defaults. */
export type OptionsOf<T> = T extends Task<infer O> ? VecOptions & Partial<O> : VecOptions & Record<string, unknown>;

async function define(env: string | Task<never>, given: object) {
  const task = (typeof env === "string" ? taskOf(env) : env) as Task<object>;
  const settings = settingsOf(task, await loadModel(task.model), given);
  if (settings.vec.seed !== undefined) seedKey(settings.vec.seed);
  return { settings, definition: defineEnv(task, settings) };
}

/**
 * Many worlds of an environment, stepped together: the name of a registered one, or a task. All memory is reserved and
 * all kernels are compiled when it resolves.
 * @throws CorralError unknown-env and unknown-option with the nearest names, bad-option, bad-num-envs, bad-seed,
 *   bad-world-ids, unsupported-feature; BudgetExceededError before anything is allocated; errors of the device
 */
export async function makeVec<E extends string | Task<never>>(env: E, options: OptionsOf<E>): Promise<VectorEnv> {
  const { settings, definition } = await define(env, options);
  const { vec } = settings;
  const batch = await placeBatch(definition.batch, vec.numEnvs, vec);
  try {
    const env = new VectorEnv(definition.spec, batch, vec);
    // what the device refuses of the first writes is told here
    await batch.sync();
    return env;
  } catch (error) {
    await batch.close();
    throw error;
  }
}

/**
 * The bytes of an environment, field by field, without a device.
 * @throws what makeVec throws for its arguments
 */
export async function planVec<E extends string | Task<never>>(env: E, options: OptionsOf<E>, context: PlanContext = {}): Promise<Plan> {
  return (await planVecKernels(env, options, context)).plan;
}

/** The traced kernels and the plan of an environment, without a device. */
export async function planVecKernels<E extends string | Task<never>>(
  env: E,
  options: OptionsOf<E>,
  context: PlanContext = {},
): Promise<PlannedBatch> {
  const { settings, definition } = await define(env, options);
  return planOf(definition.batch(settings.vec.numEnvs), context);
}
