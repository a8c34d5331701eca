// what corral train says of a run before it begins
import { countOf, formatBytes, formatCount } from "../core/units.ts";
import { Ppo, type PpoConfig, type SacConfig } from "../rl/index.ts";
import { Overlapped } from "../runs/overlapped.ts";
import type { TrainingRun } from "../runs/train.ts";

/** Worlds that leave most of any GPU idle. */
const FEW_FOR_A_GPU = 1024;

/** Lines on what runs where, what it takes, and what of its settings may not have been meant. */
export function* openingOf({ id, env, settings, algorithm, bytes }: TrainingRun, folder: string): Generator<string> {
  const { numEnvs, steps, from, collectThreads } = settings;
  const worlds = formatCount(numEnvs);
  yield `${id} on ${env.deviceName}: ${worlds} worlds, ${formatCount(steps)} env steps of ${algorithm.algo.toUpperCase()}`;
  yield `memory ${formatBytes(bytes)}, all of it reserved; ${folder}`;
  const { rolloutSteps = 1, collectSteps = rolloutSteps } = algorithm.config as Partial<PpoConfig & SacConfig>;
  if (numEnvs * collectSteps > steps)
    yield `an update takes ${formatCount(numEnvs * collectSteps)} env steps, more than --steps; --envs N takes fewer`;
  if (env.adapter?.kind === "gpu" && algorithm instanceof Ppo && numEnvs < FEW_FOR_A_GPU && from === undefined)
    yield `a GPU steps thousands of worlds in the time of ${worlds}: --wide true has defaults for that`;
  if (algorithm instanceof Overlapped)
    yield `collects in ${countOf(collectThreads!, "thread")} of the CPU, ${formatBytes(algorithm.collector.bytes)} on the host, one update behind`;
}
