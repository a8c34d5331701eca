// the controls that MuJoCo's worlds hold while they are timed: what the task makes of the pool's actions
import { controlsOf } from "../compare/task-controls.ts";
import { CorralError } from "../core/errors.ts";
import type { Task, VecOptions } from "../env/index.ts";
import type { EnvSpec } from "../env/kernel/env-kernel.ts";
import { PHASES, type ActionPool } from "./actions.ts";
import { Runner } from "./runner.ts";

/** Rows of ctrl, of which `phases` belong together, in their order. */
export interface ControlTable {
  readonly controls: Float64Array;
  readonly phases: number;
}

/** Worlds whose controls are recorded. */
const RECORDED = 64;

/**
 * Of tasks whose controls depend on what a world remembers (gaits, lags, motors as servos) they are those of worlds that
 * ran: each of them gives a group of rows.
 * @throws what controlsOf and makeVec throw
 */
export async function controlTable(
  task: Task<object>,
  spec: EnvSpec,
  pool: ActionPool,
  { seed, seconds, maxEpisodeSteps }: { seed: number; seconds: number; maxEpisodeSteps: number },
  options: Omit<VecOptions, "numEnvs" | "seed">,
): Promise<ControlTable> {
  try {
    const controls = controlsOf(spec, pool.values, pool.size);
    return { controls, phases: pool.motion === "swing" ? PHASES : 1 };
  } catch (error) {
    if (!(error instanceof CorralError && error.code === "control-remembers")) throw error;
  }
  const seen = { ...task, observe: { ctrl: "ctrl" }, observation: undefined } as Task<object>;
  const { nu } = spec.model;
  const runner = await Runner.create(seen, { ...options, numEnvs: RECORDED, recorder: false }, seed, pool);
  try {
    await runner.warmUp(maxEpisodeSteps, seconds);
    const controls = new Float64Array(RECORDED * PHASES * nu);
    for (let phase = 0; phase < PHASES; phase++) {
      const { observations } = await runner.step();
      for (let world = 0; world < RECORDED; world++)
        controls.set(observations.subarray(world * nu, (world + 1) * nu), (world * PHASES + phase) * nu);
    }
    return { controls, phases: PHASES };
  } finally {
    await runner.close();
  }
}
