// defaults of training runs: the task's own, or those that suit most environments
import { taskOf } from "../env/registry.ts";
import type { TrainingDefaults } from "../env/task/task.ts";
import type { Algo } from "../rl/algorithm.ts";

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

/** @throws CorralError unknown-env */
export const runDefaults = (id: string, algo: Algo = "ppo"): TrainingDefaults =>
  taskOf(id).training?.[algo] ?? USUAL[algo];

/** Whether a run with so many worlds has the short dispatches that its defaults were measured with. */
export function isShort(id: string, { algo, numEnvs }: { readonly algo?: Algo; readonly numEnvs?: number }): boolean {
  const { shortDispatches = false, numEnvs: usual } = runDefaults(id, algo);
  return shortDispatches && (numEnvs ?? usual) <= usual;
}
