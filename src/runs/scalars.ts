// what TensorBoard shows of a run, under the names of Stable-Baselines3, so that curves of both lie in one chart
import type { TrainProgress } from "./progress.ts";

/** Tags by the name of a metric; others are written as `train/` and their own name. */
const TAGS: Readonly<Record<string, string>> = {
  episodeReturn: "rollout/ep_rew_mean",
  episodeLength: "rollout/ep_len_mean",
  policyLoss: "train/policy_gradient_loss",
  valueLoss: "train/value_loss",
  kl: "train/approx_kl",
  clipFraction: "train/clip_fraction",
  temperature: "train/ent_coef",
  epsilon: "rollout/exploration_rate",
  badSteps: "rollout/bad_steps",
  episodes: "rollout/episodes",
};

/** Those that are called otherwise for SAC. */
const OF_SAC: Readonly<Record<string, string>> = { policyLoss: "train/actor_loss", valueLoss: "train/critic_loss" };

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Numbers by tag; what there was none of is left out. */
export function scalarsOf({ metrics, envStepsPerSec, evaluation, evaluated }: TrainProgress): Record<string, number> {
  const scalars: Record<string, number> = { "time/fps": envStepsPerSec };
  for (const [name, value] of Object.entries(metrics)) {
    if (typeof value !== "number") continue;
    // Stable-Baselines3 has the loss, which is minus the entropy
    if (name === "entropy") scalars["train/entropy_loss"] = -value;
    else if (metrics.temperature !== undefined && name in OF_SAC) scalars[OF_SAC[name]] = value;
    else scalars[TAGS[name] ?? `train/${snake(name)}`] = value;
  }
  if (evaluated && evaluation) {
    scalars["eval/mean_reward"] = evaluation.meanReturn;
    scalars["eval/mean_ep_length"] = evaluation.meanLength;
  }
  return Object.fromEntries(Object.entries(scalars).filter(([, value]) => Number.isFinite(value)));
}
