// what every learner owes to the memory contract, whichever the algorithm
import { afterAll, beforeAll, expect } from "vitest";
import "../../envs/index.ts";
import { makeVec, type VectorEnv } from "../../src/env/index.ts";
import { openDevice, type GpuDevice } from "../../src/gpu/index.ts";
import { BudgetExceededError, createBudget, type Plan } from "../../src/memory/index.ts";
import { watchDevice } from "./watch-device.ts";

interface Held {
  readonly plan: Plan;
  iterate(): Promise<{ readonly minibatches: number }>;
  close(): Promise<void>;
}

/** A device and environments on it for the tests of a file, which leave nothing behind there. */
export function pendulums(): { readonly gpu: GpuDevice; readonly env: VectorEnv } {
  const made = {} as { gpu: GpuDevice; env: VectorEnv };
  beforeAll(async () => {
    made.gpu = await openDevice();
    made.env = await makeVec("InvertedPendulum-v5", { numEnvs: 40, device: made.gpu });
  });
  afterAll(async () => {
    await made.env.close();
    (await createBudget(made.gpu)).assertEmpty();
    expect(made.gpu.uncaptured).toEqual([]);
    made.gpu.close();
  });
  return made;
}

/** The plan is what is made, nothing is made by an update after the first, and all of it comes back. */
export async function assertPlanned(
  gpu: GpuDevice,
  planned: Plan,
  create: () => Promise<Held>,
  update: (learner: Held) => Promise<unknown> = (learner) => learner.iterate(),
): Promise<void> {
  const budget = await createBudget(gpu);
  const { live } = budget;
  const watch = watchDevice(gpu);
  const learner = await create();
  expect(learner.plan.totalBytes).toBe(planned.totalBytes);
  expect([budget.live - live, watch.liveBytes()]).toEqual([planned.totalBytes, planned.totalBytes]);

  await learner.iterate();
  const { ...before } = watch.made;
  for (let i = 0; i < 3; i++) await update(learner);
  expect(watch.made).toEqual(before);
  await learner.close();
  expect([budget.live, watch.liveBytes()]).toEqual([live, 0]);
  watch.remove();
}

/** Over a budget with `room` bytes left it is refused with these words and this arena, and the environments notice nothing. */
export async function assertRefusedOverBudget(
  gpu: GpuDevice,
  env: VectorEnv,
  create: () => Promise<unknown>,
  { room, says, arena }: { room: number; says: readonly string[]; arena: string },
): Promise<void> {
  const actions = env.actionSpace.sample(1);
  await env.reset({ seed: 4 });
  const wanted = [...(await env.step(actions)).observations];

  await env.reset({ seed: 4 });
  const budget = await createBudget(gpu);
  const { limit, live } = budget;
  await createBudget(gpu, { limit: live + room });
  const watch = watchDevice(gpu);
  const error = await create().catch((e: unknown) => e);
  expect(error).toBeInstanceOf(BudgetExceededError);
  const { message, largestFields } = error as BudgetExceededError;
  for (const text of says) expect(message).toContain(text);
  expect(largestFields.map((field) => field.arena)).toContain(arena);
  expect([watch.made.createBuffer, budget.live]).toEqual([0, live]);
  watch.remove();
  await createBudget(gpu, { limit });
  expect([...(await env.step(actions)).observations]).toEqual(wanted);
}
