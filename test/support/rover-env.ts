// worlds of the rover in float64, and what tests of terms ask of them
import type { CorralError } from "../../src/core/errors.ts";
import { makeVec, type Task, type VecOptions, type VectorEnv } from "../../src/env/index.ts";
import { rover } from "./rover.ts";

export const DOUBLE = { device: "cpu-f64" } as const;

export const make = (task: Partial<Task<object>>, options: Partial<VecOptions> = {}): Promise<VectorEnv> =>
  makeVec(rover(task), { numEnvs: 2, ...DOUBLE, ...options });

/** What an error says. */
export async function message(run: () => Promise<unknown>): Promise<string> {
  try {
    await run();
  } catch (error) {
    return (error as CorralError).message;
  }
  return "nothing was refused";
}

export const still = (env: VectorEnv) => new Float32Array(env.actionSpace.size);
export const info = (env: VectorEnv, name: string, world = 0) => env.infos.get(name)!.values[world];
