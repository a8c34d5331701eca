// defaults of training runs: the task's own, or those that suit most environments
import { taskOf } from "../env/registry.ts";
import type { TrainingDefaults } from "../env/task/task.ts";
import type { Algo } from "../rl/algorithm.ts";
import type { TrainOptions } from "./options.ts";

const USUAL: Readonly<Record<Algo, TrainingDefaults>> = {
  // few worlds, and many small steps of the optimizer on each rollout
  ppo: {
    numEnvs: 64,
    steps: 1_000_000,
    config: { rolloutSteps: 64, minibatches: 64, epochs: 5, learningRate: 5e-4, initialLogStd: -0.5 },
  },
  // updates are short, and copies hold the replay
  sac: {
    numEnvs: 16,
    steps: 1_000_000,
    config: { collectSteps: 4, gradientSteps: 16, bufferSize: 200_000, learningStarts: 10_000 },
    evalEvery: 200,
    checkpointEvery: 2000,
    snapshotEvery: 2000,
  },
  "sac-discrete": {
    numEnvs: 16,
    steps: 1_000_000,
    config: { collectSteps: 4, gradientSteps: 16, bufferSize: 200_000, nSteps: 3 },
    evalEvery: 100,
    checkpointEvery: 2000,
    snapshotEvery: 2000,
  },
  dqn: {
    numEnvs: 16,
    steps: 1_000_000,
    config: { collectSteps: 4, gradientSteps: 16, bufferSize: 200_000, nSteps: 3 },
    evalEvery: 100,
    checkpointEvery: 2000,
    snapshotEvery: 2000,
  },
};

/**
 * What PPO takes of these on a GPU, beside all else that is the task's: a control step of thousands of worlds takes there as long as
 * one of a few, so that rollouts are wide and short, and batches large.
 */
const WIDE = { numEnvs: 4096, stepsTimes: 20, config: { rolloutSteps: 8, minibatches: 32, epochs: 4 } } as const;

const widened = (usual: TrainingDefaults): TrainingDefaults => ({
  ...usual,
  numEnvs: WIDE.numEnvs,
  steps: WIDE.stepsTimes * usual.steps,
  config: { ...usual.config, ...WIDE.config },
});

/** `wide`: those of PPO on a GPU. @throws CorralError unknown-env */
export function runDefaults(id: string, algo: Algo = "ppo", wide = false): TrainingDefaults {
  const own = taskOf(id).training?.[algo];
  const { numEnvs, steps, config } = USUAL[algo];
  const usual = own ? { numEnvs, steps, config, ...own } : USUAL[algo];
  return wide ? widened(usual) : usual;
}

/** Whether a run with so many worlds has the short dispatches that its defaults were measured with. */
export function isShort(id: string, { algo, wide, numEnvs }: Pick<TrainOptions, "algo" | "wide" | "numEnvs">): boolean {
  const { shortDispatches = false, numEnvs: usual } = runDefaults(id, algo);
  return shortDispatches && !wide && (numEnvs ?? usual) <= usual;
}
