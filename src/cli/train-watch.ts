// a training run while it goes on: a line an update, and what came of it
import { countOf, fixed, formatCount } from "../core/units.ts";
import type { TrainListener, TrainProgress, TrainResult } from "../runs/progress.ts";
import type { TrainingRun } from "../runs/train.ts";
import type { LiveLine } from "./live.ts";
import { rate, sparkline } from "./table.ts";

/** Trains with a live line, and says at the end what came of it. */
export async function watch(
  run: TrainingRun,
  say: (line: string) => void,
  live: LiveLine,
  listener: TrainListener = {},
): Promise<TrainResult> {
  const returns: number[] = [];
  const onProgress = (p: TrainProgress) => {
    listener.onProgress?.(p);
    if (p.metrics.episodes > 0) returns.push(p.metrics.episodeReturn);
    live.show(trainLine(p), p.seconds);
  };
  const result = await run.train({ ...listener, onProgress }).finally(() => live.end());
  if (returns.length > 0) say(`returns while it learned: ${sparkline(returns)}`);
  say(outcome(result, run.settings.until));
  return result;
}

/** One update in a line. */
function trainLine(p: TrainProgress): string {
  const { metrics: m } = p;
  const parts = [
    `${formatCount(p.envSteps).padStart(11)} steps`,
    `${rate(p.envStepsPerSec).padStart(8)} env steps/s`,
    m.episodes > 0 ? `return ${fixed(m.episodeReturn, 1)} length ${m.episodeLength.toFixed(0)}` : "no episode ended",
    ...(p.evaluation ? [`evaluation ${fixed(p.evaluation.meanReturn, 1)}`] : []),
    `loss ${fixed((m.policyLoss ?? 0) + m.valueLoss, 3)}`,
    ...(m.kl === undefined ? [] : [`kl ${fixed(m.kl, 4)}`]),
    ...(m.temperature === undefined ? [] : [`temperature ${m.temperature.toFixed(3)}`]),
    ...(m.epsilon === undefined ? [] : [`epsilon ${m.epsilon.toFixed(3)}`]),
    `${Math.ceil(p.secondsLeft)} s left`,
    ...warnings(p),
  ];
  return parts.join("  ");
}

/** Extreme values that were clipped: visible, as they say that something is off. */
export function warnings({ metrics: m }: Pick<TrainProgress, "metrics">): string[] {
  const {
    rewardsClipped = 0,
    rewardsLeftOut = 0,
    observationsClipped = 0,
    ratiosClipped = 0,
    stdAtBound = 0,
    badSteps,
  } = m;
  return [
    ...(rewardsClipped > 0 ? [`${countOf(rewardsClipped, "reward")} clipped`] : []),
    ...(rewardsLeftOut > 0 ? [`${countOf(rewardsLeftOut, "reward")} too large for normalisation`] : []),
    ...(observationsClipped > 0 ? [`${countOf(observationsClipped, "observation")} clipped`] : []),
    ...(ratiosClipped > 0 ? [`${countOf(ratiosClipped, "ratio")} clipped`] : []),
    ...(stdAtBound > 0 ? [`${countOf(stdAtBound, "deviation")} at a bound`] : []),
    ...(badSteps > 0 ? [countOf(badSteps, "bad step")] : []),
  ];
}

function outcome({ envSteps, seconds, evaluation, reached }: TrainResult, until: number | undefined): string {
  const { meanReturn, meanLength, episodes, cut } = evaluation;
  const were = cut > 0 ? `, ${formatCount(cut)} cut` : "";
  const end = `return ${fixed(meanReturn, 1)}, length ${meanLength.toFixed(0)} (mean of ${countOf(episodes, "episode")}${were})`;
  const took = `after ${formatCount(envSteps)} env steps in ${seconds.toFixed(1)} s`;
  const goal = reached === undefined ? "" : reached ? `: ${until} reached` : `: ${until} NOT reached`;
  return `${end} ${took}${goal}`;
}
