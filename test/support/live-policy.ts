// what a learner's own kernels do: the observations of an evaluation, and the actions that they were answered with
import type { GpuView, VectorEnv } from "../../src/env/index.ts";
import { createBuffer, Readback } from "../../src/gpu/index.ts";
import type { Algorithm } from "../../src/rl/index.ts";

export interface SeenAction {
  readonly observation: Float32Array;
  readonly action: readonly number[];
}

/** Plays an evaluation in other worlds and looks at its first steps. */
export async function seenActions(
  ppo: Pick<Algorithm, "evaluate">,
  env: VectorEnv,
  steps: number,
): Promise<SeenAction[]> {
  const { device, actions: view } = env.gpu!;
  const { size: width } = env.singleObservationSpace;
  const words = view.stride / 4;
  const into = new Uint32Array(env.numEnvs * words);
  const staging = await createBuffer(device, "actions seen", into.byteLength, Readback.usage);
  const readback = new Readback(device, [staging]);
  const isBox = env.singleActionSpace.kind === "box";
  const seen: SeenAction[] = [];

  const { reset, step } = { reset: env.reset.bind(env), step: env.step.bind(env) };
  let observations = new Float32Array();
  let taken = 0;
  env.reset = async (options) => {
    const result = await reset(options);
    observations = Float32Array.from(result.observations);
    return result;
  };
  env.step = (async (actions: GpuView) => {
    if (taken++ < steps) {
      await readback.read(view.shards[0].buffer, view.offset, into.byteLength, into);
      const numbers = isBox ? new Float32Array(into.buffer) : new Int32Array(into.buffer);
      for (let w = 0; w < env.numEnvs; w++) {
        const action = [...numbers.subarray(w * words, w * words + env.singleActionSpace.size)];
        seen.push({ observation: observations.slice(w * width, (w + 1) * width), action });
      }
    }
    const result = await step(actions);
    observations = Float32Array.from(result.observations);
    return result;
  }) as VectorEnv["step"];
  try {
    await ppo.evaluate(env);
  } finally {
    Object.assign(env, { reset, step });
    staging.destroy();
  }
  return seen;
}
