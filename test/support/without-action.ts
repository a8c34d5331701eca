// a task as it is written to a file, without a policy
import { makeVec, type Task } from "../../src/env/index.ts";

const WORLDS = 4;

/** How many episodes of a few worlds end within so many control steps without action. */
export async function endedWithoutAction(file: string, steps: number): Promise<number> {
  const { default: task } = (await import(file)) as { default: Task };
  await using env = await makeVec(task, { numEnvs: WORLDS, seed: 1, device: "wasm", recorder: false });
  await env.reset();
  const none = new Float32Array(env.actionSpace.sample(1, { draw: 0 }).length);
  let ended = 0;
  for (let t = 0; t < steps; t++) ended += (await env.step(none)).terminated.reduce((sum, x) => sum + x, 0);
  return ended;
}
