// whether few iterations of the solver are enough: forces that are left unsolved throw what is held
import { listen } from "../model/mujoco.ts";
import { withMuJoCo } from "../model/oracle.ts";
import type { VectorEnv } from "./index.ts";

/** MuJoCo's own numbers of iterations, which converge; models for other simulators often have 1 to 5. */
const ENOUGH = { iterations: 100, ls_iterations: 50 } as const;
/** Control steps that are looked at, at most, and one in so many of them. */
const LOOKED_AT = 100;
const EVERY = 5;
/** How far off an acceleration is, in parts of the largest, that is told. */
const OFF = 0.1;

/** Of how many states MuJoCo's accelerations are off where its solver ends after the model's iterations. */
export interface Unsolved {
  readonly states: number;
  readonly off: number;
}

/** Looks at states of random episodes; undefined where the model has as many iterations as MuJoCo has by itself. */
export async function unsolvedOf(env: VectorEnv, seed: number, steps: number): Promise<Unsolved | undefined> {
  const { model, numEnvs } = env;
  const { iterations, ls_iterations } = model.opt;
  if (iterations >= ENOUGH.iterations && ls_iterations >= ENOUGH.ls_iterations) return undefined;
  const names = ["qpos", "qvel", "qacc_warmstart"] as const;
  const kept = names.filter((name) => env.plan.fields.some((f) => f.arena === "state" && f.name === name));
  const seen: Record<string, Float64Array>[] = [];
  await env.reset({ seed });
  for (let t = 0; t < Math.min(steps, LOOKED_AT); t++) {
    await env.step(env.actionSpace.sample(seed, { draw: t }));
    if (t % EVERY === EVERY - 1) seen.push(await env.getState([...kept]));
  }
  return withMuJoCo(model, (oracle) => {
    const accelerations = (
      state: Record<string, Float64Array>,
      world: number,
      most: typeof ENOUGH | typeof model.opt,
    ) => {
      for (const [name, all] of Object.entries(state)) {
        const size = all.length / numEnvs;
        oracle.write(name, all.subarray(world * size, (world + 1) * size));
      }
      oracle.model.opt.iterations = most.iterations;
      oracle.model.opt.ls_iterations = most.ls_iterations;
      listen(() => oracle.mujoco.mj_forward(oracle.model, oracle.data));
      return oracle.read("qacc");
    };
    const isOff = (state: Record<string, Float64Array>, world: number): boolean => {
      const few = accelerations(state, world, model.opt);
      const many = accelerations(state, world, ENOUGH);
      const size = many.reduce((most, x) => Math.max(most, Math.abs(x)), 1);
      return many.some((x, i) => Math.abs(x - few[i]) > OFF * size);
    };
    const worlds = Array.from({ length: numEnvs }, (_, world) => world);
    const all = seen.flatMap((state) => worlds.map((world) => isOff(state, world)));
    return { states: all.length, off: all.filter(Boolean).length };
  });
}
